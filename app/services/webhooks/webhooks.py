"""Webhooks of a campaign: create, list and delete them, send a test, send events again, and list deliveries."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.errors import Conflict, Invalid, Place
from app.services.campaigns import audit
from app.services.webhooks.addresses import AllowedWebhookAddresses, check_webhook_url
from app.services.webhooks.events import EVENT_KINDS, TEST, EventKind
from app.storage import campaigns, webhooks
from app.storage.db import Session

MOST = 20
"""Webhooks that a campaign may have."""
SECRET_MARK = "whsec_"  # noqa: S105  (the prefix of secrets in Standard Webhooks)


class TooManyWebhooks(Conflict):
    """A campaign has at most 20 webhooks; delete one first."""


@dataclass(frozen=True, slots=True)
class WebhookView:
    """A webhook, without its secret. stopped_because: `failing` or `gone`."""

    public_id: str
    url: str
    kinds: tuple[EventKind, ...]
    created_at: datetime
    next_event: int
    attempts: int
    failing_since: datetime | None
    stopped_at: datetime | None
    stopped_because: str | None


@dataclass(frozen=True, slots=True)
class CreatedWebhook:
    """A new webhook with its secret, which is shown this once."""

    webhook: WebhookView
    secret: str

    def __repr__(self) -> str:
        """Return a text without the secret, so that no log or trace can contain it."""
        return f"CreatedWebhook({self.webhook!r})"


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """One request. n: number of the event. status: of the answer; None if there was none, and `error` says why."""

    id: int
    n: int
    kind: str
    attempt: int
    status: int | None
    error: str | None
    milliseconds: int
    at: datetime


def create_webhook(
    session: Session,
    campaign: str,
    *,
    url: str,
    kinds: Sequence[EventKind] = EVENT_KINDS,
    allowed: AllowedWebhookAddresses,
    actor: str,
) -> CreatedWebhook:
    """Send an address the events that happen from now on. kinds: of events, by default all.

    Raises NotFound, Invalid for an address that is not allowed, TooManyWebhooks.
    """
    check_webhook_url(url, allowed)
    wanted = [kind for kind in EVENT_KINDS if kind in kinds]
    if not wanted:
        raise Invalid(places=(Place(("body", "events"), "must name at least one kind of event"),))
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    if webhooks.count_webhooks(session, campaign_id) >= MOST:
        raise TooManyWebhooks
    secret = SECRET_MARK + base64.b64encode(secrets.token_bytes(32)).decode()
    row = webhooks.insert_webhook(
        session,
        {
            "campaign_id": campaign_id,
            "public_id": f"w_{secrets.token_hex(16)}",
            "url": url,
            "secret": secret,
            "kinds": wanted,
            "actor": actor,
        },
    )
    what = {"webhook": row.public_id, "events": wanted}
    audit.record_action(session, campaign_id, actor=actor, action="webhook made", what=what)
    return CreatedWebhook(_view(row), secret)


def list_webhooks(session: Session, campaign: str, *, after: str | None, limit: int) -> list[WebhookView]:
    """List a campaign's webhooks by id, starting after `after`. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    return [_view(row) for row in webhooks.load_webhooks_page(session, campaign_id, after=after, limit=limit)]


def delete_webhook(session: Session, campaign: str, public_id: str, *, actor: str) -> None:
    """Delete a webhook, which then gets nothing more. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    row = webhooks.load_webhook(session, campaign_id, public_id, lock=True)
    webhooks.delete_webhook(session, row.id)
    audit.record_action(session, campaign_id, actor=actor, action="webhook deleted", what={"webhook": public_id})


def queue_test_event(session: Session, campaign: str, public_id: str) -> int:
    """Put an event for this webhook only into the outbox, and return its number. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    row = webhooks.load_webhook(session, campaign_id, public_id)
    n = webhooks.append_event(session, campaign_id, kind=TEST, data={}, webhook_id=row.id)
    if n is None:  # the webhook was deleted in the meantime
        raise webhooks.WebhookNotFound
    return n


def replay_events(session: Session, campaign: str, public_id: str, *, event: int | None, actor: str) -> WebhookView:
    """Send events again, in order, starting from one; a stopped webhook starts again.

    event: the number of the first one; None: the first that was not delivered. Raises NotFound, and Invalid if the
    event is too old to be kept, or has not happened yet.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    row = webhooks.load_webhook(session, campaign_id, public_id, lock=True)
    if event is not None:
        first = webhooks.find_oldest_event_number(session, campaign_id)
        if not (row.next_event if first is None else first) <= event <= row.next_event:
            raise Invalid(places=(Place(("body", "from"), _why_not(first, row.next_event)),))
    webhooks.restart_webhook_from_event(session, row.id, event=event)
    what = {"webhook": public_id, "from": row.next_event if event is None else event}
    audit.record_action(session, campaign_id, actor=actor, action="webhook replayed", what=what)
    return _view(webhooks.load_webhook(session, campaign_id, public_id))


def list_webhook_deliveries(
    session: Session,
    campaign: str,
    public_id: str,
    *,
    before: int | None,
    limit: int,
    taken: bool | None = None,
    kind: str | None = None,
) -> tuple[list[WebhookDelivery], int | None]:
    """List deliveries of a webhook, newest first, with numbers below `before`.

    The second value is the last number examined, if there may be more. taken: only accepted deliveries, or only the
    others. kind: of the event. Raises NotFound.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    row = webhooks.load_webhook(session, campaign_id, public_id)
    rows, reached = webhooks.load_deliveries_page(
        session, campaign_id, row.id, before=before, limit=limit, taken=taken, kind=kind
    )
    views = [WebhookDelivery(**{name: getattr(row, name) for name in WebhookDelivery.__slots__}) for row in rows]
    return views, reached


def _why_not(first: int | None, next_event: int) -> str:
    if first is None or first >= next_event:
        return f"must be {next_event}, the next event; no earlier one is kept"
    return f"must be from {first}, the oldest event that is kept, to {next_event}, the next one"


def _view(row: webhooks.WebhookRecord) -> WebhookView:
    values = {name: getattr(row, name) for name in WebhookView.__slots__}
    return WebhookView(**{**values, "kinds": tuple(row.kinds)})
