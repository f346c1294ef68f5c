"""Standing exclusions: what analyses leave out, and why; the effect can be previewed."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.models.exclusions import EFFECT, EXAMPLE, LIFTED, ExclusionEffectOut, ExclusionIn, ExclusionOut, Reason
from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.domain.recipe import ExclusionTarget, Subject
from app.reports.inputs import named_recipes
from app.reports.kit.report import StoredReport
from app.services.access.idempotency import IdempotentResponse
from app.services.access.tokens import Caller
from app.services.campaigns import exclusions
from app.services.campaigns.exclusions import ExclusionEffect, ExclusionSort
from app.services.jobs import exclusion_preview
from app.services.jobs.jobs import JobView
from app.storage.db import Database
from app.web.access import Manager
from app.web.conditional_requests import conditional_response
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreation, IdempotentCreationDep, created_response
from app.web.pagination import Limit, Page, make_page
from app.web.pagination import Number as Cursor
from app.web.request_bodies import read_json_body_as

router = APIRouter(prefix="/v1/campaigns/{campaign}/exclusions", tags=["campaigns"])

JSON = "application/json"
LARGEST = 2**63 - 1
Number = Annotated[int, Path(alias="exclusion", ge=1, le=LARGEST, description="Number of the exclusion.", examples=[8])]
WhyLifted = Annotated[Reason, Query(description="Why it no longer holds.", examples=["the control items were wrong"])]
After = Cursor
What = Annotated[Subject | None, Query(description="Only exclusions of this kind.", examples=["rater"])]
Stands = Annotated[bool | None, Query(description="Only those that stand, or only those that were lifted.")]
SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of key, reasons or actors, in any case.",
        examples=["control"],
    ),
]
Sort = Annotated[ExclusionSort, Query(description="By creation time; `-` for newest first.")]
ONE_OF = "name one of rater, task, document and system"


class CreateExclusionQuery(BaseModel):
    """The query of an exclusion."""

    model_config = ConfigDict(extra="forbid")

    dry_run: bool = Field(default=False, description="Store nothing; preview the effect on the ranking.")
    recipe: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] = Field(
        "recommended", description="The recipe of that ranking.", examples=["recommended"]
    )


@router.post(
    "",
    status_code=201,
    summary="Exclude a rater, task, document or system",
    responses={
        **example_response(201, EXAMPLE, "It stands from this data version on."),
        **example_response(200, EFFECT, "With `dry_run`: what it would do."),
        **LATER,
    },
)
async def create_exclusion(
    caller: Manager,
    request: Request,
    campaign: CampaignKey,
    query: Annotated[CreateExclusionQuery, Query()],
    body: Annotated[
        ExclusionIn,
        read_json_body_as(
            ExclusionIn,
            rater={"rater": "rater1", "reason": "gave 3 of 120 control items a fitting score"},
            system={"system": "A", "reason": "withdrawn by its makers"},
        ),
    ],
    database: DatabaseDep,
    idempotent_creation: IdempotentCreationDep,
    prefer: Prefer = "",
) -> Response:
    """Recipes that apply exclusions in force, such as `recommended`, leave it out from the next data version on.

    Nothing is deleted: the ranking is unchanged `as_of` an earlier version or with `standing=false`. With many systems,
    a job computes the effect on a ranking.
    """
    wanted = _single_rule(body.list_exclusion_targets())
    if not query.dry_run:
        return await to_thread.run_sync(
            _store_exclusion, caller, campaign, wanted, body.reason, database, idempotent_creation
        )
    preview = await wait_for_report_or_job(
        request, database, prefer, partial(_preview_effect, campaign, wanted, query.recipe, database)
    )
    if isinstance(preview, JobView):
        return job_response(preview)
    return Response(await to_thread.run_sync(_encode_effect, preview), media_type=JSON)


def exclusion_preview_response(request: Request, report: StoredReport) -> Response:
    """Return a stored preview, as JSON only, with its ETag."""
    return conditional_response(request, lambda: _encode_effect(report), JSON, report.etag)


def _store_exclusion(
    caller: Caller,
    campaign: str,
    wanted: ExclusionTarget,
    reason: str,
    database: Database,
    idempotent_creation: IdempotentCreation,
) -> Response:
    with database.transaction() as session:

        def make() -> IdempotentResponse:
            view = exclusions.create_exclusion(session, campaign, wanted, reason=reason, actor=caller.actor)
            return created_response(
                ExclusionOut.from_view(view), location=f"/v1/campaigns/{campaign}/exclusions/{view.n}"
            )

        return idempotent_creation(session, caller, make)


def _preview_effect(campaign: str, wanted: ExclusionTarget, name: str, database: Database) -> ExclusionEffect | JobView:
    with database.transaction(snapshot=True) as session:
        recipe = named_recipes.resolve_recipe(session, campaign, name)
    return exclusion_preview.find_or_queue_exclusion_preview(database, campaign, wanted, recipe=recipe)


def _encode_effect(outcome: ExclusionEffect | StoredReport) -> bytes:
    effect = (
        exclusion_preview.parse_stored_exclusion_preview(outcome.body) if isinstance(outcome, StoredReport) else outcome
    )
    return ExclusionEffectOut.from_effect(effect).model_dump_json().encode()


@router.get(
    "", summary="List exclusions", responses=example_response(200, Page[ExclusionOut](items=[EXAMPLE], next=None))
)
def list_exclusions(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    what: What = None,
    standing: Stands = None,
    q: SearchWords = "",
    sort: Sort = "made",
    limit: Limit = 50,
    cursor: After = 0,
) -> Page[ExclusionOut]:
    """List exclusions in the order in which they were made, including those that were lifted."""
    views = exclusions.list_exclusions(
        session, campaign, after=cursor, limit=limit + 1, what=what, standing=standing, sort=sort, q=q
    )
    return make_page([ExclusionOut.from_view(view) for view in views], limit, lambda one: str(one.exclusion))


@router.get("/{exclusion}", summary="Get an exclusion", responses=example_response(200, EXAMPLE))
def get_exclusion(caller: Manager, campaign: CampaignKey, number: Number, session: SessionDep) -> ExclusionOut:  # noqa: ARG001  (says who may call)
    """Return what it leaves out and why, who made it and when, and how it ended."""
    return ExclusionOut.from_view(exclusions.get_exclusion(session, campaign, number))


@router.delete(
    "/{exclusion}", summary="Lift an exclusion", responses=example_response(200, LIFTED, "Lifted, and kept.")
)
def lift_exclusion(
    caller: Manager, campaign: CampaignKey, number: Number, reason: WhyLifted, session: SessionDep
) -> ExclusionOut:
    """The exclusion ends with the next data version, and both reasons are kept. A second request changes nothing."""
    return ExclusionOut.from_view(
        exclusions.lift_exclusion(session, campaign, number, reason=reason, actor=caller.actor)
    )


def _single_rule(named: list[ExclusionTarget]) -> ExclusionTarget:
    """Return the only named exclusion. Raises Invalid unless there is exactly one."""
    if len(named) != 1:
        raise Invalid(ONE_OF, places=(Place(("body",), ONE_OF),))
    return named[0]
