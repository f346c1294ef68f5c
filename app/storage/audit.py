"""Queries about the audit log. Each campaign has a chain; what belongs to none is in the installation's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import audit_log, campaigns
from app.storage.word_search import contains_word, make_word_pattern

AuditRecord = sa.Row[Any]
START = bytes(32)
BATCH = 1000  # rows
LOOKED_AT = 1000
"""Rows that a page looks at, at most, for those that are searched."""


def append_audit_row(
    session: Session, campaign_id: int | None, *, actor: str, action: str, what: Mapping[str, object]
) -> None:
    """Add a row to the end of a chain; whoever else wants to waits until this transaction ends.

    The campaign is held before the chain, as everybody does who changes it, so that nobody waits in a ring.
    """
    if campaign_id is not None:
        session.execute(sa.select(campaigns.c.id).where(campaigns.c.id == campaign_id).with_for_update(key_share=True))
    session.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended("audit", campaign_id or 0))))
    last = session.execute(_chain(campaign_id).order_by(audit_log.c.n.desc()).limit(1)).one_or_none()
    at = session.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    row = {
        "campaign_id": campaign_id,
        "n": last.n + 1 if last else 1,
        "at": at,
        "actor": actor,
        "action": action,
        "what": json.dumps(what, sort_keys=True, allow_nan=False, default=str),
    }
    row["hash"] = hash_audit_row(last.hash if last else START, **row)
    session.execute(sa.insert(audit_log).values(row))


def hash_audit_row(
    previous: bytes, *, campaign_id: int | None, n: int, at: datetime, actor: str, action: str, what: str
) -> bytes:
    """SHA-256 over the hash before and everything that a row says."""
    said = [previous.hex(), campaign_id, n, at.astimezone(UTC).isoformat(timespec="microseconds"), actor, action, what]
    return hashlib.sha256(json.dumps(said).encode()).digest()


def load_audit_page(
    session: Session,
    *,
    before: int | None,
    limit: int,
    campaign: str | None,
    installation: bool,
    words: Sequence[str] = (),
) -> tuple[list[AuditRecord], int | None]:
    """Rows from the newest on, those older than id `before`; and the last that was looked at, if there are more.

    campaign: only of this one. installation: those of no campaign as well. words: each is a part of who, what or
    campaign, in any case; a page looks at no more than LOOKED_AT rows for these, so it may have fewer than `limit`.
    """
    shown = sa.select(audit_log, campaigns.c.key.label("campaign"))
    query = shown.outerjoin(campaigns, campaigns.c.id == audit_log.c.campaign_id).order_by(audit_log.c.id.desc())
    if before is not None:
        query = query.where(audit_log.c.id < before)
    if campaign is not None:
        query = query.where(campaigns.c.key == campaign)
    elif not installation:
        query = query.where(audit_log.c.campaign_id.is_not(None))
    if not words:
        return list(session.execute(query.limit(limit))), None
    looked = query.limit(LOOKED_AT).subquery()
    meant = sa.select(looked)
    for word in words:
        named = contains_word((looked.c.actor, looked.c.action, looked.c.campaign), word)
        meant = meant.where(named | looked.c.what.regexp_match(make_word_pattern(word, in_json=True)))
    rows = list(session.execute(meant.order_by(looked.c.id.desc()).limit(limit)))
    count, last = session.execute(sa.select(sa.func.count(), sa.func.min(looked.c.id))).one()
    return rows, int(last) if count == LOOKED_AT and len(rows) < limit else None


def list_audit_chains(session: Session) -> list[tuple[int | None, str | None]]:
    """Id and key of every campaign with a chain; None and None for the installation's."""
    chained = sa.select(audit_log.c.campaign_id, campaigns.c.key).distinct()
    query = chained.outerjoin(campaigns, campaigns.c.id == audit_log.c.campaign_id).order_by(audit_log.c.campaign_id)
    return [(row.campaign_id, row.key) for row in session.execute(query)]


def stream_audit_chain(session: Session, campaign_id: int | None) -> Iterator[AuditRecord]:
    """The rows of a chain in order."""
    rows = session.execute(_chain(campaign_id).order_by(audit_log.c.n).execution_options(yield_per=BATCH))
    yield from rows


def stream_action_details(session: Session, campaign_id: int, action: str) -> Iterator[Mapping[str, Any]]:
    """What the rows of a campaign that say an action have, in order."""
    query = _chain(campaign_id).where(audit_log.c.action == action).order_by(audit_log.c.n)
    for row in session.execute(query.execution_options(yield_per=BATCH)):
        yield json.loads(row.what)


def _chain(campaign_id: int | None) -> sa.Select[Any]:
    return sa.select(audit_log).where(audit_log.c.campaign_id.is_not_distinct_from(campaign_id))
