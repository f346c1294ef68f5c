"""The report on a test set. For many outputs a worker makes it, and it is stored until texts change."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from app.reports import ingest
from app.reports.kit.report import ReportComputation, StoredReport, make_undivided_computation
from app.reports.kit.store import make_report_key_from_parts
from app.services.jobs import jobs
from app.services.jobs.jobs import JobInputsChanged, JobView
from app.storage import campaigns, progress_counts, reports, test_sets
from app.storage.db import Database, Session
from app.storage.reports import ReportKey

KIND = "ingest"
VERSION = "1"
QUICK_OUTPUTS = 10_000
"""More outputs are left to a worker: each takes 20 µs, and a process that answers raters computes for at most .2 s."""


def find_or_queue_ingest_report(database: Database, campaign: str) -> dict[str, Any] | StoredReport | JobView:
    """Return the report if it is stored or can be made quickly, else the job that makes it. Raises NotFound."""
    with database.transaction(snapshot=True) as session:
        row = campaigns.load_campaign(session, campaign)
        if test_sets.count_outputs_up_to(session, row.id, most=QUICK_OUTPUTS + 1) <= QUICK_OUTPUTS:
            return asdict(ingest.make_ingest_report(session, campaign))
        key = _key(session, row)
        body = reports.find_report(session, key)
    if body is None:
        return jobs.request_job(database, jobs.JobRequest(KIND, key, {campaign: key.data_version}, {}, role="manager"))
    return StoredReport.from_bytes(body, key.data_version)


def parse_report_with_current_version(database: Database, campaign: str, body: bytes) -> dict[str, Any]:
    """Return a stored report under the current data version: since then, only judgments were added, and no texts."""
    with database.transaction() as session:
        version = campaigns.load_campaign(session, campaign).data_version
    return {**json.loads(body), "data_version": version}


def make_ingest_report_computation(database: Database, request: jobs.JobRequest) -> ReportComputation[bytes]:
    """Return the work of examining the current texts.

    Raises JobInputsChanged if they have changed since the request.
    """
    (campaign,) = request.campaigns
    return make_undivided_computation(lambda: _compute_and_store(database, campaign, request.key))


def _compute_and_store(database: Database, campaign: str, key: ReportKey) -> bytes:
    with database.transaction(snapshot=True) as session:
        if _key(session, campaigns.load_campaign(session, campaign)) != key:
            raise JobInputsChanged
        looked = asdict(ingest.make_ingest_report(session, campaign))
    return json.dumps(looked, ensure_ascii=False, separators=(",", ":")).encode()


def _key(session: Session, row: campaigns.CampaignRecord) -> ReportKey:
    """Return the key, with the last data version not made by raters' work, because judgments change no text."""
    version = progress_counts.find_last_data_version_not_from_answers(session, row.id)
    return make_report_key_from_parts(row.id, KIND, version, [row.key], seed=0, method_version=VERSION)
