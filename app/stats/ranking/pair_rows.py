"""The pairs of a ranking as rows: tests, differences, effect sizes and influence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.recipe import Recipe
from app.stats import intervals
from app.stats.aggregate import ScoreMatrix, round_scores
from app.stats.inference.by_document import EstimatePrecision, estimate_difference_precision, stack_estimate_precisions
from app.stats.plain_values import interval_or_none, number_or_none
from app.stats.ranking.effects import SuperiorityChances
from app.stats.ranking.influence import LeaveOneOutDifferences, summarize_influence
from app.stats.ranking.new_domain_precision import estimate_precision_for_new_domains
from app.stats.ranking.result import PairRow
from app.stats.ratings import Floats, Ratings
from app.stats.testing import resampling
from app.stats.testing.common_segments import (
    CommonSegmentsByPair,
    iterate_pair_differences_in_batches,
    list_all_system_pairs,
)
from app.stats.testing.pair_tests import PAIRED_TESTS
from app.stats.testing.wins import AdjustedTestResults


def uses_common_segments(recipe: Recipe, shared: CommonSegmentsByPair) -> bool:
    """Return whether pairs are compared on their common segments, as in paired tests, or by each system's own score."""
    paired = recipe.test in PAIRED_TESTS or recipe.matched_only
    return paired or (recipe.test == "none" and bool(shared.segments.all()))


@dataclass(frozen=True, slots=True)
class PairwiseEvidence:
    """Evidence on the pairs of systems, in ranking order.

    shared, raw_shared: common segments with the scores that the recipe ranks by, and with raw ones; the same object if
    nothing is normalized. chances: by raw scores. for_new_raters: maps the precision of the differences for these
    raters to their precision for new raters.
    """

    shared: CommonSegmentsByPair
    raw_shared: CommonSegmentsByPair
    chances: SuperiorityChances
    for_new_raters: Callable[[EstimatePrecision], EstimatePrecision | None]


def make_pair_rows(
    ratings: Ratings,
    matrices: tuple[ScoreMatrix, ScoreMatrix],
    evidence: PairwiseEvidence,
    verdict: AdjustedTestResults,
    left_out: Sequence[LeaveOneOutDifferences],
    recipe: Recipe,
) -> tuple[PairRow, ...]:
    """Return one row per pair, with the higher-ranked system as `better`, in ranking order.

    matrices : of the scores that the recipe ranks by and of the raw ones, systems in ranking order.
    """
    (matrix, raw), shared, chances = matrices, evidence.shared, evidence.chances
    paired = uses_common_segments(recipe, shared)
    first, second = list_all_system_pairs(len(matrix.systems))
    names = [ratings.labels.systems[code] for code in matrix.systems]
    difference, precise = _differences(ratings, matrix, shared, paired=paired)
    known = ratings.documents_known
    family = first.size if recipe.adjust == "holm" else 1
    alpha = recipe.alpha
    low, high = _pair_intervals(difference, precise, shared if paired else None, recipe)
    detectable = intervals.compute_minimum_detectable_difference(precise, alpha / max(family, 1))
    by_raters = _t_interval(difference, evidence.for_new_raters(precise), recipe)
    by_domains = _t_interval(difference, estimate_precision_for_new_domains(shared, matrix) if paired else None, recipe)
    in_unit, low_in_unit, high_in_unit = difference, low, high
    if raw is not matrix:
        in_unit, precise_in_unit = _differences(ratings, raw, evidence.raw_shared, paired=paired)
        compared = evidence.raw_shared if paired else None
        low_in_unit, high_in_unit = _pair_intervals(in_unit, precise_in_unit, compared, recipe)
    influence = summarize_influence(difference, left_out)
    # Without a common segment the difference is NaN, which is no conflict.
    conflict = round_scores(shared.difference) < 0
    tests = verdict.tests
    return tuple(
        PairRow(
            better=names[i],
            worse=names[j],
            difference=number_or_none(difference[k]),
            interval=interval_or_none(low[k], high[k]) if known else None,
            new_raters_interval=interval_or_none(by_raters[0][k], by_raters[1][k]) if known else None,
            new_domains_interval=interval_or_none(by_domains[0][k], by_domains[1][k]) if known else None,
            p_value=number_or_none(tests.p_value[k]),
            p_reverse=number_or_none(tests.p_reverse[k]),
            p_adjusted=number_or_none(verdict.p_adjusted[k]),
            p_signed=None if tests.p_signed is None else number_or_none(tests.p_signed[k]),
            significant=bool(verdict.wins[i, j]),
            significant_reverse=bool(verdict.wins[j, i]),
            testable=bool(tests.testable[k]),
            order_conflict=bool(conflict[k]),
            minimum_detectable=number_or_none(detectable[k]) if known else None,
            raw_difference=number_or_none(in_unit[k]),
            raw_interval=interval_or_none(low_in_unit[k], high_in_unit[k]) if known else None,
            chance_better=number_or_none(chances.better[k]),
            chance_tie=number_or_none(chances.tie[k]),
            chance_worse=number_or_none(chances.worse[k]),
            influence=influence[k] if left_out else None,
            n_common=int(shared.segments[k]),
            documents_common=int(shared.n_common_documents[k]) if known else None,
            effective_documents=number_or_none(precise.effective[k]) if known else None,
        )
        for k, (i, j) in enumerate(zip(first, second, strict=True))
    )


def _differences(
    ratings: Ratings, matrix: ScoreMatrix, shared: CommonSegmentsByPair, *, paired: bool
) -> tuple[Floats, EstimatePrecision]:
    """Return the difference of each pair and its precision: over common segments if tests are paired."""
    if paired:
        return shared.difference, shared.precision
    first, second = list_all_system_pairs(len(matrix.systems))
    scores = matrix.system_means()
    difference = ratings.better_sign * (scores[first] - scores[second])
    sums, counts = matrix.document_sums(), matrix.document_weights()
    differences = [
        estimate_difference_precision((sums[i], sums[j]), (counts[i], counts[j]))
        for i, j in zip(first, second, strict=True)
    ]
    return difference, stack_estimate_precisions(differences)


def _t_interval(difference: Floats, precise: EstimatePrecision | None, recipe: Recipe) -> tuple[Floats, Floats]:
    """Return the ends of the t interval; NaN if the precision is unknown."""
    width = np.full(difference.shape, np.nan)
    if precise is not None:
        width = intervals.compute_interval_half_widths(precise, recipe.alpha)
    return difference - width, difference + width


def _pair_intervals(
    difference: Floats, precise: EstimatePrecision, shared: CommonSegmentsByPair | None, recipe: Recipe
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of all pairs; bootstrap only on common segments, otherwise by t."""
    widths = intervals.compute_interval_half_widths(precise, recipe.alpha)
    low, high = difference - widths, difference + widths
    if shared is None or recipe.interval == "t":
        return low, high
    for pairs, differences, weights in iterate_pair_differences_in_batches(shared.by_document):
        low[pairs], high[pairs] = resampling.compute_bootstrap_intervals(
            differences, weights, alpha=recipe.alpha, kind=recipe.interval, seed=recipe.seed
        )
    return low, high
