"""Would the ranking hold if the study were run again: JSON, CSV, LaTeX, Markdown and pictures, by Accept."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Final, Literal, get_args

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from app.api.kit.choices import AsOf, moment
from app.api.kit.jobs import LATER, Prefer, accepted, ready
from app.api.models.stability import ASKED, EXAMPLE, StabilityIn
from app.reports.kit.report import StoredReport
from app.reports.ranking.renderings import MEDIA_TYPES
from app.services import stability
from app.services.jobs.jobs import JobView
from app.services.stability_renderings import render
from app.services.stability_view import StabilityView
from app.web.access import Viewer
from app.web.bodies import json_body
from app.web.conditional import answer
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import sends, shows
from app.web.negotiation import preferred

router = APIRouter(prefix="/v1/campaigns/{campaign}", tags=["reports"])

JSON = "application/json"
KINDS = {JSON: "json", **{media_type.partition(";")[0]: kind for kind, media_type in MEDIA_TYPES.items()}}
PICTURE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
Picture = Literal["documents", "power"]
PICTURES: tuple[Picture, ...] = get_args(Picture)
TEXTS = sends(
    200,
    "The report.",
    csv=("text/csv", "grouping,documents,srp\r\npsxs,20,0.9418\r\n"),
    tex=("application/x-tex", "\\begin{longtable}{lr}\npSxS & 0.942 \\\\\n\\end{longtable}\n"),
    md=("text/markdown", "| Design | Documents | SRP |\n| :-- | --: | --: |\n| pSxS | 20 | 0.942 |\n"),
    svg=("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
)
IN_JSON = shows(200, EXAMPLE, "The report.")
ANY: Final[dict[int | str, dict[str, Any]]] = {
    200: {**IN_JSON[200], "content": {**IN_JSON[200]["content"], **TEXTS[200]["content"]}},
    304: {"description": "As known: `If-None-Match` has its ETag."},
}


class Shown(AsOf):
    """What is wanted of a report that is sent as a picture."""

    picture: Picture = Field(
        "documents", description="SRP against documents, or against significant pairs, where the answer is SVG."
    )


@router.post(
    "/stability", summary="Simulate the study again and again", response_class=Response, responses={**ANY, **LATER}
)
async def post_stability(
    _: Viewer,
    request: Request,
    campaign: CampaignKey,
    shown: Annotated[Shown, Query()],
    body: Annotated[StabilityIn, json_body(StabilityIn, small=ASKED, defaults={}, paper={"designs": "paper"})],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """Stable Ranking Probability by design and number of documents, and beside it how much a study finds.

    The same request about the same data is the same report, with the same ETag, and the same job while it takes long.
    """
    ask = partial(stability.long_answer, database, campaign, body.asked(), as_of=moment(shown.as_of))
    report = await ready(request, database, prefer, ask)
    if isinstance(report, JobView):
        return accepted(report)
    return await to_thread.run_sync(of_stability, request, report, shown.picture)


def of_stability(request: Request, report: StoredReport, picture: Picture) -> Response:
    """A stored stability report as `Accept` prefers, with an ETag of its own."""
    kind = KINDS[preferred(request, tuple(KINDS))]
    if kind == "json":
        return answer(request, report.body, JSON, report.etag)
    headers = PICTURE if kind == "svg" else {}
    tag = f"{report.etag}.{kind}.{picture}" if kind == "svg" else f"{report.etag}.{kind}"
    return answer(
        request,
        lambda: render(StabilityView.model_validate_json(report.body), kind, picture),
        MEDIA_TYPES[kind],
        tag,
        headers,
    )
