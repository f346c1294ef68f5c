"""The ranking: select → normalize → aggregate → order → test → adjust → cluster. Pure and seeded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.domain.errors import Invalid, Place
from app.domain.recipe import STRATIFIED_TESTS, Recipe
from app.stats import recipe_normalization
from app.stats.aggregate import (
    Indices,
    ScoreMatrix,
    average_ratings_per_segment,
    make_score_matrix,
    round_scores,
    treat_ratings_as_segments,
)
from app.stats.inference.by_document import EstimatePrecision
from app.stats.inference.by_rater import estimate_precision_for_new_raters
from app.stats.intervals import center_document_sums_across_systems
from app.stats.normalize import NormalizedRatings
from app.stats.ranking import assumption_caveats, caveats, design_checks, influence, ranking_rows
from app.stats.ranking.effects import estimate_probability_of_superiority
from app.stats.ranking.errors_without_weight import ErrorsWithoutWeight, warn_of_errors_without_weight
from app.stats.ranking.influence import LeaveOneOutDifferences
from app.stats.ranking.pair_rows import PairwiseEvidence, make_pair_rows, uses_common_segments
from app.stats.ranking.rank_sets import RankSets, compute_rank_sets
from app.stats.ranking.result import Ranking, SegmentScoreTable
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Bools, Codes, Floats, Ratings
from app.stats.selection import DroppedRowCount, select_rows_by_recipe
from app.stats.testing.common_segments import list_all_system_pairs, reduce_pairs_to_common_segments
from app.stats.testing.pair_tests import PAIRED_TESTS
from app.stats.testing.wins import run_tests_and_decide_wins


def rank_systems(
    ratings: Ratings,
    recipe: Recipe,
    documents: DocumentTable | None = None,
    unweighed: ErrorsWithoutWeight | None = None,
) -> Ranking:
    """Rank the systems of one campaign as `recipe` says.

    The result depends only on the rows, the documents, the recipe and its seed, not on the order of the rows.

    Parameters
    ----------
    documents : domains by document code, for macro means and Stouffer's combination; None if not needed.
    unweighed : errors without a weight, by judgment code of `ratings` in canonical order; None if not needed.

    Raises
    ------
    Invalid : the recipe does not fit the data (an unpaired design under a paired test, unknown documents under a
        document-level test, unknown domains under a test by domain, normalization that the scores do not allow, an
        exclusion that names nothing).
    """
    rows = ratings if ratings.is_in_canonical_order else ratings.in_canonical_order()
    domains = _domains(rows, recipe, documents)
    selection = select_rows_by_recipe(rows, recipe)
    ranked = selection.ratings.where(selection.ranked)
    resolved, warnings = resolve_auto_normalization(
        ranked, recipe, lambda: design_checks.share_of_documents_with_same_raters(ranked)
    )
    normalized = recipe_normalization.normalize_ranked_rows(selection, ranked, resolved)
    scored, unscaled = _rows_to_aggregate(normalized, resolved)
    median = resolved.aggregate == "median"
    scores = average_ratings_per_segment(scored, repeats=resolved.repeats, median=median)
    raw = (
        scores if unscaled is scored else average_ratings_per_segment(unscaled, repeats=resolved.repeats, median=median)
    )
    macro = resolved.aggregate == "macro_domain"
    matrix = make_score_matrix(scores, scored.labels, domains=domains, macro=macro)
    matrix = matrix.reorder_systems(_order(matrix, rows.better_sign))
    raw_laid = matrix
    if raw is not scores:
        raw_laid = make_score_matrix(raw, scored.labels, domains=domains, macro=macro).select_systems_in_order(
            matrix.systems
        )
    resolved, more = _resolve_test(matrix, rows, resolved)
    evidence = _pair_evidence(matrix, raw_laid, scored, resolved)
    paired = uses_common_segments(resolved, evidence.shared)
    return rank_systems_from_averages(
        RowsToRank(
            ranked,
            unit=normalized.unit,
            n_ratings=_judgments(normalized.scored),
            dropped=(*selection.dropped, DroppedRowCount("constant rater", normalized.dropped)),
            warnings=(
                *(*warnings, *more, *normalized.warnings),
                *warn_of_errors_without_weight(unweighed, normalized.scored),
            ),
            segments=ranking_rows.make_segment_score_table(scored, scores, raw),
        ),
        (matrix, raw_laid),
        evidence,
        center_document_sums_across_systems(matrix),
        resolved,
        recipe,
        left_out=_left_out(matrix, scored, documents, resolved, paired=paired),
    )


@dataclass(frozen=True, slots=True)
class RowsToRank:
    """The rows to rank, and what is known about them before systems are compared.

    rows: as `select_rows_by_recipe` leaves them. ratings_per_row: how many ratings each row stands for; None for one.
    n_ratings: number of judgments that were averaged. dropped, warnings: those of the steps so far, in their order.
    notes: notes to add to those of the ranking.
    """

    rows: Ratings
    unit: str
    n_ratings: int
    dropped: tuple[DroppedRowCount, ...]
    warnings: tuple[str, ...]
    segments: SegmentScoreTable
    ratings_per_row: Codes | None = None
    notes: tuple[str, ...] = ()


def rank_systems_from_averages(
    prepared: RowsToRank,
    matrices: tuple[ScoreMatrix, ScoreMatrix],
    evidence: PairwiseEvidence,
    relative: tuple[Floats, Floats] | None,
    resolved: Recipe,
    requested: Recipe,
    left_out: Sequence[LeaveOneOutDifferences] = (),
) -> Ranking:
    """Test, adjust and cluster, once scores are averaged and pairs are reduced to what they have in common.

    matrices : of the scores that the recipe ranks by and of the raw ones, systems in ranking order.
    relative : of `center_document_sums_across_systems`. resolved : the recipe that is followed; requested : the
    recipe as requested.
    """
    rows, (matrix, raw) = prepared.rows, matrices
    linked = design_checks.find_system_pairs_linked_by_raters(rows, matrix.systems)
    shared = replace(evidence.shared, linked=linked[list_all_system_pairs(len(linked))])
    evidence = replace(evidence, shared=shared)
    verdict = run_tests_and_decide_wins(matrix, shared, resolved, rows.better_sign)
    floor = caveats.compute_smallest_p_and_documents(verdict.tests, resolved, len(matrix.systems))
    caveat_warnings = caveats.make_data_caveats(
        rows, matrix, shared, verdict.tests, floor, resolved, prepared.ratings_per_row
    )
    sets = _rank_sets(matrix, rows, resolved, linked if caveats.is_significance_reachable(floor, resolved) else None)
    return Ranking(
        recipe=resolved,
        requested=requested,
        higher_is_better=rows.higher_is_better,
        unit=prepared.unit,
        n_ratings=prepared.n_ratings,
        hypotheses=caveats.count_hypotheses(resolved, len(matrix.systems)),
        smallest_p=floor.smallest,
        smallest_p_adjusted=floor.adjusted,
        documents_needed=floor.documents_needed,
        population=_population(rows, resolved),
        interval_kind="marginal",
        interval_level=1 - resolved.alpha,
        dropped=prepared.dropped,
        systems=ranking_rows.make_system_rows(rows, matrix, raw, verdict, sets, resolved, relative),
        pairs=make_pair_rows(rows, matrices, evidence, verdict, left_out, resolved),
        warnings=(
            *(*prepared.warnings, *caveat_warnings),
            *caveats.make_rank_set_caveats(sets, rows, resolved, floor),
        ),
        notes=(*NOTES, *assumption_caveats.make_distribution_shape_caveats(resolved), *prepared.notes),
        segments=prepared.segments,
    )


def _pair_evidence(matrix: ScoreMatrix, raw: ScoreMatrix, scored: Ratings, recipe: Recipe) -> PairwiseEvidence:
    """Return the evidence on pairs from their common segments. scored: the normalized rows behind `matrix`."""
    sign = scored.better_sign
    shared = reduce_pairs_to_common_segments(matrix, sign, unit=recipe.unit)
    paired = uses_common_segments(recipe, shared)

    def for_new_raters(known: EstimatePrecision) -> EstimatePrecision | None:
        if not matrix.systems.size or not does_recipe_average_over_raters(recipe):
            return None
        return estimate_precision_for_new_raters(scored, matrix, known, *list_all_system_pairs(len(matrix.systems)))

    return PairwiseEvidence(
        shared,
        shared if raw is matrix else reduce_pairs_to_common_segments(raw, sign, unit="document"),
        estimate_probability_of_superiority(raw, sign, paired=paired),
        for_new_raters,
    )


def does_recipe_average_over_raters(recipe: Recipe) -> bool:
    """Return whether segment scores are means over raters.

    They are not if they are medians, if one rating is chosen, or if each rating is its own segment.
    """
    return recipe.aggregate != "median" and recipe.repeats not in {"latest", "first", "separate"}


def _rank_sets(matrix: ScoreMatrix, ratings: Ratings, recipe: Recipe, comparable: Bools | None) -> RankSets | None:
    """Return rank sets; they contain every rank if `comparable` is None, because no pair can then be significant."""
    if not recipe.rank_sets or not ratings.documents_known or not matrix.systems.size:
        return None
    sums = ratings.better_sign * matrix.document_sums()
    if comparable is None:
        comparable = np.zeros((len(sums), len(sums)), dtype=np.bool_)
    return compute_rank_sets(
        sums, matrix.document_weights(), alpha=recipe.alpha, seed=recipe.seed, comparable=comparable
    )


def _left_out(
    matrix: ScoreMatrix, scored: Ratings, documents: DocumentTable | None, recipe: Recipe, *, paired: bool
) -> list[LeaveOneOutDifferences]:
    """Return differences without each rater, document and domain, as far as these are known."""
    if not recipe.influence or len(matrix.systems) < 2:
        return []
    sign = scored.better_sign
    median = recipe.aggregate == "median"
    influences = [
        influence.leave_out_each_rater(matrix, sign, scored, paired=paired, repeats=recipe.repeats, median=median)
    ]
    n_pairs = len(matrix.systems) * (len(matrix.systems) - 1) // 2
    if scored.documents_known and matrix.n_documents * n_pairs <= influence.MOST_CELLS:
        codes = scored.labels.segment_document[matrix.segments[matrix.starts]]
        keys = [scored.labels.documents[code] for code in codes]
        influences.append(influence.leave_out_each_document(matrix, sign, keys, paired=paired))
    if matrix.domain is not None and documents is not None:
        influences.append(
            influence.leave_out_each_domain(matrix, sign, documents.domain_codes_and_labels()[1], paired=paired)
        )
    return influences


RANK_RANGE_NOTE = "rank ranges count pairwise wins and losses; they are not simultaneous"
INFLUENCE_NOTE = (
    "a claim depends on the units without which the better system is no longer ahead; normalization is not repeated "
    "without them"
)
NOTES = (
    "intervals hold for one system or pair at a time and are not adjusted for their number",
    RANK_RANGE_NOTE,
    (
        "alpha holds for one look: with ten looks during a campaign, up to .19 of equal pairs are claimed at .05; "
        "look once, after closing"
    ),
    INFLUENCE_NOTE,
)
RATERS_DIFFER = "raters did not judge the same systems, so scores are not normalized: use the mixed model"


def _population(ratings: Ratings, recipe: Recipe) -> str:
    """Return the population that tests and intervals refer to: which units stand for new ones, and which are fixed."""
    by_document, by_segment = "documents=new, raters=these", "segments=new, raters=these"
    if not ratings.documents_known:
        return by_segment
    if recipe.unit == "segment" and recipe.test != "none":
        return f"tests: {by_segment}; intervals: {by_document}"
    return by_document


def _domains(ratings: Ratings, recipe: Recipe, documents: DocumentTable | None) -> Codes | None:
    """Return the domain of each document label; refuse a recipe that needs domains if no rated document has one."""
    if documents is not None and ratings.documents_known:
        rated = np.flatnonzero(np.bincount(ratings.document))
        if any(documents.domain[code] for code in rated):
            return documents.domain_codes_and_labels()[0]
    for name, needed in (("aggregate", recipe.aggregate == "macro_domain"), ("test", recipe.test in STRATIFIED_TESTS)):
        if needed:
            message = f"{getattr(recipe, name)} needs the domains of the documents, which are unknown"
            raise Invalid(message, places=(Place(("query", name), message),))
    return None


def _rows_to_aggregate(normalized: NormalizedRatings, recipe: Recipe) -> tuple[Ratings, Ratings]:
    """Return normalized and raw rows, with every rating as its own segment if the recipe says so."""
    if recipe.repeats != "separate":
        return normalized.scored, normalized.raw
    scored = treat_ratings_as_segments(normalized.scored)
    return scored, scored if normalized.raw is normalized.scored else treat_ratings_as_segments(normalized.raw)


def _judgments(ratings: Ratings) -> int:
    """Return the number of judgments; a judgment shared by identical outputs fills several rows."""
    return int(np.count_nonzero(np.bincount(ratings.judgment))) if len(ratings) else 0


def resolve_auto_normalization(
    ranked: Ratings, recipe: Recipe, share_of_documents_with_same_raters: Callable[[], float]
) -> tuple[Recipe, tuple[str, ...]]:
    """Settle `auto`: z if all raters saw the same mix of systems, otherwise none with a warning.

    share_of_documents_with_same_raters: that of `design_checks` for the ranked rows.

    Raises Invalid if scores that are already standardized would be normalized again.
    """
    if ranked.standardised and recipe.normalize not in ("auto", "none"):
        message = "the scores are already standardized; use `normalize=none`"
        raise Invalid(message, places=(Place(("query", "normalize"), message),))
    if ranked.standardised:
        return replace(recipe, normalize="none"), ()
    if recipe.normalize != "auto":
        return recipe, ()
    if share_of_documents_with_same_raters() >= design_checks.COMPARABLE_SHARE:
        return replace(recipe, normalize="z"), ()
    warnings = (RATERS_DIFFER,) if len(ranked) else ()
    return replace(recipe, normalize="none"), warnings


def _order(matrix: ScoreMatrix, sign: int) -> Indices:
    """Return the order of the systems, best first; equal scores in the order of the keys."""
    return np.lexsort((matrix.systems, -sign * round_scores(matrix.system_means())))


def _resolve_test(matrix: ScoreMatrix, ratings: Ratings, recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe with the test that the data support, or refuse a test that they do not."""
    if recipe.test == "none" or len(matrix.systems) < 2:
        return recipe, ()
    if recipe.unit == "document" and not ratings.documents_known:
        if recipe.test == "bootstrap" and recipe.fallback:
            warning = (
                "documents are unknown, so segments are drawn instead of documents, which claims too much if segments "
                "of a document are alike; import the documents if there are any"
            )
            return replace(recipe, unit="segment"), (warning,)
        instead = replace(recipe, test="rank_sum", unit="segment")
        return _replace_choice(recipe, instead, "documents are unknown", "a document-level test")
    if (recipe.test in PAIRED_TESTS or recipe.matched_only) and design_checks.has_no_common_segments(matrix):
        return _replace_paired_test(recipe)
    return recipe, ()


def _replace_paired_test(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    instead = replace(recipe, test="welch", unit="document")
    return _replace_choice(recipe, instead, "unpaired design: no two systems share a segment", "a paired test")


def refuse_paired_test(recipe: Recipe) -> None:
    """Raise the Invalid of a paired test on systems that do not share a segment."""
    _replace_paired_test(replace(recipe, fallback=False))


_MEANING = {"rank_sum": "the rank-sum test on segments", "welch": "Welch's t on document means"}


def _replace_choice(recipe: Recipe, instead: Recipe, why: str, what: str) -> tuple[Recipe, tuple[str, ...]]:
    named = _MEANING[instead.test]
    if recipe.fallback:
        # The joint permutation is of paired signs, whereas Holm can adjust any p-values.
        adjusted = replace(instead, adjust="holm") if instead.adjust == "maxT" else instead
        return adjusted, (f"{why}; {named} was used instead of {what}",)
    message = f"{why}, so {what} is impossible; use test={instead.test}&unit={instead.unit}, {named}"
    raise Invalid(message, places=(Place(("query", "test"), message),))
