"""Studies drawn from components, and from a pilot's documents: against the closed form, and against published SRP."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from app.domain.errors import Invalid
from app.stats.planning.pilot import (
    TooFewDocuments,
    estimate_power_by_resampling,
    forecast_srp_by_bootstrap,
    prepare_pilot_ratings,
)
from app.stats.planning.power_and_cost import (
    EN_DE,
    GROUPINGS,
    Grouping,
    StudyLayout,
    VarianceComponents,
    compute_contrast_variance,
    compute_z_test_power,
)
from app.stats.planning.simulated_studies import (
    PlannedClaimRule,
    RaterPools,
    StudyTooLarge,
    compute_pair_contrasts,
    draw_document_lengths,
    find_claims_by_t_test,
    forecast_ranking_stability,
    make_rater_pools,
    simulate_detection_counts,
    simulate_document_means,
)
from app.stats.ratings import Ratings
from app.stats.stability.multiply_rated_documents import extract_multiply_rated_documents
from app.stats.stability.study_significance import (
    SignificanceRule,
    compute_permutation_p_values,
    find_significant_claims,
    sample_document_signs,
)
from tests.stats.components.worlds import crossed, needs_public_data, side_by_side

F17 = VarianceComponents(0.36, 0.0, 0.64, 0.09, 0.25, 0.0, 0.16, 1.44)


@pytest.mark.parametrize(("grouping", "theirs"), [("psxs", 0.05696), ("system_balanced", 0.06363), ("none", 0.0838)])
def test_drawn_studies_vary_as_an_independent_monte_carlo_found(grouping: Grouping, theirs: float) -> None:
    """Dealt by the allocator of campaigns."""
    layout = StudyLayout(60, 5, 6, grouping=grouping)
    drawn = simulate_document_means(
        F17, layout, RaterPools.with_single_pool(layout), means=np.zeros(2), studies=4000, rng=np.random.default_rng(7)
    ).mean(axis=2)
    found = float((drawn[:, 0] - drawn[:, 1]).var(ddof=1))
    assert found == pytest.approx(theirs, rel=0.07)
    assert found == pytest.approx(compute_contrast_variance(F17, layout), rel=0.07)


def test_the_test_over_documents_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    sums = rng.normal(size=(4, 3, 9)) + np.array([0.0, 0.8, 1.4])[:, None]
    apart, error = compute_pair_contrasts(sums)
    pairs = [(0, 1), (0, 2), (1, 2)]
    for study in range(4):
        for k, (i, j) in enumerate(pairs):
            theirs = stats.ttest_rel(sums[study, i], sums[study, j])
            assert apart[study, k] / error[study, k] == pytest.approx(theirs.statistic)
            assert (find_claims_by_t_test(sums, 0.05)[study, k] != 0) == (theirs.pvalue <= 0.05)


def test_the_t_test_stands_for_the_permutation_test() -> None:
    """On skewed scores of 30 documents, at 500 permutations: 97 % of claims are the same, in number within 1 %."""
    rng = np.random.default_rng(0)
    sums = rng.gamma(0.5, 2, (150, 5, 30)) + np.arange(5)[:, None] * 0.35
    rule = SignificanceRule()
    permuted = compute_permutation_p_values(
        sums[:, None], sample_document_signs(rng, 150, 500, 30), exact=False, rule=rule
    )
    theirs, ours = find_significant_claims(sums[:, None], permuted, rule)[:, 0], find_claims_by_t_test(sums, 0.05)
    assert (theirs == ours).mean() > 0.97
    assert (theirs != 0).mean() == pytest.approx((ours != 0).mean(), abs=0.015)


def test_simulated_power_is_that_of_the_closed_form_for_psxs() -> None:
    layout = StudyLayout(80, 3.5, 8)
    difference, alpha = 2.0, 0.01
    found, n = simulate_detection_counts(
        EN_DE, layout, difference=difference, alpha=alpha, studies=1500, rng=np.random.default_rng(2)
    )
    assert found / n == pytest.approx(
        compute_z_test_power(difference, compute_contrast_variance(EN_DE, layout), alpha=alpha), abs=0.05
    )


LONG = (60, *(3,) * 19)
"""One document has 60 of 117 segments."""
COMPONENTS = VarianceComponents(0.36, 0.5, 0.64, 0.09, 0.25, 0.3, 0.16, 1.44)


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("lengths", [LONG, (5,) * 20], ids=["uneven", "even"])
def test_documents_of_uneven_length_vary_as_the_closed_form_says(grouping: Grouping, lengths: tuple[int, ...]) -> None:
    """3,000 drawn studies; with lengths left aside the promised error of the uneven ones was .4 of what it is."""
    layout = StudyLayout(20, sum(lengths) / 20, 6, grouping=grouping, lengths=lengths)
    rng = np.random.default_rng(7)
    counts = draw_document_lengths(layout, 3000, rng)
    means = simulate_document_means(
        COMPONENTS,
        layout,
        RaterPools.with_single_pool(layout),
        means=np.zeros(2),
        studies=3000,
        rng=rng,
        lengths=counts,
    )
    apart = ((means[:, 0] - means[:, 1]) * counts).sum(axis=1) / counts.sum(axis=1)
    promised = np.sqrt(compute_contrast_variance(COMPONENTS, layout))
    assert apart.std() == pytest.approx(promised, rel=0.06)
    blind = np.sqrt(compute_contrast_variance(COMPONENTS, replace(layout, lengths=())))
    assert (apart.std() > 1.2 * blind) == (lengths == LONG)


def test_lengths_of_other_numbers_of_documents_are_drawn_from_those_there_are() -> None:
    layout = StudyLayout(8, 4, 3, lengths=(2, 6))
    assert set(draw_document_lengths(layout, 50, np.random.default_rng(1)).ravel()) == {2, 6}
    assert (draw_document_lengths(replace(layout, documents=2), 3, np.random.default_rng(1)) == [2, 6]).all()
    assert (draw_document_lengths(replace(layout, lengths=()), 3, np.random.default_rng(1)) == 4).all()
    assert (
        layout.length_imbalance,
        replace(layout, lengths=()).length_imbalance,
        replace(layout, lengths=(5, 5)).length_imbalance,
    ) == (1.25, 1, 1)
    with pytest.raises(Invalid):
        replace(layout, lengths=(3, 0))


def test_a_test_of_uneven_documents_claims_as_much_as_it_says() -> None:
    """4,000 studies of equal systems by a fixed panel; with documents − 1 degrees it claimed .13."""
    layout = StudyLayout(20, 117 / 20, 6, fixed_panel=True, lengths=LONG)
    rng = np.random.default_rng(3)
    found, n = simulate_detection_counts(COMPONENTS, layout, difference=0.0, alpha=0.05, studies=4000, rng=rng)
    assert 2 * found / n <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


def test_a_forecast_claims_no_more_than_the_ranking_can() -> None:
    """Three systems far apart: over 6 documents sign flips reach 3/32 after Holm, over 7 3/64."""
    c = replace(COMPONENTS, rater_system=0.0)
    found = {
        documents: forecast_ranking_stability(
            c,
            StudyLayout(documents, 5, 3),
            means=np.array([0.0, 40, 80]),
            rule=PlannedClaimRule(),
            rng=np.random.default_rng(1),
        ).mean_significant_pairs
        for documents in (5, 6, 7)
    }
    assert found == {5: 0, 6: 0, 7: 3}
    alone = PlannedClaimRule(holm=False, sign_flips=True)
    p = np.array([[1e-6, 1e-6, 0.04]])
    assert alone.find_significant(p, 6, 0.05).tolist() == [[True, True, True]]
    assert alone.find_significant(p, 5, 0.05).tolist() == [[False, False, False]]
    assert PlannedClaimRule(holm=True, sign_flips=False).find_significant(p, 6, 0.05).tolist() == [[True, True, True]]
    assert PlannedClaimRule(holm=True, sign_flips=False).find_significant(p + 0.011, 6, 0.05).tolist() == [
        [True, True, False]
    ]


def test_without_any_difference_alpha_of_the_studies_find_one() -> None:
    layout = StudyLayout(30, 3.5, 8, fixed_panel=True)
    found, n = simulate_detection_counts(
        EN_DE, layout, difference=0.0, alpha=0.1, studies=3000, rng=np.random.default_rng(3)
    )
    assert found / n == pytest.approx(0.05, abs=0.015), "one direction of two"


def test_a_ranking_without_noise_is_stable_and_one_of_noise_is_not() -> None:
    quiet = VarianceComponents(0, 0, 0, 0, 0, 0, 0, 1e-6)
    sure = forecast_ranking_stability(quiet, StudyLayout(20, 3, 5), means=np.arange(4.0), rng=np.random.default_rng(0))
    assert (sure.srp, sure.mean_significant_pairs, sure.sign_error_rate) == (1.0, 6.0, 0.0)
    noisy = forecast_ranking_stability(
        F17, StudyLayout(10, 1, 5, grouping="none"), means=np.zeros(6), rng=np.random.default_rng(0)
    )
    assert noisy.kendall_tau is not None
    assert noisy.kendall_tau < 0.8
    assert noisy.share_without_significance > 0.05


def test_new_raters_agree_less_than_the_same_raters() -> None:
    apart = replace(F17, rater_system=1.5)
    how = {"means": np.arange(5) * 0.4, "worlds": 12}
    same = forecast_ranking_stability(apart, StudyLayout(40, 4, 4), pool="same", rng=np.random.default_rng(5), **how)
    new = forecast_ranking_stability(apart, StudyLayout(40, 4, 4), pool="new", rng=np.random.default_rng(5), **how)
    assert new.srp < same.srp - 2 * (new.mc_error + same.mc_error)


def test_the_same_seed_draws_the_same() -> None:
    made = [
        forecast_ranking_stability(F17, StudyLayout(10, 3, 4), between=1.0, systems=4, rng=np.random.default_rng(8))
        for _ in "12"
    ]
    assert made[0] == made[1]


def test_what_cannot_be_drawn_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(StudyTooLarge):
        forecast_ranking_stability(F17, StudyLayout(5000, 3, 2000), systems=20, rng=rng)
    with pytest.raises(Invalid):
        forecast_ranking_stability(F17, StudyLayout(1, 3, 4), rng=rng)
    assert forecast_ranking_stability(F17, StudyLayout(2, 3, 4), studies=10, worlds=2, rng=rng).worlds == 2
    with pytest.raises(Invalid):
        forecast_ranking_stability(F17, StudyLayout(9, 3, 2, ratings_per_item=3), rng=rng)
    assert simulate_detection_counts(F17, StudyLayout(1, 3, 4), difference=1, alpha=0.05, studies=30, rng=rng) == (
        0,
        30,
    )


class TestPublished:
    pytestmark = needs_public_data

    @pytest.mark.parametrize("grouping", GROUPINGS)
    def test_srp_of_the_public_data_is_forecast_from_their_components(self, grouping: Grouping) -> None:
        """WMT23 en-de, 30 documents, no normalization: the forecast is within .08, significant pairs within 5 of 45."""
        data = extract_multiply_rated_documents(side_by_side())
        srp, pairs = {"psxs": (0.950, 33.2), "system_balanced": (0.969, 27.2), "none": (0.777, 27.3)}[grouping]
        means = -np.array([data.score[:, s].mean() for s in range(len(data.systems))])
        panel = make_rater_pools([list(map(int, pool)) for pool in data.pools], list(map(int, data.bucket)), 10)
        found = forecast_ranking_stability(
            EN_DE,
            StudyLayout(30, 104 / 30, 10, grouping=grouping),
            means=means,
            panel=panel,
            worlds=30,
            rng=np.random.default_rng(4),
        )
        assert found.srp == pytest.approx(srp, abs=0.08)
        assert found.mean_significant_pairs == pytest.approx(pairs, abs=5)

    def test_power_of_drawn_documents_is_near_that_of_the_components(self) -> None:
        found, error = estimate_power_by_resampling(
            prepare_pilot_ratings(side_by_side()),
            difference=2.0,
            documents=30,
            alpha=0.05,
            studies=200,
            rng=np.random.default_rng(1),
        )
        layout = StudyLayout(30, 104 / 30, 10, fixed_panel=True)
        assert found == pytest.approx(
            compute_z_test_power(2.0, compute_contrast_variance(EN_DE, layout)), abs=0.05 + 3 * error
        )


def once(ratings: Ratings) -> Ratings:
    """One rater a document."""
    first = np.array([ratings.rater[ratings.document == d].min() for d in range(len(ratings.labels.documents))])
    return ratings.where(ratings.rater == first[ratings.document])


def test_documents_rated_once_are_drawn_as_they_were_rated() -> None:
    ratings = once(crossed(3, documents=40, systems=3, variance={"doc_system": 0.2}))
    source = prepare_pilot_ratings(ratings)
    assert (source.rated_anew, source.documents) == (False, 40)
    sums, counts = source.full
    means = sums[0].sum(axis=1) / counts[0].sum()
    for s in range(3):
        assert means[s] == pytest.approx(ratings.score[ratings.system == s].mean())
    found = forecast_srp_by_bootstrap(source, rng=np.random.default_rng(1))
    assert 0.5 < found.srp <= 1
    assert min(found.same_direction) > 0.95, "systems are 1 apart"
    assert prepare_pilot_ratings(crossed(3, documents=40)).rated_anew


def test_power_grows_with_documents_and_difference() -> None:
    source = prepare_pilot_ratings(once(crossed(3, documents=40, systems=3)))
    rng = np.random.default_rng(0)
    ask = {"alpha": 0.05, "studies": 200, "rng": rng}
    small, more, larger = (
        estimate_power_by_resampling(source, difference=d, documents=n, **ask)[0]
        for d, n in ((0.3, 20), (0.3, 80), (0.6, 80))
    )
    assert small < more < larger
    assert estimate_power_by_resampling(source, difference=0.3, documents=1, **ask) == (0.0, 0.0)


def test_a_pilot_of_few_documents_or_one_system_says_so() -> None:
    with pytest.raises(TooFewDocuments):
        prepare_pilot_ratings(crossed(1, documents=4))
    with pytest.raises(Invalid):
        prepare_pilot_ratings(crossed(1, documents=9, systems=1))


def test_the_interval_of_the_closed_form_holds_the_simulated_error() -> None:
    """The standard error that documents show is the one that the components say, where raters see all systems."""
    layout = StudyLayout(50, 4, 6, fixed_panel=True)
    drawn = simulate_document_means(
        F17, layout, RaterPools.with_single_pool(layout), means=np.zeros(2), studies=600, rng=np.random.default_rng(3)
    )
    _, error = compute_pair_contrasts(drawn)
    assert float(np.sqrt((error**2).mean())) == pytest.approx(sqrt(compute_contrast_variance(F17, layout)), rel=0.05)
