"""Tests of every pair of systems, as a recipe says.

Pairs are (first, second) with the first ranked higher; p_value is that the first is better, p_reverse that the second
is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.domain.recipe import STRATIFIED_TESTS, Recipe
from app.stats.aggregate import ScoreMatrix, round_scores
from app.stats.ratings import Bools, Floats
from app.stats.testing import resampling
from app.stats.testing.bca import RESAMPLES, compute_bca_paired_p_values, compute_bca_two_sample_p_values
from app.stats.testing.common_segments import (
    CommonSegmentsByPair,
    compute_document_means_of_system,
    group_scores_by_common_units,
    iterate_common_unit_differences,
    iterate_pair_differences_in_batches,
    list_all_system_pairs,
)
from app.stats.testing.paired import DirectionalPValues, paired_t_test, stouffer, stouffer_signed, wilcoxon_signed_rank
from app.stats.testing.permutation import (
    MOST_PERMUTATIONS,
    cap_number_of_permutations,
    compute_permutations_needed,
    count_extreme_permuted_sums,
)
from app.stats.testing.unpaired import UnpairedTestResult, welch_t_test, wilcoxon_rank_sum

FEWEST_DOCUMENTS = 6
"""A pair with fewer documents is not tested by document, because the test would have hardly any power."""

SIGN_TESTS = frozenset({"permutation", "marot"})
DRAWN_TESTS = SIGN_TESTS | {"bootstrap"}
PAIRED_TESTS = SIGN_TESTS | STRATIFIED_TESTS | {"signed_rank", "paired_t", "wmt26_or", "wmt26_bootstrap", "bootstrap"}


@dataclass(frozen=True, slots=True)
class PairTestResults:
    """Result of one test on every pair; arrays of shape (pairs,), NaN where the pair was not tested.

    p_reverse is NaN for tests without direction. lean: +1 if the first is better by this test, −1 if the second is.
    smallest: the smallest p this design can reach, None if the test has no floor. enumerated: that floor is set by the
    number of documents or segments, not by the number of draws. p_signed: for Stouffer's combination of two-sided
    p-values, the combination that keeps direction.
    """

    p_value: Floats
    p_reverse: Floats
    lean: npt.NDArray[np.int8]
    testable: Bools
    smallest: float | None
    enumerated: bool
    p_signed: Floats | None = None


def run_pair_tests(matrix: ScoreMatrix, shared: CommonSegmentsByPair, recipe: Recipe, sign: int) -> PairTestResults:
    """Test every pair as `recipe` says; a pair that no chain of raters links is not testable.

    Parameters
    ----------
    matrix : systems in ranking order. shared : what pairs have in common, with blocks by the recipe's unit.
    sign : +1 where a larger score is better.
    """
    tests = _run_test(matrix, shared, recipe, sign)
    if shared.linked is None or shared.linked.all():
        return tests
    p, reverse, lean = tests.p_value.copy(), tests.p_reverse.copy(), tests.lean.copy()
    p[~shared.linked] = reverse[~shared.linked] = np.nan
    lean[~shared.linked] = 0
    signed = None if tests.p_signed is None else np.where(shared.linked, tests.p_signed, np.nan)
    testable = np.asarray(tests.testable & shared.linked)
    return replace(tests, p_value=p, p_reverse=reverse, lean=lean, testable=testable, p_signed=signed)


def _run_test(matrix: ScoreMatrix, shared: CommonSegmentsByPair, recipe: Recipe, sign: int) -> PairTestResults:
    if recipe.test in SIGN_TESTS:
        return _by_permutation(matrix, shared, recipe)
    if recipe.test == "none":
        nothing = np.full(shared.segments.size, np.nan)
        return _without_floor(nothing, nothing.copy(), np.zeros(nothing.size, dtype=np.int8))
    if recipe.test == "bootstrap":
        return _by_bootstrap(shared, recipe)
    if recipe.test in STRATIFIED_TESTS:
        return _by_domains(matrix, recipe, sign)
    if recipe.test == "wmt26_bootstrap":
        return _by_bca(matrix, recipe, sign)
    if recipe.test in PAIRED_TESTS:
        return _by_differences(matrix, shared, recipe, sign)
    return _by_two_samples(matrix, recipe, sign)


def choose_number_of_resamples(recipe: Recipe, n_pairs: int) -> int:
    """Number of permutations or bootstrap samples: the recipe's, or enough for the hypotheses adjusted for.

    The joint permutation of maxT needs no more draws for more hypotheses.
    """
    if recipe.permutations is not None:
        return recipe.permutations
    return cap_number_of_permutations(_family(recipe, n_pairs), recipe.alpha)


def count_resamples_needed_beyond_cap(tests: PairTestResults, recipe: Recipe, n_pairs: int) -> int | None:
    """Return the number of draws needed if the number used was capped and decides a pair; None if it was not."""
    if recipe.test not in DRAWN_TESTS or recipe.permutations is not None or tests.enumerated:
        return None
    enough = compute_permutations_needed(_family(recipe, n_pairs), recipe.alpha)
    return enough if enough > MOST_PERMUTATIONS else None


def _family(recipe: Recipe, n_pairs: int) -> int:
    """Number of hypotheses that the number of draws must allow for."""
    return n_pairs if recipe.adjust in {"holm", "bh"} else 1


def _by_permutation(matrix: ScoreMatrix, shared: CommonSegmentsByPair, recipe: Recipe) -> PairTestResults:
    n_pairs = shared.segments.size
    by_document = recipe.unit == "document"
    two_sided = recipe.alternative == "two-sided"
    counts = count_extreme_permuted_sums(
        shared.blocks,
        n_pairs,
        matrix.n_documents if by_document else matrix.segments.size,
        permutations=choose_number_of_resamples(recipe, n_pairs),
        seed=recipe.seed,
        two_sided=two_sided,
        enumerate_small=recipe.test != "marot",
    )
    units = shared.n_common_documents if by_document else shared.segments
    testable = units >= (FEWEST_DOCUMENTS if by_document else 1)
    p, reverse = counts.p_values(plus_one=recipe.plus_one), counts.reverse_p_values(plus_one=recipe.plus_one)
    p[~testable] = reverse[~testable] = np.nan
    lean = np.where(testable, np.sign(round_scores(np.nan_to_num(shared.difference))), 0).astype(np.int8)
    sides = 2.0 if two_sided else 1.0
    lowest = np.where(counts.exact, sides / counts.total, 1.0 / (counts.total + recipe.plus_one))
    smallest = float(lowest[units > 0].min()) if (units > 0).any() else None
    return PairTestResults(p, reverse, lean, testable, smallest, bool(counts.exact[units > 0].all()))


def _by_two_samples(matrix: ScoreMatrix, recipe: Recipe, sign: int) -> PairTestResults:
    first, second = list_all_system_pairs(len(matrix.systems))
    p, reverse = np.full(first.size, np.nan), np.full(first.size, np.nan)
    lean = np.zeros(first.size, dtype=np.int8)
    whole = [_sample(matrix, i, matrix.present[i], recipe.unit, sign) for i in range(len(matrix.systems))]
    fewest = FEWEST_DOCUMENTS if recipe.unit == "document" else 1
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        x, y = whole[i], whole[j]
        if recipe.matched_only:
            common = matrix.present[i] & matrix.present[j]
            x, y = (_sample(matrix, k, common, recipe.unit, sign) for k in (i, j))
        result = _two_samples(x, y, recipe) if min(x.size, y.size) >= fewest else None
        if result is not None:
            p[pair], reverse[pair], lean[pair] = _by_alternative(result, recipe)
    return _without_floor(p, reverse, lean)


def _without_floor(p_value: Floats, p_reverse: Floats, lean: npt.NDArray[np.int8]) -> PairTestResults:
    return PairTestResults(p_value, p_reverse, lean, np.isfinite(p_value), None, enumerated=False)


def _by_differences(matrix: ScoreMatrix, shared: CommonSegmentsByPair, recipe: Recipe, sign: int) -> PairTestResults:
    """Tests on paired differences of segments or of document means."""
    p, reverse = np.full(shared.segments.size, np.nan), np.full(shared.segments.size, np.nan)
    lean = np.zeros(p.size, dtype=np.int8)
    for pairs, differences in iterate_common_unit_differences(matrix, sign, unit=recipe.unit):
        if differences.shape[1] >= (FEWEST_DOCUMENTS if recipe.unit == "document" else 1):
            tests = _test_differences(differences, recipe)
            one_sided = recipe.alternative == "greater"
            p[pairs] = tests.greater if one_sided else tests.two_sided
            reverse[pairs] = tests.less if one_sided else np.nan
            lean[pairs] = tests.lean
    if recipe.test == "wmt26_or":
        return _smaller_p_of_both(
            _without_floor(p, reverse, lean), _by_two_samples(matrix, replace(recipe, test="welch"), sign)
        )
    return _without_floor(p, reverse, lean)


def _by_bca(matrix: ScoreMatrix, recipe: Recipe, sign: int) -> PairTestResults:
    """The smaller p of a paired and an unpaired bootstrap of the difference of means: WMT26's rule."""
    first, second = list_all_system_pairs(len(matrix.systems))
    p, reverse = np.full(first.size, np.nan), np.full(first.size, np.nan)
    lean = np.zeros(first.size, dtype=np.int8)
    fewest = FEWEST_DOCUMENTS if recipe.unit == "document" else 2
    alpha, seed, resamples = recipe.alpha, recipe.seed, recipe.permutations or RESAMPLES
    for pairs, rows, scores in group_scores_by_common_units(matrix, sign, unit=recipe.unit):
        if scores.shape[1] >= fewest:
            own = list(zip(rows[0].tolist(), rows[1].tolist(), strict=True))
            claims = compute_bca_paired_p_values(scores, own, alpha=alpha, seed=seed, resamples=resamples)
            p[pairs], reverse[pairs] = [one.p_value for one in claims], [one.p_reverse for one in claims]
            lean[pairs] = [np.sign((scores[i] - scores[j]).mean()) for i, j in own]
    whole = [_sample(matrix, i, matrix.present[i], recipe.unit, sign) for i in range(len(matrix.systems))]
    tested = [sample if sample.size >= fewest else sample[:0] for sample in whole]
    pairs_of_samples = list(zip(first.tolist(), second.tolist(), strict=True))
    claims = compute_bca_two_sample_p_values(tested, pairs_of_samples, alpha=alpha, seed=seed, resamples=resamples)
    for pair, ((i, j), claim) in enumerate(zip(pairs_of_samples, claims, strict=True)):
        if min(tested[i].size, tested[j].size):
            lean[pair] = lean[pair] or np.sign(whole[i].mean() - whole[j].mean())
        p[pair], reverse[pair] = np.fmin(p[pair], claim.p_value), np.fmin(reverse[pair], claim.p_reverse)
    return _without_floor(p, reverse, lean)


def _test_differences(differences: Floats, recipe: Recipe) -> DirectionalPValues:
    if recipe.test == "signed_rank":
        return wilcoxon_signed_rank(
            differences, zero_method=recipe.zero_method, correction=recipe.correction, method=recipe.method
        )
    return paired_t_test(differences)


def _by_bootstrap(shared: CommonSegmentsByPair, recipe: Recipe) -> PairTestResults:
    """Draw documents, or segments, with replacement; every pair on its common ones.

    p is no smaller than the smallest p of a sign flip of the same units: few units give no more evidence, however often
    they are drawn.
    """
    by_document = recipe.unit == "document"
    p, reverse = np.full(shared.segments.size, np.nan), np.full(shared.segments.size, np.nan)
    n_draws = choose_number_of_resamples(recipe, shared.segments.size)
    for pairs, apart, weights in iterate_pair_differences_in_batches(shared.blocks):
        p[pairs], reverse[pairs] = resampling.compute_bootstrap_p_values(
            apart, weights, draws=n_draws, seed=recipe.seed
        )
    units = shared.n_common_documents if by_document else shared.segments
    few = units < (FEWEST_DOCUMENTS if by_document else 2)
    lean = np.where(few, 0, np.sign(round_scores(np.nan_to_num(shared.difference)))).astype(np.int8)
    least = np.maximum(0.5 ** np.minimum(units, _FLIPS), 1 / n_draws)
    p, reverse = np.maximum(p, least), np.maximum(reverse, least)
    if recipe.alternative == "two-sided":
        least = np.minimum(1.0, 2 * least)
        p, reverse = np.minimum(1.0, 2 * np.minimum(p, reverse)), np.full(p.size, np.nan)
    p[few] = reverse[few] = np.nan
    p_values = _without_floor(p, reverse, lean)
    if few.all():
        return p_values
    smallest = float(least[~few].min())
    return replace(p_values, smallest=smallest, enumerated=smallest > 2 / n_draws)


_FLIPS = 60
"""Sign flips of more units are not counted, because their p is smaller than that of any number of draws."""


def _by_domains(matrix: ScoreMatrix, recipe: Recipe, sign: int) -> PairTestResults:
    """Two-sided signed-rank tests in each domain, combined over the domains that a pair has in common.

    `stouffer` gives a win to the system that ranks higher, as WMT24 does; `stouffer_signed` to the one that the
    combined evidence favours.
    """
    first, second = list_all_system_pairs(len(matrix.systems))
    if matrix.domain is None:
        raise ValueError("domains are needed")
    strata = np.unique(matrix.domain)
    p, sides = np.full((strata.size, first.size), np.nan), np.zeros((strata.size, first.size))
    for row, domain in enumerate(strata):
        for pairs, differences in iterate_common_unit_differences(
            matrix, sign, unit="segment", where=matrix.domain == domain
        ):
            tests = wilcoxon_signed_rank(
                differences, zero_method=recipe.zero_method, correction=recipe.correction, method=recipe.method
            )
            p[row, pairs], sides[row, pairs] = tests.two_sided, tests.lean
    signed, lean = stouffer_signed(p, sides)
    if recipe.test == "stouffer_signed":
        return _without_floor(signed, np.full(first.size, np.nan), lean)
    scores = sign * round_scores(matrix.system_means())
    ahead = np.sign(scores[first] - scores[second]).astype(np.int8)
    return replace(_without_floor(stouffer(p), np.full(first.size, np.nan), ahead), p_signed=signed)


def _smaller_p_of_both(paired: PairTestResults, unpaired: PairTestResults) -> PairTestResults:
    """The smaller p of two tests: WMT26's rule, whose two chances to reject give more false claims than α."""
    with np.errstate(invalid="ignore"):
        p, reverse = (np.fmin(getattr(paired, n), getattr(unpaired, n)) for n in ("p_value", "p_reverse"))
    return _without_floor(p, reverse, np.where(paired.lean != 0, paired.lean, unpaired.lean))


def _sample(matrix: ScoreMatrix, system: int, mask: Bools, unit: str, sign: int) -> Floats:
    """Segment scores of a system where `mask` is true, or their means by document; larger is better."""
    if unit == "segment":
        return np.asarray(sign * matrix.score[system][mask], dtype=np.float64)
    return compute_document_means_of_system(matrix, system, mask, sign)


def _two_samples(x: Floats, y: Floats, recipe: Recipe) -> UnpairedTestResult | None:
    return welch_t_test(x, y) if recipe.test == "welch" else wilcoxon_rank_sum(x, y, correction=recipe.correction)


def _by_alternative(result: UnpairedTestResult, recipe: Recipe) -> tuple[float, float, int]:
    if recipe.test == "rank_sum_legacy":
        # SciPy before 1.7 returned half the two-sided p by default, without direction: only the order of the ranking
        # tells which system it favours, so there is no reverse.
        return result.two_sided / 2, np.nan, 1
    if recipe.alternative == "two-sided":
        return result.two_sided, np.nan, result.lean
    return result.greater, result.less, result.lean
