"""Keeping a report on raters: from the store, or made and stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime

from pydantic import BaseModel

from app.reports.kit.report import StoredReport
from app.reports.source.snapshot import Snapshot, snapshot
from app.stats.ranking.result import METHOD_VERSION
from app.storage import reports
from app.storage.db import Database, Session


def kept(
    database: Database,
    campaign: str,
    *,
    kind: str,
    asked: str,
    as_of: int | datetime | None,
    make: Callable[[Session, Snapshot], BaseModel],
) -> StoredReport:
    """The stored report of this kind and question, made and stored where there is none.

    Raises NotFound for an unknown campaign, and what `make` raises.
    """
    with database.transaction(snapshot=True) as session:
        about = snapshot(session, campaign, as_of)
        key = reports.ReportKey(about.campaign_id, kind, about.version, asked + about.unsettled, 0, METHOD_VERSION)
        body = reports.find(session, key)
    if body is None:
        with database.transaction() as session:
            body = make(session, about).model_dump_json().encode()
        with database.transaction() as session:
            reports.store(session, key, body)
            body = reports.find(session, key) or body
    return StoredReport(body, hashlib.sha256(body).hexdigest()[:32], about.version)
