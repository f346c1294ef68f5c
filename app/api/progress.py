"""The progress of a campaign."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.api.models.progress_example import EXAMPLE
from app.services.tasks import progress, progress_days
from app.services.tasks.progress_days import JudgmentDay, JudgmentDaysView
from app.services.tasks.progress_jobs import request_missing_progress_counts
from app.services.tasks.progress_view import ProgressVisibility
from app.web.access import Viewer, ViewerOrCoordinator
from app.web.conditional_requests import conditional_response
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import example_response

router = APIRouter(prefix="/v1/campaigns/{campaign}/progress", tags=["campaigns"])

KNOWN: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed: `If-None-Match` has its ETag."}}


@router.get(
    "",
    summary="Get the progress of a campaign",
    response_class=Response,
    responses={
        **example_response(200, EXAMPLE, etag="The same tag is the same progress, in the same minute."),
        **KNOWN,
    },
)
def get_progress(
    caller: ViewerOrCoordinator, request: Request, campaign: CampaignKey, database: DatabaseDep
) -> Response:
    """Return counts, pace, forecast, balance and completeness. To follow it, ask again with the ETag.

    Viewers see no raters; coordinators see their team, and no systems. Beyond two million judgments, a worker counts;
    until it has done so once, the response is 503.
    """
    visibility, counts = ProgressVisibility.for_caller(caller), request.app.state.counts
    with request_missing_progress_counts(database), database.transaction(snapshot=True) as session:
        seen = progress.load_progress_fingerprint(session, campaign, visibility)
        return conditional_response(
            request,
            lambda: progress.make_campaign_progress(session, seen, visibility, counts).model_dump_json().encode(),
            "application/json",
            seen.tag,
        )


DAYS = JudgmentDaysView(
    campaign="ted-ende",
    days=[JudgmentDay(day=date(2026, 11, 19), judgments=310), JudgmentDay(day=date(2026, 11, 20), judgments=295)],
    complete=True,
)


@router.get("/days", summary="Count judgments by day", responses=example_response(200, DAYS))
def count_judgments_by_day(
    caller: Viewer,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    utc_offset: Annotated[int, Query(ge=-840, le=840, description="Minutes by which days are ahead of UTC.")] = 0,
) -> JudgmentDaysView:
    """Count the last 60 days with judgments, including revisions, within the 100,000 newest judgments."""
    return progress_days.count_judgments_by_day(session, campaign, utc_offset=utc_offset)
