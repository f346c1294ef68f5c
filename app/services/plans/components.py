"""Which variance components a plan is forecast with: a pilot's, those of its settings, its own, else published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.domain.errors import Invalid, Place
from app.domain.recipe import NAMED
from app.reports.source.campaign import CampaignInfo
from app.reports.source.recipe_ratings import load_recipe_ratings
from app.reports.source.snapshot import Snapshot, load_snapshot
from app.stats.components.fit import CannotModel, fit_components
from app.stats.components.generalizability import (
    mean_ratings_per_item,
    planning_components,
    planning_components_of_fit,
    system_variance,
)
from app.stats.components.terms import RESIDUAL, TERMS
from app.stats.planning.planning import BETWEEN, NoComponents, VarianceComponents, default_components
from app.stats.ratings import Ratings
from app.stats.selection import select_rows
from app.storage import profiles
from app.storage.db import Session

SETTING = "components"
MOST_ROWS = 5_000
"""Ratings that components are fitted to while somebody waits for a plan; of more a part of the documents."""

FEWEST_RATINGS = 100
RATED_ONCE = ("components from outputs rated once: rater variance is partly attributed to documents and outputs",)


@dataclass(frozen=True, slots=True)
class PilotComponents:
    """Components, and the variance between systems beside them (None where unknown), or why there are none.

    pilot: the judgments of the pilot that was named, whose documents can be drawn again. told: what a plan says of it.
    """

    components: VarianceComponents | None
    between: float | None = None
    why: str | None = None
    notes: tuple[str, ...] = ()
    pilot: Ratings | None = None
    told: Mapping[str, object] | None = None


def load_pilot_components(
    session: Session, view: CampaignInfo, pilot: str | None = None, *, version: int | None = None
) -> PilotComponents:
    """The components for a plan of this campaign.

    pilot: key of the campaign whose judgments they are of; that it may be read is checked by who asks. version: of the
    data whose judgments count, the pilot's where there is one, else the campaign's own. Without a pilot:
    The campaign's setting `components` holds values, by the names of the components report, with `system` for the
    variance between systems and `source` for where they come from, as of a pilot. Else the campaign's own judgments
    where there are at least FEWEST_RATINGS. Else published ones of the same protocol; never those of another scale.

    Raises NotFound for a pilot that is not there, Invalid for one that tells nothing about this campaign.
    """
    if pilot is not None:
        return _load_pilot_components(session, view, load_snapshot(session, pilot, version))
    given = _parse_components(view.settings.get(SETTING))
    if given is not None:
        return given
    own = _fit_own_components(session, load_snapshot(session, view.key, version))
    if own is not None:
        return own
    try:
        return PilotComponents(default_components(view.protocol), BETWEEN.get(view.protocol))
    except NoComponents as error:
        return PilotComponents(None, why=error.detail or error.title())


def parse_stored_components(report: Mapping[str, Any]) -> PilotComponents | None:
    """What a plan's report says of its pilot, for the next plan of the campaign: the pilot itself is not read again.

    None where it had none.
    """
    told, forecast = report.get("pilot"), report.get("forecast")
    if not told or not forecast or "components" not in forecast:
        return None
    again = {**told, "resampled": None, "why_not_resampled": "a replan does not read the pilot again"}
    return PilotComponents(VarianceComponents(**forecast["components"]), told["between_systems"], told=again)


def _load_pilot_components(session: Session, view: CampaignInfo, about: Snapshot) -> PilotComponents:
    campaign = about.campaign
    if campaign.protocol != view.protocol:
        raise _unfit_pilot(f"is judged by {campaign.protocol}, this campaign by {view.protocol}")
    components = _fit_own_components(session, about)
    if components is None or components.components is None or components.pilot is None:
        what = f"needs {FEWEST_RATINGS} ratings of two systems that its ranking counts, and to have been ranked once"
        raise _unfit_pilot(what)
    told = {
        "campaign": campaign.key,
        "data_version": about.version,
        "ratings": len(components.pilot),
        "documents": int(np.unique(components.pilot.document).size),
        "between_systems": components.between,
    }
    source = components.components.source.replace("own judgments", "pilot")
    notes = components.notes
    if campaign.options != view.options:
        notes = (*notes, f"the pilot {campaign.key} has other options of the protocol: its unit may be another")
    return replace(components, components=replace(components.components, source=source), notes=notes, told=told)


def _unfit_pilot(what: str) -> Invalid:
    return Invalid("the query is not valid", places=(Place(("query", "pilot"), what),))


def _parse_components(value: object) -> PilotComponents | None:
    """Those of the setting; None where it holds none that can be used."""
    if not isinstance(value, Mapping):
        return None
    names = {*TERMS, RESIDUAL, "system"}
    variances = {name: float(v) for name, v in value.items() if name in names and _is_variance(v)}
    if RESIDUAL not in variances or len(variances) < len([name for name in value if name != "source"]):
        return PilotComponents(None, why="the setting components must hold variances by name, `residual` among them")
    source = value.get("source")
    return PilotComponents(
        planning_components(variances, source=source if isinstance(source, str) else "given"), variances.get("system")
    )


def _is_variance(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _fit_own_components(session: Session, about: Snapshot) -> PilotComponents | None:
    recipe = NAMED["recommended"]
    if not profiles.has_any_score(session, about.campaign_id):  # a plan may be looked at where nothing may be written
        return None
    try:
        selection = select_rows(load_recipe_ratings(session, about, recipe), recipe)
        rows = selection.ratings.where(selection.ranked)
        if len(rows) < FEWEST_RATINGS:
            return None
        part, of = _part(rows)
        model = fit_components(part)
    except (Invalid, CannotModel):
        return None
    source = f"{about.campaign.key}, own judgments" + ("" if part is rows else f" on {of:,} documents")
    once = mean_ratings_per_item(model) < 1 + 1e-9
    notes = RATED_ONCE if once else ()
    return PilotComponents(
        planning_components_of_fit(model, source=source), system_variance(model), notes=notes, pilot=rows
    )


def _part(rows: Ratings) -> tuple[Ratings, int]:
    """Whole documents, evenly from all, with MOST_ROWS ratings or a little more; and how many documents those are."""
    codes = np.unique(rows.document)
    if len(rows) <= MOST_ROWS or codes.size < 4:
        return rows, int(codes.size)
    step = -(-len(rows) // MOST_ROWS)
    documents = codes[:: min(step, codes.size // 2)]
    return rows.where(np.isin(rows.document, documents)), int(documents.size)
