"""The ratings that a recipe uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import Recipe
from app.reports.inputs.scores import ScoreDefinition, load_scored_ratings, resolve_score_definition
from app.reports.inputs.snapshot import CampaignSnapshot
from app.stats.ranking.errors_without_weight import ErrorsWithoutWeight
from app.stats.ratings import RatingLevel, Ratings
from app.storage import errors_without_weight as unweighed
from app.storage.db import Session
from app.storage.rating_codes import Ints


def load_recipe_ratings(session: Session, snapshot: CampaignSnapshot, recipe: Recipe) -> Ratings:
    """Load the ratings that a recipe uses; derive them first if they are not yet stored under its weight profile."""
    return load_ratings_with_judgment_ids(session, snapshot, recipe)[0]


def load_ratings_with_judgment_ids(
    session: Session, snapshot: CampaignSnapshot, recipe: Recipe
) -> tuple[Ratings, Ints, ScoreDefinition]:
    """Load the same ratings with the id of each row's judgment, and the score definition."""
    read = resolve_score_definition(snapshot.campaign, recipe.scoring)
    if not read.protocol.ranks:
        raise Invalid(f"judgments by {read.protocol.name} rank nothing")
    loaded, _ = load_scored_ratings(session, snapshot, read)
    rows, ids = loaded.ratings, loaded.judgment_ids
    if read.protocol.level == "document":
        rows, ids = rows.document_ratings_as_segments(), ids[rows.kind == RatingLevel.DOCUMENT]
    cap = recipe.scoring.cap
    if cap is not None:
        capped = rows.with_scores(np.minimum(rows.score, cap))
        order = capped.canonical_order_indices()
        rows, ids = capped.in_canonical_order(order), ids[order]
    return rows, ids, read


@dataclass(frozen=True, slots=True)
class RatingsAndErrorsWithoutWeight:
    """Ratings as returned by `load_recipe_ratings`, with the errors that have no weight.

    errors_without_weight: None if scores do not come from errors, or none are marked.
    """

    rows: Ratings
    ids: Ints
    reading: ScoreDefinition
    errors_without_weight: ErrorsWithoutWeight | None


def load_ratings_and_errors_without_weight(
    session: Session, snapshot: CampaignSnapshot, recipe: Recipe
) -> RatingsAndErrorsWithoutWeight:
    """Load the same ratings as `load_recipe_ratings`, with the errors for which its weight table has no weight."""
    rows, ids, scores = load_ratings_with_judgment_ids(session, snapshot, recipe)
    if not scores.measure.uses_profile or rows.n_errors.max(initial=0) <= 0:
        return RatingsAndErrorsWithoutWeight(rows, ids, scores, None)
    unknown = unweighed.load_errors_without_weight(
        session, snapshot.campaign_id, rows.judgment, ids, scores.options.profile
    )
    return RatingsAndErrorsWithoutWeight(rows, ids, scores, unknown)
