"""Intraclass correlations and the model behind what is expected of agreement.

Sources: Shrout & Fleiss 1979 (table of six targets and four judges); `pingouin` as the oracle of the six forms.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from app.stats.agreement.icc import TwoWay, find_largest_complete_block, icc_one_way, icc_two_way
from app.stats.agreement.unit_rater_variances import (
    UnitRaterVariances,
    compute_joint_category_probabilities,
    fit_unit_rater_variances,
)
from tests.stats.agreement.test_kappa import estimate
from tests.stats.agreement.worlds import SHROUT_FLEISS, matrix, random_items, units

PUBLISHED = {"1": 0.166, "A1": 0.290, "C1": 0.715, "k": 0.443, "Ak": 0.620, "Ck": 0.909}
NAMES = {"1": "ICC(1,1)", "A1": "ICC(A,1)", "C1": "ICC(C,1)", "k": "ICC(1,k)", "Ak": "ICC(A,k)", "Ck": "ICC(C,k)"}
TWO_WAY: tuple[TwoWay, ...] = ("A1", "C1", "Ak", "Ck")


def six(items: list[list[float | None]]) -> dict[str, float]:
    data = units(items)
    block = find_largest_complete_block(data)
    assert block is not None
    found = {form: float(icc_two_way(block, form)(data.equal_document_weights())[0]) for form in TWO_WAY}
    return found | {
        "1": estimate(icc_one_way(data), data),
        "k": estimate(icc_one_way(data, mean_of_raters=True), data),
    }


def test_the_six_forms_are_those_of_shrout_and_fleiss() -> None:
    found = six([list(map(float, row)) for row in SHROUT_FLEISS])
    assert {form: round(value, 3) for form, value in found.items()} == pytest.approx(PUBLISHED, abs=5.1e-4)


@pytest.mark.filterwarnings("ignore::Warning")  # the package's own use of pandas
@pytest.mark.parametrize("seed", range(3))
def test_the_six_forms_agree_with_pingouin(seed: int) -> None:
    import pandas as pd
    import pingouin

    values = matrix(random_items(seed, missing=0.0))
    long = pd.DataFrame(
        [(i, j, v) for i, row in enumerate(values) for j, v in enumerate(row)], columns=["item", "rater", "score"]
    )
    table = pingouin.intraclass_corr(long, targets="item", raters="rater", ratings="score").set_index("Type")["ICC"]
    found = six(values.tolist())
    for form, name in NAMES.items():
        assert found[form] == pytest.approx(float(table[name]), abs=1e-9)


def test_one_way_on_unequal_numbers_of_ratings_is_the_analysis_of_variance() -> None:
    rows = [[v for v in row if v is not None] for row in random_items(4)]
    rows = [row for row in rows if len(row) > 1]
    n, total = len(rows), sum(map(len, rows))
    grand = sum(map(sum, rows)) / total
    between = sum(len(r) * (np.mean(r) - grand) ** 2 for r in rows) / (n - 1)
    within = sum((v - np.mean(r)) ** 2 for r in rows for v in r) / (total - n)
    k0 = (total - sum(len(r) ** 2 for r in rows) / total) / (n - 1)
    data = units(random_items(4))
    assert estimate(icc_one_way(data), data) == pytest.approx((between - within) / (between + (k0 - 1) * within))


def test_the_complete_block_is_the_largest_of_raters_who_share_units() -> None:
    items: list[list[float | None]] = [[1.0, 2, None], [2.0, 2, None], [3.0, 1, 2], [None, 1, 2], [5.0, None, None]]
    block = find_largest_complete_block(units(items))
    assert block is not None
    assert (block.raters, block.values.tolist()) == (("r0", "r1"), [[1, 2], [2, 2], [3, 1]])
    assert find_largest_complete_block(units([[1.0, None], [None, 2.0]])) is None


@pytest.mark.parametrize("seed", range(12))
def test_the_complete_block_is_the_one_that_trying_them_all_finds(seed: int) -> None:
    """The raters of each unit, and every two raters: most values, then most units, then the first raters."""
    items = random_items(seed, n=20, missing=0.2 + 0.05 * (seed % 6))
    rated = [{r for r, value in enumerate(row) if value is not None} for row in items]
    pairs = {frozenset(pair) for pair in itertools.combinations(sorted(set().union(*rated)), 2)}
    size = {
        tuple(sorted(some)): sum(some <= one for one in rated)
        for some in {*map(frozenset, (one for one in rated if len(one) > 1)), *pairs}
    }
    wanted = max(size, key=lambda some: (size[some] * len(some), size[some], [-r for r in some]))
    rows = [[row[r] for r in wanted] for row, one in zip(items, rated, strict=True) if set(wanted) <= one]
    block = find_largest_complete_block(units(items))
    assert block is not None
    assert (block.raters, block.values.tolist()) == (tuple(f"r{r}" for r in wanted), rows)


def test_reml_of_balanced_data_gives_the_forms_of_the_analysis_of_variance() -> None:
    found = fit_unit_rater_variances(units([list(map(float, row)) for row in SHROUT_FLEISS]))
    assert found is not None
    assert found.icc_agreement == pytest.approx(0.28976, abs=1e-4)
    assert found.icc_consistency == pytest.approx(0.71484, abs=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_reml_of_unbalanced_data_is_the_top_of_a_likelihood_written_out(seed: int) -> None:
    data = units(random_items(seed, n=25))
    kept = data.with_two_or_more_values()
    found = fit_unit_rater_variances(data)
    assert found is not None
    y = kept.value
    units_of = (kept.unit[:, None] == kept.unit[None, :]).astype(float)
    raters_of = (kept.rater[:, None] == kept.rater[None, :]).astype(float)

    def deviance(c: UnitRaterVariances) -> float:
        v = c.unit * units_of + c.rater * raters_of + c.residual * np.eye(y.size)
        ones = np.ones(y.size)
        inverse = np.linalg.inv(v)
        mean = ones @ inverse @ y / (ones @ inverse @ ones)
        return float(np.linalg.slogdet(v)[1] + np.log(ones @ inverse @ ones) + (y - mean) @ inverse @ (y - mean))

    best = deviance(found)
    for part in ("unit", "rater", "residual"):
        for factor in (0.97, 1.03):
            shifted = {name: getattr(found, name) for name in ("unit", "rater", "residual")}
            shifted[part] = max(shifted[part], 1e-6) * factor
            assert deviance(UnitRaterVariances(**shifted)) >= best - 1e-7


def test_expected_agreement_on_simulated_scores_is_what_is_observed() -> None:
    rng = np.random.default_rng(0)
    true, own = rng.normal(0, 3, 4000), rng.normal(0, 1, (4000, 2))
    c = UnitRaterVariances(unit=9.0, rater=0.0, residual=1.0)
    scores = true[:, None] + own
    assert c.rater_agreement_within_tolerance(1.5) == pytest.approx(
        np.mean(np.abs(scores[:, 0] - scores[:, 1]) <= 1.5), abs=0.03
    )
    categories = np.digitize(scores, [-2.0, 1.0, 4.0])
    shares = np.bincount(categories.ravel(), minlength=4) / categories.size
    observed = np.mean(categories[:, 0] == categories[:, 1])
    assert np.trace(compute_joint_category_probabilities(shares, c.icc_agreement)) == pytest.approx(observed, abs=0.03)


def test_no_model_without_variation_or_a_second_rater() -> None:
    assert fit_unit_rater_variances(units([[1.0, 1.0], [1.0, 1.0]])) is None
    assert fit_unit_rater_variances(units([[1.0], [2.0]])) is None
