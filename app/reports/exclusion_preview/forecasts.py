"""Whether a ranking would be found again, with and without what an exclusion would leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.errors import Invalid
from app.domain.recipe import Recipe
from app.reports.inputs import recipe_ratings, snapshot
from app.reports.inputs.registration import add_standing_exclusions, load_exclusions_and_lock
from app.stats.planning.pilot import forecast_srp_by_bootstrap, prepare_pilot_ratings
from app.stats.ratings import Ratings
from app.stats.selection import select_rows_by_recipe
from app.storage.db import Database

STUDIES = 250
STREAM = 7
"""Of the recipe's seed: both forecasts draw alike, so that they differ by what is left out and not by chance."""
NO_DOCUMENTS = "documents are unknown, so none can be resampled; import the documents if there are any"


@dataclass(frozen=True, slots=True)
class StabilityForecast:
    """A forecast from documents drawn again. srp: share of pairs of studies where what is significant in
    one has the same order in the other (Riley et al. 2024, §5); mc_error: of it, by finitely many studies.

    claims: significant pairs in a study, on average. documents: that all systems were rated on. All but `why` None
    where nothing can be forecast, for the reason in `why`.
    """

    srp: float | None = None
    mc_error: float | None = None
    claims: float | None = None
    documents: int | None = None
    studies: int | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class StabilityBeforeAndAfter:
    """Before and after."""

    before: StabilityForecast
    after: StabilityForecast


def forecast_stability(
    database: Database, campaign: str, recipes: Sequence[Recipe], *, as_of: int
) -> list[StabilityForecast]:
    """Forecast the ranking under each recipe from the documents of the same data version. Nothing is stored.

    recipes: of the same scores. Raises NotFound for an unknown campaign, Invalid where a recipe does not fit it.
    """
    with database.transaction(snapshot=True) as session:
        at_data_version = snapshot.load_snapshot(session, campaign, as_of)
        stands = load_exclusions_and_lock(session, at_data_version.campaign_id, at_data_version.version)
    with database.transaction() as session:  # scores under a profile that nobody read yet are derived and kept
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
