"""Reports on raters, for managers: quality, timing and revisions, as JSON, CSV, LaTeX, Markdown and a picture."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from app.api.kit.choices import AsOf, moment
from app.api.models.rater_reports import QUALITY, REVISIONS, TIMING
from app.reports.kit.report import StoredReport
from app.reports.ranking.renderings import MEDIA_TYPES
from app.reports.source.judged_ratings import On
from app.services import quality, timing_report
from app.services.people import quality_verdicts
from app.services.people.quality_verdicts import VerdictsView
from app.services.quality import QualityView
from app.services.rater_renderings import About, render
from app.stats.quality.controls import MIN_PAIRS, ControlAdjust, ControlTestName
from app.stats.quality.report import Choices
from app.web.access import Coordinator, Manager
from app.web.conditional import answer
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import sends, shows
from app.web.negotiation import preferred

router = APIRouter(prefix="/v1/campaigns/{campaign}/reports", tags=["reports"])

Kind = Literal["csv", "tex", "md", "svg"]
JSON = "application/json"
KINDS = {JSON: "json", **{media_type.partition(";")[0]: kind for kind, media_type in MEDIA_TYPES.items()}}
PICTURE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
MOST_PAIRS = 1000
TEXTS = sends(
    200,
    "A line a rater.",
    csv=("text/csv", "rater,judgments\r\nrater1,1850\r\n"),
    tex=("application/x-tex", "\\begin{tabular}{lr}\nrater1 & 1,850 \\\\\n\\end{tabular}\n"),
    md=("text/markdown", "| Rater | Judgments |\n| :-- | --: |\n| `rater1` | 1,850 |\n"),
    svg=("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
)
KNOWN: dict[int | str, dict[str, Any]] = {304: {"description": "As known: `If-None-Match` has its ETag."}}


def _any(example: Any) -> dict[int | str, dict[str, Any]]:
    in_json = shows(200, example, "A line a rater.")
    both = {**in_json[200], "content": {**in_json[200]["content"], **TEXTS[200]["content"]}}
    return {200: both, **KNOWN}


OF_EITHER = _any(QUALITY)
OF_EITHER[200]["model"] = QualityView | VerdictsView


class QualityAsked(AsOf):
    """How raters are tested."""

    test: ControlTestName = Field("signed_rank", description="Of degraded items against their originals, one-sided.")
    min_pairs: Annotated[int, Field(ge=2, le=MOST_PAIRS)] = Field(
        MIN_PAIRS, description="Fewer pairs than this give no verdict.", examples=[8]
    )
    adjust: ControlAdjust = Field("bh", description="Over the raters that could be tested.")
    on: On = Field("score", description="What is compared: the score, or the number of marked errors.")

    def choices(self) -> Choices:
        """The choices of the statistics."""
        return Choices(test=self.test, min_pairs=self.min_pairs, adjust=self.adjust)


Raters = Annotated[QualityAsked, Query()]
When = Annotated[AsOf, Query()]


def _quality(database: DatabaseDep, campaign: str, asked: QualityAsked) -> StoredReport:
    return quality.report(database, campaign, choices=asked.choices(), on=asked.on, as_of=moment(asked.as_of))


@router.get("/quality", summary="Quality of the raters' work", response_class=Response, responses=OF_EITHER)
def get_quality(
    caller: Coordinator, request: Request, campaign: CampaignKey, asked: Raters, database: DatabaseDep
) -> Response:
    """Control items, repeats, level beside the others, pace, habits and drift of each rater.

    The verdict is that of the control items; nothing here leaves anybody out. Coordinators get the verdicts of their
    team, without scores.
    """
    if not caller.may("manager"):
        body = quality_verdicts.of_team(database, campaign, _quality(database, campaign, asked), caller)
        return answer(request, body, JSON, sha256(body).hexdigest()[:32])
    return _shown(request, "quality", _quality(database, campaign, asked), _preferred(request))


@router.get(
    "/quality.{kind}",
    summary="Quality of the raters' work, as a table or picture",
    response_class=Response,
    responses={**TEXTS, **KNOWN},
)
def get_quality_as(
    _: Manager, request: Request, campaign: CampaignKey, kind: Kind, asked: Raters, database: DatabaseDep
) -> Response:
    """The same as CSV, LaTeX, Markdown or SVG."""
    return _shown(request, "quality", _quality(database, campaign, asked), kind)


@router.get("/timing", summary="How long judging takes", response_class=Response, responses=_any(TIMING))
def get_timing(_: Manager, request: Request, campaign: CampaignKey, asked: When, database: DatabaseDep) -> Response:
    """Trimmed durations by kind of unit; hours, words per hour and change of pace of each rater."""
    report = timing_report.timing(database, campaign, as_of=moment(asked.as_of))
    return _shown(request, "timing", report, _preferred(request))


@router.get(
    "/timing.{kind}",
    summary="How long judging takes, as a table or picture",
    response_class=Response,
    responses={**TEXTS, **KNOWN},
)
def get_timing_as(
    _: Manager, request: Request, campaign: CampaignKey, kind: Kind, asked: When, database: DatabaseDep
) -> Response:
    """The same as CSV, LaTeX, Markdown or SVG."""
    report = timing_report.timing(database, campaign, as_of=moment(asked.as_of))
    return _shown(request, "timing", report, kind)


@router.get("/revisions", summary="How often answers change", response_class=Response, responses=_any(REVISIONS))
def get_revisions(_: Manager, request: Request, campaign: CampaignKey, asked: When, database: DatabaseDep) -> Response:
    """Share of answers, and of documents, whose score changed after it was first given."""
    report = timing_report.revised(database, campaign, as_of=moment(asked.as_of))
    return _shown(request, "revisions", report, _preferred(request))


@router.get(
    "/revisions.{kind}",
    summary="How often answers change, as a table or picture",
    response_class=Response,
    responses={**TEXTS, **KNOWN},
)
def get_revisions_as(
    _: Manager, request: Request, campaign: CampaignKey, kind: Kind, asked: When, database: DatabaseDep
) -> Response:
    """The same as CSV, LaTeX, Markdown or SVG."""
    report = timing_report.revised(database, campaign, as_of=moment(asked.as_of))
    return _shown(request, "revisions", report, kind)


def _preferred(request: Request) -> str:
    return KINDS[preferred(request, tuple(KINDS))]


def _shown(request: Request, about: About, report: StoredReport, kind: str) -> Response:
    """A representation, with an ETag of its own."""
    if kind == "json":
        return answer(request, report.body, JSON, report.etag)
    headers = PICTURE if kind == "svg" else {}
    return answer(
        request, lambda: render(about, report.body, kind), MEDIA_TYPES[kind], f"{report.etag}.{kind}", headers
    )
