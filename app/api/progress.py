"""How far a campaign is."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from app.api.models.progress import EXAMPLE
from app.services.tasks import progress
from app.services.tasks.progress_view import ProgressScope
from app.web.access import ViewerOrCoordinator
from app.web.conditional import conditional_response
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response

router = APIRouter(prefix="/v1/campaigns/{campaign}/progress", tags=["campaigns"])

KNOWN: dict[int | str, dict[str, Any]] = {304: {"description": "As known: `If-None-Match` has its ETag."}}


@router.get(
    "",
    summary="How far a campaign is",
    response_class=Response,
    responses={
        **example_response(200, EXAMPLE, etag="The same tag is the same progress, in the same minute."),
        **KNOWN,
    },
)
def get_progress(caller: ViewerOrCoordinator, request: Request, campaign: CampaignKey, session: SessionDep) -> Response:
    """Counts, pace, forecast, balance and completeness; asking again with the ETag is the documented way to follow it.

    Viewers see no raters; coordinators see their team, and no systems.
    """
    sight = ProgressScope.of(caller)
    seen = progress.glance(session, campaign, sight)
    return conditional_response(
        request,
        lambda: progress.look(session, seen, sight, request.app.state.counts).model_dump_json().encode(),
        "application/json",
        seen.tag,
    )
