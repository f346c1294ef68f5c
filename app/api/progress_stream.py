"""Progress while it happens, for pages."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from app.api.models.progress_example import EXAMPLE
from app.services.tasks import progress
from app.services.tasks.progress_cache import ProgressCountCache
from app.services.tasks.progress_jobs import request_missing_progress_counts
from app.services.tasks.progress_view import ProgressFingerprint, ProgressVisibility
from app.storage.current_organization import pin_current_organization
from app.storage.db import Database
from app.web.access import ViewerOrCoordinator, may_still_receive_response
from app.web.deps import CampaignKey, DatabaseDep
from app.web.negotiation import choose_media_type
from app.web.server_sent_events import (
    HEADERS,
    MEDIA_TYPE,
    EventStreamResponse,
    EventStreams,
    LiveSnapshot,
    format_server_sent_event,
)

router = APIRouter(prefix="/v1/campaigns/{campaign}/progress", tags=["campaigns"])

# The schema of server-sent events describes a single event by its fields.
FIELDS = {"event": {"const": "progress"}, "data": {"type": "string", "description": "The body of `progress`."}}
EVENTS = {
    "schema": {"type": "object", "properties": FIELDS, "required": [*FIELDS]},
    "example": {"event": "progress", "data": EXAMPLE.model_dump_json()},
}


@router.get(
    "/stream",
    summary="Stream the progress of a campaign",
    response_class=Response,
    responses={200: {"description": "Server-sent events.", "content": {MEDIA_TYPE: EVENTS}}},
)
async def stream_progress(
    caller: ViewerOrCoordinator, request: Request, campaign: CampaignKey, database: DatabaseDep
) -> Response:
    """Send the body of `progress` as an event, now and whenever it changes. Comments in between keep the line open.

    A request that does not ask for `text/event-stream`, as `EventSource` does, gets a single event.
    """
    live: EventStreams = request.app.state.live
    visibility = ProgressVisibility.for_caller(caller)
    look = partial(_read_progress, database, request.app.state.counts, campaign, visibility)
    if choose_media_type(request, ("application/json", MEDIA_TYPE)) != MEDIA_TYPE:
        first = await live.run_in_thread(partial(look, None))
        return Response(
            format_server_sent_event(first) if isinstance(first, LiveSnapshot) else b"",
            media_type=MEDIA_TYPE,
            headers=HEADERS,
        )
    await live.run_in_thread(partial(_read_snapshot, database, campaign, visibility))
    return EventStreamResponse(
        live,
        (pin_current_organization(), campaign, visibility),
        look,
        partial(may_still_receive_response, request, caller),
        request,
    )


def _read_snapshot(database: Database, campaign: str, visibility: ProgressVisibility) -> ProgressFingerprint:
    """Read a snapshot. Raises NotFound before anything is sent."""
    with database.transaction() as session:
        return progress.load_progress_fingerprint(session, campaign, visibility)


def _read_progress(
    database: Database, counts: ProgressCountCache, campaign: str, visibility: ProgressVisibility, known: str | None
) -> LiveSnapshot | None:
    """Return the progress, unless the client knows it already, which takes only a few look-ups to see."""
    with request_missing_progress_counts(database), database.transaction(snapshot=True) as session:
        seen = progress.load_progress_fingerprint(session, campaign, visibility)
        if seen.tag == known:
            return None
        return LiveSnapshot(
            seen.tag, progress.make_campaign_progress(session, seen, visibility, counts).model_dump_json().encode()
        )
