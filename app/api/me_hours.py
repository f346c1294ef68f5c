"""A rater's own hours."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response

from app.api.models.hours import DISPUTE, OWN, HoursAdjustmentOwn, HoursDisputeIn, Offset, OwnHoursAndAdjustmentsOut
from app.services.access.idempotency import IdempotentResponse
from app.services.people import hours
from app.web.access import RaterCaller
from app.web.deps import SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep
from app.web.request_bodies import read_json_body_as

router = APIRouter(prefix="/v1/me/hours", tags=["raters"])

WHAT = {"seconds": 600, "reason": "the page was closed while I looked a term up"}


@router.get("", summary="Get your hours", responses=example_response(200, OWN))
def get_own_hours(rater: RaterCaller, session: SessionDep, utc_offset: Offset = 0) -> OwnHoursAndAdjustmentsOut:
    """Return hours by day, all adjustments with their reasons, and your disputes with their answers."""
    return OwnHoursAndAdjustmentsOut.model_validate(hours.get_own_hours(session, rater, utc_offset=utc_offset))


@router.post(
    "/disputes",
    status_code=201,
    summary="Report missing hours",
    responses={**example_response(201, DISPUTE, "Noted."), 409: {"description": "Too many are not answered yet."}},
)
def dispute_hours(
    rater: RaterCaller,
    body: Annotated[HoursDisputeIn, read_json_body_as(HoursDisputeIn, missing=WHAT)],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """A manager answers; both messages stay on record."""

    def make() -> IdempotentResponse:
        made = hours.dispute_hours(session, rater, seconds=body.seconds, reason=body.reason)
        return IdempotentResponse(201, HoursAdjustmentOwn.model_validate(made).model_dump_json().encode())

    return idempotent_creation(session, rater, make)
