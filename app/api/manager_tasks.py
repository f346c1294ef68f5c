"""The manager's view of tasks, with systems and roles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.api.models.recipe import Key
from app.api.models.tasks import LARGEST, TaskId
from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN
from app.services.tasks import manager_tasks
from app.web.access import Manager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Limit, Number, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/tasks", tags=["tasks"])

State = Literal["free", "leased", "handed_in", "withdrawn"]
After = Number
Reason = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
REFUSED: dict[int | str, dict[str, Any]] = {409: {"description": "The state of the task does not allow it."}}


class ManagedTaskItemOut(BaseModel):
    """An item with its systems."""

    item: int
    document: str
    first: int | None
    last: int | None
    role: str
    screen: int | None
    column: int | None
    surplus: bool
    systems: list[str]


class ManagedTaskOut(ResponseModel):
    """A task as managers see it."""

    model_config = ConfigDict(populate_by_name=True)

    task: str = Field(validation_alias="public_id")
    key: str
    state: State
    rater: str | None
    bucket: int | None
    plan: int | None
    presentation: str | None
    words: int | None
    segments: int | None
    lease: int = Field(description="Number of times it was leased.")
    leased_until: Time | None
    handed_in_at: Time | None
    completion_code: str | None
    items: list[ManagedTaskItemOut]


class TaskReassignmentIn(BodyModel):
    """The rater to whom a task goes."""

    rater: Key | None = Field(description="An enrolled rater; null for the first rater of its bucket who asks.")
    reason: Reason


class TaskReopenIn(BodyModel):
    """Reason for a rater to continue a task."""

    reason: Reason


EXAMPLE = ManagedTaskOut(
    task="t_" + "0" * 32,
    key="b1-t7",
    state="leased",
    rater="r1",
    bucket=1,
    plan=1,
    presentation="document",
    words=812,
    segments=14,
    lease=1,
    leased_until="2026-11-20T14:00:00Z",
    handed_in_at=None,
    completion_code=None,
    items=[
        ManagedTaskItemOut(
            item=1,
            document="news.1",
            first=1,
            last=7,
            role="rating",
            screen=1,
            column=1,
            surplus=False,
            systems=["A"],
        )
    ],
)


@router.get("", summary="List tasks", responses=example_response(200, Page[ManagedTaskOut](items=[EXAMPLE], next=None)))
def list_tasks(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    state: Annotated[State | None, Query(description="Only those in this state.", examples=["leased"])] = None,
    rater: Annotated[
        str | None, Query(pattern=KEY_PATTERN, description="Only those of this rater.", examples=["r1"])
    ] = None,
    bucket: Annotated[
        int | None, Query(ge=1, le=LARGEST, description="Only those of this bucket.", examples=[1])
    ] = None,
    limit: Limit = 50,
    cursor: After = 0,
) -> Page[ManagedTaskOut]:
    """List the tasks in the order in which they were made."""
    rows = manager_tasks.list_tasks(
        session, campaign, after=cursor, limit=limit + 1, state=state, rater=rater, bucket=bucket
    )
    last = rows[limit - 1].id if len(rows) > limit else 0
    return make_page([ManagedTaskOut.model_validate(one) for one in rows], limit, lambda _: str(last))


@router.post(
    "/{task}/reassign", summary="Give a task to another rater", responses={**example_response(200, EXAMPLE), **REFUSED}
)
def reassign_task(
    caller: Manager,
    campaign: CampaignKey,
    task: TaskId,
    body: Annotated[
        TaskReassignmentIn, read_json_body_as(TaskReassignmentIn, back={"rater": None, "reason": "on holiday"})
    ],
    session: SessionDep,
) -> ManagedTaskOut:
    """Work already done is kept as surplus with the withdrawn original. The response is the task that goes on."""
    batch = manager_tasks.reassign_task(
        session, campaign, task, rater=body.rater, reason=body.reason, actor=caller.actor
    )
    return ManagedTaskOut.model_validate(batch)


@router.post("/{task}/reopen", summary="Reopen a task", responses={**example_response(200, EXAMPLE), **REFUSED})
def reopen_task(
    caller: Manager,
    campaign: CampaignKey,
    task: TaskId,
    body: Annotated[TaskReopenIn, read_json_body_as(TaskReopenIn, again={"reason": "the guidelines changed"})],
    session: SessionDep,
) -> ManagedTaskOut:
    """Its rater gets it again at the next lease. Judgments stay and can be revised."""
    return ManagedTaskOut.model_validate(
        manager_tasks.reopen_task(session, campaign, task, reason=body.reason, actor=caller.actor)
    )
