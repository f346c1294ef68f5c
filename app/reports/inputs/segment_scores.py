"""Segment scores: those that a recipe ranks, or those of an automatic metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.errors import Invalid, Place
from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.recipe_input import RecipeInput
from app.stats.normalize import Method, compute_moments_per_rater, normalize_ratings
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings
from app.stats.selection import DroppedRowCount, drop_excluded_ratings, mask_excluded_rows, select_rows_by_recipe
from app.storage import metric_scores as stored
from app.storage import rating_metadata, system_descriptions
from app.storage.db import Session

OF_SYSTEMS = (
    "metric {0} has no scores of outputs, and those of whole systems say nothing of documents; store scores of outputs"
)


@dataclass(frozen=True, slots=True)
class RaterOrMetricScores:
    """Segment scores with facts about them. dropped: rows left out; data_hash: of the remaining rows."""

    rows: Ratings
    documents: DocumentTable
    dropped: tuple[DroppedRowCount, ...]
    warnings: tuple[str, ...]
    data_hash: str


def make_rater_segment_scores(inputs: RecipeInput, normalization: Method) -> RaterOrMetricScores:
    """Return the scores that raters gave, for the rows that the recipe ranks."""
    chosen = select_rows_by_recipe(inputs.rows, inputs.recipe)
    rows = chosen.ratings.where(chosen.ranked).segment_ratings()
    scored = normalize_ratings(rows, normalization, moments=compute_moments_per_rater(rows))
    return RaterOrMetricScores(
        scored.scored, inputs.documents, chosen.dropped, tuple(scored.warnings), inputs.data_hash
    )


def load_metric_scores(session: Session, inputs: RecipeInput, metric: str) -> RaterOrMetricScores:
    """Load all output scores of a metric, in its own unit, without systems and documents that the recipe leaves out.

    Raises Invalid if the campaign did not have this metric at this data version.
    """
    snapshot = inputs.snapshot
    known = {
        row.metric: row
        for row in stored.load_metrics_with_score_counts(session, snapshot.campaign_id, snapshot.version)
    }
    if metric not in known:
        there = f"there are: {', '.join(known)}" if known else "none has scores here"
        raise Invalid("the query is not valid", places=(Place(("query", "metric"), f"no such metric; {there}"),))
    scores = stored.load_metric_score_set(session, snapshot.campaign_id, metric, known[metric].version)
    every = _make_ratings(
        [row for row in scores if row.document is not None], known[metric], inputs.rows.documents_known
    )
    named = [one for one in inputs.recipe.exclude if one.what in ("system", "document")]
    rows, dropped = every, []
    for exclusion in named:
        out = mask_excluded_rows(rows, exclusion)
        dropped.append(DroppedRowCount(f"excluded {exclusion.what}:{exclusion.key}", int(out.sum())))
        rows = rows.where(~out)
    documents = rating_metadata.load_document_table(session, snapshot.campaign_id, every.labels)
    digest = hash_report_data(
        drop_excluded_ratings(every, named),
        documents,
        system_descriptions.load_system_descriptions(session, snapshot.campaign_id),
    )
    warnings = () if len(every) else (OF_SYSTEMS.format(metric),)
    return RaterOrMetricScores(rows, documents, tuple(one for one in dropped if one.n), warnings, digest)


def _make_ratings(scores: Sequence[stored.Row], metric: stored.Row, documents_known: bool) -> Ratings:
    return Ratings.from_columns(
        system=[row.system for row in scores],
        document=[row.document for row in scores],
        position=[row.position for row in scores],
        rater=[metric.metric] * len(scores),
        score=[row.score for row in scores],
        higher_is_better=metric.higher_is_better,
        documents_known=documents_known,
    )
