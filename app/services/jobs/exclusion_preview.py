"""The preview of an exclusion, if it takes long: a job whose two chunks are the rankings before and after.

Each ranking is also stored as an ordinary ranking, and each chunk contains the forecast for its ranking.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from app.domain.recipe import ExclusionTarget, Recipe
from app.reports.exclusion_preview.forecasts import (
    StabilityBeforeAndAfter,
    StabilityForecast,
    forecast_stability_by_recipe,
)
from app.reports.inputs.exclusions_and_lock import parse_stored_recipe
from app.reports.kit.report import ReportComputation
from app.reports.kit.store import make_report_key_from_parts
from app.reports.ranking import view as ranking_view
from app.reports.ranking.view import RankingView
from app.services.campaigns import exclusions
from app.services.campaigns.exclusions import ExclusionEffect, RankingPair
from app.services.jobs import jobs, rankings
from app.services.jobs.jobs import JobRequest, JobView
from app.stats.ranking.result import METHOD_VERSION
from app.storage import reports as stored
from app.storage.db import Database

KIND = "exclusion"


class StoredRankingWithForecast(BaseModel):
    """A stored ranking and its forecast."""

    model_config = ConfigDict(frozen=True)

    view: RankingView
    stability: StabilityForecast


class StoredExclusionPreview(BaseModel):
    """A stored preview."""

    model_config = ConfigDict(frozen=True)

    recipe: str
    before: StoredRankingWithForecast
    after: StoredRankingWithForecast


def parse_stored_exclusion_preview(body: bytes) -> ExclusionEffect:
    """Return the preview of a stored report."""
    kept = StoredExclusionPreview.model_validate_json(body)
    sure = StabilityBeforeAndAfter(kept.before.stability, kept.after.stability)
    return exclusions.make_exclusion_effect(kept.recipe, kept.before.view, kept.after.view, sure)


def find_or_queue_exclusion_preview(
    database: Database, campaign: str, wanted: ExclusionTarget, *, recipe: Recipe
) -> ExclusionEffect | JobView:
    """Return the preview if its rankings are stored or can be made quickly, else the job that makes it.

    Raises the errors of `exclusions.preview_exclusion`, and the error for which a worker has refused the recipe.
    """
    with database.transaction(snapshot=True) as session:
        both = exclusions.look_up_preview_rankings(session, campaign, wanted, recipe)
        is_long = rankings.do_missing_rankings_need_job(
            session, both
        )  # forecasts are quick: .2 s for 60 systems and 180 documents
    if not is_long:
        return exclusions.compute_exclusion_effect(database, both)
    about, given = both[0].about, {"recipes": [[one.recipe.as_json(), one.key.recipe_hash] for one in both]}
    return jobs.request_job(
        database, JobRequest(KIND, _key(both), {about.campaign.key: about.version}, given, role="manager")
    )


def _key(both: RankingPair) -> stored.ReportKey:
    about, parts = both[0].about, [one.key.recipe_hash for one in both]
    seed = both[0].recipe.seed
    return make_report_key_from_parts(
        about.campaign_id, KIND, about.version, parts, seed=seed, method_version=METHOD_VERSION
    )


def make_exclusion_preview_computation(
    database: Database, request: JobRequest
) -> ReportComputation[StoredExclusionPreview]:
    """Return the work of a job, with a ranking and its forecast for each chunk.

    Its chunks raise JobInputsChanged, Invalid.
    """
    ((campaign, version),) = request.campaigns.items()
    recipes = [(parse_stored_recipe(recipe), told) for recipe, told in request.arguments["recipes"]]

    def chunk(n: int) -> bytes:
        recipe, told = recipes[n]
        made = rankings.find_or_compute_ranking_in_job(
            database, campaign, recipe, version=version, requested_recipe_hash=told
        )
        (sure,) = forecast_stability_by_recipe(database, campaign, [recipe], as_of=version)
        return (
            StoredRankingWithForecast(view=ranking_view.parse_ranking_view_json(made.body), stability=sure)
            .model_dump_json()
            .encode()
        )

    def finish(parts: Sequence[bytes]) -> StoredExclusionPreview:
        before, after = (StoredRankingWithForecast.model_validate_json(part) for part in parts)
        return StoredExclusionPreview(recipe=recipes[0][0].name, before=before, after=after)

    return ReportComputation(len(recipes), chunk, finish)
