"""Raters of a campaign: enrol, change, look, list, remove."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from app.api.models.raters import (
    CHANGED_SEVERAL,
    ENROLLED,
    EXAMPLE,
    IMPORTED,
    LIST,
    NEW,
    RECEIPT,
    TABLE,
    BulkEnrolmentIn,
    EnrolledRatersOut,
    EnrolmentOut,
    PreviousEnrolment,
    RaterIn,
    RaterKey,
    RaterOut,
    RatersChangedOut,
    RatersImportedOut,
    RatersPatch,
    RaterTableIn,
)
from app.domain.keys import KEY_PATTERN
from app.services.access.idempotency import IdempotentResponse
from app.services.people import enrolment, idle_raters, raters
from app.services.people.raters import RaterSort, RaterView
from app.services.tasks import hand_in_checks
from app.web.access import Coordinator, Manager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.ifmatch import IfMatchOnChange
from app.web.pagination import Limit, Page, SortedCursor, format_sort_cursor, make_page, parse_sort_cursor
from app.web.request_bodies import read_json_body_as
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1/campaigns/{campaign}/raters", tags=["raters"])

ETAG = "Of the enrolment; send it as `If-Match` to change it."
TeamFilter = Annotated[
    str | None, Query(pattern=KEY_PATTERN, description="Only those of this team.", examples=["bonn"])
]
StateFilter = Annotated[
    Literal["active", "paused", "left", "erased"] | None,
    Query(description="Only those in this state.", examples=["active"]),
]
SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of the key, the external id, or the contact's name or address.",
        examples=["ada"],
    ),
]
Sort = Annotated[RaterSort, Query(description="Sort key; `-` reverses the order.")]
DryRun = Annotated[bool, Query(description="Check the list, enrol nobody.")]
CHANGED: dict[int | str, dict[str, Any]] = {
    409: {"description": "The rater was erased."},
    412: {"description": "It has changed since the state that `If-Match` names."},
    428: {"description": "The rater is enrolled already, so a change needs `If-Match`."},
}
IN_USE: dict[int | str, dict[str, Any]] = {409: {"description": "The campaign is no draft, or the rater has judged."}}


@router.put(
    "/{rater}",
    summary="Enrol or change a rater",
    responses={**example_response(200, RECEIPT, "The current state.", etag=ETAG), **CHANGED},
)
def put_rater(
    caller: Manager,
    campaign: CampaignKey,
    rater: RaterKey,
    body: Annotated[RaterIn, read_json_body_as(RaterIn, new=NEW, little={})],
    session: SessionDep,
    if_match: IfMatchOnChange,
) -> Response:
    """A change of an enrolled rater needs `If-Match`. The same content again changes nothing.

    Linking accounts of several campaigns to one person needs rights in all of them.
    """
    view = raters.put_rater(
        session,
        campaign,
        rater,
        body.to_enrolment(),
        given_fields=frozenset(body.model_fields_set),
        has_seen_version=None if if_match is None else lambda version: if_match.has(str(version)),
        by=caller,
    )
    told = EnrolmentOut.model_validate(view)
    told = told.model_copy(update={"warnings": idle_raters.list_idle_warnings_on_enrolment(session, campaign, [rater])})
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
def enrol_raters(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[BulkEnrolmentIn, read_json_body_as(BulkEnrolmentIn, three=LIST)],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
    dry_run: DryRun = False,
) -> Response:
    """Enrol all or nobody. The whole list is checked, and each error names its place in the list."""

    def make() -> IdempotentResponse:
        enrolment.enrol_raters(session, campaign, body.keys, body.to_enrolment(), by=caller, dry_run=dry_run)
        idle = idle_raters.list_idle_warnings_on_enrolment(session, campaign, body.keys)
        out = EnrolledRatersOut(enrolled=body.keys, dry_run=dry_run, warnings=idle)
        if dry_run:
            return IdempotentResponse(200, out.model_dump_json().encode())
        return created_response(out, location=f"/v1/campaigns/{campaign}/raters")

    return idempotent_creation(session, caller, make)


@router.post(
    "/import",
    status_code=201,
    summary="Enrol raters from a table",
    responses={
        **example_response(201, IMPORTED, "All are enrolled."),
        **example_response(200, IMPORTED, "The table has no fault."),
    },
)
def import_raters(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[RaterTableIn, read_json_body_as(RaterTableIn, two=TABLE)],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
    dry_run: DryRun = False,
) -> Response:
    """Enrol each rater as the line says, all or nobody. An error names its line."""

    def make() -> IdempotentResponse:
        wanted = body.parse_lines()
        if body.new_keys:
            wanted = enrolment.assign_missing_rater_keys(session, campaign, wanted)
        keys = [row.key for row, _ in wanted]
        made = enrolment.enrol_rater_table(
            session, campaign, wanted, by=caller, new_teams=body.new_teams, dry_run=dry_run
        )
        idle = idle_raters.list_idle_warnings_on_enrolment(session, campaign, keys)
        out = RatersImportedOut(enrolled=keys, new_teams=made, dry_run=dry_run, warnings=idle)
        if dry_run:
            return IdempotentResponse(200, out.model_dump_json().encode())
        return created_response(out, location=f"/v1/campaigns/{campaign}/raters")

    return idempotent_creation(session, caller, make)


@router.get("", summary="List raters", responses=example_response(200, Page[RaterOut](items=[EXAMPLE], next=None)))
def list_raters(
    caller: Coordinator,
    campaign: CampaignKey,
    session: SessionDep,
    team: TeamFilter = None,
    state: StateFilter = None,
    q: SearchWords = "",
    sort: Sort = "key",
    limit: Limit = 50,
    cursor: SortedCursor = None,
) -> Page[RaterOut]:
    """List the raters who match all filters; coordinators get their team."""
    after = parse_sort_cursor(cursor, by_value=not sort.endswith("key"))
    views = raters.list_raters(
        session, campaign, by=caller, after=after, limit=limit + 1, team=team, state=state, sort=sort, q=q
    )
    page = make_page(views, limit, lambda view: format_sort_cursor(*raters.make_rater_cursor(view, sort)))
    return Page(items=[RaterOut.model_validate(view) for view in page.items], next=page.next)


@router.patch(
    "",
    summary="Change several raters",
    responses={
        **example_response(200, CHANGED_SEVERAL, "All are changed, or nobody if one cannot be."),
        409: {"description": "Some have something else than `expected`; `errors` names each."},
    },
)
def patch_raters(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[
        RatersPatch,
        read_json_body_as(
            RatersPatch,
            pause={"raters": ["r1", "r2"], "state": "paused"},
            team={"raters": ["r1", "r2"], "team": "bonn"},
            undo={"raters": ["r1", "r2"], "state": "active", "expected": {"state": "paused"}},
        ),
    ],
    session: SessionDep,
) -> RatersChangedOut:
    """Set a state, a team, or both for all of them. `before` returns their previous values.

    To undo a change, send the previous values, and as `expected` what the change had set.
    """
    values = body.model_dump(include=body.model_fields_set - {"raters", "expected"})
    expected = body.expected.model_dump(exclude_unset=True) if body.expected else None
    before = enrolment.change_rater_states_and_teams(
        session, campaign, body.raters, values, expected=expected, by=caller
    )
    idle = idle_raters.list_idle_warnings_on_enrolment(session, campaign, body.raters)
    return RatersChangedOut(before=[PreviousEnrolment.model_validate(view) for view in before], warnings=idle)


@router.get("/{rater}", summary="Get a rater", responses=example_response(200, EXAMPLE, etag=ETAG))
def get_rater(caller: Coordinator, campaign: CampaignKey, rater: RaterKey, session: SessionDep) -> Response:
    """Return enrolment and contact."""
    return _rater_response(raters.get_rater(session, campaign, rater, by=caller))


class RaterRuleOutcomeOut(ResponseModel):
    """Outcome of a rule for a rater."""

    rule: str = Field(description="A check of quality control, `tutorial` or `attention`.", examples=["controls"])
    outcome: Literal["pass", "fail", "untested"] = Field(description="untested: there are no data for the rule.")


class OverallRaterVerdictOut(ResponseModel):
    """One verdict on a rater: fail if any rule fails."""

    verdict: Literal["pass", "fail"] = Field(description="Verdict that the rater's next completion code would carry.")
    rules: list[RaterRuleOutcomeOut] = Field(description="Rules that the campaign's setting `quality` names for codes.")


VERDICT = OverallRaterVerdictOut(verdict="pass", rules=[RaterRuleOutcomeOut(rule="controls", outcome="untested")])


@router.get("/{rater}/verdict", summary="Get the verdict on a rater", responses=example_response(200, VERDICT))
def get_rater_verdict(
    caller: Coordinator, campaign: CampaignKey, rater: RaterKey, session: SessionDep
) -> OverallRaterVerdictOut:
    """Apply all rules for completion codes; the worst outcome decides."""
    raters.get_rater(session, campaign, rater, by=caller)
    return OverallRaterVerdictOut.model_validate(hand_in_checks.compute_overall_rater_verdict(session, campaign, rater))


@router.delete("/{rater}", status_code=204, summary="Remove a rater", response_description="Removed.", responses=IN_USE)
def delete_rater(caller: Manager, campaign: CampaignKey, rater: RaterKey, session: SessionDep) -> None:
    """Remove a rater without judgments from a draft. Otherwise, set the rater to `left`, or erase personal data."""
    raters.delete_rater(session, campaign, rater, by=caller)


def _rater_response(view: RaterView) -> Response:
    return json_response(RaterOut.model_validate(view), etag=str(view.settings_version))
