"""Get the next task, and keep its lease."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from app.api.models.tasks import EXAMPLE, LARGEST, LeaseOut, TaskId
from app.api.models.times import Time
from app.services.tasks import leases
from app.storage.recorder.activity import ActivityEvent
from app.web.deps import CampaignKey, JudgingServiceDep
from app.web.examples import example_response
from app.web.fast.rater_cache import CachedRater
from app.web.fast.route import FastRoute
from app.web.metrics import ServiceMetrics
from app.web.request_bodies import BodyModel, read_json_body_as

router = APIRouter(prefix="/v1", tags=["tasks"])
fast = APIRouter(prefix="/v1", tags=["tasks"], route_class=FastRoute)

MOST_EVENTS = 500
Position = Annotated[int, Field(ge=1, le=LARGEST)]


class ActivityEventIn(BodyModel):
    """Something that the page did. A retry counts once: (task, session, seq) is unique."""

    session: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_-]{1,64}$")] = Field(
        description="Session of the page, new each time it is loaded."
    )
    seq: Annotated[int, Field(ge=0, le=LARGEST)]
    kind: Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]{0,31}$")]
    at_ms: Annotated[int, Field(ge=0, le=2**53)] = Field(description="Time by the browser's clock.")
    item: Position | None = None
    segment: Position | None = None
    media: Annotated[str, StringConstraints(pattern="^m_[0-9a-f]{32}$")] | None = Field(
        None,
        description="Id of the file, for `media_play`, `media_heard` (every few seconds meanwhile), "
        "`media_pause`, `media_seek` and `media_ended`.",
    )
    media_ms: Annotated[int, Field(ge=0, le=2**53)] | None = Field(None, description="Position in the file, in ms.")


class HeartbeatIn(BodyModel):
    """A sign of life."""

    events: Annotated[list[ActivityEventIn], Field(max_length=MOST_EVENTS)] = Field(default_factory=list)


class HeartbeatOut(BaseModel):
    """When the extended lease ends."""

    leased_until: Time | None
    kept: str | None = Field(None, description="`surplus` if another rater has the task now.")


BEAT = {"events": [{"session": "s1", "seq": 0, "kind": "focus", "at_ms": 1795190400000, "item": 1, "segment": 1}]}


@router.post(
    "/campaigns/{campaign}/lease", summary="Get the next task", responses=example_response(200, LeaseOut(task=EXAMPLE))
)
async def lease_task(
    rater: CachedRater,
    campaign: CampaignKey,  # noqa: ARG001  (CachedRater reads it)
    service: JudgingServiceDep,
    request: Request,
) -> LeaseOut:
    """Return the task that the rater already holds, or the next one, or why there is none now."""
    leased = LeaseOut.from_lease(await leases.lease_task(service, rater=rater))
    if leased.task is None:
        metrics: ServiceMetrics = request.app.state.metrics
        metrics.no_task.labels(leased.why or "").inc()
    return leased


@fast.post(
    "/tasks/{task}/heartbeat",
    summary="Extend a lease",
    responses={
        **example_response(200, HeartbeatOut(leased_until=EXAMPLE.leased_until)),
        409: {"description": "The task is handed in."},
    },
)
async def extend_lease(
    rater: CachedRater,
    task: TaskId,
    body: Annotated[HeartbeatIn, read_json_body_as(HeartbeatIn, without_slot=True, focus=BEAT, silent={})],
    service: JudgingServiceDep,
) -> Response:
    """Extend the lease, and store what was done since the last heartbeat, each event once however often it is sent."""
    events = [ActivityEvent(**one.model_dump()) for one in body.events]
    alive = await leases.extend_lease(service, task, events, rater=rater)
    told = HeartbeatOut(leased_until=alive.leased_until, kept="surplus" if alive.surplus else None)
    return Response(told.model_dump_json(), media_type="application/json")


router.routes.extend(fast.routes)
