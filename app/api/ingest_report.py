"""The ingest report: what a test set looks like after the import."""

from __future__ import annotations

from functools import partial

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.models.ingest_report import EXAMPLE, IngestReportOut
from app.reports.kit.report import StoredReport
from app.services.jobs import ingest_reports
from app.services.jobs.jobs import JobView
from app.web.access import Manager
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import example_response

router = APIRouter(prefix="/v1/campaigns/{campaign}/reports", tags=["test sets"])


@router.get(
    "/ingest",
    summary="Check the test set",
    response_model=IngestReportOut,
    responses={**example_response(200, EXAMPLE), **LATER},
)
async def get_ingest_report(
    _: Manager, request: Request, campaign: CampaignKey, database: DatabaseDep, prefer: Prefer = ""
) -> IngestReportOut | Response:
    """Return counts and possible problems: outputs missing, empty, identical, in another script, with broken markup.

    For more than 10,000 outputs, a job does this. Its findings are stored until texts change.
    """
    outcome = await wait_for_report_or_job(
        request, database, prefer, partial(ingest_reports.find_or_queue_ingest_report, database, campaign)
    )
    if isinstance(outcome, JobView):
        return job_response(outcome)
    if isinstance(outcome, StoredReport):
        read = partial(ingest_reports.parse_report_with_current_version, database, campaign, outcome.body)
        return IngestReportOut.model_validate(await to_thread.run_sync(read))
    return IngestReportOut.model_validate(outcome)


def ingest_report_response(report: StoredReport) -> Response:
    """Return what a job found."""
    ingested = IngestReportOut.model_validate_json(report.body)
    return Response(ingested.model_dump_json(), media_type="application/json")
