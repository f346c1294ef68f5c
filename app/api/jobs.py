"""Jobs: work in the background, its progress and its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from app.api.exclusions import exclusion_preview_response
from app.api.ingest_report import ingest_report_response
from app.api.kit import report_routes
from app.api.kit.job_responses import EXAMPLE, LATER, JobOut, job_response
from app.api.plans import plan_response
from app.api.ranking import ranking_response, segment_scores_response
from app.api.ranking_comparison import stored_rankings_response
from app.domain.errors import Invalid, Place
from app.reports.kit.report import StoredReport
from app.services.access.tokens import Caller
from app.services.jobs import (
    exclusion_preview,
    ingest_reports,
    jobs,
    ranking_comparison,
    rankings,
    report_requests,
    segment_scores,
)
from app.services.plans import plan_jobs, replan_jobs
from app.services.tasks import progress_jobs
from app.web.access import Manager, RoleLacksRights, Viewer
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import example_response
from app.web.pagination import CHECK_DIGITS, Key, Limit, Page, make_cursor, make_page

router = APIRouter(prefix="/v1", tags=["reports"])

JobId = Annotated[str, Path(alias="job", pattern="^j_[0-9a-f]{32}$", examples=["j_" + "0" * 32])]
After = Annotated[
    str | None,
    Query(
        alias="cursor",
        pattern=rf"^j_[0-9a-f]{{32,{32 + CHECK_DIGITS}}}$",
        description="`next` from the previous page.",
        examples=[make_cursor(EXAMPLE.job)],
    ),
    Key,
]
InState = Annotated[jobs.State | None, Query(description="Only those in this state.", examples=["running"])]
IN_JSON = example_response(200, EXAMPLE, "The job.")


class PictureNameQuery(BaseModel):
    """Which picture, if the answer is SVG."""

    model_config = ConfigDict(extra="forbid")

    picture: str = Field("", max_length=40, description="By name, where a report has several.", examples=["power"])


@router.get("/jobs/{job}", summary="Get the progress of a job", response_class=Response, responses=IN_JSON)
def get_job(caller: Viewer, job: JobId, session: SessionDep) -> Response:
    """`Retry-After` says when to ask again. Once the job is done, `Location` says where the report is."""
    view = jobs.get_visible_job(session, job, caller)
    _check_role(caller, view)
    return job_response(view, 200)


@router.delete("/jobs/{job}", summary="Cancel a job", response_class=Response, responses=IN_JSON)
def cancel_job(caller: Manager, job: JobId, session: SessionDep) -> Response:
    """The computation stops within two seconds. A job that has ended stays as it is."""
    return job_response(jobs.cancel_job(session, job, caller), 200)


@router.get(
    "/campaigns/{campaign}/jobs",
    summary="List jobs",
    responses=example_response(200, Page[JobOut](items=[EXAMPLE], next=None)),
)
def list_jobs(
    caller: Viewer,
    campaign: CampaignKey,
    session: SessionDep,
    state: InState = None,
    limit: Limit = 50,
    cursor: After = None,
) -> Page[JobOut]:
    """List the jobs of a campaign, newest first."""
    views = jobs.list_campaign_jobs(session, campaign, caller, before=cursor, limit=limit + 1, state=state)
    return make_page([JobOut.from_view(view) for view in views], limit, lambda one: one.job)


@router.get(
    "/jobs/{job}/report",
    summary="Get the report of a job",
    response_class=Response,
    responses={**report_routes.ANY_REPORT, **LATER},
)
def get_job_report(
    caller: Viewer, request: Request, job: JobId, query: Annotated[PictureNameQuery, Query()], database: DatabaseDep
) -> Response:
    """Return JSON, CSV, LaTeX, Markdown or SVG, by `Accept`, or 202 with the job while there is no report."""
    with database.transaction() as session:
        view = jobs.get_visible_job(session, job, caller)
        _check_role(caller, view)
        report = None if view.state in ("queued", "running") else jobs.get_job_report(session, view)
    if report is None:
        return job_response(view)
    shown = SHOWN.get(view.kind)
    if shown is not None:
        return shown(request, caller, report, query.picture)
    return report_routes.report_response(
        request, caller, report_requests.get_report_kind_of_job(view.kind), report, query.picture
    )


def _ranking_response(request: Request, caller: Caller, report: StoredReport, picture: str) -> Response:
    _check_none(picture)
    return stored_rankings_response(request, caller, report)


def _exclusion_response(request: Request, _: Caller, report: StoredReport, picture: str) -> Response:
    _check_none(picture)
    return exclusion_preview_response(request, report)


def _plan_response(request: Request, _: Caller, report: StoredReport, picture: str) -> Response:
    _check_none(picture)
    return plan_response(request, report)


def _segment_scores_response(_: Request, __: Caller, report: StoredReport, picture: str) -> Response:
    _check_none(picture)
    return segment_scores_response(report)


def _progress_counts_response(_: Request, __: Caller, report: StoredReport, picture: str) -> Response:
    _check_none(picture)
    return JSONResponse(progress_jobs.sum_stored_progress_counts(report))


def _ingest_response(_: Request, __: Caller, report: StoredReport, picture: str) -> Response:
    _check_none(picture)
    return ingest_report_response(report)


SHOWN: Mapping[str, Callable[[Request, Caller, StoredReport, str], Response]] = MappingProxyType(
    {
        rankings.KIND: ranking_response,
        segment_scores.KIND: _segment_scores_response,
        ingest_reports.KIND: _ingest_response,
        exclusion_preview.KIND: _exclusion_response,
        progress_jobs.KIND: _progress_counts_response,
        replan_jobs.KIND: _plan_response,
        **dict.fromkeys(plan_jobs.KINDS, _plan_response),
        **dict.fromkeys(ranking_comparison.KINDS, _ranking_response),
    }
)
"""By kind of job that makes no report: the function that returns its result; the string names a picture."""


def _check_none(picture: str) -> None:
    """Raise Invalid if a picture is named for a result that has no named pictures."""
    if picture:
        what = "there are none by name here"
        raise Invalid("the query is not valid", places=(Place(("query", "picture"), what),))


def _check_role(caller: Caller, view: jobs.JobView) -> None:
    if not caller.has_rights_of(view.request.role):
        raise RoleLacksRights(f"it needs the rights of a {view.request.role}; yours is {caller.role}")
