"""Standing exclusions: exclude a rater, task, document or system with a reason, preview the effect, lift it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from app.domain.errors import Invalid, NotFound, Place
from app.domain.recipe import ExclusionTarget, Recipe, Subject
from app.reports.exclusion_preview.forecasts import StabilityBeforeAndAfter, forecast_stability_by_recipe
from app.reports.inputs import snapshot
from app.reports.ranking import report as ranking_report
from app.reports.ranking import view as ranking_view
from app.reports.ranking.report import RankingLookup
from app.reports.ranking.view import RankingView, SystemLine
from app.reports.ranking_comparison.disagreeing_pairs import DisagreeingPair, find_disagreeing_pairs
from app.services.campaigns import audit
from app.storage import campaigns, exclusions
from app.storage.db import Database, Session
from app.storage.exclusions import AlreadyExcluded

ExclusionSort = Literal["made", "-made"]
WITHDRAWN = "withdrawn from the campaign"
RankingPair = tuple[RankingLookup, RankingLookup]
"""A ranking before and after."""


class ExclusionNotFound(NotFound):
    """There is no such exclusion in this campaign."""


class ExclusionTargetNotFound(Invalid):
    """The campaign contains nothing of this name."""

    published = "NothingNamed"


@dataclass(frozen=True, slots=True)
class ExclusionView:
    """An exclusion as a manager sees it. n: its number, which is also its data version."""

    n: int
    exclusion: ExclusionTarget
    reason: str
    actor: str
    at: datetime
    lifted_version: int | None = None
    lifted_reason: str | None = None
    lifted_actor: str | None = None
    lifted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SystemRankChange:
    """A system in the rankings before and after; None if it is not in one."""

    system: str
    before: SystemLine | None
    after: SystemLine | None


@dataclass(frozen=True, slots=True)
class ExclusionEffect:
    """The effect of an exclusion on a ranking and on its stability. systems: in the order of the earlier ranking."""

    recipe: str
    before: RankingView
    after: RankingView
    systems: tuple[SystemRankChange, ...]
    order_changed: bool
    pairs: tuple[DisagreeingPair, ...]
    stability: StabilityBeforeAndAfter


def create_exclusion(
    session: Session, campaign: str, wanted: ExclusionTarget, *, reason: str, actor: str
) -> ExclusionView:
    """Exclude something from the campaign's next data version on. Nothing is deleted.

    Raises NotFound for an unknown campaign, ExclusionTargetNotFound, Conflict if it is already excluded.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    target_id = _target(session, row.id, wanted)
    version = campaigns.take_next_data_version(session, row.id, actor=actor, what=f"exclusion of a {wanted.what}")
    exclusions.insert_exclusion(
        session, row.id, what=wanted.what, target_id=target_id, version=version, reason=reason, actor=actor
    )
    done = {"excluded": wanted.what, "data_version": version}
    audit.record_action(session, row.id, actor=actor, action="exclusion made", what=done)
    return get_exclusion(session, campaign, version)


def set_system_withdrawn(
    session: Session, campaign_id: int, system_id: int, *, withdrawn: bool, actor: str
) -> int | None:
    """Exclude a system because it was withdrawn, or end this exclusion because the system takes part again.

    Return the new data version. Return None if nothing had to change: the system is already excluded, or its exclusion
    was lifted before.
    """
    if withdrawn:
        if exclusions.is_excluded(session, campaign_id, "system", system_id):
            return None
        version = campaigns.take_next_data_version(session, campaign_id, actor=actor, what="system withdrawn")
        exclusions.insert_exclusion(
            session,
            campaign_id,
            what="system",
            target_id=system_id,
            version=version,
            reason=WITHDRAWN,
            actor=actor,
            withdrawal=True,
        )
        return version
    n = exclusions.find_exclusion_number_of_withdrawn_system(session, campaign_id, system_id)
    if n is None:
        return None
    version = campaigns.take_next_data_version(session, campaign_id, actor=actor, what="system takes part again")
    exclusions.end_exclusion(session, campaign_id, n, version=version, reason="takes part again", actor=actor)
    return version


def lift_exclusion(session: Session, campaign: str, n: int, *, reason: str, actor: str) -> ExclusionView:
    """End an exclusion with the campaign's next data version. An exclusion that is already lifted does not change.

    Raises NotFound.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    exclusion = get_exclusion(session, campaign, n)
    if exclusion.lifted_version is None:
        what = f"exclusion of a {exclusion.exclusion.what} lifted"
        version = campaigns.take_next_data_version(session, row.id, actor=actor, what=what)
        exclusions.end_exclusion(session, row.id, n, version=version, reason=reason, actor=actor)
        done = {"exclusion": n, "data_version": version}
        audit.record_action(session, row.id, actor=actor, action="exclusion lifted", what=done)
    return get_exclusion(session, campaign, n)


def get_exclusion(session: Session, campaign: str, n: int) -> ExclusionView:
    """Return an exclusion by its number. Raises NotFound."""
    row = exclusions.find_exclusion(session, campaigns.load_campaign(session, campaign).id, n)
    if row is None:
        raise ExclusionNotFound
    return _view(row)


def list_exclusions(
    session: Session,
    campaign: str,
    *,
    after: int,
    limit: int,
    what: Subject | None = None,
    standing: bool | None = None,
    sort: ExclusionSort = "made",
    q: str = "",
) -> list[ExclusionView]:
    """List exclusions, including lifted ones, in the order of their creation, starting after a number.

    what: only this kind. standing: only those in force, or only those lifted. q: words, each of which must be part of
    key, reasons or actors.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows = exclusions.load_exclusions_page(
        session,
        campaign_id,
        after=after,
        limit=limit,
        what=what,
        standing=standing,
        descending=sort == "-made",
        words=q.split(),
    )
    return [_view(row) for row in rows]


def preview_exclusion(database: Database, campaign: str, wanted: ExclusionTarget, *, recipe: Recipe) -> ExclusionEffect:
    """Show what an exclusion would do to the ranking under a recipe, together with the standing exclusions.

    A recipe that ignores standing exclusions is shown as if it applied them.

    Raises NotFound, ExclusionTargetNotFound, Conflict as `create_exclusion` does; Invalid if the recipe does not fit
    the campaign.
    """
    with database.transaction(snapshot=True) as session:
        both = look_up_preview_rankings(session, campaign, wanted, recipe)
    return compute_exclusion_effect(database, both)


def look_up_preview_rankings(session: Session, campaign: str, wanted: ExclusionTarget, recipe: Recipe) -> RankingPair:
    """Look up the two rankings that a preview compares. Raises the errors of `create_exclusion`."""
    about = snapshot.load_snapshot(session, campaign, None)
    _target(session, about.campaign_id, wanted)
    base = recipe if recipe.standing else replace(recipe, standing=True, name=f"{recipe.name}+standing"[:128])
    without = replace(base, exclude=tuple(sorted({*base.exclude, wanted})), name=f"{base.name}+exclude"[:128])
    before, after = (ranking_report.look_up_ranking(session, campaign, one, about.version) for one in (base, without))
    return before, after


def compute_exclusion_effect(database: Database, rankings: RankingPair) -> ExclusionEffect:
    """Return the effect on a ranking, from rankings that are stored, or computed and stored here."""
    before, after = (
        ranking_view.parse_ranking_view_json(ranking_report.compute_ranking_unless_stored(database, one).body)
        for one in rankings
    )
    about, recipes = rankings[0].about, [one.recipe for one in rankings]
    sure = forecast_stability_by_recipe(database, about.campaign.key, recipes, as_of=about.version)
    return make_exclusion_effect(recipes[0].name, before, after, StabilityBeforeAndAfter(*sure))


def make_exclusion_effect(
    recipe: str, before: RankingView, after: RankingView, stability: StabilityBeforeAndAfter
) -> ExclusionEffect:
    """Make the effect on a ranking and on its stability."""
    first, then = _by_system(before), _by_system(after)
    order = [system for system in first if system in then]
    return ExclusionEffect(
        recipe=recipe,
        before=before,
        after=after,
        systems=tuple(SystemRankChange(system, first.get(system), then.get(system)) for system in {**first, **then}),
        order_changed=order != [system for system in then if system in first],
        pairs=tuple(find_disagreeing_pairs([before, after])),
        stability=stability,
    )


def _target(session: Session, campaign_id: int, wanted: ExclusionTarget) -> int:
    """Return the id of the row to exclude. Raises ExclusionTargetNotFound, AlreadyExcluded."""
    target_id = exclusions.find_exclusion_target_id(session, campaign_id, wanted.what, wanted.key)
    if target_id is None:
        raise ExclusionTargetNotFound(places=(Place(("body", wanted.what), f"the campaign has no such {wanted.what}"),))
    if exclusions.is_excluded(session, campaign_id, wanted.what, target_id):
        raise AlreadyExcluded
    return target_id


def _by_system(view: RankingView) -> Mapping[str, SystemLine]:
    return {line.system: line for line in view.systems}


def _view(row: exclusions.ExclusionRecord) -> ExclusionView:
    fields = {name: value for name, value in row._mapping.items() if name not in {"what", "key", "withdrawal"}}
    return ExclusionView(exclusion=ExclusionTarget(row.what, row.key), **fields)
