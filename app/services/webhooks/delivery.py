"""Deliveries: the next event, the signed request, and what follows from the answer.

Requests are signed according to the Standard Webhooks specification (version 1, symmetric), so that receivers can
verify them with a library.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import timedelta

from app.services.access.organization_prefixes import prefix_with_organization_mark
from app.services.webhooks.webhooks import SECRET_MARK
from app.storage import webhooks
from app.storage.db import Database

LEASE = timedelta(seconds=60)
LONGEST_WAIT = 3600
GIVE_UP_AFTER = timedelta(days=3)
GONE = 410


@dataclass(frozen=True, slots=True)
class PendingDelivery:
    """An event to send now. message_id: the same for every attempt."""

    campaign_id: int
    webhook_id: int
    url: str
    secret: str
    attempt: int
    next_event: int
    n: int
    kind: str
    message_id: str
    body: bytes

    def __repr__(self) -> str:
        """Return a text without the secret, so that no log or trace can contain it."""
        return f"PendingDelivery({self.message_id!r}, attempt={self.attempt})"

    def headers(self, timestamp: int) -> dict[str, str]:
        """Return the headers of the request. timestamp: the current time, in seconds since 1970."""
        return {
            "Content-Type": "application/json",
            "User-Agent": "Plumbline-Webhooks/1",
            "webhook-id": self.message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign_message(self.secret, self.message_id, timestamp, self.body),
        }


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result of a request. status: of the answer; None if there was none, and `error` says why."""

    status: int | None
    error: str | None
    milliseconds: int

    @property
    def is_accepted(self) -> bool:
        """Whether the receiver accepted it."""
        return self.status is not None and 200 <= self.status < 300


def sign_message(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message: HMAC-SHA256 over id, time and body.

    Source: Standard Webhooks specification, "Signature scheme".

    >>> sign_message("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
    ...              b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = base64.b64decode(secret.removeprefix(SECRET_MARK))
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def claim_due_webhooks(database: Database, limit: int) -> list[int]:
    """Claim webhooks with an event to send now, so that no other worker sends it."""
    with database.transaction() as session:
        return webhooks.claim_due_webhooks(session, limit=limit, lease=LEASE)


def load_next_delivery_or_release(database: Database, webhook_id: int) -> PendingDelivery | None:
    """Load the next event of a claimed webhook. If there is none, release the webhook and return None."""
    with database.transaction() as session:
        row = webhooks.load_next_event(session, webhook_id)
        if row is None:
            webhooks.release_webhook_claim(session, webhook_id)
            return None
    about = {"rater": row.rater} if row.rater is not None else {}
    said = {
        "type": row.kind,
        "timestamp": row.at.isoformat(),
        "data": {"campaign": row.campaign, "n": row.n, **about, **row.data},
    }
    return PendingDelivery(
        row.campaign_id,
        row.webhook_id,
        row.url,
        row.secret,
        row.attempts + 1,
        row.next_event,
        row.n,
        row.kind,
        prefix_with_organization_mark(f"{row.campaign}.{row.n}"),  # a receiver may listen to several organizations
        json.dumps(said, ensure_ascii=False).encode(),
    )


def release_webhook_claim(database: Database, webhook_id: int) -> None:
    """Release a claimed webhook for other workers."""
    with database.transaction() as session:
        webhooks.release_webhook_claim(session, webhook_id)


def record_delivery(database: Database, sent: PendingDelivery, result: DeliveryResult) -> bool:
    """Store the result of a request and the next step, and return whether the webhook continues at once.

    An event that was not accepted is sent again before any other, after increasing waits. A receiver that answers 410,
    or has accepted nothing for three days, gets nothing more until a manager restarts the webhook.
    """
    note = {
        "campaign_id": sent.campaign_id,
        "webhook_id": sent.webhook_id,
        "n": sent.n,
        "kind": sent.kind,
        "attempt": sent.attempt,
        "status": result.status,
        "error": result.error,
        "milliseconds": result.milliseconds,
    }
    with database.transaction() as session:
        webhooks.insert_delivery_result(session, note)
        if result.is_accepted:
            webhooks.mark_event_delivered(session, sent.webhook_id, was_next=sent.next_event, event=sent.n, lease=LEASE)
        elif result.status == GONE:
            webhooks.stop_webhook(session, sent.webhook_id, reason="gone")
        else:
            wait = timedelta(seconds=compute_seconds_until_next_attempt(sent.attempt))
            webhooks.mark_delivery_failed(
                session, sent.webhook_id, was_next=sent.next_event, wait=wait, give_up=GIVE_UP_AFTER
            )
    return result.is_accepted


def compute_seconds_until_next_attempt(attempt: int) -> int:
    """Return how long to wait after a failed attempt; the first attempt is 1.

    >>> [compute_seconds_until_next_attempt(n) for n in (1, 2, 3, 10, 12, 13, 100)]
    [2, 4, 8, 1024, 3600, 3600, 3600]
    """
    return min(LONGEST_WAIT, 1 << min(attempt, 20))
