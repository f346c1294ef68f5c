"""Raters: who is enrolled in a campaign, with what capacity, in which team, and as which person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Literal

from app.domain.errors import AppError, Conflict, Forbidden, Invalid, Place
from app.domain.keys import SEAT, SEAT_RESERVED, is_key
from app.services.access.tokens import Caller
from app.services.campaigns import audit
from app.services.campaigns.settings import CampaignEditConflict
from app.storage import campaigns, raters, teams
from app.storage.db import Session
from app.storage.sorting import SortCursor, format_sort_value

State = Literal["active", "paused", "left"]
Unit = Literal["items", "segments", "words"]
Blocked = Literal["not_enrolled", "erased", "left", "paused", "consent", "qualification"]
RaterSort = Literal["key", "-key", "enrolled", "-enrolled", "state", "-state", "team", "-team"]
VersionCheck = Callable[[int], bool]


class RaterEtagMissing(AppError):
    """This rater is enrolled already: send `If-Match` with the ETag that you saw."""

    published = "NotSeen"

    kind = "precondition_required"


class RaterErased(Conflict):
    """This rater was erased; nothing about them can be stored any more."""


class RemovalNeedsDraft(Conflict):
    """This can be removed only while the campaign is a draft."""

    published = "NotDraft"


class DeclareOptionNeedsManager(Forbidden):
    """A front-end cannot create what the campaign does not know; `declare` is for managers."""

    published = "MayNotDeclare"


class PersonInOtherCampaign(Forbidden):
    """This person has an account in a campaign that is not yours; linking needs rights in both."""

    published = "PersonElsewhere"


@dataclass(frozen=True, slots=True)
class RaterContact:
    """Personal data of a rater, which can be erased separately."""

    name: str | None = None
    email: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """What a manager states about a rater. capacity: the most they will do, counted in `capacity_unit`; None: no limit.

    buckets: names of the buckets they are meant for; None: any.
    """

    capacity: int | None = None
    capacity_unit: Unit = "items"
    team: str | None = None
    buckets: tuple[str, ...] | None = None
    state: State = "active"
    languages: tuple[str, ...] = ()
    attributes: Mapping[str, object]
    person: str | None = None
    contact: RaterContact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterView:
    """A rater as managers see them. state: None if the rater is known only from judgments, and not enrolled."""

    key: str
    state: str | None
    capacity: int | None
    capacity_unit: Unit
    team: str | None
    buckets: tuple[str, ...] | None
    languages: tuple[str, ...]
    attributes: Mapping[str, object]
    person: str | None
    contact: RaterContact | None
    external_id: str | None
    enrolled_at: datetime | None
    erased_at: datetime | None
    settings_version: int


@dataclass(frozen=True, slots=True)
class ActingRater:
    """The rater who acts in a request, by their own credential or through a front end.

    session_id: of the browser session, if that is the credential; it may end before its token.
    """

    campaign: str
    campaign_id: int
    rater: str
    rater_id: int
    actor: str
    token_id: int
    through: str | None = None
    answers_since: datetime | None = None
    session_id: int | None = None


def load_rater_named_by_front_end(session: Session, caller: Caller, *, campaign: str, rater: str) -> ActingRater:
    """Return the enrolled rater that a front end names. Raises CampaignNotFound, RaterNotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    rater_id = raters.find_enrolled_rater_id(session, campaign_id, rater)
    if rater_id is None:
        raise raters.RaterNotFound
    return ActingRater(campaign, campaign_id, rater, rater_id, caller.actor, caller.token_id, through=caller.prefix)


def find_rater_of_caller(caller: Caller) -> ActingRater | None:
    """Return the rater whose credential this is; None if it is not a rater's."""
    if caller.rater is None or caller.rater_id is None or caller.campaign is None or caller.campaign_id is None:
        return None
    return ActingRater(
        caller.campaign,
        caller.campaign_id,
        caller.rater,
        caller.rater_id,
        caller.actor,
        caller.token_id,
        answers_since=caller.answers_since,
        session_id=caller.session_id,
    )


def find_rater_block_reason(session: Session, campaign_id: int, rater_id: int) -> Blocked | None:
    """Return why a rater gets no task; None if nothing prevents it.

    consent: the rater has not agreed to the campaign's latest consent text. qualification: there is a test, and the
    rater has not passed any version, nor was it waived.
    """
    row = raters.load_rater_readiness(session, campaign_id, rater_id)
    if row is None or row.state is None:
        return "not_enrolled"
    if row.state in ("erased", "left", "paused"):
        state: Blocked = row.state
        return state
    if row.asked is not None and row.given != row.asked:
        return "consent"
    return "qualification" if row.tested and not row.passed else None


def put_rater(
    session: Session,
    campaign: str,
    key: str,
    new: Enrolment,
    *,
    given_fields: frozenset[str],
    has_seen_version: VersionCheck | None,
    by: Caller,
) -> RaterView:
    """Enrol a rater, or replace an enrolment; `person` and `contact` are kept unless they are in `given_fields`.

    An identical enrolment changes nothing. has_seen_version: whether the caller saw a given settings version; None if
    the request does not say, which is allowed only for a new enrolment.

    Raises RaterEtagMissing, CampaignEditConflict, RaterErased, PersonInOtherCampaign, Invalid naming the field,
    NotFound.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    account = raters.find_rater(session, row.id, key)
    old = _view(account) if account is not None else None
    wanted = _merge_enrolment(new, old, given_fields)
    if old is not None and old.state is not None:
        _check_seen(old, wanted, has_seen_version)
        if _is_unchanged(old, wanted):
            return old
    elif key.startswith(SEAT):
        raise Invalid(places=(Place(("path", "rater"), SEAT_RESERVED),))
    team_id = _team_id(session, row.id, wanted.team)
    rater_id = account.id if account is not None else _add_rater(session, row.id, key)
    _store(session, row, rater_id, old, wanted, team_id, by)
    what = {"rater": key, "fields": sorted(_changed_fields(old, wanted))} if old else {"rater": key}
    enrolled = old is not None and old.state is not None
    action = "rater changed" if enrolled else "rater enrolled"
    audit.record_action(session, row.id, actor=by.actor, action=action, what=what)
    return _view(raters.load_rater(session, row.id, key))


def check_team_exists(session: Session, campaign_id: int, key: str | None) -> None:
    """Raise Invalid if the team does not exist."""
    _team_id(session, campaign_id, key)


def get_rater(session: Session, campaign: str, key: str, *, by: Caller) -> RaterView:
    """Return a rater, if the caller leads the rater's team or manages the campaign. Raises NotFound."""
    return restrict_rater_view_to_caller(
        by, _view(raters.load_rater(session, campaigns.load_campaign(session, campaign).id, key))
    )


def insert_enrolled_raters(
    session: Session, campaign_id: int, wanted: Sequence[tuple[str, Enrolment]], *, by: Caller
) -> None:
    """Store new accounts with their enrolments and contacts, with a few statements for all.

    Raises PersonInOtherCampaign, Invalid naming a team that does not exist.
    """
    news = [new for _, new in wanted]
    people = {key: _person(session, campaign_id, key, by) for key in sorted({new.person for new in news if new.person})}
    team_ids = {key: _team_id(session, campaign_id, key) for key in sorted({new.team for new in news if new.team})}
    accounts = [
        {"key": key, "name": key, "attributes": dict(new.attributes), "person_id": people.get(new.person or "")}
        for key, new in wanted
    ]
    ids = raters.insert_raters(session, campaign_id, accounts)
    enrolments = [{"rater_id": ids[key], **_stored_enrolment(new, team_ids.get(new.team or ""))} for key, new in wanted]
    raters.insert_enrolments(session, campaign_id, enrolments)
    personal = [
        {"rater_id": ids[key], **_stored_contact(new.contact)} for key, new in wanted if new.contact is not None
    ]
    raters.insert_contacts(session, campaign_id, personal)


def load_rater_views(session: Session, campaign_id: int, keys: Sequence[str]) -> dict[str, RaterView]:
    """Load the raters with these keys as managers see them, by key."""
    return {key: _view(row) for key, row in raters.load_raters_of_keys(session, campaign_id, keys).items()}


def make_enrolment_from_view(view: RaterView) -> Enrolment:
    """Return the enrolment of an enrolled rater."""
    return Enrolment(**{f.name: getattr(view, f.name) for f in fields(Enrolment)})


def list_raters(
    session: Session,
    campaign: str,
    *,
    by: Caller,
    after: SortCursor | None,
    limit: int,
    team: str | None,
    state: str | None,
    sort: RaterSort = "key",
    q: str = "",
) -> list[RaterView]:
    """List raters in a given order, starting after a cursor; a coordinator gets those of their team.

    Raises NotFound for a team that the caller does not lead. q: words, each of which must be part of the key, the
    external id, or the name or address of the contact.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    only = team if by.has_rights_of("manager") else team or by.team
    if only is not None:
        teams.load_team(session, campaign_id, only)
        if not by.can_lead_team(only):
            raise teams.TeamNotFound
    rows = raters.load_raters_page(
        session, campaign_id, after=after, limit=limit, team=only, state=state, sort=sort, words=q.split()
    )
    return [restrict_rater_view_to_caller(by, _view(row)) for row in rows]


def make_rater_cursor(rater: RaterView, sort: RaterSort) -> SortCursor:
    """Return the cursor that points after a rater in a sorted list."""
    values = {"enrolled": rater.enrolled_at, "team": rater.team, "state": rater.state}
    return format_sort_value(values.get(sort.removeprefix("-")), raters.ORDERS[sort]), rater.key


def delete_rater(session: Session, campaign: str, key: str, *, by: Caller) -> None:
    """Remove a rater from a draft. Raises NotFound, RemovalNeedsDraft, RaterInUse."""
    row = campaigns.load_campaign(session, campaign, lock=True)
    account = raters.load_rater(session, row.id, key)
    if row.state != "draft":
        raise RemovalNeedsDraft(f"this one is {row.state}; set the rater to `left` instead")
    raters.delete_unused_rater_account(session, account.id)
    audit.record_action(session, row.id, actor=by.actor, action="rater removed", what={"rater": key})


def require_enrolled_raters(session: Session, campaign: str, named: Sequence[str], *, declare: bool) -> None:
    """Check that a front end names only enrolled raters, and does not ask to create unknown names.

    Raises DeclareOptionNeedsManager, and Invalid at `("body", i, "rater")` for each rater who is not enrolled.
    """
    if declare:
        raise DeclareOptionNeedsManager
    there = raters.filter_enrolled_rater_keys(
        session, campaigns.load_campaign(session, campaign).id, sorted(set(named))
    )
    places = [Place(("body", i, "rater"), "is not enrolled") for i, key in enumerate(named) if key not in there]
    if places:
        raise Invalid("front-ends can act only for enrolled raters", places=tuple(places[:100]))


def restrict_rater_view_to_caller(by: Caller, view: RaterView) -> RaterView:
    """Return what the caller may see: coordinators do not see which accounts are one person. Raises RaterNotFound."""
    if not by.can_lead_team(view.team):
        raise raters.RaterNotFound
    return view if by.has_rights_of("manager") else replace(view, person=None)


def _merge_enrolment(new: Enrolment, old: RaterView | None, given: frozenset[str]) -> Enrolment:
    """Return what to store: `person` and `contact` are kept if they were not given."""
    kept = {name: getattr(old, name) for name in ("person", "contact") if old is not None and name not in given}
    if new.person is not None and not is_key(new.person):
        raise Invalid(places=(Place(("body", "person"), "must be a key"),))
    return replace(new, **kept)


def _check_seen(old: RaterView, wanted: Enrolment, has_seen_version: VersionCheck | None) -> None:
    if old.state == "erased":
        raise RaterErased
    if has_seen_version is None and not _is_unchanged(old, wanted):
        raise RaterEtagMissing
    if has_seen_version is not None and not has_seen_version(old.settings_version):
        raise CampaignEditConflict(f"it is at {old.settings_version} now")


def _changed_fields(old: RaterView | None, wanted: Enrolment) -> set[str]:
    return {f.name for f in fields(wanted) if old is None or getattr(old, f.name) != getattr(wanted, f.name)}


def _is_unchanged(old: RaterView, wanted: Enrolment) -> bool:
    return not _changed_fields(old, wanted)


def _team_id(session: Session, campaign_id: int, key: str | None) -> int | None:
    if key is None:
        return None
    try:
        return int(teams.load_team(session, campaign_id, key).id)
    except teams.TeamNotFound:
        raise Invalid(places=(Place(("body", "team"), "there is no such team"),)) from None


def _add_rater(session: Session, campaign_id: int, key: str) -> int:
    if not is_key(key):
        raise Invalid(places=(Place(("path", "rater"), "must be a key"),))
    return raters.insert_rater(session, campaign_id, key)


def _store(
    session: Session,
    row: campaigns.CampaignRecord,
    rater_id: int,
    old: RaterView | None,
    wanted: Enrolment,
    team_id: int | None,
    by: Caller,
) -> None:
    """Store account, enrolment and contact.

    Reports use `person` and `attributes`, so changing them makes a new data version.
    """
    differs = _changed_fields(old, wanted)
    person = _person(session, row.id, wanted.person, by) if "person" in differs and wanted.person else None
    account: dict[str, object] = {"attributes": dict(wanted.attributes)}
    account |= {"person_id": person} if "person" in differs else {}
    raters.update_rater(session, rater_id, account)
    if row.data_version and old is not None and differs & {"person", "attributes"}:
        campaigns.take_next_data_version(session, row.id, actor=by.actor, what="raters")
    raters.upsert_enrolment(session, row.id, rater_id, _stored_enrolment(wanted, team_id))
    if "contact" in differs:
        contact = wanted.contact
        personal = None if contact is None else _stored_contact(contact)
        raters.replace_or_delete_contact(session, row.id, rater_id, personal)


def _stored_enrolment(wanted: Enrolment, team_id: int | None) -> dict[str, object]:
    return {
        "team_id": team_id,
        "state": wanted.state,
        "capacity": wanted.capacity,
        "capacity_unit": wanted.capacity_unit,
        "buckets": None if wanted.buckets is None else list(wanted.buckets),
        "languages": list(wanted.languages),
    }


def _stored_contact(contact: RaterContact) -> dict[str, str | None]:
    return {f.name: getattr(contact, f.name) for f in fields(contact)}


def _person(session: Session, campaign_id: int, key: str, by: Caller) -> int:
    """Return the id of the person that an account is linked to. Raises PersonInOtherCampaign."""
    person = raters.ensure_person(session, key)
    if by.campaign is not None and raters.is_person_in_other_campaign(session, person, campaign_id):
        raise PersonInOtherCampaign
    return person


def _view(row: raters.RaterRecord) -> RaterView:
    return RaterView(
        key=row.key,
        state=row.state,
        capacity=row.capacity,
        capacity_unit=row.capacity_unit or "items",
        team=row.team,
        buckets=None if row.buckets is None else tuple(row.buckets),
        languages=tuple(row.languages or ()),
        attributes=row.attributes,
        person=row.person,
        contact=RaterContact(row.contact_name, row.contact_email, row.contact_note) if row.has_contact else None,
        external_id=row.external_id,
        enrolled_at=row.enrolled_at,
        erased_at=row.erased_at,
        settings_version=row.settings_version,
    )
