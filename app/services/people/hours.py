"""Payable hours: measured from raters' activity, adjusted with reasons, disputed, answered. Entries never change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from pydantic import Field

from app.domain.errors import Conflict, Invalid, Place
from app.domain.languages import has_word_spaces
from app.protocols.base import is_empty_field
from app.reports.inputs.campaign import CampaignInfo
from app.reports.kit.render.csv_text import render_csv
from app.reports.kit.table import Cell
from app.services.access.tokens import Caller
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.services.people.heard_time import load_heard_seconds_by_day
from app.services.people.raters import ActingRater
from app.stats.timing.active_time import derive_actions_from_log
from app.stats.timing.work_time import PAUSE, PER_WORD, sum_payable_seconds_by_day
from app.storage import campaigns, hours, raters, teams
from app.storage.db import Session
from app.storage.hours import SpaceDelimitedLanguages

Heard = Annotated[float | None, Field(exclude_if=is_empty_field)]
EPOCH = date(1970, 1, 1)
MOST_OPEN = 20
COLUMNS = ("campaign", "team", "rater", "day", "active_seconds", "adjusted_seconds", "heard_seconds")


class DisputeAlreadyAnswered(Conflict):
    """This dispute has been answered already."""

    published = "AnsweredAlready"


class TooManyDisputes(Conflict):
    """You have too many unanswered disputes; wait until some are answered."""


@dataclass(frozen=True, slots=True)
class RaterDayHours:
    """One day of one rater, in seconds."""

    day: date
    active_seconds: float
    adjusted_seconds: int
    heard_seconds: Heard = None


@dataclass(frozen=True, slots=True)
class RaterHours:
    """The hours of one rater. payable_seconds: active and adjusted seconds together, never below 0.

    heard_seconds: of audio and video, which are part of the active time; None if nothing was heard.
    """

    rater: str
    team: str | None
    active_seconds: float
    adjusted_seconds: int
    payable_seconds: float
    open_disputes: int
    days: tuple[RaterDayHours, ...]
    heard_seconds: Heard = None


@dataclass(frozen=True, slots=True)
class TeamHours:
    """The hours of one team, or of raters without a team."""

    team: str | None
    raters: int
    active_seconds: float
    adjusted_seconds: int
    payable_seconds: float


@dataclass(frozen=True, slots=True)
class CampaignHours:
    """The hours of a campaign or a team. pause_seconds, seconds_per_word: parameters of the rule."""

    campaign: str
    utc_offset: int
    pause_seconds: float
    seconds_per_word: float
    raters: tuple[RaterHours, ...]
    teams: tuple[TeamHours, ...]


@dataclass(frozen=True, slots=True)
class HoursAdjustmentOrDispute:
    """An adjustment, a dispute or a refusal. answers: the dispute that it answers. answered: what a dispute led to."""

    id: int
    kind: str
    rater: str
    seconds: int
    reason: str
    answers: int | None
    answered: str | None
    actor: str
    at: datetime


@dataclass(frozen=True, slots=True)
class OwnHours:
    """A rater's own hours, and all entries about them."""

    hours: RaterHours
    entries: tuple[HoursAdjustmentOrDispute, ...]


def make_hours_report(
    session: Session, campaign: str, *, by: Caller, utc_offset: int = 0, team: str | None = None
) -> CampaignHours:
    """Report hours by rater and day, of all raters or of one team; a coordinator gets their team.

    utc_offset: minutes by which the days are ahead of UTC.

    Raises NotFound for an unknown campaign, or for a team that the caller does not lead.
    """
    view, row = get_campaign(session, campaign), campaigns.load_campaign(session, campaign)
    only = resolve_visible_team(session, row.id, team, by)
    people = hours.load_enrolled_raters(session, row.id, None)
    shown = [one for one in people if only is None or one.team == only]
    wanted = None if only is None else {one.person for one in shown}
    accounts = [one for one in people if wanted is None or one.person in wanted]
    by_rater = _by_rater(session, view, row.id, accounts, utc_offset, everybody=only is None)
    entries = hours.load_hours_entries(session, row.id, team=only)
    heard = load_heard_seconds_by_day(
        session, row.id, None if only is None else [one.id for one in shown], offset=utc_offset
    )
    counted = tuple(_rater(one, by_rater.get(one.id, {}), entries, utc_offset, heard.get(one.id, {})) for one in shown)
    return CampaignHours(campaign, utc_offset, PAUSE, PER_WORD, counted, _teams(counted))


def get_own_hours(session: Session, rater: ActingRater, *, utc_offset: int = 0) -> OwnHours:
    """Return the rater's own hours by day. Simultaneous work in several accounts of a person counts once."""
    view = get_campaign(session, rater.campaign)
    accounts = hours.load_accounts_of_same_person(session, rater.campaign_id, rater.rater_id)
    by_rater = _by_rater(session, view, rater.campaign_id, accounts, utc_offset, everybody=False)
    me = next(one for one in accounts if one.id == rater.rater_id)
    entries = hours.load_hours_entries(session, rater.campaign_id, rater_id=rater.rater_id)
    heard = load_heard_seconds_by_day(session, rater.campaign_id, [me.id], offset=utc_offset).get(me.id, {})
    counted = _rater(me, by_rater.get(me.id, {}), entries, utc_offset, heard)
    return OwnHours(counted, tuple(_entry(row) for row in entries))


def list_hours_adjustments_and_disputes(
    session: Session,
    campaign: str,
    *,
    by: Caller,
    after: int,
    limit: int,
    answered: bool | None = None,
    q: str = "",
) -> list[HoursAdjustmentOrDispute]:
    """List adjustments, disputes and refusals by id, starting after `after`; a coordinator gets those of their team.

    answered: only answered disputes, or only unanswered ones. q: words, each of which must be part of the rater or the
    reason.
    """
    row = campaigns.load_campaign(session, campaign)
    only = resolve_visible_team(session, row.id, None, by)
    entries = hours.load_hours_entries(
        session, row.id, team=only, after=after, limit=limit, answered=answered, words=q.split()
    )
    return [_entry(entry) for entry in entries]


def adjust_hours(
    session: Session, campaign: str, *, rater: str, seconds: int, reason: str, answers: int | None, actor: str
) -> HoursAdjustmentOrDispute:
    """Add seconds to a rater's payable time, or subtract some. answers: the dispute that this accepts.

    Raises NotFound, DisputeAlreadyAnswered, Invalid for a rater who is not enrolled or a dispute of another rater.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    account = raters.find_rater(session, row.id, rater)
    if account is None or account.state is None:
        raise Invalid(places=(Place(("body", "rater"), "is not enrolled"),))
    if answers is not None and _to_answer(session, row.id, answers).rater_id != account.id:
        raise Invalid(places=(Place(("body", "answers"), "is a dispute of another rater"),))
    return _add(session, row.id, account.id, "adjustment", seconds, reason, actor, answers)


def refuse_hours_dispute(
    session: Session, campaign: str, *, dispute: int, reason: str, actor: str
) -> HoursAdjustmentOrDispute:
    """Refuse a dispute with a reason. Raises NotFound, DisputeAlreadyAnswered."""
    row = campaigns.load_campaign(session, campaign, lock=True)
    entry = _to_answer(session, row.id, dispute)
    return _add(session, row.id, entry.rater_id, "refusal", 0, reason, actor, dispute)


def dispute_hours(session: Session, rater: ActingRater, *, seconds: int, reason: str) -> HoursAdjustmentOrDispute:
    """Record a rater's claim that some seconds are missing. Raises TooManyDisputes."""
    campaigns.load_campaign(session, rater.campaign, lock=True)
    if hours.count_open_disputes_of_rater(session, rater.campaign_id, rater.rater_id) >= MOST_OPEN:
        raise TooManyDisputes
    return _add(session, rater.campaign_id, rater.rater_id, "dispute", seconds, reason, rater.actor, None)


def encode_hours_csv(statement: CampaignHours) -> bytes:
    """Encode the hours in seconds as CSV, with a line for each rater and day; raters without days get one line.

    If anybody listened to media, a column contains the seconds heard.
    """
    rows: list[tuple[Cell, ...]] = []
    for rater in statement.raters:
        head = (statement.campaign, rater.team, rater.rater)
        rows += [
            (*head, day.day.isoformat(), day.active_seconds, day.adjusted_seconds, day.heard_seconds or 0.0)
            for day in rater.days
        ]
        rows += [] if rater.days else [(*head, None, 0.0, 0, 0.0)]
    columns = COLUMNS if any(rater.heard_seconds for rater in statement.raters) else COLUMNS[:-1]
    return render_csv(columns, [row[: len(columns)] for row in rows])


def resolve_visible_team(session: Session, campaign_id: int, asked: str | None, by: Caller) -> str | None:
    """Return the team whose raters a caller may see; None for all. Raises TeamNotFound for another team."""
    only = asked if by.has_rights_of("manager") else asked or by.team
    if only is not None:
        teams.load_team(session, campaign_id, only)
        if not by.can_lead_team(only):
            raise teams.TeamNotFound
    return only


def _by_rater(
    session: Session,
    view: CampaignInfo,
    campaign_id: int,
    accounts: Sequence[hours.Row],
    offset: int,
    *,
    everybody: bool,
) -> Mapping[int, Mapping[date, float]]:
    """Return active seconds by rater id and day."""
    spacing = SpaceDelimitedLanguages(has_word_spaces(view.source_language), has_word_spaces(view.target_language))
    only = None if everybody else [one.id for one in accounts]
    read = hours.load_recorded_activity(session, campaign_id, spacing, only)
    persons = {one.id: int(one.person) for one in accounts}
    person = [persons.get(rater, -rater) for rater in read.raters]
    active: dict[int, dict[date, float]] = {}
    if read.raters:
        paid = sum_payable_seconds_by_day(
            derive_actions_from_log(read.log, read.screens), offset=offset * 60, person=person
        )
        for (code, day), seconds in paid.items():
            active.setdefault(read.raters[code], {})[EPOCH + timedelta(days=day)] = seconds
    return active


def _rater(
    account: hours.Row,
    active: Mapping[date, float],
    entries: Iterable[hours.Row],
    offset: int,
    heard: Mapping[date, float],
) -> RaterHours:
    mine = [entry for entry in entries if entry.rater_id == account.id]
    adjusted: dict[date, int] = {}
    for entry in mine:
        if entry.kind == "adjustment":
            day = (entry.at.astimezone(UTC) + timedelta(minutes=offset)).date()
            adjusted[day] = adjusted.get(day, 0) + entry.seconds
    measured, beside = sum(active.values()), sum(adjusted.values())
    days = (
        RaterDayHours(day, round(active.get(day, 0.0), 3), adjusted.get(day, 0), _seconds(heard.get(day, 0.0)))
        for day in sorted({*active, *adjusted, *heard})
    )
    return RaterHours(
        rater=account.key,
        team=account.team,
        active_seconds=round(measured, 3),
        adjusted_seconds=beside,
        payable_seconds=round(max(0.0, measured + beside), 3),
        open_disputes=sum(entry.kind == "dispute" and entry.answered is None for entry in mine),
        days=tuple(days),
        heard_seconds=_seconds(sum(heard.values())),
    )


def _seconds(heard: float) -> float | None:
    return round(heard, 3) or None


def _teams(by_rater: Sequence[RaterHours]) -> tuple[TeamHours, ...]:
    by_team: dict[str | None, list[RaterHours]] = {}
    for rater in by_rater:
        by_team.setdefault(rater.team, []).append(rater)
    return tuple(
        TeamHours(
            team=team,
            raters=len(mine),
            active_seconds=round(sum(one.active_seconds for one in mine), 3),
            adjusted_seconds=sum(one.adjusted_seconds for one in mine),
            payable_seconds=round(sum(one.payable_seconds for one in mine), 3),
        )
        for team, mine in sorted(by_team.items(), key=lambda pair: (pair[0] is None, pair[0] or ""))
    )


def _to_answer(session: Session, campaign_id: int, entry_id: int) -> hours.Row:
    """Return an unanswered dispute. The campaign's row is locked, so that nobody else answers it at the same time."""
    entry = hours.load_dispute(session, campaign_id, entry_id)
    if entry.answered is not None:
        raise DisputeAlreadyAnswered
    return entry


def _add(
    session: Session,
    campaign_id: int,
    rater_id: int,
    kind: str,
    seconds: int,
    reason: str,
    actor: str,
    answers: int | None,
) -> HoursAdjustmentOrDispute:
    values = {"rater_id": rater_id, "kind": kind, "seconds": seconds, "reason": reason, "actor": actor}
    made = _entry(hours.insert_hours_entry(session, campaign_id, {**values, "answers_id": answers}))
    what = {"entry": made.id, "rater": made.rater, "seconds": seconds, "answers": answers}
    audit.record_action(session, campaign_id, actor=actor, action=f"hours {kind}", what=what)
    return made


def _entry(row: hours.Row) -> HoursAdjustmentOrDispute:
    return HoursAdjustmentOrDispute(**{name: getattr(row, name) for name in HoursAdjustmentOrDispute.__slots__})
