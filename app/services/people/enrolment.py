"""Enrolling a list of raters: it is checked whole, and all of them are enrolled or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.errors import Invalid, Place
from app.domain.keys import check_addressable, is_key
from app.services.access.tokens import Caller
from app.services.people import raters as service
from app.services.people.raters import Enrolment
from app.storage import campaigns, raters
from app.storage.db import Session

MOST = 1000  # raters of one list
MOST_NAMED = 100  # faults


def enrol_raters(
    session: Session, campaign: str, keys: Sequence[str], new: Enrolment, *, by: Caller, dry_run: bool
) -> None:
    """Enrol raters alike, all or none; dry_run: check only.

    Raises Invalid naming each key that is none, stands twice, or is enrolled already; and as `raters.put_rater`.
    """
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    places = tuple(_faults(session, campaign_id, keys))
    if places:
        raise Invalid("nobody was enrolled because the list contains errors", places=places[:MOST_NAMED])
    service.check_team_exists(session, campaign_id, new.team)
    for key in () if dry_run else keys:
        service.put_rater(session, campaign, key, new, given=frozenset(), seen=None, by=by)


def _faults(session: Session, campaign_id: int, keys: Sequence[str]) -> Iterator[Place]:
    first: dict[str, int] = {}
    for i, key in enumerate(keys):
        fault = _misfit(key)
        if fault is None and first.setdefault(key, i) != i:
            fault = f"stands in the list twice, first as number {first[key] + 1}"
        if fault is None:
            fault = _reason_not_to_enrol(session, campaign_id, key)
        if fault is not None:
            yield Place(("body", "keys", i), f"{key[:128]!r} {fault}")


def _misfit(key: str) -> str | None:
    if not is_key(key):
        return "is not a valid key: use 1 to 128 of the letters A–Z and a–z, digits, and . _ ~ : @ + -"
    try:
        check_addressable(key)
    except ValueError as error:
        return str(error)
    return None


def _reason_not_to_enrol(session: Session, campaign_id: int, key: str) -> str | None:
    account = raters.find_rater(session, campaign_id, key)
    if account is None or account.state is None:
        return None
    if account.state == "left":
        return "has left; undo that instead"
    return "was erased" if account.state == "erased" else "is enrolled already"
