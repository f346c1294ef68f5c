"""Queries about the audit log. Each campaign has a chain; all other rows are in the installation's chain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import audit_log, campaigns
from app.storage.word_search import make_word_condition, make_word_pattern

AuditRecord = sa.Row[Any]
START = bytes(32)
BATCH = 1000  # rows
_AFTER_ALL = 2**63 - 1
LOOKED_AT = 1000
"""The most rows that a page searches."""

# Every change runs these statements, so they are built once. The sort order of a chain includes the campaign, although
# it is only one. Without it, the last row of the installation's chain, whose campaign is null, would not be read from
# the end of the index.
_HOLD_CAMPAIGN = (
    sa.select(campaigns.c.id).where(campaigns.c.id == sa.bindparam("campaign")).with_for_update(key_share=True)
)
_HOLD_CHAIN = sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended("audit", sa.bindparam("chain"))))
_NOW = sa.select(sa.func.clock_timestamp())
_APPEND = sa.insert(audit_log)
_BACKWARDS = sa.select(audit_log.c.n, audit_log.c.hash).order_by(audit_log.c.campaign_id.desc(), audit_log.c.n.desc())
_LAST = _BACKWARDS.where(audit_log.c.campaign_id == sa.bindparam("campaign")).limit(1)
_LAST_OF_INSTALLATION = _BACKWARDS.where(audit_log.c.campaign_id.is_(None)).limit(1)


def append_audit_row(
    session: Session, campaign_id: int | None, *, actor: str, action: str, what: Mapping[str, object]
) -> None:
    """Append a row to a chain; other appends wait until this transaction ends.

    The code locks the campaign before the chain, as all code that changes a campaign does, to prevent deadlocks.
    """
    if campaign_id is not None:
        session.execute(_HOLD_CAMPAIGN, {"campaign": campaign_id})
    session.execute(_HOLD_CHAIN, {"chain": campaign_id or 0})
    last = session.execute(*_last_row(campaign_id)).one_or_none()
    at = session.execute(_NOW).scalar_one()
    row = {
        "campaign_id": campaign_id,
        "n": last.n + 1 if last else 1,
        "at": at,
        "actor": actor,
        "action": action,
        "what": json.dumps(what, sort_keys=True, allow_nan=False, default=str),
    }
    row["hash"] = hash_audit_row(last.hash if last else START, **row)
    session.execute(_APPEND, row)


def hash_audit_row(
    previous: bytes, *, campaign_id: int | None, n: int, at: datetime, actor: str, action: str, what: str
) -> bytes:
    """Return the SHA-256 of the previous hash and all fields of a row."""
    said = [previous.hex(), campaign_id, n, at.astimezone(UTC).isoformat(timespec="microseconds"), actor, action, what]
    return hashlib.sha256(json.dumps(said).encode()).digest()


def load_audit_page(
    session: Session,
    *,
    before: int | None,
    limit: int,
    campaign_id: int | None,
    installation: bool,
    words: Sequence[str] = (),
) -> tuple[list[AuditRecord], int | None]:
    """Return rows from the newest on, older than id `before`; and the last row searched, if there are more.

    campaign_id: only this campaign. installation: also the rows without a campaign. words: each is a part of actor,
    action, details or campaign, ignoring case; for these, a page searches at most LOOKED_AT rows, so it may have fewer
    than `limit`.
    """
    shown = sa.select(audit_log, campaigns.c.key.label("campaign"))
    query = shown.outerjoin(campaigns, campaigns.c.id == audit_log.c.campaign_id)
    if before is not None:
        query = query.where(audit_log.c.id < before)
    if campaign_id is None:
        query = query.order_by(audit_log.c.id.desc())
        query = query if installation else query.where(audit_log.c.campaign_id.is_not(None))
    else:  # use the chain, where ids ascend: an inactive campaign has few of all rows
        query = query.where(audit_log.c.campaign_id == campaign_id).order_by(audit_log.c.n.desc())
        if before is not None:
            at = sa.select(audit_log.c.n).where(audit_log.c.id == before, audit_log.c.campaign_id == campaign_id)
            query = query.where(audit_log.c.n < sa.func.coalesce(at.scalar_subquery(), _AFTER_ALL))
    if not words:
        return list(session.execute(query.limit(limit))), None
    looked = query.limit(LOOKED_AT).subquery()
    meant = sa.select(looked)
    for word in words:
        named = make_word_condition((looked.c.actor, looked.c.action, looked.c.campaign), word)
        meant = meant.where(named | looked.c.what.regexp_match(make_word_pattern(word, in_json=True)))
    rows = list(session.execute(meant.order_by(looked.c.id.desc()).limit(limit)))
    count, last = session.execute(sa.select(sa.func.count(), sa.func.min(looked.c.id))).one()
    return rows, int(last) if count == LOOKED_AT and len(rows) < limit else None


def list_audit_chains(session: Session) -> list[tuple[int | None, str | None]]:
    """Return the id and key of every campaign with a chain; None and None for the installation's chain."""
    chained = sa.select(audit_log.c.campaign_id, campaigns.c.key).distinct()
    query = chained.outerjoin(campaigns, campaigns.c.id == audit_log.c.campaign_id).order_by(audit_log.c.campaign_id)
    return [(row.campaign_id, row.key) for row in session.execute(query)]


def stream_audit_chain(session: Session, campaign_id: int | None) -> Iterator[AuditRecord]:
    """Yield the rows of a chain in order."""
    rows = session.execute(_chain(campaign_id).execution_options(yield_per=BATCH))
    yield from rows


def stream_audit_details_of_action(session: Session, campaign_id: int, action: str) -> Iterator[Mapping[str, Any]]:
    """Yield the details of a campaign's rows with this action, in order."""
    query = _chain(campaign_id).where(audit_log.c.action == action)
    for row in session.execute(query.execution_options(yield_per=BATCH)):
        yield json.loads(row.what)


def _last_row(campaign_id: int | None) -> tuple[sa.Select[Any], Mapping[str, object]]:
    """Return the statement that finds the last row of a chain, and its parameters."""
    return (_LAST_OF_INSTALLATION, {}) if campaign_id is None else (_LAST, {"campaign": campaign_id})


def _chain(campaign_id: int | None) -> sa.Select[Any]:
    """Select the rows of a chain in order; not with IS NOT DISTINCT FROM, which cannot use the index."""
    column = audit_log.c.campaign_id
    whose = column.is_(None) if campaign_id is None else column == campaign_id
    return sa.select(audit_log).where(whose).order_by(column, audit_log.c.n)
