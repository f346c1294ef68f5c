"""Jobs: work in the background, how far it is, and its report."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from app.api import _kinds
from app.api._jobs import EXAMPLE, LATER, JobOut, accepted
from app.api.exclusions import of_exclusion
from app.api.ranking import of_ranking
from app.api.side_by_side import of_rankings
from app.api.stability import PICTURES, Picture, of_stability
from app.domain.errors import Invalid, Place
from app.services import asked, exclusions_jobs, jobs, rankings, side_by_side_jobs, stability
from app.services.tokens import Caller
from app.web.access import Manager, RoleLacksIt, Viewer
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import shows
from app.web.lists import Limit, Page, page_of

router = APIRouter(prefix="/v1", tags=["reports"])

JobId = Annotated[str, Path(alias="job", pattern="^j_[0-9a-f]{32}$", examples=["j_" + "0" * 32])]
After = Annotated[
    str | None,
    Query(alias="cursor", pattern="^j_[0-9a-f]{32}$", description="`next` of the page before.", examples=[EXAMPLE.job]),
]
IN_JSON = shows(200, EXAMPLE, "The job.")


class Drawn(BaseModel):
    """Which picture, where the answer is SVG."""

    model_config = ConfigDict(extra="forbid")

    picture: str = Field("", max_length=40, description="By name, where a report has several.", examples=["power"])


@router.get("/jobs/{job}", summary="How far a job is", response_class=Response, responses=IN_JSON)
def get_job(caller: Viewer, job: JobId, session: SessionDep) -> Response:
    """`Retry-After` says when to look again; once it is done, `Location` says where the report is."""
    view = jobs.look(session, job, caller)
    _check_role(caller, view)
    return accepted(view, 200)


@router.delete("/jobs/{job}", summary="Cancel a job", response_class=Response, responses=IN_JSON)
def delete_job(caller: Manager, job: JobId, session: SessionDep) -> Response:
    """Whoever computes for it stops within two seconds; a job that has ended stays as it is."""
    return accepted(jobs.cancel(session, job, caller), 200)


@router.get(
    "/campaigns/{campaign}/jobs", summary="List jobs", responses=shows(200, Page[JobOut](items=[EXAMPLE], next=None))
)
def list_jobs(
    caller: Viewer, campaign: CampaignKey, session: SessionDep, limit: Limit = 50, cursor: After = None
) -> Page[JobOut]:
    """Of a campaign, the newest first."""
    found = jobs.of_campaign(session, campaign, caller, before=cursor, limit=limit + 1)
    return page_of([JobOut.of(view) for view in found], limit, lambda one: one.job)


@router.get(
    "/jobs/{job}/report",
    summary="The report of a job",
    response_class=Response,
    responses={**_kinds.ANY_REPORT, **LATER},
)
def get_job_report(
    caller: Viewer, request: Request, job: JobId, drawn: Annotated[Drawn, Query()], database: DatabaseDep
) -> Response:
    """As JSON, CSV, LaTeX, Markdown or SVG, by Accept; 202 with the job while there is none."""
    with database.transaction() as session:
        view = jobs.look(session, job, caller)
        _check_role(caller, view)
        report = None if view.state in ("queued", "running") else jobs.report(session, view)
    if report is None:
        return accepted(view)
    if view.kind == stability.KIND:
        return of_stability(request, report, _curves(drawn.picture))
    if view.kind == rankings.KIND:
        return of_ranking(request, caller, report, drawn.picture)
    if view.kind in side_by_side_jobs.KINDS:
        return of_rankings(request, caller, report)
    if view.kind == exclusions_jobs.KIND:
        return of_exclusion(request, report)
    return _kinds.for_caller(request, caller, asked.kind_of_job(view.kind), report, drawn.picture)


def _curves(picture: str) -> Picture:
    """Which picture of a stability report. Raises Invalid for one that there is not."""
    for name in PICTURES:
        if picture in (name, ""):
            return name
    places = (Place(("query", "picture"), f"there are: {', '.join(PICTURES)}"),)
    raise Invalid("the query is not valid", places=places)


def _check_role(caller: Caller, view: jobs.JobView) -> None:
    if not caller.may(view.request.role):
        raise RoleLacksIt(f"it needs the rights of a {view.request.role}; yours is {caller.role}")
