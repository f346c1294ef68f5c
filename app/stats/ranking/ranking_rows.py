"""Make the rows of a ranking from arrays."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from app.domain.recipe import Recipe
from app.stats.aggregate import ScoreMatrix, SegmentScores, round_scores
from app.stats.inference.by_document import compute_effective_document_count
from app.stats.plain_values import Interval, interval_or_none, number_or_none
from app.stats.ranking.clusters import assign_clusters, compute_rank_ranges
from app.stats.ranking.rank_sets import RankSets
from app.stats.ranking.result import SegmentScoreTable, SystemRow
from app.stats.ratings import Floats, Ratings
from app.stats.testing import resampling
from app.stats.testing.wins import AdjustedTestResults


def make_system_rows(
    ratings: Ratings,
    matrix: ScoreMatrix,
    raw: ScoreMatrix,
    verdict: AdjustedTestResults,
    sets: RankSets | None,
    recipe: Recipe,
    relative_sums: tuple[Floats, Floats] | None,
) -> tuple[SystemRow, ...]:
    """Return one row per system, in ranking order.

    relative_sums: of `intervals.center_document_sums_across_systems`.
    """
    if not matrix.systems.size:
        return ()
    scores, counts = matrix.system_means(), matrix.n_segments_by_system()
    raw_means = raw.system_means()
    tested = recipe.test != "none"
    wins = verdict.wins
    cluster = assign_clusters(wins, recipe.clusters, separated=verdict.different) if tested else None
    ranges = compute_rank_ranges(wins, recipe.clusters)
    ranks = _mean_ranks(round_scores(scores))
    documents = (matrix.n_segments_by_document() > 0).sum(axis=1)
    effective = compute_effective_document_count(matrix.document_weights())
    known = ratings.documents_known
    own = _marginal(matrix, recipe, known=known)
    relative, relative_intervals = _relative(matrix, relative_sums, recipe, known=known)
    return tuple(
        SystemRow(
            system=ratings.labels.systems[code],
            rank=ranks[i],
            cluster=cluster[i] if cluster else None,
            rank_range=ranges[i] if tested else None,
            rank_set=(int(sets.first[i]), int(sets.last[i])) if sets else None,
            score=float(scores[i]),
            raw=float(raw_means[i]),
            interval=own[i],
            relative=relative[i],
            relative_interval=relative_intervals[i],
            n_segments=int(counts[i]),
            n_documents=int(documents[i]) if known else None,
            effective_documents=float(effective[i]) if known else None,
            n_ratings=int(matrix.n[i]),
            wins=int(wins[i].sum()),
            losses=int(wins[:, i].sum()),
        )
        for i, code in enumerate(matrix.systems)
    )


def make_segment_score_table(ratings: Ratings, scores: SegmentScores, raw: SegmentScores) -> SegmentScoreTable:
    """Return segment scores with their raw counterparts; the rows of `scores` are among those of `raw`."""
    score = scores.score
    if raw is not scores:
        size = np.int64(max(len(ratings.labels.segment_document), 1))
        keys = [s.system.astype(np.int64) * size + s.segment for s in (raw, scores)]
        score = np.full(raw.score.size, np.nan)
        score[np.searchsorted(keys[0], keys[1])] = scores.score
    return SegmentScoreTable(
        systems=ratings.labels.systems,
        documents=ratings.labels.documents,
        system=raw.system,
        document=ratings.labels.segment_document[raw.segment],
        position=ratings.labels.segment_position[raw.segment],
        score=score,
        raw=raw.score,
        n=raw.n,
    )


def _marginal(matrix: ScoreMatrix, recipe: Recipe, *, known: bool) -> list[Interval | None]:
    if not known:
        return [None] * len(matrix.systems)
    return _intervals(matrix.document_sums(), matrix.document_weights(), recipe)


def _relative(
    matrix: ScoreMatrix, relative: tuple[Floats, Floats] | None, recipe: Recipe, *, known: bool
) -> tuple[list[float | None], list[Interval | None]]:
    nothing: list[Interval | None] = [None] * len(matrix.systems)
    if relative is None:
        return [None] * len(matrix.systems), nothing
    sums, weights = relative
    values = sums.sum(axis=1) / weights.sum(axis=1)
    return [number_or_none(v) for v in values], _intervals(sums, weights, recipe) if known else nothing


def _intervals(sums: Floats, weights: Floats, recipe: Recipe) -> list[Interval | None]:
    low, high = resampling.compute_bootstrap_intervals(
        sums, weights, alpha=recipe.alpha, kind=recipe.interval, seed=recipe.seed
    )
    return [interval_or_none(a, b) for a, b in zip(low, high, strict=True)]


def _mean_ranks(scores: Floats) -> list[float]:
    """Return ranks, from 1, of scores in ranking order; equal scores share the mean of their ranks."""
    edges = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1], [True])))
    return [float((a + 1 + b) / 2) for a, b in pairwise(edges) for _ in range(b - a)]
