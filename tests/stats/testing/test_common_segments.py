"""Which data a pair is compared on: incomplete data, masks, and the tests by recipe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from app.domain.recipe import NAMED, Recipe
from app.stats.aggregate import ScoreMatrix, average_ratings_per_segment, make_score_matrix
from app.stats.ratings import Ratings
from app.stats.testing.common_segments import list_all_system_pairs, reduce_pairs_to_common_segments
from app.stats.testing.pair_tests import choose_number_of_resamples, run_pair_tests

Cell = tuple[str, str, int, float]

# Incomplete data: B has a segment and a document that A lacks.
F18: list[Cell] = [
    ("A", "d1", 1, 1), ("A", "d1", 2, 3), ("A", "d2", 1, 2),
    ("B", "d1", 1, 2), ("B", "d1", 2, 2), ("B", "d1", 3, 9), ("B", "d2", 1, 4), ("B", "d3", 1, 0),
]  # fmt: skip


def panel_of(cells: list[Cell]) -> ScoreMatrix:
    system, document, position, score = zip(*cells, strict=True)
    ratings = Ratings.from_columns(
        system=system,
        document=document,
        position=position,
        rater=["r"] * len(cells),
        score=[float(s) for s in score],
        higher_is_better=True,
    )
    return make_score_matrix(average_ratings_per_segment(ratings), ratings.labels)


def test_the_worked_example_f18_compares_common_segments_only() -> None:
    laid = panel_of(F18)
    shared = reduce_pairs_to_common_segments(laid, 1, unit="document")
    assert laid.system_means() == pytest.approx([2.0, 3.4])
    assert shared.difference == pytest.approx([-2 / 3])
    assert (shared.segments[0], shared.n_common_documents[0]) == (3, 2)
    assert shared.share[0] == 3 / 5


CELLS = st.lists(
    st.tuples(
        st.sampled_from("ABCD"), st.sampled_from(["d1", "d2", "d3"]), st.integers(1, 2), st.integers(0, 9).map(float)
    ),
    min_size=1,
    max_size=24,
    unique_by=lambda cell: cell[:3],
)


@settings(max_examples=80, deadline=None)
@given(CELLS, st.sampled_from(["document", "segment"]), st.sampled_from([1, -1]))
def test_shared_data_agree_with_their_slow_twin(cells: list[Cell], unit: str, sign: int) -> None:
    laid = panel_of(cells)
    shared = reduce_pairs_to_common_segments(laid, sign, unit=unit)
    names = sorted({cell[0] for cell in cells})
    scores = {cell[:3]: cell[3] for cell in cells}
    blocks = {int(pair): block for block in shared.blocks for pair in block.pair}
    for pair, (i, j) in enumerate(zip(*list_all_system_pairs(len(names)), strict=True)):
        common = [k[1:] for k in sorted(scores) if k[0] == names[i] and (names[j], *k[1:]) in scores]
        apart = [sign * (scores[names[i], *k] - scores[names[j], *k]) for k in common]
        assert shared.segments[pair] == len(common)
        assert shared.n_common_documents[pair] == len({document for document, _ in common})
        if not common:
            assert np.isnan(shared.difference[pair])
            continue
        assert shared.difference[pair] == pytest.approx(sum(apart) / len(apart))
        block = blocks[pair]
        at = block.pair.tolist().index(pair)
        assert block.differences()[at].sum() == pytest.approx(sum(apart))
        assert block.units.size == (len(common) if unit == "segment" else len({d for d, _ in common}))


def test_a_macro_mean_weights_common_segments_by_domain() -> None:
    # d1 and d3 are one domain, d2 the other; common are d1: 1, 2 and d2: 1
    laid = replace(panel_of(F18), domain=np.array([0, 0, 0, 1, 0]), macro=True)
    assert laid.system_means() == pytest.approx([(2 + 2) / 2, (13 / 4 + 4) / 2])
    shared = reduce_pairs_to_common_segments(laid, 1, unit="document")
    assert shared.difference == pytest.approx([((-1 + 1) / 2 + -2) / 2])


@settings(max_examples=60, deadline=None)
@given(CELLS, st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_macro_means_agree_with_their_slow_twin(cells: list[Cell], domains: list[int]) -> None:
    laid = panel_of(cells)
    used = sorted({cell[1] for cell in cells})
    domain_of = dict(zip(used, domains, strict=False))
    laid = replace(laid, domain=np.array([domain_of[used[d]] for d in laid.document]), macro=True)

    def macro(pairs: list[tuple[str, float]]) -> float:
        by_domain = [[x for d, x in pairs if domain_of[d] == k] for k in sorted({domain_of[d] for d, _ in pairs})]
        return sum(sum(part) / len(part) for part in by_domain) / len(by_domain)

    names = sorted({cell[0] for cell in cells})
    scores = {cell[:3]: cell[3] for cell in cells}
    assert laid.system_means() == pytest.approx(
        [macro([(k[1], x) for k, x in scores.items() if k[0] == n]) for n in names]
    )
    differences = reduce_pairs_to_common_segments(laid, 1, unit="document").difference
    for pair, (i, j) in enumerate(zip(*list_all_system_pairs(len(names)), strict=True)):
        apart = [(k[1], x - scores[names[j], *k[1:]]) for k, x in scores.items()
                 if k[0] == names[i] and (names[j], *k[1:]) in scores]  # fmt: skip
        if apart:
            assert differences[pair] == pytest.approx(macro(apart), abs=1e-12)


def many_documents(n: int, *, both: int) -> list[Cell]:
    rng = np.random.default_rng(11)
    cells: list[Cell] = []
    for d in range(n):
        for position in (1, 2, 3):
            cells.append(("A", f"d{d:02}", position, float(np.round(rng.normal(1), 2))))
            if d < both:
                cells.append(("B", f"d{d:02}", position, float(np.round(rng.normal(0), 2))))
    return cells


def run(cells: list[Cell], recipe: Recipe) -> tuple[ScoreMatrix, object]:
    laid = panel_of(cells)
    return laid, run_pair_tests(laid, reduce_pairs_to_common_segments(laid, 1, unit=recipe.unit), recipe, 1)


@pytest.mark.parametrize(("both", "testable"), [(5, False), (6, True)])
def test_a_pair_with_fewer_than_six_common_documents_is_not_testable(both: int, testable: bool) -> None:
    _, tests = run(many_documents(12, both=both), NAMED["recommended"])
    assert bool(tests.testable[0]) is testable
    assert bool(np.isfinite(tests.p_value[0])) is testable


def test_a_small_pair_is_enumerated_and_says_the_smallest_p_it_can_reach() -> None:
    _, tests = run(many_documents(8, both=8), NAMED["recommended"])
    assert tests.smallest == 2 / 2**8
    assert (tests.p_value * 2**8) % 1 == 0


def test_marot_draws_and_counts_itself_however_few_the_segments() -> None:
    _, tests = run(many_documents(2, both=2), NAMED["google-mqm"])
    assert tests.smallest == 1 / 10_001
    assert (tests.p_value[0] * 10_001) % 1 == pytest.approx(0, abs=1e-6)
    assert tests.p_value[0] + tests.p_reverse[0] >= 1


def test_the_legacy_rank_sum_is_half_the_two_sided_p_and_has_no_reverse() -> None:
    laid, tests = run(many_documents(10, both=10), replace(NAMED["wmt-da"], test="rank_sum_legacy"))
    oracle = stats.mannwhitneyu(laid.score[0], laid.score[1], alternative="two-sided", method="asymptotic")
    assert tests.p_value[0] == pytest.approx(oracle.pvalue / 2)
    assert np.isnan(tests.p_reverse[0])


def test_matched_only_ranks_nothing_but_common_segments() -> None:
    laid, tests = run(many_documents(10, both=4), replace(NAMED["wmt-da"], matched_only=True))
    common = laid.present.all(axis=0)
    oracle = stats.mannwhitneyu(
        laid.score[0][common], laid.score[1][common], alternative="greater", method="asymptotic"
    )
    assert tests.p_value[0] == pytest.approx(oracle.pvalue)


def test_welch_compares_document_means() -> None:
    recipe = Recipe(name="welch", test="welch", unit="document")
    laid, tests = run(many_documents(12, both=9), recipe)
    means = [
        [laid.score[i][(laid.document == d) & laid.present[i]].mean() for d in range(12) if d < (12, 9)[i]]
        for i in (0, 1)
    ]
    assert tests.p_value[0] == pytest.approx(stats.ttest_ind(*means, equal_var=False).pvalue)


def test_a_test_by_segments_permutes_segments() -> None:
    recipe = Recipe(name="by-segment", test="permutation", unit="segment")
    laid, tests = run(many_documents(4, both=4), recipe)
    sums = laid.score[0] - laid.score[1]
    patterns = 1 - 2 * ((np.arange(2**12)[:, None] >> np.arange(12)) & 1)
    assert tests.p_value[0] == np.mean(np.abs(patterns @ sums) >= abs(sums.sum()) - 1e-9)


def test_the_number_of_draws_follows_the_family() -> None:
    assert choose_number_of_resamples(NAMED["recommended"], 105) == 42_000
    assert choose_number_of_resamples(replace(NAMED["recommended"], adjust="none"), 105) == 10_000
    assert choose_number_of_resamples(NAMED["google-mqm"], 105) == 10_000


@pytest.mark.parametrize("unit", ["segment", "document"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("test", ["signed_rank", "paired_t"])
def test_tests_of_differences_use_common_segments_or_their_document_means(
    test: str, alternative: str, unit: str
) -> None:
    recipe = Recipe(name="paired", test=test, unit=unit, alternative=alternative, correction=False)
    laid, tests = run(many_documents(12, both=9), recipe)
    common = laid.present.all(axis=0)
    apart = (laid.score[0] - laid.score[1])[common]
    if unit == "document":
        apart = np.array([apart[laid.document[common] == d].mean() for d in range(9)])
    oracle = {"signed_rank": stats.wilcoxon, "paired_t": lambda d, **k: stats.ttest_1samp(d, 0, **k)}[test]
    assert tests.p_value[0] == pytest.approx(oracle(np.round(apart, 10), alternative=alternative).pvalue)
    if alternative == "greater":
        assert tests.p_reverse[0] == pytest.approx(oracle(np.round(apart, 10), alternative="less").pvalue)
    else:
        assert np.isnan(tests.p_reverse[0])
    assert tests.lean[0] == 1


def test_wmt26_takes_the_smaller_p_of_the_paired_and_the_unpaired_test() -> None:
    cells = many_documents(12, both=9)
    one, other, either = (
        run(cells, Recipe(name=test, test=test, unit="segment"))[1] for test in ("paired_t", "welch", "wmt26_or")
    )
    assert either.p_value[0] == min(one.p_value[0], other.p_value[0])
    assert one.p_value[0] != other.p_value[0]


def test_tests_of_differences_need_six_common_documents() -> None:
    for test in ("signed_rank", "paired_t"):
        assert not run(many_documents(12, both=5), Recipe(name=test, test=test))[1].testable[0]
