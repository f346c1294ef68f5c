"""Payable hours of raters and teams, and the disputes about them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response

from app.api.models.hours import (
    ENTRY,
    HOURS,
    After,
    Answered,
    CampaignHoursOut,
    DisputeRefusalIn,
    HoursAdjustmentIn,
    HoursAdjustmentOut,
    Offset,
    SearchWords,
    Team,
)
from app.services.access.idempotency import IdempotentResponse
from app.services.people import hours
from app.services.people.hours import HoursAdjustmentOrDispute
from app.web.access import Coordinator, Manager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response, non_json_example_response
from app.web.idempotency import IdempotentCreationDep
from app.web.negotiation import choose_media_type
from app.web.pagination import Limit, Page, make_page
from app.web.request_bodies import read_json_body_as

router = APIRouter(prefix="/v1/campaigns/{campaign}/hours", tags=["raters"])

CSV = "text/csv"
TABLE = non_json_example_response(
    200,
    "One line per rater and day.",
    csv=(CSV, "campaign,team,rater,day,active_seconds,adjusted_seconds\r\nted-ende,bonn,r1,2026-11-20,5400.0,600\r\n"),
)
ANSWERED: dict[int | str, dict[str, Any]] = {
    404: {"description": "No such campaign or dispute, or not yours."},
    409: {"description": "The dispute is answered already."},
}
WHAT = {"rater": "r1", "seconds": 600, "reason": "a call about the guidelines"}


def _make_hours_examples() -> dict[int | str, dict[str, Any]]:
    in_json = example_response(200, HOURS, "By rater and day, and by team.")
    return {200: {**in_json[200], "content": {**in_json[200]["content"], **TABLE[200]["content"]}}}


@router.get("", summary="Get payable hours", response_model=CampaignHoursOut, responses=_make_hours_examples())
def get_rater_hours(
    caller: Coordinator,
    request: Request,
    campaign: CampaignKey,
    session: SessionDep,
    team: Team = None,
    utc_offset: Offset = 0,
) -> Response:
    """Return hours by rater and day, and by team; coordinators get their team. Reading time counts, by one rule."""
    payable = hours.make_hours_report(session, campaign, by=caller, team=team, utc_offset=utc_offset)
    if choose_media_type(request, ("application/json", CSV)) == CSV:
        return Response(hours.encode_hours_csv(payable), media_type=CSV, headers={"Vary": "Accept"})
    body = CampaignHoursOut.model_validate(payable).model_dump_json()
    return Response(body, media_type="application/json", headers={"Vary": "Accept"})


@router.get(".{kind}", summary="Payable hours, as a table", response_class=Response, responses=TABLE)
def get_rater_hours_in_format(
    caller: Coordinator,
    campaign: CampaignKey,
    kind: Literal["csv"],  # noqa: ARG001  (the only one there is)
    session: SessionDep,
    team: Team = None,
    utc_offset: Offset = 0,
) -> Response:
    """The same as CSV."""
    payable = hours.make_hours_report(session, campaign, by=caller, team=team, utc_offset=utc_offset)
    return Response(hours.encode_hours_csv(payable), media_type=CSV)


@router.get(
    "/adjustments",
    summary="List messages about hours",
    responses=example_response(200, Page[HoursAdjustmentOut](items=[ENTRY], next=None)),
)
def list_hours_adjustments(
    caller: Coordinator,
    campaign: CampaignKey,
    session: SessionDep,
    answered: Answered = None,
    q: SearchWords = "",
    limit: Limit = 50,
    cursor: After = 0,
) -> Page[HoursAdjustmentOut]:
    """List adjustments, disputes and refusals in the order in which they were made. None ever changes."""
    adjustments = hours.list_hours_adjustments_and_disputes(
        session, campaign, by=caller, after=cursor, limit=limit + 1, answered=answered, q=q
    )
    return make_page([HoursAdjustmentOut.model_validate(one) for one in adjustments], limit, lambda one: str(one.id))


@router.post(
    "/adjustments",
    status_code=201,
    summary="Adjust hours",
    responses={**example_response(201, ENTRY, "Added."), **ANSWERED},
)
def adjust_hours(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[HoursAdjustmentIn, read_json_body_as(HoursAdjustmentIn, call=WHAT)],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Add or subtract seconds. With `answers`, accept a dispute in whole or in part."""

    def make() -> IdempotentResponse:
        return _answer(hours.adjust_hours(session, campaign, **body.model_dump(), actor=caller.actor))

    return idempotent_creation(session, caller, make)


@router.post(
    "/refusals",
    status_code=201,
    summary="Refuse a dispute about hours",
    responses={**example_response(201, ENTRY, "Answered."), **ANSWERED},
)
def refuse_hours_dispute(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[
        DisputeRefusalIn,
        read_json_body_as(DisputeRefusalIn, why={"dispute": 7, "reason": "the page shows no work then"}),
    ],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """The rater sees the reason."""

    def make() -> IdempotentResponse:
        return _answer(hours.refuse_hours_dispute(session, campaign, **body.model_dump(), actor=caller.actor))

    return idempotent_creation(session, caller, make)


def _answer(made: HoursAdjustmentOrDispute) -> IdempotentResponse:
    return IdempotentResponse(201, HoursAdjustmentOut.model_validate(made).model_dump_json().encode())
