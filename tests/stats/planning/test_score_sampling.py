"""Studies of scores with zeros or levels: against a slow twin, the normal model, alpha, and the ratings at hand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats

from app.domain.errors import Invalid
from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.planning.non_normal_scores import (
    estimate_number_of_clusters,
    make_non_normal_study_sampler,
    make_normal_study_sampler,
    simulate_non_normal_detection_counts,
    simulate_non_normal_document_means,
)
from app.stats.planning.power_and_cost import EN_DE, GROUPINGS, Grouping, StudyLayout, VarianceComponents
from app.stats.planning.score_sampling import (
    CannotSimulateScores,
    ScoreSampler,
    compute_latent_variances,
    fit_marginal,
    make_score_sampler,
)
from app.stats.planning.simulated_studies import (
    RaterPools,
    StudyTooLarge,
    draw_raters_by_item,
    find_significant_pairs,
    simulate_detection_counts,
)
from app.stats.ranking.clusters import assign_clusters
from app.stats.ratings import Floats
from tests.stats.components.worlds import needs_public_data, side_by_side

F17 = VarianceComponents(0.36, 0.0, 0.64, 0.09, 0.25, 0.0, 0.16, 1.44)
FULL = VarianceComponents(0.3, 0.4, 0.5, 0.1, 0.2, 0.3, 0.2, 1.0)


def penalties(n: int = 20_000) -> Floats:
    """MQM-like: 60 % zeros, the rest gamma of mean 4 and shape 1.3."""
    rng = np.random.default_rng(3)
    return np.where(rng.random(n) < 0.6, 0.0, rng.gamma(1.3, 4 / 1.3, n))


def levels(n: int = 20_000) -> Floats:
    """XSTS-like: 1 to 5."""
    return np.random.default_rng(4).choice([1.0, 2, 3, 4, 5], n, p=[0.05, 0.1, 0.15, 0.3, 0.4])


def all_but_normal(spread: float) -> Floats:
    """A normal marginal in 81 levels."""
    return np.round(stats.norm.ppf((np.arange(40_000) + 0.5) / 40_000) * 10) / 10 * spread


@cache
def shaped(kind: str, components: VarianceComponents = FULL, *, fixed_panel: bool = False) -> ScoreSampler:
    if kind == "ordinal":
        return make_score_sampler(components, fit_marginal("ordinal", levels()), better_sign=1, fixed_panel=fixed_panel)
    shape = fit_marginal("zero_inflated_gamma", penalties())
    return make_score_sampler(components, shape, better_sign=-1, fixed_panel=fixed_panel)


def document_means(scores: ScoreSampler, layout: StudyLayout, *, seed: int, **ask: Any) -> Floats:
    """Simulated means of documents where every rater may be given every document."""
    pools = RaterPools.with_single_pool(layout)
    return simulate_non_normal_document_means(scores, layout, pools, rng=np.random.default_rng(seed), **ask)


@pytest.mark.parametrize("kind", ["zero_inflated_gamma", "ordinal"])
def test_the_marginal_has_the_moments_and_shares_of_the_ratings(kind: str) -> None:
    ratings = penalties() if kind != "ordinal" else levels()
    found = fit_marginal(kind, ratings)  # type: ignore[arg-type]  # parametrized over the two names
    values = found.score(stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000))
    assert values.mean() == pytest.approx(ratings.mean(), rel=2e-3)
    assert values.var() == pytest.approx(ratings.var(), rel=5e-3)
    assert found.variance == pytest.approx(ratings.var(), rel=1e-9)
    for level in (0.0,) if kind != "ordinal" else (1.0, 2.0, 3.0, 4.0, 5.0):
        assert (values == level).mean() == pytest.approx((ratings == level).mean(), abs=1e-4)


def test_the_gamma_of_the_scores_above_zero_is_by_moments() -> None:
    ratings = penalties()
    above = ratings[ratings > 0]
    theirs = stats.gamma(above.mean() ** 2 / above.var(), scale=above.var() / above.mean())
    zeros = (ratings == 0).mean()
    at = np.array([0.61, 0.7, 0.9, 0.99, 0.9999])
    found = fit_marginal("zero_inflated_gamma", ratings).score(stats.norm.ppf(at))
    assert found == pytest.approx(theirs.ppf((at - zeros) / (1 - zeros)), rel=1e-4)


def slow_score(kind: str, value: float) -> float:
    """The score of one latent value, from the definition."""
    u = stats.norm.cdf(value)
    if kind == "ordinal":
        found, counts = np.unique(levels(), return_counts=True)
        return float(next(v for v, upto in zip(found, np.cumsum(counts) / counts.sum(), strict=True) if u <= upto))
    ratings = penalties()
    above, zeros = ratings[ratings > 0], (ratings == 0).mean()
    if u <= zeros:
        return 0.0
    return float(
        stats.gamma.ppf((u - zeros) / (1 - zeros), above.mean() ** 2 / above.var(), scale=above.var() / above.mean())
    )


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("kind", ["zero_inflated_gamma", "ordinal"])
def test_the_drawn_documents_are_those_of_a_slow_twin(kind: str, grouping: Grouping) -> None:
    """One rating after the other, its effects added up, mapped by the definition, and averaged."""
    scores, layout = shaped(kind), StudyLayout(3, 2, 4, 2, grouping)
    shifts, n, (d, m, r, k) = np.array([0.4, 0.0, -0.3]), 2, (3, 2, 4, 2)
    ours = document_means(scores, layout, shifts=shifts, studies=n, seed=6)
    rng, c, s = np.random.default_rng(6), scores.latent.parts, 3
    who = draw_raters_by_item(layout, RaterPools.with_single_pool(layout), s, n, rng)
    shapes = {
        "rater": (r,), "rater_doc": (d, r), "residual": (d, m, s, k), "shared": (d, m), "doc_system": (d, s),
        "segment_system": (d, m, s), "rater_segment": (d, m, r), "rater_doc_system": (d, s, k), "rater_system": (s, r),
    }  # fmt: skip
    variance = {name: getattr(c, name, scores.latent.shared) for name in shapes}
    e = {name: rng.normal(0, sqrt(variance[name]), (n, *shape)) for name, shape in shapes.items()}
    for i, doc, one in product(range(n), range(d), range(s)):
        rated = []
        for g, nth in product(range(m), range(k)):
            by = who[i, doc, one, nth]
            value = e["rater"][i, by] + e["rater_doc"][i, doc, by] + e["residual"][i, doc, g, one, nth]
            value += e["shared"][i, doc, g] + e["doc_system"][i, doc, one] + e["segment_system"][i, doc, g, one]
            value += e["rater_segment"][i, doc, g, by] + e["rater_doc_system"][i, doc, one, nth]
            value += e["rater_system"][i, one, by] + shifts[one]
            rated.append(scores.sign * slow_score(kind, scores.sign * value))
        assert ours[i, one, doc] == pytest.approx(np.mean(rated), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("kind", ["zero_inflated_gamma", "ordinal"])
def test_the_shift_makes_the_mean_difference_that_was_asked_for(kind: str, fixed: bool) -> None:
    scores = shaped(kind, fixed_panel=fixed)
    layout = StudyLayout(400, 5, 40, fixed_panel=fixed)
    found = document_means(scores, layout, shifts=scores.shifts_for_difference(0.5), studies=40, seed=1).mean(axis=2)
    each = found[:, 0] - found[:, 1]
    assert each.mean() == pytest.approx(0.5, abs=4 * each.std() / sqrt(40))


@pytest.mark.parametrize("kind", ["zero_inflated_gamma", "ordinal"])
def test_ratings_of_a_segment_by_one_rater_covary_as_the_components_say(kind: str) -> None:
    """Two systems, one rater, one segment: variance of the difference 2(σ²_ds + σ²_gs + σ²_rs + σ²_rds + σ²_e)."""
    ratings = penalties() if kind != "ordinal" else levels()
    small = replace(FULL, **{name: getattr(FULL, name) * ratings.var() / 4 for name in FULL.__slots__[:-1]})
    scores, layout = shaped(kind, small), StudyLayout(300, 1, 100)
    found = document_means(scores, layout, shifts=np.zeros(2), studies=60, seed=2)
    own = small.doc_system + small.segment_system + small.rater_system + small.rater_doc_system + small.residual
    assert (found[:, 0] - found[:, 1]).var() == pytest.approx(2 * own, rel=0.05)
    assert scores.latent.fits


def test_a_normal_marginal_leaves_the_shares_as_they_are() -> None:
    spread = sqrt(6.0)
    found = compute_latent_variances(FULL, fit_marginal("ordinal", all_but_normal(spread)))
    assert found.shared == pytest.approx(0.5, abs=0.01)
    for name in FULL.__slots__[:-1]:
        assert getattr(found.parts, name) == pytest.approx(getattr(FULL, name) / 6, abs=0.005)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_power_of_a_nearly_normal_marginal_is_that_of_the_normal_model(grouping: Grouping) -> None:
    layout, n = StudyLayout(40, 5, 8, grouping=grouping), 1500
    ask = {"difference": 0.8, "alpha": 0.02, "studies": n}
    scores = make_score_sampler(F17, fit_marginal("ordinal", all_but_normal(2.0)), better_sign=1)
    ours, _ = simulate_non_normal_detection_counts(scores, layout, rng=np.random.default_rng(11), **ask)
    theirs, _ = simulate_detection_counts(F17, layout, rng=np.random.default_rng(12), **ask)
    assert 0.2 * n < theirs < 0.97 * n, "a power of 0 or 1 would show nothing"
    share = (ours + theirs) / (2 * n)
    assert abs(ours - theirs) / n < 3.5 * sqrt(2 * share * (1 - share) / n)


@pytest.mark.parametrize("lengths", [(), (1, 2, 2, 3, 7)])
@pytest.mark.parametrize("kind", ["zero_inflated_gamma", "ordinal"])
def test_without_a_difference_half_of_alpha_finds_one_in_either_direction(kind: str, lengths: tuple[int, ...]) -> None:
    found, n = simulate_non_normal_detection_counts(
        shaped(kind, fixed_panel=True),
        StudyLayout(60, 3, 8, fixed_panel=True, lengths=lengths),
        difference=0.0,
        alpha=0.1,
        studies=3000,
        rng=np.random.default_rng(3),
    )
    assert found / n == pytest.approx(0.05, abs=0.014)


def test_power_grows_with_documents_and_the_same_seed_draws_the_same() -> None:
    scores, ask = shaped("zero_inflated_gamma"), {"difference": 1.0, "alpha": 0.05, "studies": 300}
    few, more = (
        simulate_non_normal_detection_counts(scores, StudyLayout(d, 3, 20), rng=np.random.default_rng(5), **ask)[0]
        for d in (10, 60)
    )
    assert few < more
    assert (
        simulate_non_normal_detection_counts(scores, StudyLayout(10, 3, 20), rng=np.random.default_rng(5), **ask)[0]
        == few
    )
    assert simulate_non_normal_detection_counts(scores, StudyLayout(1, 3, 20), rng=np.random.default_rng(5), **ask) == (
        0,
        300,
    )


@pytest.mark.parametrize(
    ("kind", "ratings"),
    [
        ("zero_inflated_gamma", []),
        ("ordinal", []),
        ("zero_inflated_gamma", [0.0, 0.0]),
        ("ordinal", [3.0, 3.0]),
        ("zero_inflated_gamma", [0.0, 5.0, 5.0]),
        ("zero_inflated_gamma", [-1.0, 2.0, 3.0]),
        ("ordinal", list(range(102))),
        ("normal", [1.0, 2.0]),
    ],
)
def test_ratings_that_do_not_suit_are_told(kind: str, ratings: list[float]) -> None:
    with pytest.raises(CannotSimulateScores):
        fit_marginal(kind, np.array(ratings, dtype=float))  # type: ignore[arg-type]  # parametrized over names


def test_a_difference_beyond_the_scale_and_too_large_a_study_are_refused() -> None:
    ask = {"alpha": 0.05, "studies": 30, "rng": np.random.default_rng(0)}
    with pytest.raises(CannotSimulateScores):
        simulate_non_normal_detection_counts(shaped("ordinal"), StudyLayout(10, 3, 5), difference=4.5, **ask)
    with pytest.raises(StudyTooLarge):
        simulate_non_normal_detection_counts(shaped("ordinal"), StudyLayout(5000, 50, 2000), difference=0.5, **ask)


def test_components_that_vary_more_than_the_ratings_are_told_and_drawn_in_proportion() -> None:
    found = compute_latent_variances(FULL, fit_marginal("ordinal", all_but_normal(1.0)))
    assert (found.fits, found.shared) == (False, 0.0)
    assert found.parts.residual == pytest.approx(1 / 3, abs=0.01)


def test_significance_by_holm_is_that_of_the_textbook() -> None:
    p = np.random.default_rng(0).random((50, 6)) ** 3
    for row, ours in zip(p, find_significant_pairs(p, 0.05, holm=True), strict=True):
        slow = np.zeros(6, dtype=bool)
        for rank, at in enumerate(np.argsort(row)):
            if row[at] > 0.05 / (6 - rank):
                break
            slow[at] = True
        assert (ours == slow).all()
    assert (find_significant_pairs(p, 0.05, holm=False) == (p <= 0.05)).all()


@pytest.mark.parametrize(("t", "expected"), [(4.31, 2.0), (4.30, 1.0)])
def test_three_documents_claim_from_the_t_of_two_degrees_of_freedom(t: float, expected: float) -> None:
    """t(.975) with two degrees of freedom is 4.3027."""
    apart = np.array([-1.0, 0.0, 1.0]) + t / sqrt(3)

    def draw(n: int, _means: object, _rng: object) -> tuple[np.ndarray, None]:
        return np.broadcast_to(np.stack((apart, np.zeros(3))), (n, 2, 3)), None

    ask = {"rule": "strict", "alpha": 0.05, "holm": False, "studies": 20, "rng": np.random.default_rng(2)}
    assert estimate_number_of_clusters(draw, StudyLayout(3, 1, 3), means=np.zeros(2), **ask).mean == expected


def test_expected_clusters_are_those_of_a_slow_twin() -> None:
    """t-tests by scipy, Holm by hand, then the cluster rule, study by study."""
    layout, means = StudyLayout(20, 3, 6), np.array([0.0, 0.9, 1.0, 2.0])
    ask = {"means": means, "rule": "strict", "alpha": 0.05, "holm": True, "studies": 40}
    ours = estimate_number_of_clusters(
        make_normal_study_sampler(F17, layout), layout, rng=np.random.default_rng(2), **ask
    )
    counted = []
    for unsorted in make_normal_study_sampler(F17, layout)(40, means, np.random.default_rng(2))[0]:
        study = unsorted[np.argsort(-unsorted.mean(axis=1))]
        pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
        p = [stats.ttest_rel(study[i], study[j]).pvalue for i, j in pairs]
        wins = np.zeros((4, 4), dtype=bool)
        for rank, at in enumerate(np.argsort(p)):
            if p[at] > 0.05 / (6 - rank):
                break
            wins[pairs[at]] = True
        counted.append(max(assign_clusters(wins, "strict") or ()))
    assert ours.mean == np.mean(counted)
    assert ours.error == pytest.approx(np.std(counted, ddof=1) / sqrt(40))
    assert 1 < ours.mean < 4


def test_expected_clusters_of_uneven_documents_weigh_their_segments() -> None:
    """The errors and degrees of the ranking itself, pair by pair and study by study; even documents tell more apart."""
    lengths, means = (40, *[2] * 19), np.array([0.0, 1.5, 3.0])
    layout = StudyLayout(20, sum(lengths) / 20, 6, lengths=lengths)
    ask = {"means": means, "rule": "strict", "alpha": 0.05, "holm": False, "studies": 40}
    ours = estimate_number_of_clusters(
        make_normal_study_sampler(F17, layout), layout, rng=np.random.default_rng(2), **ask
    )
    sums, counts = make_normal_study_sampler(F17, layout)(40, means, np.random.default_rng(2))
    assert counts is not None
    assert (counts == lengths).all()
    counted = []
    for study, weights in zip(sums, counts, strict=True):
        place = np.argsort(-study.sum(axis=1))
        wins = np.zeros((3, 3), dtype=bool)
        for i, j in [(0, 1), (0, 2), (1, 2)]:
            apart = study[place[i]] - study[place[j]]
            known = estimate_ratio_precision(apart, weights)
            t = apart.sum() / weights.sum() / known.error
            wins[i, j] = 2 * stats.t.sf(t, known.degrees) <= 0.05
        counted.append(max(assign_clusters(wins, "strict") or ()))
    assert ours.mean == np.mean(counted)
    even = StudyLayout(20, layout.segments, 6)
    assert (
        estimate_number_of_clusters(
            make_normal_study_sampler(F17, even), even, rng=np.random.default_rng(2), **ask
        ).mean
        > ours.mean
    )


def test_uneven_scores_that_are_drawn_one_by_one_are_means_over_the_segments_that_are_there() -> None:
    scores, lengths = shaped("ordinal"), np.array([[1.0, 6.0], [3.0, 2.0]])
    layout = StudyLayout(2, 3, 4, lengths=(1, 2, 3, 6))
    ask = {"shifts": np.zeros(2), "studies": 2}
    long = document_means(scores, layout, seed=1, lengths=np.full((2, 2), 6.0), **ask)
    mixed = document_means(scores, layout, seed=1, lengths=lengths, **ask)
    assert mixed[0, :, 1] == pytest.approx(long[0, :, 1])
    assert np.abs(mixed[0, :, 0] - np.round(mixed[0, :, 0])).max() < 1e-12, "one segment: a level of the scale"
    assert not np.allclose(mixed[1], long[1])


@pytest.mark.parametrize("kind", ["zero_inflated_gamma", "ordinal"])
def test_clusters_grow_with_documents_whatever_the_scores(kind: str) -> None:
    scores, means = shaped(kind), np.array([0.0, 0.3, 0.9])
    ask = {"means": means, "rule": "strict", "alpha": 0.05, "holm": True, "studies": 60}
    few, more = (
        estimate_number_of_clusters(
            make_non_normal_study_sampler(scores, layout), layout, rng=np.random.default_rng(1), **ask
        )
        for layout in (StudyLayout(5, 3, 20), StudyLayout(120, 3, 20))
    )
    assert 1 <= few.mean < more.mean <= 3


def test_systems_that_are_all_one_are_one_cluster_and_a_document_tells_nothing() -> None:
    layout = StudyLayout(30, 3, 6, fixed_panel=True)
    ask = {"rule": "strict", "alpha": 0.05, "holm": True, "studies": 200, "rng": np.random.default_rng(1)}
    assert (
        estimate_number_of_clusters(make_normal_study_sampler(F17, layout), layout, means=np.zeros(4), **ask).mean
        < 1.03
    )
    one = StudyLayout(1, 3, 6)
    assert (
        estimate_number_of_clusters(make_normal_study_sampler(F17, one), one, between=4.0, systems=3, **ask).mean == 1.0
    )
    spread = estimate_number_of_clusters(make_normal_study_sampler(F17, layout), layout, between=9.0, systems=3, **ask)
    assert spread.mean > 1.5
    with pytest.raises(Invalid):
        estimate_number_of_clusters(make_normal_study_sampler(F17, layout), layout, means=np.zeros(1), **ask)


class TestPublished:
    pytestmark = needs_public_data

    def test_skewed_penalties_of_the_public_data_cost_the_paired_test_little(self) -> None:
        """WMT23 en-de, 30 documents, a difference of 2: power within .06 of the normal model's, pSxS."""
        ratings, n = side_by_side(), 1000
        scores = make_score_sampler(
            EN_DE, fit_marginal("zero_inflated_gamma", ratings.score), better_sign=-1, fixed_panel=True
        )
        layout = StudyLayout(30, 104 / 30, 10, fixed_panel=True)
        ask = {"difference": 2.0, "alpha": 0.05, "studies": n}
        ours, _ = simulate_non_normal_detection_counts(scores, layout, rng=np.random.default_rng(1), **ask)
        theirs, _ = simulate_detection_counts(EN_DE, layout, rng=np.random.default_rng(1), **ask)
        assert scores.latent.fits
        assert ours / n == pytest.approx(theirs / n, abs=0.06)
