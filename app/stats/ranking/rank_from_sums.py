"""The ranking of a campaign that does not fit into memory, from sums by rater and block by block.

Sums over all rows settle the normalization and give the raters' moments. Then every block of documents is normalized,
averaged and reduced by the functions that rank a whole campaign (`document_totals`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np

from app.domain.recipe import Recipe
from app.stats.inference.by_document import EstimatePrecision
from app.stats.inference.rater_totals import estimate_precision_from_rater_totals
from app.stats.normalize import NormalizedRatings, RaterMoments, normalize_ratings
from app.stats.ranking import ranking
from app.stats.ranking.document_totals import CampaignTotals, combine_block_totals, sum_document_block
from app.stats.ranking.pair_rows import PairwiseEvidence
from app.stats.ranking.ranking import RowsToRank, rank_systems_from_averages
from app.stats.ranking.result import Ranking, SegmentScoreTable
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Codes, Ratings
from app.stats.selection import DroppedRowCount, can_select_rows_independently
from app.stats.testing.common_segments import list_all_system_pairs

_BESIDE = (("rank_sets", "simultaneous rank sets"), ("influence", "influence of raters, documents and domains"))


class SummableRatings(Protocol):
    """Ratings of one recipe that can be summed where they are stored; codes are those of `labels`."""

    def count_dropped_rows(self) -> tuple[DroppedRowCount, ...]:
        """Return the number of rows left out by reason, as `select_rows_by_recipe` counts them.

        Raises Invalid if an exclusion names nothing.
        """

    def summarize_ranked_ratings_by_rater_and_system(self) -> tuple[Ratings, Codes]:
        """Return one row per rater and system of the ranked ratings, and how many ratings each row stands for."""

    def share_of_documents_with_same_raters(self) -> float:
        """Return the share of `design_checks` for the ranked ratings."""

    def compute_rater_moments(self) -> RaterMoments:
        """Return the moments of every rater over the rows that the recipe takes them from."""

    def count_ranked_judgments(self, without_raters: Codes) -> int:
        """Return the number of judgments behind the ranked ratings, without those of some raters."""

    def iterate_ranking_input_blocks(self) -> Iterator[Ratings]:
        """Yield the ranked ratings in canonical order, some whole documents at a time, in the order of their codes."""


def can_rank_from_sums(recipe: Recipe, *, documents_known: bool) -> bool:
    """Return whether a recipe can be followed block by block: it tests whole documents by permutation.

    Rank sets and influence are not computed; the ranking has a note about this.
    """
    return (
        documents_known
        and (recipe.test, recipe.unit) == ("permutation", "document")
        and recipe.aggregate in {"mean", "median"}
        and recipe.repeats != "separate"
        and recipe.normalize in {"auto", "none", "z"}
        and recipe.sd0 != "drop_z"
        and recipe.moments != "calibration"
        and can_select_rows_independently(recipe)
    )


def drop_recipe_choices_needing_rows(recipe: Recipe) -> Recipe:
    """Return the recipe without the choices that cannot be computed from sums."""
    return replace(recipe, rank_sets=False, influence=False)


def rank_from_sums(
    source: SummableRatings, recipe: Recipe, documents: DocumentTable | None, notes: tuple[str, ...] = ()
) -> Ranking:
    """Rank as `rank_systems` does, without rank sets, influence and segment scores.

    Parameters
    ----------
    recipe : one that `can_rank_from_sums` accepts.
    documents : domains by document code.
    notes : notes to add to those of the ranking.

    Figures equal those of `rank_systems` to ten digits only, because sums are taken in another order.

    Raises
    ------
    Invalid : as `rank_systems`.
    """
    dropped = source.count_dropped_rows()
    ranked, ratings_per_row = source.summarize_ranked_ratings_by_rater_and_system()
    resolved, warnings = ranking.resolve_auto_normalization(ranked, recipe, source.share_of_documents_with_same_raters)
    resolved = drop_recipe_choices_needing_rows(resolved)
    moments = source.compute_rater_moments() if resolved.normalize == "z" else None
    left_out = np.empty(0, dtype=np.int32)
    if moments is not None:
        settled = normalize_ratings(ranked, "z", moments=moments, sd0=resolved.sd0)
        warnings = (*warnings, *settled.warnings)
        if resolved.sd0 == "drop":
            left_out = np.flatnonzero(moments.constant_score_rater_mask).astype(np.int32)
    counted = ranked.where(~np.isin(ranked.rater, left_out))
    systems = np.unique(counted.system)
    totals = _sum_blocks(source, resolved, moments, systems, documents, ranked.better_sign)
    n_dropped = 0 if totals is None else totals.n_dropped
    about = RowsToRank(
        ranked,
        unit="raw" if moments is None else "z",
        n_ratings=source.count_ranked_judgments(left_out),
        dropped=(*dropped, DroppedRowCount("constant rater", n_dropped)),
        warnings=warnings,
        segments=_no_segments(ranked),
        ratings_per_row=ratings_per_row,
        notes=(*notes, *_notes(recipe)),
    )
    if totals is None:
        nothing = ranking.rank_systems(ranked.where(np.zeros(len(ranked), dtype=np.bool_)), resolved, documents)
        return replace(nothing, requested=recipe, dropped=about.dropped)
    if systems.size > 1 and not totals.shared.segments.any():
        ranking.refuse_paired_test(resolved)
    evidence = PairwiseEvidence(totals.shared, totals.raw_shared, totals.chances, _for_new_raters(totals, resolved))
    return rank_systems_from_averages(about, (totals.matrix, totals.raw), evidence, totals.relative, resolved, recipe)


def _sum_blocks(
    source: SummableRatings,
    recipe: Recipe,
    moments: RaterMoments | None,
    systems: Codes,
    documents: DocumentTable | None,
    sign: int,
) -> CampaignTotals | None:
    """Return the totals of all blocks; None if no rating counts."""
    by_rater = ranking.does_recipe_average_over_raters(recipe)
    blocks = []
    for rows in source.iterate_ranking_input_blocks():
        normalized = NormalizedRatings(rows, rows, "raw", 0, 0, ())
        if moments is not None:
            normalized = normalize_ratings(rows, "z", moments=moments, sd0=recipe.sd0)
        if len(normalized.scored):
            blocks.append(sum_document_block(normalized, recipe, systems, by_rater=by_rater))
    if not blocks:
        return None
    domains = None
    if documents is not None and any(documents.domain[code] for block in blocks for code in block.documents):
        domains = documents.domain_codes_and_labels()[0]
    return combine_block_totals(blocks, systems, sign, scaled=moments is not None, domains=domains)


def _for_new_raters(totals: CampaignTotals, recipe: Recipe) -> Callable[[EstimatePrecision], EstimatePrecision | None]:
    def for_new_raters(known: EstimatePrecision) -> EstimatePrecision | None:
        if not ranking.does_recipe_average_over_raters(recipe):
            return None
        pairs = list_all_system_pairs(totals.order.size)
        return estimate_precision_from_rater_totals(totals.visits, totals.n_scored, known, *pairs, totals.order)

    return for_new_raters


def _no_segments(ratings: Ratings) -> SegmentScoreTable:
    """Return an empty table, because segment scores are not kept."""
    none, nothing = np.empty(0, dtype=np.int32), np.empty(0)
    labels = ratings.labels
    return SegmentScoreTable(labels.systems, labels.documents, none, none, none, nothing, nothing, none)


def _notes(recipe: Recipe) -> tuple[str, ...]:
    """Return a note on what was requested but is not computed."""
    lacking = [what for name, what in _BESIDE if getattr(recipe, name)]
    return (f"not computed from sums: {', '.join(lacking)}",) if lacking else ()
