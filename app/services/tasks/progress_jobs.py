"""The counts behind the progress of a very large campaign. A worker makes them, and web processes start from them.

Counting 19 million judgments takes the database a minute and more, which no request may take.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta

from app.domain.errors import Unavailable
from app.reports.kit.report import ReportComputation, StoredReport, make_undivided_computation
from app.reports.kit.store import make_report_key_from_parts
from app.services.jobs import jobs
from app.services.tasks import progress
from app.services.tasks.progress_cache import tally_and_encode_judgments
from app.services.tasks.progress_view import ProgressFingerprint, ProgressVisibility
from app.storage import jobs as stored_jobs
from app.storage import progress_counts, reports, staged_judgments
from app.storage.db import Database, Session
from app.storage.reports import ReportKey

KIND = "progress"
VERSION = "1"
MOST_COUNTED = 2_000_000
"""A web process counts up to so many judgments itself, in some seconds; a worker counts more."""
STEP = 20_000
"""Number of data versions after which a worker counts again, so that a process that starts has few answers to add."""
NOT_AGAIN = timedelta(minutes=10)
"""How long a count that failed or was cancelled is not restarted."""
WHOLE = ProgressVisibility(raters=True, systems=True, team=None)
_WANTED: ContextVar[list[jobs.JobRequest] | None] = ContextVar("wanted counts", default=None)


class JudgmentsNotYetCounted(Unavailable):
    """The judgments of this large campaign are not counted yet; request its progress again in a while."""

    published = "NotCounted"


class _CountsMissing(Exception):
    """No worker has counted this campaign yet."""


def find_or_request_progress_counts(session: Session, fingerprint: ProgressFingerprint) -> bytes | None:
    """Return the latest counts that a worker stored; None if a process can count the campaign itself.

    If they are missing or old, the block of `request_missing_progress_counts` asks for them.
    """
    key = _key(session, fingerprint)
    current = reports.find_report(session, key)
    if current is not None:
        return current
    old = reports.find_newest_report(session, fingerprint.campaign_id, KIND)
    if old is None and not staged_judgments.has_more_judgments_than(session, [fingerprint.campaign_id], MOST_COUNTED):
        return None
    if (wanted := _WANTED.get()) is not None:
        wanted.append(jobs.JobRequest(KIND, key, {fingerprint.key: key.data_version}, {}, weight="heavy"))
    if old is None:
        raise _CountsMissing
    return old


@contextmanager
def request_missing_progress_counts(database: Database) -> Iterator[None]:
    """Ask a worker for the counts that this block needs. Raises JudgmentsNotYetCounted if there are none at all.

    The block must contain the transaction, because the request needs a connection of its own.
    """
    wanted: list[jobs.JobRequest] = []
    token = _WANTED.set(wanted)
    try:
        yield
    except _CountsMissing as missing:
        why = [_request(database, request) for request in wanted]
        raise JudgmentsNotYetCounted(why[0], retry_after=5) from missing
    finally:
        _WANTED.reset(token)
    for request in wanted:
        _request(database, request)


def _request(database: Database, request: jobs.JobRequest) -> str:
    """Request a count, and say what it waits for.

    One that failed or was cancelled is left alone for a while, and for good if another attempt would fail, too.
    """
    with database.transaction() as session:
        row = stored_jobs.find_job_by_report_key(session, request.report_key_digest)
    if row is not None and row.state in stored_jobs.AGAIN:
        is_final = row.state == "failed" and not row.error["again"]
        if is_final or row.finished_at > row.now - NOT_AGAIN:
            return f"the count was cancelled or failed, see job {row.public_id}"
    job = jobs.request_job(database, request)
    return job.waiting or job.job


def make_progress_counts_computation(database: Database, request: jobs.JobRequest) -> ReportComputation[bytes]:
    """Return the work of counting."""
    (campaign,) = request.campaigns
    return make_undivided_computation(lambda: _count(database, campaign))


def _count(database: Database, campaign: str) -> bytes:
    with database.transaction(snapshot=True) as session:
        return tally_and_encode_judgments(session, progress.load_progress_fingerprint(session, campaign, WHOLE))


def sum_stored_progress_counts(report: StoredReport) -> dict[str, int]:
    """Return how much was counted, for people who ask for the result of the job."""
    counts = json.loads(report.body)["counts"]["tasks"].values()
    return {"tasks": len(counts), "judgments": sum(each["judgments"] for each in counts)}


def _key(session: Session, fingerprint: ProgressFingerprint) -> ReportKey:
    """Return the key of the counts that should be there.

    Answers are added to stored counts, so their versions change the key only after each STEP. Plans and new tasks may
    come without a version.
    """
    last = progress_counts.find_last_data_version_not_from_answers(session, fingerprint.campaign_id)
    version = last + (fingerprint.data_version - last) // STEP * STEP
    parts = [fingerprint.plan, sum(int(digest.partition(",")[0]) for digest in fingerprint.tasks.values())]
    return make_report_key_from_parts(fingerprint.campaign_id, KIND, version, parts, seed=0, method_version=VERSION)
