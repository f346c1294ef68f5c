"""Plans: a design is compiled into tasks, previewed before it costs anything, and frozen with seed and hash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field, JsonValue, RootModel, StringConstraints

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.models.design import DesignJson, ReportJson
from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN
from app.reports.kit.report import StoredReport
from app.services.access.idempotency import IdempotentResponse
from app.services.access.tokens import Caller
from app.services.jobs import jobs
from app.services.jobs.jobs import JobView
from app.services.plans import plan_jobs, plan_report, plans, replan_jobs, staleness
from app.services.plans.plan_jobs import PlanNeedsJob
from app.services.plans.plans import PlanView
from app.storage.db import Database, Session
from app.web.access import Manager, require_visible_campaigns
from app.web.conditional_requests import conditional_response
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import example_response, non_json_example_response
from app.web.idempotency import IdempotentCreation, IdempotentCreationDep, created_response
from app.web.pagination import Limit, Number, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}", tags=["plans"])

JSON = "application/json"
LARGEST = 2**31 - 1
Given = dict[str, Any]
Version = Annotated[int, Path(alias="plan", ge=1, le=LARGEST, description="Version of the plan.", examples=[1])]
After = Number
DryRun = Annotated[bool, Query(description="Store nothing; only preview the plan.")]
PilotKey = Annotated[
    str | None,
    Query(
        pattern=KEY_PATTERN,
        description="Key of a campaign whose judgments are the pilot that the forecast rests on; you must see both.",
        examples=["pilot"],
    ),
]


class DesignIn(RootModel[DesignJson]):
    """A design: grouping, balance, ratings per item, overlap, buckets, tasks, arms, controls, calibration, seed."""


class PlanOut(ResponseModel):
    """A plan."""

    campaign: str
    plan: int | None = Field(description="Its version; null for a preview.")
    version: int | None
    hash: str = Field(description="SHA-256 of all assignments and of the texts that they show.")
    seed: int
    design: DesignJson
    report: ReportJson
    change: dict[str, JsonValue] | None = Field(description="What a replan changed; null for a first plan.")
    method_version: str
    data_version: int
    actor: str | None
    at: Time | None
    stale: list[str] | None = Field(
        None,
        description="For the plan in force: what changed in the campaign since it was compiled. It must be "
        "compiled again before the campaign opens, and replanned (`replan`) afterwards. Null for "
        "a plan requested by version.",
    )


class PlanRow(ResponseModel):
    """A plan without its report."""

    version: int
    hash: str
    seed: int
    data_version: int
    actor: str
    at: Time


DESIGN = {
    "grouping": "psxs",
    "balance": "full",
    "ratings_per_item": 1,
    "overlap": {"share": 0.15, "ratings_per_item": 2},
    "task": {"max_segments": 100},
    "controls": {"bad_reference": {"rate": 0.12, "method": "span_replacement"}},
    "seed": 1,
}
EXAMPLE = PlanOut.model_validate(
    {
        "campaign": "ted-ende",
        "plan": 1,
        "version": 1,
        "hash": "sha256:" + "3c" * 32,
        "seed": 1,
        "design": DESIGN,
        "report": {
            "total": {"items": 70, "segments": 7406, "words": 140_000, "tasks": 75, "hours": 62.2},
            "balance": {"normalized_entropy": 0.998},
            "unmet": [],
        },
        "change": None,
        "method_version": "1",
        "data_version": 4,
        "actor": "token:0f3a9c51d27e",
        "at": "2026-11-20T12:00:00Z",
        "stale": [],
    }
)
REFUSED: dict[int | str, dict[str, Any]] = {
    404: {"description": "There is no such campaign or pilot, or one of them is not yours."},
    409: {"description": "The campaign is open or closed, or has nothing to judge, or nobody who judges."},
}


@router.post(
    "/plan",
    status_code=201,
    summary="Compile a design into a plan",
    responses={
        **example_response(201, EXAMPLE, "Frozen."),
        **example_response(200, EXAMPLE, "With `dry_run`: as it would be."),
        **LATER,
        **REFUSED,
    },
)
async def create_plan(
    caller: Manager,
    request: Request,
    campaign: CampaignKey,
    body: Annotated[DesignIn, read_json_body_as(DesignIn, psxs=DESIGN, defaults={"seed": 1})],
    database: DatabaseDep,
    idempotent_creation: IdempotentCreationDep,
    dry_run: DryRun = False,
    pilot: PilotKey = None,
    prefer: Prefer = "",
) -> Response:
    """The plan says who judges what, in which tasks and order. The same design and seed give the same plan.

    The plan is frozen with its report, and the campaign becomes planned. Before `open`, a new plan is a new version. A
    job compiles a large plan; send the same request again once the job is done to freeze it.
    """
    if pilot is not None:
        require_visible_campaigns(caller, (campaign, pilot))
    given: Given = {"given": body.root, "pilot": pilot, "actor": caller.actor}
    make = partial(plan_jobs.compile_plan_or_require_job, campaign=campaign, dry_run=dry_run, **given)
    return await _answer(
        request,
        database,
        prefer,
        partial(_create_or_preview_plan, caller, campaign, database, idempotent_creation, make, dry_run),
    )


class ReplanIn(BodyModel):
    """What changed."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    documents: list[Annotated[str, StringConstraints(pattern=KEY_PATTERN)]] | None = Field(
        None,
        max_length=10_000,
        description="Documents to add; null: all new ones, unless the design lists its documents.",
    )
    rebalance: bool = Field(
        default=False,
        description="Distribute work that nobody has begun evenly, including raters and seats added since; "
        "otherwise it stays, and they get only what others leave.",
    )


@router.post(
    "/plan/replan",
    status_code=201,
    summary="Replan the remaining work",
    responses={
        **example_response(201, EXAMPLE, "Frozen."),
        **example_response(200, EXAMPLE, "With `dry_run`: as it would be."),
        **LATER,
        **REFUSED,
    },
)
async def create_replan(
    caller: Manager,
    request: Request,
    campaign: CampaignKey,
    body: Annotated[
        ReplanIn,
        read_json_body_as(
            ReplanIn, dropout={"reason": "rater r3 left"}, joined={"reason": "r9 joined", "rebalance": True}
        ),
    ],
    database: DatabaseDep,
    idempotent_creation: IdempotentCreationDep,
    dry_run: DryRun = False,
    prefer: Prefer = "",
) -> Response:
    """Use it after a rater left or joined, a system came late or was withdrawn, or documents were added.

    Finished groups stay, whole groups move, and a half-done group is judged again, with its work kept as surplus. A job
    compiles a large plan, as for `POST …/plan`.
    """
    given: Given = {
        "bought": body.documents,
        "rebalance": body.rebalance,
        "reason": body.reason,
        "actor": caller.actor,
    }
    make = partial(replan_jobs.replan_or_require_job, campaign=campaign, dry_run=dry_run, **given)
    return await _answer(
        request,
        database,
        prefer,
        partial(_create_or_preview_plan, caller, campaign, database, idempotent_creation, make, dry_run),
    )


def plan_response(request: Request, report: StoredReport) -> Response:
    """Return a plan that a job has compiled, as JSON only, in the form of a plan, with its ETag."""
    return conditional_response(
        request,
        lambda: make_plan_out(plan_jobs.parse_plan_job_preview(report.body)).model_dump_json().encode(),
        JSON,
        report.etag,
    )


def _create_or_preview_plan(
    caller: Caller,
    campaign: str,
    database: Database,
    idempotent_creation: IdempotentCreation,
    make: Callable[[Session], PlanView],
    dry_run: bool,
) -> Response:
    """Preview a plan, or freeze it once. Raises PlanNeedsJob, which stores nothing under an Idempotency-Key."""
    if dry_run:
        with database.transaction(snapshot=True) as session:
            return Response(make_plan_out(make(session)).model_dump_json(), media_type=JSON)

    with database.transaction() as session:

        def frozen() -> IdempotentResponse:
            view = make(session)
            return created_response(make_plan_out(view), location=f"/v1/campaigns/{campaign}/plans/{view.version}")

        return idempotent_creation(session, caller, frozen)


async def _answer(request: Request, database: Database, prefer: str, made: Callable[[], Response]) -> Response:
    """Return the plan, or the job that compiles it; the plan also if the job ends while the client waits."""

    def ask() -> Response | JobView:
        try:
            return made()
        except PlanNeedsJob as later:
            return jobs.request_job(database, later.request)

    outcome = await wait_for_report_or_job(request, database, prefer, ask)
    if isinstance(outcome, StoredReport):  # compiled in the meantime
        outcome = await to_thread.run_sync(ask)
    return job_response(outcome) if isinstance(outcome, JobView) else outcome


@router.get("/plan", summary="Get the plan in force", responses=example_response(200, EXAMPLE))
def get_plan(caller: Manager, campaign: CampaignKey, session: SessionDep) -> PlanOut:  # noqa: ARG001  (says who may call)
    """Return the plan with its report, and what has changed since it was compiled."""
    return make_plan_out(staleness.get_plan_with_staleness(session, campaign))


@router.get(
    "/plan.svg",
    summary="Get the plan as a picture",
    response_class=Response,
    responses={**non_json_example_response(200, "The picture.", svg=("image/svg+xml", "<svg/>")), **REFUSED},
)
def get_plan_picture(caller: Manager, campaign: CampaignKey, session: SessionDep) -> Response:  # noqa: ARG001  (says who may call)
    """Show work by rater, and how often each rater judges each system."""
    view = plans.get_plan(session, campaign)
    if not view.report:
        raise plans.PlanNotCompiledHere
    return Response(plan_report.plot_plan_report_chart(campaign, view.version, view.report), media_type="image/svg+xml")


@router.get("/plans/{plan}", summary="Get a plan by version", responses=example_response(200, EXAMPLE))
def get_plan_by_version(caller: Manager, campaign: CampaignKey, plan: Version, session: SessionDep) -> PlanOut:  # noqa: ARG001  (says who may call)
    """Return the plan with its report."""
    return make_plan_out(plans.get_plan(session, campaign, plan))


@router.get(
    "/plans",
    summary="List the plans",
    responses=example_response(200, Page[PlanRow](items=[PlanRow.model_validate(EXAMPLE.model_dump())], next=None)),
)
def list_plans(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: After = 0,
) -> Page[PlanRow]:
    """List the plans by version. None ever changes."""
    views = plans.list_plans(session, campaign, after=cursor, limit=limit + 1)
    return make_page([PlanRow.model_validate(one) for one in views], limit, lambda one: str(one.version))


def make_plan_out(view: PlanView) -> PlanOut:
    """Return a plan in the form of the interface."""
    return PlanOut.model_validate({"plan": view.version, **asdict(view)})
