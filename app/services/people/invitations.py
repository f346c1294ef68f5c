"""Invitations with a number of seats, for crowd platforms: anybody with the link may enrol under their platform id."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import quote, urlsplit

from app.domain.errors import Conflict, Forbidden, Invalid, Place, RateLimitExceeded
from app.services.access.organization_prefixes import prefix_with_organization_mark
from app.services.access.tokens import Caller, hash_secret
from app.services.campaigns import audit
from app.services.people import rater_links
from app.services.people.raters import RaterErased
from app.storage import campaigns, invitations, plans, raters, teams
from app.storage.db import Session
from app.storage.sorting import SortCursor, format_sort_value

InvitationSort = Literal["invitation", "-invitation", "made", "-made"]
NAME = "invitation"
CODE = "{code}"
LONGEST_URL = 1000
FEW = 10  # seats that may always be taken within an hour, even if there are few


class NoInvitationSeatLeft(Conflict):
    """All places of this invitation are taken."""

    published = "NoSeatLeft"


class InvitingCampaignClosed(Conflict):
    """This campaign is closed."""

    published = "CampaignClosed"


class SeatAlreadyClaimed(Conflict):
    """This id has been used before: continue in the browser where you began, or ask for a link of your own."""

    published = "SeatTaken"


class ClaimNotSigned(Forbidden):
    """The platform has to sign this id, and the signature is missing or wrong."""

    published = "NotSigned"


class InvitationRateExceeded(RateLimitExceeded):
    """This invitation has reached its limit of new raters per hour; try again later."""

    published = "TooFast"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationView:
    """An invitation as its manager sees it."""

    public_id: str
    campaign: str
    platform: str | None
    seats: int
    taken: int
    team: str | None
    completion_url: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    live: bool
    per_hour: int | None
    signed: bool


@dataclass(frozen=True, slots=True)
class CreatedInvitation:
    """A new invitation with its secret, which is stored nowhere.

    signing_key: the key with which the platform signs its ids, in hexadecimal; None if it does not sign.
    """

    invitation: InvitationView
    secret: str
    signing_key: str | None

    def __repr__(self) -> str:
        """Return a text without the secret, so that no log or trace can contain it."""
        return f"Invited({self.invitation!r})"


@dataclass(frozen=True, slots=True)
class TaskWithCompletionCode:
    """A handed-in task, with the code that the rater got.

    attention_check: whether it was one, and so not part of the campaign's work.
    """

    id: int
    task: str
    code: str
    handed_in_at: datetime | None
    rater: str
    external_id: str | None
    invitation: str | None
    platform: str | None
    attention_check: bool


def create_invitation(
    session: Session,
    campaign: str,
    *,
    seats: int,
    platform: str | None,
    team: str | None,
    completion_url: str | None,
    expires_at: datetime | None,
    signed: bool = False,
    per_hour: int | None = None,
    by: Caller,
) -> CreatedInvitation:
    """Create an invitation with a number of seats. Raises NotFound, and Invalid for an unusable team or address.

    signed: whether the platform signs its ids. per_hour: how many raters may enrol within an hour. If it is None, there
    is no limit for signed ids. For unsigned ids the limit is then half of the seats, so that invented ids cannot take
    all seats before somebody notices.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    _check_address(completion_url)
    key = secrets.token_bytes(32) if signed else None
    public_id, secret = (
        f"i_{secrets.token_hex(16)}",
        prefix_with_organization_mark(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")),
    )
    values = {
        "campaign_id": row.id,
        "public_id": public_id,
        "hash": hash_secret(secret),
        "platform": platform,
        "seats": seats,
        "completion_url": completion_url,
        "team_id": _team_id(session, row.id, team),
        "actor": by.actor,
        "expires_at": expires_at,
        "per_hour": per_hour or (None if signed else max(FEW, (seats + 1) // 2)),
        "signing_key": key,
    }
    view = _view(invitations.insert_invitation(session, values))
    what = {"invitation": public_id, "seats": seats, "platform": platform, "team": team}
    audit.record_action(session, row.id, actor=by.actor, action="invitation made", what=what)
    return CreatedInvitation(view, secret, None if key is None else key.hex())


def get_invitation(session: Session, campaign: str, public_id: str) -> InvitationView:
    """Return an invitation, live or not. Raises NotFound."""
    return _view(invitations.load_invitation(session, campaigns.load_campaign(session, campaign).id, public_id))


def list_invitations(
    session: Session,
    campaign: str,
    *,
    after: SortCursor | None,
    limit: int,
    live: bool | None = None,
    sort: InvitationSort = "invitation",
    q: str = "",
) -> list[InvitationView]:
    """List a campaign's invitations in a given order, starting after a cursor.

    live: only invitations that still work, or only the others. q: words, each of which must be part of id, platform or
    team.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows = invitations.load_invitations_page(
        session, campaign_id, after=after, limit=limit, live=live, sort=sort, words=q.split()
    )
    return [_view(row) for row in rows]


def make_invitation_cursor(invitation: InvitationView, sort: InvitationSort) -> SortCursor:
    """Return the cursor that points after an invitation in a sorted list."""
    return format_sort_value(invitation.created_at, invitations.ORDERS[sort]), invitation.public_id


def revoke_invitation(session: Session, campaign: str, public_id: str, *, by: Caller) -> None:
    """End an invitation; raters who enrolled through it stay. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign, lock=True)
    invitations.load_invitation(session, row.id, public_id)
    if invitations.mark_invitation_revoked(session, row.id, public_id):
        what = {"invitation": public_id}
        audit.record_action(session, row.id, actor=by.actor, action="invitation revoked", what=what)


@dataclass(frozen=True, slots=True)
class SeatClaim:
    """A claim of a seat. signature: of the external id, in hexadecimal.

    held_by: the rater whose live credential was sent.
    """

    secret: str
    external_id: str
    signature: str | None = None
    held_by: int | None = None


def sign_external_id(key: bytes, external_id: str) -> str:
    """Return a platform's signature of an id: HMAC-SHA256 in hexadecimal.

    >>> sign_external_id(bytes(32), "w1")[:8]
    '16c6a4ef'
    """
    return hmac.new(key, external_id.encode(), hashlib.sha256).hexdigest()


def claim_seat(session: Session, public_id: str, given: SeatClaim, *, days: float) -> rater_links.RaterLink:
    """Take a seat for a new rater with a random key, or return the rater who claimed with this external id before.

    A returning rater must send the earlier credential or an id signed by the platform, because anybody could invent an
    id. Each claim creates a new token and ends the earlier one. Claims of a campaign are handled one at a time, so that
    no seat is taken twice. Raises InvitationNotFound (also for a wrong secret), ClaimNotSigned, SeatAlreadyClaimed,
    NoInvitationSeatLeft, InvitationRateExceeded, InvitingCampaignClosed, RaterErased.
    """
    invitation = invitations.find_invitation_by_id(session, public_id)
    known = invitation.hash if invitation is not None else bytes(32)
    if not hmac.compare_digest(hash_secret(given.secret), known) or invitation is None or not invitation.live:
        raise invitations.InvitationNotFound
    signed = invitation.signing_key is not None
    if signed and not hmac.compare_digest(
        sign_external_id(invitation.signing_key, given.external_id), given.signature or ""
    ):
        raise ClaimNotSigned
    if invitations.lock_campaign_for_seat_claim(session, invitation.campaign_id) == "closed":
        raise InvitingCampaignClosed
    key = invitations.find_rater_key_by_external_id(session, invitation.campaign_id, given.external_id)
    actor = f"invitation:{public_id}"
    came_before = key is not None
    if key is None:
        key = _take_seat(session, public_id, given.external_id, actor=actor)
    rater = raters.load_rater(session, invitation.campaign_id, key)
    if came_before and not signed and given.held_by != rater.id:
        raise SeatAlreadyClaimed
    if rater.state == "erased":
        raise RaterErased
    return rater_links.replace_rater_token(session, invitation.campaign, rater, days=days, name=NAME, actor=actor)


def _take_seat(session: Session, public_id: str, external_id: str, *, actor: str) -> str:
    """Enrol a new rater and return the key.

    Raises NoInvitationSeatLeft, InvitationRateExceeded, InvitationNotFound if it has just ended.
    """
    row = invitations.find_invitation_by_id(session, public_id)  # read again under the lock, for the current seats
    if row is None or not row.live:
        raise invitations.InvitationNotFound
    if row.taken >= row.seats:
        raise NoInvitationSeatLeft
    if row.per_hour is not None and (wait := invitations.compute_seconds_until_next_claim(session, row)) is not None:
        raise InvitationRateExceeded(retry_after=wait)
    key = f"{row.platform or 'w'}-{secrets.token_hex(6)}"
    rater_id = raters.insert_rater(session, row.campaign_id, key)
    enrolment = {"team_id": row.team_id, "state": "active", "capacity_unit": "items"}
    raters.upsert_enrolment(
        session, row.campaign_id, rater_id, {**enrolment, "external_id": external_id, "invitation_id": row.id}
    )
    plans.add_rater_to_task_pool(session, row.campaign_id, rater_id)
    what = {"rater": key, "invitation": public_id}
    audit.record_action(session, row.campaign_id, actor=actor, action="rater enrolled", what=what)
    return key


def list_completion_codes(
    session: Session, campaign: str, *, after: int, limit: int, q: str = ""
) -> tuple[list[TaskWithCompletionCode], int | None]:
    """List completion codes for payment in the order of their tasks, starting after an id.

    The second value is the id of the last one examined, if there may be more. q: words, each of which must be part of
    rater, external id, code or platform.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows, reached = invitations.load_completion_codes_page(
        session, campaign_id, after=after, limit=limit, words=q.split()
    )
    return [TaskWithCompletionCode(**row._mapping) for row in rows], reached


def list_own_completion_codes(session: Session, campaign_id: int, rater_id: int) -> list[tuple[str, str, str | None]]:
    """List a rater's own tasks with a code: task, code, and the address that leads back to the platform."""
    url = invitations.find_completion_url(session, campaign_id, rater_id)
    rows, _ = invitations.load_completion_codes_page(session, campaign_id, after=0, limit=10_000, rater_id=rater_id)
    return [(row.task, row.code, add_completion_code_to_url(url, row.code)) for row in rows]


def add_completion_code_to_url(url: str | None, code: str) -> str | None:
    """Return the address with the code in place of `{code}`, or at its end.

    >>> add_completion_code_to_url("https://app.example.org/done?cc={code}", "C1 X")
    'https://app.example.org/done?cc=C1%20X'
    >>> add_completion_code_to_url("https://app.example.org/done?cc=", "C1")
    'https://app.example.org/done?cc=C1'
    """
    if url is None:
        return None
    safe = quote(code, safe="")
    return url.replace(CODE, safe) if CODE in url else url + safe


def _check_address(url: str | None) -> None:
    """Raise Invalid unless a browser can open the address."""
    if url is None:
        return
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"https", "http"} and bool(parts.hostname) and url.isascii() and url.isprintable()
    except ValueError:
        good = False
    if not good or " " in url or len(url) > LONGEST_URL:
        why = "must be an address that starts with https:// or http://"
        raise Invalid(places=(Place(("body", "completion_url"), why),))


def _team_id(session: Session, campaign_id: int, key: str | None) -> int | None:
    if key is None:
        return None
    try:
        return int(teams.load_team(session, campaign_id, key).id)
    except teams.TeamNotFound:
        raise Invalid(places=(Place(("body", "team"), "there is no such team"),)) from None


def _view(row: invitations.InvitationRecord) -> InvitationView:
    return InvitationView(**{name: getattr(row, name) for name in InvitationView.__slots__})
