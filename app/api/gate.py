"""The gate: one claim about two systems, for programs that must decide."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.kit.recipe_choices import AsOfQuery
from app.api.kit.report_routes import KNOWN, TEXTS, OutputFormat, make_report_request, report_response
from app.reports.gate.report import REPORT as GATE
from app.reports.gate.report import GateOptions
from app.reports.gate.view import GateView
from app.services.access.tokens import Caller
from app.services.jobs import report_requests
from app.services.jobs.jobs import JobView
from app.storage.db import Database
from app.web.access import Viewer
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import example_response, non_json_example_response

router = APIRouter(prefix="/v1/campaigns/{campaign}", tags=["reports"])

IN_TEXT = non_json_example_response(200, "The verdict.", **TEXTS)
IN_JSON = example_response(200, GateView.model_validate(GATE.example), "The verdict.")
ANY: dict[int | str, dict[str, Any]] = {
    200: {**IN_JSON[200], "content": {**IN_JSON[200]["content"], **IN_TEXT[200]["content"]}},
    **KNOWN,
    **LATER,
}


class GateQuery(AsOfQuery, GateOptions):
    """One claim about two systems, at a data version."""


Asked = Annotated[GateQuery, Query()]


@router.get("/gate", summary="Test whether a candidate is good enough", response_class=Response, responses=ANY)
async def get_gate_result(
    caller: Viewer, request: Request, campaign: CampaignKey, query: Asked, database: DatabaseDep, prefer: Prefer = ""
) -> Response:
    """Test whether it is better, not worse by a margin, or equivalent to the baseline, and whether this replicates.

    The result is JSON, or what `Accept` prefers. For many systems, a job computes it.
    """
    return await _answer(caller, request, campaign, query, database, prefer)


@router.get(
    "/gate.{kind}",
    summary="Is the candidate good enough",
    response_class=Response,
    responses={**IN_TEXT, **KNOWN, **LATER},
)
async def get_gate_result_in_format(
    caller: Viewer,
    request: Request,
    campaign: CampaignKey,
    kind: Annotated[OutputFormat, Path(description="Suffix.")],
    query: Asked,
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """The same as CSV, LaTeX, Markdown for a pull request, or SVG."""
    return await _answer(caller, request, campaign, query, database, prefer, kind)


async def _answer(
    caller: Caller,
    request: Request,
    campaign: str,
    query: GateQuery,
    database: Database,
    prefer: str,
    output_format: str = "",
) -> Response:
    ask = partial(report_requests.find_or_queue_report, database, make_report_request(GATE, (campaign,), query))
    report = await wait_for_report_or_job(request, database, prefer, ask)
    if isinstance(report, JobView):
        return job_response(report)
    return await to_thread.run_sync(
        partial(report_response, request, caller, GATE, report, output_format=output_format)
    )
