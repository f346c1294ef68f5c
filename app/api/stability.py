"""Would the ranking hold if the study were run again: JSON, CSV, LaTeX, Markdown and pictures, by Accept."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final, Literal

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.kit.recipe_choices import AsOfQuery
from app.api.kit.report_routes import report_response
from app.api.models.times import parse_data_version_or_time
from app.reports.kit.request import ReportRequest
from app.reports.stability.options import StabilityIn
from app.reports.stability.report import REPORT
from app.reports.stability.view import StabilityView
from app.services.jobs import report_requests
from app.services.jobs.jobs import JobView
from app.web.access import Viewer
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import example_response, non_json_example_response
from app.web.request_bodies import read_json_body_as

router = APIRouter(prefix="/v1/campaigns/{campaign}", tags=["reports"])

Picture = Literal["documents", "power"]
ASKED: dict[str, Any] = {
    "designs": [{"grouping": "psxs", "normalize": "z"}, {"grouping": "none", "balance": {"entropy": 0.7}}],
    "documents": [10, 20],
    "studies": 100,
    "seed": 1,
}
TEXTS = non_json_example_response(
    200,
    "The report.",
    csv=("text/csv", "grouping,documents,srp\r\npsxs,20,0.9418\r\n"),
    tex=("application/x-tex", "\\begin{longtable}{lr}\npSxS & 0.942 \\\\\n\\end{longtable}\n"),
    md=("text/markdown", "| Design | Documents | SRP |\n| :-- | --: | --: |\n| pSxS | 20 | 0.942 |\n"),
    svg=("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
)
IN_JSON = example_response(200, StabilityView.model_validate(REPORT.example), "The report.")
ANY: Final[dict[int | str, dict[str, Any]]] = {
    200: {**IN_JSON[200], "content": {**IN_JSON[200]["content"], **TEXTS[200]["content"]}},
    304: {"description": "Not changed: `If-None-Match` has its ETag."},
}


class StabilityQuery(AsOfQuery):
    """What is wanted of a report that is sent as a picture."""

    picture: Picture = Field(
        "documents", description="SRP against documents, or against significant pairs, where the answer is SVG."
    )


@router.post("/stability", summary="Simulate repeated studies", response_class=Response, responses={**ANY, **LATER})
async def compute_stability_report(
    caller: Viewer,
    request: Request,
    campaign: CampaignKey,
    query: Annotated[StabilityQuery, Query()],
    body: Annotated[StabilityIn, read_json_body_as(StabilityIn, small=ASKED, defaults={}, paper={"designs": "paper"})],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """Return Stable Ranking Probability by design and number of documents, and how much a study finds.

    The same request on the same data gives the same report with the same ETag, or the same job until the report is
    done.
    """
    asking = ReportRequest(REPORT, (campaign,), body, parse_data_version_or_time(query.as_of))
    report = await wait_for_report_or_job(
        request, database, prefer, partial(report_requests.find_or_queue_report, database, asking)
    )
    if isinstance(report, JobView):
        return job_response(report)
    return await to_thread.run_sync(report_response, request, caller, REPORT, report, query.picture)
