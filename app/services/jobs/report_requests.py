"""Reports by name: found in the store, computed if that is quick, or left to a job."""

from __future__ import annotations

from typing import Any

from app.domain.errors import NotFound
from app.reports import registry
from app.reports.kit.report import Report, StoredReport
from app.reports.kit.request import Over, ReportRequest
from app.reports.kit.store import ReportLookupResult, find_or_compute_report, look_up_report
from app.reports.stability import report as stability
from app.services.jobs import jobs
from app.services.jobs.jobs import JobView
from app.storage import jobs_queue, staged_judgments
from app.storage.db import Database, Session

MOST_CAMPAIGNS = 20


class ReportNotFound(NotFound):
    """There is no such report."""

    published = "NoSuchReport"


def get_report_kind_by_name(name: str, over: Over = "campaign") -> Report[Any, Any]:
    """Return the report with a name. Raises ReportNotFound."""
    known = registry.ALL.get(f"{over}/{name}")
    if known is None:
        there = sorted(report.name for report in registry.ALL.values() if report.over == over)
        raise ReportNotFound(f"there are: {', '.join(there)}")
    return known


def get_report_kind_of_job(name: str) -> Report[Any, Any]:
    """Return the report that a job makes, by its name in the store."""
    if name == stability.EARLIER:
        return stability.REPORT
    return registry.WITH_OWN_ROUTES.get(name) or registry.ALL[name]


def find_or_queue_report(
    database: Database, request: ReportRequest, *, ask: jobs.Ask = jobs.request_job
) -> StoredReport | JobView:
    """Return the report if it is stored or can be made quickly, else the job that makes it.

    Raises the errors of `find_or_compute_report`, and the error for which a worker has refused the request.
    """
    report = request.report
    with database.transaction(snapshot=True) as session:
        lookup = look_up_report(session, request)
        is_long = lookup.body is None and _is_long(session, request, lookup)
        if is_long and report.check is not None:
            report.check(session, lookup.about, request.options)
    if lookup.body is not None:
        return lookup.make_stored_report(lookup.body)
    if not is_long:
        return find_or_compute_report(database, request)
    given = request.options.model_dump(mode="json", exclude_unset=True)
    versions = {one.campaign.key: one.version for one in lookup.about}
    weight: jobs_queue.Weight = "heavy" if report.long else "light"
    return ask(database, jobs.JobRequest(lookup.key.kind, lookup.key, versions, given, report.role, weight))


def _is_long(session: Session, request: ReportRequest, lookup: ReportLookupResult) -> bool:
    """Return whether a job must make a report that is not stored."""
    report = request.report
    if report.long or staged_judgments.has_more_judgments_than(
        session, [one.campaign_id for one in lookup.about], report.quick
    ):
        return True
    return report.takes_long is not None and report.takes_long(session, lookup.about, request.options)
