"""The counts behind the progress of a large campaign. A worker makes them, and each web process starts from them.

Counting 19 million judgments takes the database a minute and more, which no request may take.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from app.domain.errors import Unavailable
from app.reports.kit.report import ReportWork, StoredReport, make_undivided_work
from app.reports.kit.store import make_report_key
from app.services.jobs import jobs
from app.services.jobs.jobs import JobInputsChanged
from app.services.tasks import progress
from app.services.tasks.progress_cache import count_work_to_store
from app.services.tasks.progress_view import ProgressScope, ProgressSnapshot
from app.storage import judgments, progress_counts, reports
from app.storage.db import Database, Session
from app.storage.reports import ReportKey

KIND = "progress"
VERSION = "1"
MOST_COUNTED = 2_000_000
"""A web process counts up to so many judgments itself, in some seconds; a worker counts more."""
WHOLE = ProgressScope(raters=True, systems=True, team=None)


class JudgmentsBeingCounted(Unavailable):
    """A worker is counting the judgments of this large campaign; request its progress again in a while."""

    published = "BeingCounted"


class _NotCounted(Exception):
    """A worker must count this campaign first."""

    def __init__(self, seen: ProgressSnapshot, key: ReportKey) -> None:
        self.request = jobs.JobRequest(KIND, key, {seen.key: key.data_version}, {})


def find_stored_counts(session: Session, seen: ProgressSnapshot) -> bytes | None:
    """Return the counts that a worker stored; None if a process can count the campaign itself.

    Must be called within `request_missing_counts`.
    """
    if not judgments.has_more_judgments_than(session, [seen.campaign_id], MOST_COUNTED):
        return None
    key = _key(session, seen)
    body = reports.find_report(session, key)
    if body is None:
        raise _NotCounted(seen, key)
    return body


@contextmanager
def request_missing_counts(database: Database) -> Iterator[None]:
    """Ask a worker for counts that are missing in this block. Raises JudgmentsBeingCounted.

    The block must contain the transaction, because the request needs a connection of its own.
    """
    try:
        yield
    except _NotCounted as missing:
        job = jobs.request_job(database, missing.request)
        raise JudgmentsBeingCounted(job.waiting or f"job {job.job}", retry_after=5) from missing


def make_progress_counts_work(database: Database, request: jobs.JobRequest) -> ReportWork[bytes]:
    """Return the work of counting. Raises JobInputsChanged if more than answers were added since the request."""
    (campaign,) = request.campaigns
    return make_undivided_work(lambda: _count(database, campaign, request.key))


def _count(database: Database, campaign: str, key: ReportKey) -> bytes:
    with database.transaction(snapshot=True) as session:
        seen = progress.load_progress_snapshot(session, campaign, WHOLE)
        if _key(session, seen) != key:
            raise JobInputsChanged
        return count_work_to_store(session, seen)


def summarize_stored_counts(report: StoredReport) -> dict[str, int]:
    """Return how much was counted, for people who ask for the result of the job."""
    counts = json.loads(report.body)["counts"]["tasks"].values()
    return {"tasks": len(counts), "judgments": sum(each["judgments"] for each in counts)}


def _key(session: Session, seen: ProgressSnapshot) -> ReportKey:
    """Return the key, with the last data version not made by raters' work, because answers are added to the counts."""
    version = progress_counts.find_last_version_not_from_answers(session, seen.campaign_id)
    return make_report_key(seen.campaign_id, KIND, version, [seen.key], seed=0, method_version=VERSION)
