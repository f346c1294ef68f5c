"""Raters of a campaign: enrol, change, look, list, remove."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from app.api.models.raters import (
    ENROLLED,
    EXAMPLE,
    LIST,
    NEW,
    RECEIPT,
    EnrolIn,
    EnrolledOut,
    EnrolmentOut,
    RaterIn,
    RaterKey,
    RaterOut,
)
from app.domain.keys import KEY_PATTERN
from app.services.access.idempotency import IdempotentAnswer
from app.services.people import enrolment, idle_raters, raters
from app.services.people.raters import RaterView
from app.web.access import Coordinator, Manager
from app.web.answers import json_response
from app.web.bodies import json_body
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import OnceDep, created_response
from app.web.ifmatch import IfMatchOnChange
from app.web.pagination import Cursor, Limit, Page, page_of

router = APIRouter(prefix="/v1/campaigns/{campaign}/raters", tags=["raters"])

ETAG = "Of the enrolment; send it as `If-Match` to change it."
TeamFilter = Annotated[str | None, Query(pattern=KEY_PATTERN, description="Of this team only.", examples=["bonn"])]
StateFilter = Annotated[
    Literal["active", "paused", "left", "erased"] | None, Query(description="In this state only.", examples=["active"])
]
CHANGED: dict[int | str, dict[str, Any]] = {
    409: {"description": "The rater was erased."},
    412: {"description": "It was changed since the state that `If-Match` names."},
    428: {"description": "The rater is enrolled already, so a change needs `If-Match`."},
}
IN_USE: dict[int | str, dict[str, Any]] = {409: {"description": "The campaign is no draft, or the rater has judged."}}


@router.put(
    "/{rater}",
    summary="Enrol or change a rater",
    responses={**example_response(200, RECEIPT, "As it is now.", etag=ETAG), **CHANGED},
)
def put_rater(
    caller: Manager,
    campaign: CampaignKey,
    rater: RaterKey,
    body: Annotated[RaterIn, json_body(RaterIn, new=NEW, little={})],
    session: SessionDep,
    if_match: IfMatchOnChange,
) -> Response:
    """A change of one who is enrolled takes `If-Match`; the same again changes nothing.

    Linking accounts of several campaigns to one person needs rights in all of them.
    """
    view = raters.put_rater(
        session,
        campaign,
        rater,
        body.enrolment(),
        given=frozenset(body.model_fields_set),
        seen=None if if_match is None else lambda version: if_match.has(str(version)),
        by=caller,
    )
    told = EnrolmentOut.model_validate(view)
    told = told.model_copy(update={"warnings": idle_raters.list_enrolment_warnings(session, campaign, [rater])})
    return json_response(told, etag=str(view.settings_version))


@router.post(
    "",
    status_code=201,
    summary="Enrol a list of raters",
    responses={
        **example_response(201, ENROLLED, "All are enrolled."),
        **example_response(200, ENROLLED, "The list has no fault."),
    },
)
def post_raters(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[EnrolIn, json_body(EnrolIn, three=LIST)],
    session: SessionDep,
    once: OnceDep,
    dry_run: Annotated[bool, Query(description="Check the list, enrol nobody.")] = False,
) -> Response:
    """All or nobody: the list is checked whole, and each fault is named by its place in it."""

    def make() -> IdempotentAnswer:
        enrolment.enrol_raters(session, campaign, body.keys, body.enrolment(), by=caller, dry_run=dry_run)
        idle = idle_raters.list_enrolment_warnings(session, campaign, body.keys)
        out = EnrolledOut(enrolled=body.keys, dry_run=dry_run, warnings=idle)
        if dry_run:
            return IdempotentAnswer(200, out.model_dump_json().encode())
        return created_response(out, location=f"/v1/campaigns/{campaign}/raters")

    return once(session, caller, make)


@router.get("", summary="List raters", responses=example_response(200, Page[RaterOut](items=[EXAMPLE], next=None)))
def list_raters(
    caller: Coordinator,
    campaign: CampaignKey,
    session: SessionDep,
    team: TeamFilter = None,
    state: StateFilter = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[RaterOut]:
    """By key; a coordinator gets its team."""
    views = raters.list_raters(session, campaign, by=caller, after=cursor, limit=limit + 1, team=team, state=state)
    return page_of([RaterOut.model_validate(view) for view in views], limit, lambda rater: rater.key)


@router.get("/{rater}", summary="Look at a rater", responses=example_response(200, EXAMPLE, etag=ETAG))
def get_rater(caller: Coordinator, campaign: CampaignKey, rater: RaterKey, session: SessionDep) -> Response:
    """Enrolment and contact."""
    return _rater_response(raters.get_rater(session, campaign, rater, by=caller))


@router.delete("/{rater}", status_code=204, summary="Remove a rater", response_description="Removed.", responses=IN_USE)
def delete_rater(caller: Manager, campaign: CampaignKey, rater: RaterKey, session: SessionDep) -> None:
    """From a draft, where they have not judged. Later, set them to `left`; to forget who they are, erase them."""
    raters.delete_rater(session, campaign, rater, by=caller)


def _rater_response(view: RaterView) -> Response:
    return json_response(RaterOut.model_validate(view), etag=str(view.settings_version))
