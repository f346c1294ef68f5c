"""A whole plan, item by item: in pages, or as one file with a line per item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from app.services.plans import items as plan_items
from app.services.plans.items import PlannedItemView
from app.web.access import Manager
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import example_response, non_json_example_response
from app.web.file_streams import stream_response
from app.web.pagination import CHECK_DIGITS, Key, Limit, Page, make_cursor, make_page
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/plan", tags=["plans"])

LINES = "application/x-ndjson"
After = Annotated[
    str | None,
    Query(
        alias="cursor",
        pattern=rf"^[0-9]{{1,18}}\.[0-9]{{1,{9 + CHECK_DIGITS}}}$",
        description="`next` from the previous page.",
        examples=[make_cursor("8.20")],
    ),
    Key,
]


Version = Annotated[
    int | None,
    Query(
        alias="plan", ge=1, le=2**31 - 1, description="Version of the plan, as it was made; default: the plan in force."
    ),
]


class PlannedRatingOut(ResponseModel):
    """The rating that an item is part of."""

    group: int = Field(description="The same for all items of the rating.")
    unit: int = Field(description="The same for all ratings of the same outputs.")
    nth: int = Field(description="Number of this rating of the unit, from 1.")


class OriginalItemOut(ResponseModel):
    """Place of the item of which another is a repeat or a degraded copy."""

    task: str | None = Field(description="Null in an earlier plan.")
    number: int | None = Field(description="Number of that task in its plan, from 1.")
    item: int


class PlannedItemOut(ResponseModel):
    """An item of a plan, with all that the plan says of it."""

    plan: int = Field(description="Version of the plan.")
    task: str | None = Field(description="Null in an earlier plan, some of whose tasks no longer exist.")
    number: int | None = Field(description="Number of the task in its plan, from 1.")
    rater: str | None = Field(description="Rater who has the task; null while any rater of the bucket can get it.")
    state: str | None = Field(description="Null in an earlier plan.")
    queue: int | None = Field(description="Place of the task in its rater's queue.")
    bucket: int | None = Field(description="Null if a task holds items of several buckets.")
    arm: str | None
    chain: int | None = Field(description="The same for all tasks over which a group extends.")
    presentation: str | None
    item: int = Field(description="Place in the task, from 1.")
    screen: int | None
    column: int | None
    document: str
    first: int | None
    last: int | None
    role: str = Field(description="rating, repeat, reference, degraded or calibration.")
    systems: list[str] = Field(description="Systems to which the judgment is credited.")
    group: PlannedRatingOut | None
    of: OriginalItemOut | None
    variant: str | None = Field(description="Name of the degraded texts that it shows.")
    reference: str | None = Field(description="Name of the reference that it shows.")
    prefill: str | None = Field(description="Name of the prefilled errors that it shows.")
    side_order: int | None
    propensity: float | None = Field(description="Probability with which this rater was given it.")
    surplus: bool = Field(description="Whether its judgments no longer count.")


EXAMPLE = PlannedItemOut.model_validate(
    {
        "plan": 1,
        "task": "t_0f3a9c51d27e4b6f8a1c2d3e4f5a6b7c",
        "number": 1,
        "rater": "rater1",
        "state": "free",
        "queue": 1,
        "bucket": 2,
        "arm": None,
        "chain": None,
        "presentation": "document",
        "item": 1,
        "screen": 1,
        "column": 1,
        "document": "news.1",
        "first": 1,
        "last": 8,
        "role": "rating",
        "systems": ["A"],
        "group": {"group": 14, "unit": 3, "nth": 1},
        "of": None,
        "variant": None,
        "reference": None,
        "prefill": None,
        "side_order": 0,
        "propensity": 1 / 3,
        "surplus": False,
    }
)


@router.get(
    "/items",
    summary="List the items of the plan",
    responses=example_response(200, Page[PlannedItemOut](items=[EXAMPLE], next=None)),
)
def list_plan_items(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: After = None,
    version: Version = None,
) -> Page[PlannedItemOut]:
    """List role, group, arm, bucket, chain and propensity, task by task. Earlier plans include what was withdrawn."""
    task, position = map(int, (cursor or "0.0").split("."))
    planned = plan_items.list_plan_items(session, campaign, plan=version, after=(task, position), limit=limit + 1)
    shown = make_page(planned, limit, lambda one: f"{one.at[0]}.{one.at[1]}")
    return Page[PlannedItemOut](items=[_make_planned_item_out(one) for one in shown.items], next=shown.next)


@router.get(
    "/items.jsonl",
    summary="Export the items of the plan",
    response_class=StreamingResponse,
    responses=non_json_example_response(200, "A line for each item.", jsonl=(LINES, EXAMPLE.model_dump_json() + "\n")),
)
def export_plan_items(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    database: DatabaseDep,
    version: Version = None,
) -> StreamingResponse:
    """Stream everything in the list as JSON lines, from one consistent state."""
    pieces = _lines(plan_items.stream_plan_items(database, campaign, version))
    return stream_response(pieces, LINES, filename=f"{campaign}.plan.jsonl")


def _lines(pages: Iterator[Sequence[PlannedItemView]]) -> Iterator[bytes]:
    for some in pages:
        yield "".join(f"{_make_planned_item_out(one).model_dump_json()}\n" for one in some).encode()


def _make_planned_item_out(planned: PlannedItemView) -> PlannedItemOut:
    return PlannedItemOut.model_validate(planned)
