"""Stored reports: bytes that were computed once for (data version, recipe, seed, method version)."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from app.storage.db import Session
from app.storage.tables import reports


@dataclass(frozen=True, slots=True)
class ReportKey:
    """The values that fully determine a report."""

    campaign_id: int
    kind: str
    data_version: int
    recipe_hash: str
    seed: int
    method_version: str


def find_report(session: Session, key: ReportKey) -> bytes | None:
    """Return the stored bytes, or None."""
    query = sa.select(reports.c.body).where(*(reports.c[name] == value for name, value in _values(key).items()))
    body = session.execute(query).scalar()
    return None if body is None else bytes(body)


def store_report(session: Session, key: ReportKey, body: bytes) -> None:
    """Store a computed report; if it is already stored, change nothing."""
    session.execute(insert(reports).values(**_values(key), body=body).on_conflict_do_nothing())


def _values(key: ReportKey) -> dict[str, object]:
    return {name: getattr(key, name) for name in ReportKey.__slots__}


def find_newest_report(session: Session, campaign_id: int, kind: str) -> bytes | None:
    """Return the stored report of a kind with the latest data version, whatever its options; or None."""
    query = (
        sa.select(reports.c.body)
        .where(reports.c.campaign_id == campaign_id, reports.c.kind == kind)
        .order_by(reports.c.data_version.desc())
        .limit(1)
    )
    body = session.execute(query).scalar()
    return None if body is None else bytes(body)


def load_earlier_reports(session: Session, campaign_id: int, kind: str, version: int) -> list[tuple[int, bytes]]:
    """Return reports of a kind stored for earlier data versions: version and bytes, in order."""
    query = (
        sa.select(reports.c.data_version, reports.c.body)
        .where(reports.c.campaign_id == campaign_id, reports.c.kind == kind, reports.c.data_version < version)
        .order_by(reports.c.data_version, reports.c.recipe_hash, reports.c.seed, reports.c.method_version)
    )
    return [(int(row.data_version), bytes(row.body)) for row in session.execute(query)]
