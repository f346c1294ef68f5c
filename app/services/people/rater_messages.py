"""Messages to raters. The raters' pages show them until they are marked as read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.errors import Invalid, NotFound, Place
from app.services.access.tokens import Caller
from app.services.campaigns import audit
from app.services.people.raters import ActingRater
from app.storage import campaigns, rater_messages, raters
from app.storage.db import Session

NEWEST = 100
MOST_NAMED = 100  # faults that are named


class RaterMessageNotFound(NotFound):
    """There is no such message to you."""


@dataclass(frozen=True, slots=True)
class MessageToRater:
    """A message to one rater. read_at: when the rater marked it as read, or None."""

    id: int
    text: str
    actor: str
    at: datetime
    read_at: datetime | None


def send_messages(session: Session, campaign: str, keys: Sequence[str], *, text: str, by: Caller) -> int:
    """Send the same message to several raters, all or none, and return their number.

    Raises Invalid naming each rater who is not enrolled, was erased, or is not the caller's to manage.
    """
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    known = raters.load_raters_of_keys(session, campaign_id, keys)
    mine = {key: row for key, row in known.items() if by.can_lead_team(row.team) and row.state not in (None, "erased")}
    faults = [
        Place(("body", "raters", i), f"{key!r} gets no messages") for i, key in enumerate(keys) if key not in mine
    ]
    if faults:
        raise Invalid("nothing was sent because some of these raters cannot get it", places=tuple(faults[:MOST_NAMED]))
    rater_messages.insert_message_for_raters(
        session, campaign_id, [row.id for row in mine.values()], text=text, actor=by.actor
    )
    audit.record_action(session, campaign_id, actor=by.actor, action="messages sent", what={"raters": sorted(mine)})
    return len(mine)


def list_messages(
    session: Session,
    campaign: str,
    key: str,
    *,
    by: Caller,
    before: int | None = None,
    limit: int = NEWEST,
    read: bool | None = None,
) -> list[MessageToRater]:
    """List the newest messages to a rater whom the caller may see, with ids below `before`. Raises NotFound.

    read: only messages that the rater has read, or only the others.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    rater = raters.load_rater(session, campaign_id, key)
    if not by.can_lead_team(rater.team):
        raise raters.RaterNotFound
    rows = rater_messages.load_messages(session, campaign_id, rater.id, limit=limit, before=before, read=read)
    return [_view(row) for row in rows]


def list_own_messages(session: Session, rater: ActingRater) -> list[MessageToRater]:
    """List the newest messages to the requesting rater."""
    rows = rater_messages.load_messages(session, rater.campaign_id, rater.rater_id, limit=NEWEST)
    return [_view(row) for row in rows]


def mark_own_message_read(session: Session, rater: ActingRater, message: int) -> None:
    """Record that the rater has read a message. Raises RaterMessageNotFound."""
    if not rater_messages.mark_message_read(session, rater.campaign_id, rater.rater_id, message):
        raise RaterMessageNotFound


def _view(row: rater_messages.MessageRecord) -> MessageToRater:
    return MessageToRater(row.id, row.text, row.actor, row.at, row.read_at)
