"""Enrolment and changes of a list of raters. The list is checked as a whole, and applied completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from app.domain.errors import Conflict, Invalid, Place
from app.domain.keys import SEAT, SEAT_RESERVED, is_key, reject_dot_segment
from app.services.access.tokens import Caller
from app.services.campaigns import audit
from app.services.people import raters as service
from app.services.people.rater_tables import RaterTableLine, make_rater_table_error
from app.services.people.raters import Enrolment, RaterView
from app.services.people.teams import put_team
from app.storage import campaigns, raters, teams
from app.storage.db import Session

MOST = 1000  # raters in one list
MOST_NAMED = 100  # faults that are named


class RatersChangedMeanwhile(Conflict):
    """Some of these raters have something else by now than you expect; look at them again."""


def enrol_raters(
    session: Session, campaign: str, keys: Sequence[str], new: Enrolment, *, by: Caller, dry_run: bool
) -> None:
    """Enrol raters in the same way, all or none; dry_run: only check.

    Raises Invalid, which names each key that is not valid, occurs twice, or is already enrolled, and the errors of
    `raters.put_rater`.
    """
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    places = tuple(Place(("body", "keys", i), fault) for i, fault in _faults(session, campaign_id, keys))
    if places:
        raise Invalid("nobody was enrolled because the list contains errors", places=places[:MOST_NAMED])
    service.check_team_exists(session, campaign_id, new.team)
    if not dry_run:
        _enrol(session, campaign, campaign_id, [(key, new) for key in keys], by)


def enrol_rater_table(
    session: Session,
    campaign: str,
    wanted: Sequence[tuple[RaterTableLine, Enrolment]],
    *,
    by: Caller,
    new_teams: bool,
    dry_run: bool,
) -> list[str]:
    """Enrol the raters of a table, each as its line says, all or none, and return the teams created for them.

    new_teams: create teams that do not exist. dry_run: only check. Raises Invalid, which names each line whose key is
    not valid, occurs twice or is already enrolled, or whose team does not exist.
    """
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    named = sorted({new.team for _, new in wanted if new.team is not None})
    missing = [team for team in named if not teams.has_team(session, campaign_id, team)]
    keys = [row.key for row, _ in wanted]
    faults = [(wanted[i][0].line, fault) for i, fault in _faults(session, campaign_id, keys)]
    if not new_teams:
        faults += [(row.line, f"there is no team {new.team!r}") for row, new in wanted if new.team in missing]
    if faults:
        raise make_rater_table_error(sorted(faults)[:MOST_NAMED])
    if dry_run:
        return missing
    for team in missing:
        put_team(session, campaign, team, team, by=by)
    _enrol(session, campaign, campaign_id, [(row.key, new) for row, new in wanted], by)
    return missing


def assign_missing_rater_keys(
    session: Session, campaign: str, wanted: Sequence[tuple[RaterTableLine, Enrolment]]
) -> list[tuple[RaterTableLine, Enrolment]]:
    """Return the lines with unused keys r1, r2 … if the table has no keys."""
    if any(row.key for row, _ in wanted):
        return list(wanted)
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    keys = _free_keys(session, campaign_id, digits=len(str(len(wanted))))
    return [(replace(row, key=next(keys)), new) for row, new in wanted]


def _free_keys(session: Session, campaign_id: int, digits: int) -> Iterator[str]:
    for start in count(1, MOST):
        keys = [f"r{n:0{digits}}" for n in range(start, start + MOST)]
        known = raters.load_raters_of_keys(session, campaign_id, keys)
        yield from (key for key in keys if key not in known)


def _enrol(
    session: Session, campaign: str, campaign_id: int, wanted: Sequence[tuple[str, Enrolment]], by: Caller
) -> None:
    """Enrol raters: new accounts with a few statements for all, existing accounts one by one."""
    known = raters.load_raters_of_keys(session, campaign_id, [key for key, _ in wanted])
    for key, new in wanted:
        if key in known:
            service.put_rater(
                session, campaign, key, new, given_fields=_personal_fields(new), has_seen_version=None, by=by
            )
    fresh = [(key, new) for key, new in wanted if key not in known]
    if fresh:
        service.insert_enrolled_raters(session, campaign_id, fresh, by=by)
        audit.record_action(
            session, campaign_id, actor=by.actor, action="raters enrolled", what={"raters": [key for key, _ in fresh]}
        )


def _personal_fields(new: Enrolment) -> frozenset[str]:
    return frozenset(name for name in ("person", "contact") if getattr(new, name) is not None)


def change_rater_states_and_teams(
    session: Session,
    campaign: str,
    keys: Sequence[str],
    changes: Mapping[str, Any],
    *,
    expected: Mapping[str, Any] | None = None,
    by: Caller,
) -> list[RaterView]:
    """Change the state, the team or both of several raters, all or none, and return them as they were before.

    expected: the values that every rater must have now. Raises RatersChangedMeanwhile, which names each rater who has
    other values, was erased or was removed. Without `expected`, raises Invalid, which names each rater who is not
    enrolled or was erased. Raises Invalid, which names each rater who is named twice, and the errors of
    `raters.put_rater`.
    """
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    service.check_team_exists(session, campaign_id, changes.get("team"))
    known = service.load_rater_views(session, campaign_id, keys)
    changed = tuple(
        Place(("body", "raters", i), f"{key!r} was changed meanwhile")
        for i, key in enumerate(keys)
        if expected and not _has(known.get(key), expected)
    )
    if changed:
        raise RatersChangedMeanwhile("nobody was changed because some have something else by now", places=changed)
    places = tuple(
        Place(("body", "raters", i), f"{key!r} {fault}")
        for i, key in enumerate(keys)
        if (fault := _unchangeable(known.get(key), first=keys.index(key) == i)) is not None
    )
    if places:
        raise Invalid("nobody was changed because some of these raters cannot be", places=places[:MOST_NAMED])
    for key in keys:
        service.put_rater(
            session,
            campaign,
            key,
            replace(service.make_enrolment_from_view(known[key]), **changes),
            given_fields=frozenset(),
            has_seen_version=lambda _: True,
            by=by,
        )
    return [known[key] for key in keys]


def _has(rater: RaterView | None, expected: Mapping[str, Any]) -> bool:
    if rater is None or rater.state in (None, "erased"):
        return False
    return all(getattr(rater, field) == value for field, value in expected.items())


def _unchangeable(rater: RaterView | None, *, first: bool) -> str | None:
    if rater is None or rater.state is None:
        return "is not enrolled"
    if rater.state == "erased":
        return "was erased"
    return None if first else "is named twice"


def _faults(session: Session, campaign_id: int, keys: Sequence[str]) -> Iterator[tuple[int, str]]:
    first: dict[str, int] = {}
    known = raters.load_raters_of_keys(session, campaign_id, [key for key in keys if is_key(key)])
    for i, key in enumerate(keys):
        fault = _misfit(key)
        if fault is None and first.setdefault(key, i) != i:
            fault = f"is in the list twice, first as number {first[key] + 1}"
        if fault is None:
            fault = _reason_not_to_enrol(known.get(key))
        if fault is not None:
            yield i, f"{key[:128]!r} {fault}"


def _misfit(key: str) -> str | None:
    if not is_key(key):
        return "is not a valid key: use 1 to 128 of the letters A–Z and a–z, digits, and . _ ~ : @ + -"
    try:
        reject_dot_segment(key)
    except ValueError as error:
        return str(error)
    return SEAT_RESERVED if key.startswith(SEAT) else None


def _reason_not_to_enrol(account: raters.RaterRecord | None) -> str | None:
    if account is None or account.state is None:
        return None
    if account.state == "left":
        return "has left; undo that instead"
    return "was erased" if account.state == "erased" else "is enrolled already"
