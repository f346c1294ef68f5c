"""Verification that judgments, voids and comparisons are unchanged: each data version against its seal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from app.services.campaigns import audit
from app.storage import audit as log
from app.storage import seals
from app.storage.db import Session

PURGED, SEALED = "rater purged", "data sealed"


@dataclass(frozen=True, slots=True)
class DataSealVerification:
    """The result for a campaign's data versions. hash: of the last seal; note it elsewhere."""

    campaign: str
    versions: int
    judgments: int
    hash: str
    faults: tuple[str, ...]


def verify_data_seals(session: Session) -> Iterator[DataSealVerification]:
    """Compute the hash of every sealed row and every seal again."""
    for campaign in seals.load_sealable_campaigns(session):
        rows = seals.compare_versions_with_seals(session, campaign.id, load_purged_rows(session, campaign.id))
        faults = [*_faults(rows, int(campaign.data_version)), *_list_contradicted_seals(session, campaign.id, rows)]
        last = next((row.hash for row in reversed(rows) if row.sealed), b"")
        judgments = sum(row.found for row in rows)
        yield DataSealVerification(campaign.key, int(campaign.data_version), judgments, last.hex(), tuple(faults))


def seal_all_campaigns(session: Session, *, actor: str) -> list[str]:
    """Seal the current state of unsealed versions, record it in the audit log, and return the campaigns concerned.

    While an earlier release still runs, it writes versions without a seal.
    """
    results = []
    for campaign in seals.load_sealable_campaigns(session):
        if campaign.sealed >= campaign.data_version:
            continue
        if seal_unsealed_campaign_versions(session, campaign.id, first=campaign.sealed + 1, actor=actor):
            results.append(str(campaign.key))
    return results


def seal_unsealed_campaign_versions(session: Session, campaign_id: int, *, first: int, actor: str) -> bool:
    """Seal a campaign's unsealed versions, and return whether there were any.

    first: the first one, for the audit log.
    """
    last = seals.seal_unsealed_versions(session, campaign_id, load_purged_rows(session, campaign_id), hold=True)
    if last is None:
        return False
    what = {"first": first, "version": last[0], "hash": last[1].hex()}
    audit.record_action(session, campaign_id, actor=actor, action=SEALED, what=what)
    return True


def load_purged_rows(session: Session, campaign_id: int) -> seals.PurgedRows:
    """Load the rows that were deleted legitimately, as the audit log records them."""
    rows = seals.PurgedRows()
    for what in log.stream_audit_details_of_action(session, campaign_id, PURGED):
        for row, version in what.get("versions", {}).items():
            kind, number = row.split()[:2]
            rows.add_row(int(version), seals.KINDS[kind], int(number), bytes.fromhex(what["rows"][row]))
    return rows


def _faults(rows: Iterable[seals.Row], versions: int) -> Iterator[str]:
    """Yield the faults of a campaign's versions in order.

    Consecutive versions with the same fault are reported together.
    """
    told = [(row.n, why) for row in rows if (why := _fault(row, versions)) is not None]
    there = {row.n for row in rows}
    told += [(n, "gone") for n in range(1, versions + 1) if n not in there]
    for (_, why), run in groupby(enumerate(sorted(told)), key=lambda one: (one[1][0] - one[0], one[1][1])):
        numbers = [n for _, (n, _) in run]
        which = f"version {numbers[0]}" if len(numbers) == 1 else f"versions {numbers[0]} to {numbers[-1]}"
        yield f"{which}: {why}"


def _fault(row: seals.Row, versions: int) -> str | None:
    if row.n > versions:
        return "newer than the campaign says it is"
    if not row.noted:
        return "gone"
    if not row.sealed:
        return "not sealed; `plumbline audit --seal` seals what a release before this one wrote, as it is now"
    if row.found != row.judgments:
        return f"{row.judgments} judgments were written, {row.found} are there"
    if not row.as_written:
        return "its judgments, voids or comparisons are not what was written"
    return None if row.linked else "not what was sealed"


def _list_contradicted_seals(session: Session, campaign_id: int, rows: Iterable[seals.Row]) -> Iterator[str]:
    """Yield seals for which the audit log has a different hash."""
    hashes = {row.n: row.hash.hex() for row in rows if row.sealed}
    for what in log.stream_audit_details_of_action(session, campaign_id, SEALED):
        if hashes.get(what["version"]) != what["hash"]:
            yield f"version {what['version']}: the audit log has another seal of it"
