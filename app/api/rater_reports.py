"""Reports on raters, for managers: quality, timing and revisions, as JSON, CSV, LaTeX, Markdown or SVG."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.kit.recipe_choices import AsOfQuery
from app.api.kit.report_routes import KNOWN, make_report_request, report_response
from app.reports.kit.report import Report, StoredReport
from app.reports.quality import report as quality
from app.reports.quality.view import RaterQualityOptions, RaterQualityView
from app.reports.revisions import report as revisions
from app.reports.timing import report as timing
from app.services.access.tokens import Caller
from app.services.jobs import report_requests
from app.services.jobs.jobs import JobView
from app.services.people import team_rater_verdicts
from app.services.people.team_rater_verdicts import TeamRaterVerdicts
from app.storage.db import Database
from app.web.access import Coordinator, Manager
from app.web.conditional_requests import conditional_response
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import example_response, non_json_example_response

router = APIRouter(prefix="/v1/campaigns/{campaign}/reports", tags=["reports"])

AnyReport = Report[Any, Any]
Kind = Literal["csv", "tex", "md", "svg"]
JSON = "application/json"
TEXTS = non_json_example_response(
    200,
    "One line per rater.",
    csv=("text/csv", "rater,judgments\r\nrater1,1850\r\n"),
    tex=("application/x-tex", "\\begin{tabular}{lr}\nrater1 & 1,850 \\\\\n\\end{tabular}\n"),
    md=("text/markdown", "| Rater | Judgments |\n| :-- | --: |\n| `rater1` | 1,850 |\n"),
    svg=("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
)


def _make_examples(example: Any) -> dict[int | str, dict[str, Any]]:
    in_json = example_response(200, example, "One line per rater.")
    both = {**in_json[200], "content": {**in_json[200]["content"], **TEXTS[200]["content"]}}
    return {200: both, **KNOWN, **LATER}


OF_EITHER = _make_examples(quality.EXAMPLE)
OF_EITHER[200]["model"] = RaterQualityView | TeamRaterVerdicts


class RaterQualityQuery(RaterQualityOptions, AsOfQuery):
    """How raters are tested, at a data version."""


Raters = Annotated[RaterQualityQuery, Query()]
When = Annotated[AsOfQuery, Query()]


@router.get("/quality", summary="Quality of the raters' work", response_class=Response, responses=OF_EITHER)
async def get_rater_quality(
    caller: Coordinator,
    request: Request,
    campaign: CampaignKey,
    query: Raters,
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """Control items, repeats, level compared with the others, pace, habits and drift of each rater.

    Only the control items decide the verdict, and the report excludes nobody. Coordinators get the verdicts of their
    team, without scores.
    """
    if not caller.has_rights_of("manager"):
        report = await _compute_report(request, campaign, quality.REPORT, query, database, prefer)
        if isinstance(report, JobView):
            return job_response(report, location=request.url.path)
        body = await to_thread.run_sync(
            team_rater_verdicts.encode_team_rater_verdicts, database, campaign, report, caller
        )
        return conditional_response(request, body, JSON, sha256(body).hexdigest()[:32])
    return await _answer(caller, request, campaign, quality.REPORT, query, database, prefer)


@router.get(
    "/quality.{kind}",
    summary="Quality of the raters' work, as a table or picture",
    response_class=Response,
    responses={**TEXTS, **KNOWN, **LATER},
)
async def get_rater_quality_in_format(
    caller: Manager,
    request: Request,
    campaign: CampaignKey,
    kind: Kind,
    query: Raters,
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """The same as CSV, LaTeX, Markdown or SVG."""
    return await _answer(caller, request, campaign, quality.REPORT, query, database, prefer, kind)


def _add_routes(report: AnyReport) -> None:
    """Add two routes, by Accept and by suffix, for a report whose only option is the data version."""

    async def get_report(
        caller: Manager,
        request: Request,
        campaign: CampaignKey,
        query: When,
        database: DatabaseDep,
        prefer: Prefer = "",
    ) -> Response:
        return await _answer(caller, request, campaign, report, query, database, prefer)

    async def get_report_as(
        caller: Manager,
        request: Request,
        campaign: CampaignKey,
        kind: Kind,
        query: When,
        database: DatabaseDep,
        prefer: Prefer = "",
    ) -> Response:
        return await _answer(caller, request, campaign, report, query, database, prefer, kind)

    router.add_api_route(
        f"/{report.name}",
        get_report,
        name=f"get_{report.name}",
        summary=report.title,
        description=report.summary,
        response_class=Response,
        responses=_make_examples(report.result.model_validate(report.example)),
    )
    router.add_api_route(
        f"/{report.name}.{{kind}}",
        get_report_as,
        name=f"get_{report.name}_as",
        summary=f"{report.title}, as a table or picture",
        description="The same as CSV, LaTeX, Markdown or SVG.",
        response_class=Response,
        responses={**TEXTS, **KNOWN, **LATER},
    )


_add_routes(timing.REPORT)
_add_routes(revisions.REPORT)


async def _answer(
    caller: Caller,
    request: Request,
    campaign: str,
    report: AnyReport,
    query: AsOfQuery,
    database: Database,
    prefer: str,
    output_format: str = "",
) -> Response:
    stored = await _compute_report(request, campaign, report, query, database, prefer)
    if isinstance(stored, JobView):
        return job_response(stored)
    return await to_thread.run_sync(
        partial(report_response, request, caller, report, stored, output_format=output_format)
    )


async def _compute_report(
    request: Request, campaign: str, report: AnyReport, query: AsOfQuery, database: Database, prefer: str
) -> StoredReport | JobView:
    ask = partial(report_requests.find_or_queue_report, database, make_report_request(report, (campaign,), query))
    return await wait_for_report_or_job(request, database, prefer, ask)
