"""The audit log: who changed what, in the transaction that changed it; each row seals those before it."""

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
    """One row. campaign: None for what belongs to the installation. n: its place in the chain, from 1."""

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
    """A chain that was followed. faults: what is wrong, and at which row. hash: of the last row; note it elsewhere."""

    campaign: str | None
    rows: int
    hash: str
    faults: tuple[str, ...]


def record_action(
    session: Session, campaign_id: int | None, *, actor: str, action: str, what: Mapping[str, object] | None = None
) -> None:
    """Record what this transaction does; call it last, because others wait for the chain until the transaction ends.

    campaign_id: None for what belongs to the installation. action: noun and verb, like `token revoked`. what: the
    particulars as JSON values, without secrets and without the names of people.
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
    """Rows from the newest on, those older than id `before`; and the last looked at, where a search has to go on.

    only: of this campaign. own: the one campaign that the reader may see, None for all. installation: the reader may
    also see what belongs to no campaign. q: words, each a part of who, what or campaign.

    Raises NotFound for a campaign that is not there or not the reader's.
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
    """Follow every chain and compute every hash anew."""
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
