"""Whether a new study would find the same ranking, with and without the data that an exclusion would remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import Recipe
from app.reports.inputs import recipe_ratings, snapshot
from app.reports.inputs.exclusions_and_lock import add_standing_exclusions, load_exclusions_and_lock
from app.stats.planning.pilot import forecast_srp_by_bootstrap, prepare_pilot_ratings
from app.stats.ratings import Ratings
from app.stats.selection import select_rows_by_recipe
from app.storage.db import Database

STUDIES = 250
STREAM = 7
"""A substream of the recipe's seed. Both forecasts use the same draws, so they differ only by what is left out."""
NO_DOCUMENTS = "documents are unknown, so none can be resampled; import the documents if there are any"


@dataclass(frozen=True, slots=True)
class StabilityForecast:
    """A forecast from resampled documents.

    srp: share of pairs of studies in which the pairs significant in one study have the same order in the other (Riley
    et al. 2024, §5). mc_error: its Monte-Carlo error. claims: mean number of significant pairs in a study. documents:
    number of documents on which all systems were rated. All but `why` are None if no forecast is possible; `why` is the
    reason.
    """

    srp: float | None = None
    mc_error: float | None = None
    claims: float | None = None
    documents: int | None = None
    studies: int | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class StabilityBeforeAndAfter:
    """The forecasts before and after an exclusion."""

    before: StabilityForecast
    after: StabilityForecast


def forecast_stability_by_recipe(
    database: Database, campaign: str, recipes: Sequence[Recipe], *, as_of: int
) -> list[StabilityForecast]:
    """Forecast the ranking under each recipe from the documents of the same data version; store nothing.

    All recipes must use the same scores. Raises NotFound for an unknown campaign, Invalid if a recipe does not fit it.
    """
    with database.transaction(snapshot=True) as session:
        at_data_version = snapshot.load_snapshot(session, campaign, as_of)
        stands = load_exclusions_and_lock(session, at_data_version.campaign_id, at_data_version.version)
    with database.transaction() as session:  # scores under a new profile are derived and stored
        rows = recipe_ratings.load_recipe_ratings(session, at_data_version, recipes[0])
    return [_forecast(rows, add_standing_exclusions(recipe, stands)) for recipe in recipes]


def _forecast(rows: Ratings, recipe: Recipe) -> StabilityForecast:
    chosen = select_rows_by_recipe(rows, recipe)
    ratings = chosen.ratings.where(chosen.ranked)
    if not ratings.documents_known:
        return StabilityForecast(why=NO_DOCUMENTS)
    try:
        source = prepare_pilot_ratings(ratings)
    except Invalid as error:
        return StabilityForecast(why=": ".join(filter(None, (error.title(), error.detail))))
    rng = np.random.default_rng([recipe.seed, STREAM])
    outlook = forecast_srp_by_bootstrap(source, alpha=recipe.alpha, studies=STUDIES, rng=rng)
    return StabilityForecast(
        outlook.srp, outlook.mc_error, outlook.mean_significant_pairs, outlook.documents, outlook.studies
    )
