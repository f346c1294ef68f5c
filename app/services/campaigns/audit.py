"""The audit log: who changed what, written in the transaction of the change. Each row seals the earlier ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.storage import audit, campaigns
from app.storage.db import Session

OPERATOR = "operator"
PROVIDER = "identity provider"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One row. campaign: None for the installation. n: its place in the chain, from 1."""

    id: int
    campaign: str | None
    n: int
    at: datetime
    actor: str
    action: str
    what: Mapping[str, object]
    hash: str


@dataclass(frozen=True, slots=True)
class AuditChainVerification:
    """The result for one chain. faults: what is wrong, and at which row. hash: of the last row; note it elsewhere."""

    campaign: str | None
    rows: int
    hash: str
    faults: tuple[str, ...]


def record_action(
    session: Session, campaign_id: int | None, *, actor: str, action: str, what: Mapping[str, object] | None = None
) -> None:
    """Record what this transaction does. Call it last, because others wait for the chain until the transaction ends.

    campaign_id: None for the installation. action: noun and verb, like `token revoked`. what: the details as JSON
    values, without secrets and without names of people.
    """
    audit.append_audit_row(session, campaign_id, actor=actor, action=action, what=what or {})


def list_audit_entries(
    session: Session,
    *,
    only: str | None,
    installation: bool,
    before: int | None,
    limit: int,
    own: str | None = None,
    q: str = "",
) -> tuple[list[AuditEntry], int | None]:
    """List rows older than id `before`, newest first, and the last id examined if a search must continue.

    only: only this campaign. own: the one campaign that the reader may see, None for all. installation: whether the
    reader may also see rows without a campaign. q: words, each of which must be part of actor, details or campaign.

    Raises NotFound if the campaign does not exist or the reader may not see it.
    """
    if only is not None and own not in (None, only):
        raise campaigns.CampaignNotFound
    wanted = only or own
    campaign_id = int(campaigns.load_campaign(session, wanted).id) if wanted is not None else None
    rows, reached = audit.load_audit_page(
        session, before=before, limit=limit, campaign_id=campaign_id, installation=installation, words=q.split()
    )
    return [_entry(row) for row in rows], reached


def verify_audit_chains(session: Session) -> Iterator[AuditChainVerification]:
    """Follow every chain and compute every hash again."""
    for campaign_id, key in audit.list_audit_chains(session):
        previous, rows, faults = audit.START, 0, []
        for row in audit.stream_audit_chain(session, campaign_id):
            rows += 1
            if row.n != rows:
                faults.append(f"rows {rows} to {row.n - 1} are missing")
                rows = row.n
            said = {name: getattr(row, name) for name in ("campaign_id", "n", "at", "actor", "action", "what")}
            if row.hash != audit.hash_audit_row(previous, **said):
                faults.append(f"row {row.n} was changed after it was written")
            previous = row.hash
        yield AuditChainVerification(key, rows, previous.hex(), tuple(faults))


def _entry(row: audit.AuditRecord) -> AuditEntry:
    what = json.loads(row.what)
    return AuditEntry(row.id, row.campaign, row.n, row.at, row.actor, row.action, what, row.hash.hex())
