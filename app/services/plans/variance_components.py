"""The variance components for a plan's forecast: a pilot's, those in its settings, its own, or published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.domain.errors import Invalid, Place
from app.domain.recipe import NAMED
from app.reports.inputs.campaign import CampaignInfo
from app.reports.inputs.recipe_ratings import load_recipe_ratings
from app.reports.inputs.snapshot import CampaignSnapshot, load_snapshot
from app.stats.components.fit_for_forecast import (
    FEWEST_RATINGS,
    fit_forecast_variance_components,
    parse_forecast_variance_components,
)
from app.stats.planning.forecast_components import ForecastVarianceComponents
from app.stats.planning.power_and_cost import (
    BETWEEN,
    NoVarianceComponents,
    VarianceComponents,
    get_default_variance_components,
)
from app.stats.selection import select_rows_by_recipe
from app.storage import weight_profiles
from app.storage.db import Session

SETTING = "components"


def load_or_fit_forecast_components(
    session: Session, view: CampaignInfo, pilot: str | None = None, *, version: int | None = None
) -> ForecastVarianceComponents:
    """Load the components for a plan of this campaign.

    pilot: key of the campaign whose judgments they come from; the caller checks that it may be read. version: the data
    version of the judgments, of the pilot if there is one, else of the campaign.

    Without a pilot, the first available of these is used: the campaign's setting `components`, which holds values under
    the names of the components report, with `system` for the variance between systems and `source` for their origin;
    the campaign's own judgments, if there are at least FEWEST_RATINGS; published components of the same protocol, never
    those of another scale.

    Raises NotFound for an unknown pilot, Invalid for a pilot that says nothing about this campaign.
    """
    if pilot is not None:
        return _load_pilot_components(session, view, load_snapshot(session, pilot, version))
    given = parse_forecast_variance_components(view.settings.get(SETTING))
    if given is not None:
        return given
    own = _fit_own_components(session, load_snapshot(session, view.key, version))
    if own is not None:
        return own
    try:
        return ForecastVarianceComponents(get_default_variance_components(view.protocol), BETWEEN.get(view.protocol))
    except NoVarianceComponents as error:
        return ForecastVarianceComponents(None, why=error.detail or error.title())


def parse_pilot_components_from_report(report: Mapping[str, Any]) -> ForecastVarianceComponents | None:
    """Read a plan's pilot from its report for the campaign's next plan, without reading the pilot itself again.

    Return None if the plan had no pilot.
    """
    told, forecast = report.get("pilot"), report.get("forecast")
    if not told or not forecast or "components" not in forecast:
        return None
    again = {**told, "resampled": None, "why_not_resampled": "a replan does not read the pilot again"}
    return ForecastVarianceComponents(
        VarianceComponents(**forecast["components"]), told["between_systems"], pilot_report=again
    )


def _load_pilot_components(
    session: Session, view: CampaignInfo, snapshot: CampaignSnapshot
) -> ForecastVarianceComponents:
    campaign = snapshot.campaign
    if campaign.protocol != view.protocol:
        raise _unfit_pilot(f"is judged by {campaign.protocol}, this campaign by {view.protocol}")
    components = _fit_own_components(session, snapshot)
    if components is None or components.components is None or components.pilot_ratings is None:
        what = f"needs {FEWEST_RATINGS} ratings of two systems that its ranking counts, and to have been ranked once"
        raise _unfit_pilot(what)
    told = {
        "campaign": campaign.key,
        "data_version": snapshot.version,
        "ratings": len(components.pilot_ratings),
        "documents": len(set(components.pilot_ratings.document.tolist())),
        "between_systems": components.between_systems,
    }
    source = components.components.source.replace("own judgments", "pilot")
    notes = components.notes
    if campaign.options != view.options:
        notes = (*notes, f"the pilot {campaign.key} has other options of the protocol: its unit may be another")
    return replace(components, components=replace(components.components, source=source), notes=notes, pilot_report=told)


def _unfit_pilot(what: str) -> Invalid:
    return Invalid("the query is not valid", places=(Place(("query", "pilot"), what),))


def _fit_own_components(session: Session, snapshot: CampaignSnapshot) -> ForecastVarianceComponents | None:
    recipe = NAMED["recommended"]
    # A preview of a plan may run in a read-only transaction.
    if not weight_profiles.has_any_scored_judgment(session, snapshot.campaign_id):
        return None
    try:
        selection = select_rows_by_recipe(load_recipe_ratings(session, snapshot, recipe), recipe)
    except Invalid:
        return None
    return fit_forecast_variance_components(selection.ratings.where(selection.ranked), snapshot.campaign.key)
