"""Queries about webhooks, the outbox of their events, and deliveries. Due times are by the database clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.domain.errors import NotFound
from app.storage.attention_checks import IS_CHECK
from app.storage.db import Session
from app.storage.tables import (
    campaigns,
    raters,
    tasks,
    webhook_deliveries,
    webhook_events,
    webhook_streams,
    webhooks,
)

WebhookRecord = sa.Row[Any]
_NOW = sa.func.statement_timestamp()
LOOKED_AT = 500
"""The most deliveries that a page searches."""


class WebhookNotFound(NotFound):
    """There is no such webhook."""


# Number and event in one statement. Campaigns without webhooks store no events.
_APPEND = sa.text("""
WITH stream AS (
    UPDATE webhook_streams SET last = last + 1
    WHERE campaign_id = :campaign AND EXISTS (SELECT FROM webhooks w WHERE w.campaign_id = :campaign)
    RETURNING last)
INSERT INTO webhook_events (campaign_id, n, kind, data, rater_id, webhook_id)
SELECT :campaign, last, :kind, :data, :rater, :webhook FROM stream
RETURNING n""").bindparams(sa.bindparam("data", type_=webhook_events.c.data.type))


def append_event(
    session: Session,
    campaign_id: int,
    *,
    kind: str,
    data: Mapping[str, object],
    rater_id: int | None = None,
    webhook_id: int | None = None,
) -> int | None:
    """Put an event into the campaign's outbox; return its number, or None if the campaign has no webhooks."""
    values = {"campaign": campaign_id, "kind": kind, "data": dict(data), "rater": rater_id, "webhook": webhook_id}
    n: int | None = session.execute(_APPEND, values).scalar()
    return n


def has_webhooks(session: Session, campaign_id: int) -> bool:
    """Tell whether a campaign has a webhook."""
    return bool(session.execute(sa.select(sa.exists().where(webhooks.c.campaign_id == campaign_id))).scalar())


def count_handed_in_and_all_tasks(session: Session, campaign_id: int) -> tuple[int, int]:
    """Return the numbers of handed-in tasks and of all tasks that raters are to do in a campaign."""
    done = sa.func.count().filter(tasks.c.state == "handed_in")
    wanted = tasks.c.state.in_(("free", "leased", "handed_in"))
    planned = sa.text(f"NOT {IS_CHECK.format(task='tasks')}")
    query = sa.select(done, sa.func.count()).where(tasks.c.campaign_id == campaign_id, wanted, planned)
    row = session.execute(query).one()
    return int(row[0]), int(row[1])


def insert_webhook(session: Session, values: Mapping[str, object]) -> WebhookRecord:
    """Store a webhook, which gets all events from now on."""
    campaign_id = values["campaign_id"]
    session.execute(insert(webhook_streams).values(campaign_id=campaign_id).on_conflict_do_nothing())
    query = sa.select(webhook_streams.c.last).where(webhook_streams.c.campaign_id == campaign_id).with_for_update()
    last = session.execute(query).scalar_one()
    made = sa.insert(webhooks).values(**values, next_event=last + 1).returning(webhooks)
    return session.execute(made).one()


def load_webhooks_page(session: Session, campaign_id: int, *, after: str | None, limit: int) -> list[WebhookRecord]:
    """Return a campaign's webhooks by id after `after`."""
    public_id = webhooks.c.public_id.collate("C")
    query = sa.select(webhooks).where(webhooks.c.campaign_id == campaign_id).order_by(public_id).limit(limit)
    return list(session.execute(query if after is None else query.where(public_id > after)))


def count_webhooks(session: Session, campaign_id: int) -> int:
    """Return the number of a campaign's webhooks."""
    query = sa.select(sa.func.count()).where(webhooks.c.campaign_id == campaign_id)
    return int(session.execute(query).scalar_one())


def load_webhook(session: Session, campaign_id: int, public_id: str, *, lock: bool = False) -> WebhookRecord:
    """Return a campaign's webhook. Raises WebhookNotFound."""
    query = sa.select(webhooks).where(webhooks.c.campaign_id == campaign_id, webhooks.c.public_id == public_id)
    row = session.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise WebhookNotFound
    return row


def delete_webhook(session: Session, webhook_id: int) -> None:
    """Delete a webhook with its deliveries."""
    session.execute(sa.delete(webhooks).where(webhooks.c.id == webhook_id))


def find_oldest_event_number(session: Session, campaign_id: int) -> int | None:
    """Return the number of the oldest stored event; None if there is none."""
    query = sa.select(sa.func.min(webhook_events.c.n)).where(webhook_events.c.campaign_id == campaign_id)
    return session.execute(query).scalar()


def restart_webhook_from_event(session: Session, webhook_id: int, *, event: int | None) -> None:
    """Restart at once from an event (None: from the first event that was not delivered)."""
    values: dict[str, object] = {"attempts": 0, "failing_since": None, "next_at": _NOW}
    values |= {"stopped_at": None, "stopped_because": None}
    if event is not None:
        values["next_event"] = event
    session.execute(sa.update(webhooks).where(webhooks.c.id == webhook_id).values(**values))


def _is_wanted() -> sa.ColumnElement[bool]:
    """Whether an event is for a webhook that has not received it yet."""
    e, w = webhook_events.c, webhooks.c
    ours = sa.or_(sa.and_(e.webhook_id.is_(None), e.kind == sa.any_(w.kinds)), e.webhook_id == w.id)
    return sa.and_(e.campaign_id == w.campaign_id, e.n >= w.next_event, ours)


def claim_due_webhooks(session: Session, *, limit: int, lease: timedelta) -> list[int]:
    """Return webhooks with an event to send now, reserved against other workers for a while."""
    w = webhooks.c
    free = sa.or_(w.claimed_until.is_(None), w.claimed_until < _NOW)
    due = (
        sa.select(w.id)
        .where(w.stopped_at.is_(None), w.next_at <= _NOW, free, sa.exists().where(_is_wanted()))
        .order_by(w.next_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    claimed = sa.update(webhooks).where(w.id.in_(due)).values(claimed_until=_NOW + lease).returning(w.id)
    return list(session.execute(claimed).scalars())


def load_next_event(session: Session, webhook_id: int) -> WebhookRecord | None:
    """Return the next event of a webhook with everything that a delivery needs; None if there is no event left."""
    e, w = webhook_events.c, webhooks.c
    query: sa.Select[Any] = (
        sa.select(
            w.campaign_id,
            w.id.label("webhook_id"),
            w.url,
            w.secret,
            w.attempts,
            w.next_event,
            e.n,
            e.kind,
            e.data,
            e.at,
            campaigns.c.key.label("campaign"),
            raters.c.key.label("rater"),
        )
        .select_from(
            webhooks.join(campaigns, campaigns.c.id == w.campaign_id)
            .join(webhook_events, _is_wanted())
            .outerjoin(raters, raters.c.id == e.rater_id)
        )
        .where(w.id == webhook_id, w.stopped_at.is_(None))
        .order_by(e.n)
        .limit(1)
    )
    return session.execute(query).one_or_none()


def insert_delivery_result(session: Session, values: Mapping[str, object]) -> None:
    """Store the result of a delivery, unless its webhook is gone."""
    there = sa.select(webhooks.c.id).where(webhooks.c.id == values["webhook_id"]).with_for_update()
    if session.execute(there).one_or_none() is not None:
        session.execute(sa.insert(webhook_deliveries).values(**values))


def mark_event_delivered(session: Session, webhook_id: int, *, was_next: int, event: int, lease: timedelta) -> None:
    """Move past an event, unless the webhook was set to another one meanwhile; the sending worker keeps the claim."""
    here = (webhooks.c.id == webhook_id) & (webhooks.c.next_event == was_next)
    kept = {"next_at": _NOW, "claimed_until": _NOW + lease}
    values = {"next_event": event + 1, "attempts": 0, "failing_since": None, **kept}
    session.execute(sa.update(webhooks).where(here).values(**values))


def mark_delivery_failed(
    session: Session, webhook_id: int, *, was_next: int, wait: timedelta, give_up: timedelta
) -> None:
    """Retry after a while; stop the webhook if it has failed for too long."""
    w = webhooks.c
    since = sa.func.coalesce(w.failing_since, _NOW)
    late = since <= _NOW - give_up
    values = {
        "attempts": w.attempts + 1,
        "failing_since": since,
        "next_at": _NOW + wait,
        "claimed_until": None,
        "stopped_at": sa.case((late, _NOW), else_=None),
        "stopped_because": sa.case((late, "failing"), else_=None),
    }
    session.execute(sa.update(webhooks).where((w.id == webhook_id) & (w.next_event == was_next)).values(**values))


def stop_webhook(session: Session, webhook_id: int, *, reason: str) -> None:
    """Stop sending until a user restarts the webhook."""
    values = {"stopped_at": _NOW, "stopped_because": reason, "claimed_until": None}
    session.execute(sa.update(webhooks).where(webhooks.c.id == webhook_id).values(**values))


def release_webhook_claim(session: Session, webhook_id: int) -> None:
    """Let other workers take the webhook."""
    session.execute(sa.update(webhooks).where(webhooks.c.id == webhook_id).values(claimed_until=None))


def load_deliveries_page(
    session: Session,
    campaign_id: int,
    webhook_id: int,
    *,
    before: int | None,
    limit: int,
    taken: bool | None = None,
    kind: str | None = None,
) -> tuple[Sequence[WebhookRecord], int | None]:
    """Return deliveries of a webhook, newest first, below a number; and the last one searched, if there may be more.

    taken: only deliveries answered with a status from 200 to 299, or only the others. kind: of the event. For these, a
    page searches at most LOOKED_AT deliveries, so it may have fewer than `limit`.
    """
    d = webhook_deliveries.c
    query = sa.select(webhook_deliveries).where(d.campaign_id == campaign_id, d.webhook_id == webhook_id)
    query = query.order_by(d.id.desc())
    if before is not None:
        query = query.where(d.id < before)
    if taken is None and kind is None:
        return session.execute(query.limit(limit)).all(), None
    looked = query.limit(LOOKED_AT).subquery()
    meant = sa.select(looked).order_by(looked.c.id.desc()).limit(limit)
    if taken is not None:
        meant = meant.where(sa.func.coalesce(looked.c.status.between(200, 299), sa.false()) == sa.literal(taken))
    if kind is not None:
        meant = meant.where(looked.c.kind == kind)
    rows = session.execute(meant).all()
    count, last = session.execute(sa.select(sa.func.count(), sa.func.min(looked.c.id))).one()
    return rows, int(last) if count == LOOKED_AT and len(rows) < limit else None
