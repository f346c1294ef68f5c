"""Stability of a campaign's ranking: the form, the job that simulates studies, curves and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic import Field as Asks

from app.domain.errors import Conflict, Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.reports.kit import store
from app.reports.kit.render.representations import render_report
from app.reports.kit.request import ReportRequest, parse_report_options
from app.reports.ranking.renderings import MEDIA_TYPES
from app.reports.stability.report import REPORT
from app.reports.stability.view import StabilityView
from app.services.campaigns import campaigns
from app.services.jobs import report_requests
from app.services.jobs.jobs import JobNotDone, JobNotRequested, JobView, get_running_job
from app.stats.stability import request as limits
from app.stats.stability.multiply_rated_documents import NoMultiplyRatedDocuments
from app.stats.stability.request import GROUPINGS, METHODS, RaterAssignmentScheme, StudyDesign, make_riley_2024_designs
from app.ui.access import Reader
from app.ui.manager.charts import make_page_chart
from app.ui.manager.forms import make_form_fields, mark_refused_fields, select_filled_form_values
from app.ui.manager.long_reports import make_start_button_values
from app.ui.manager.page_table import PAGES
from app.ui.manager.pages import render_campaign_page
from app.ui.messages import choose_request_language, mark_translatable
from app.ui.pages import PageRoute
from app.web.conditional_requests import conditional_response
from app.web.deps import CampaignKey, DatabaseDep

Shape = Literal["csv", "tex", "md", "svg", "json"]
PICTURE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
PICTURES: tuple[tuple[Literal["documents", "power"], str], ...] = (
    ("documents", mark_translatable("Stable Ranking Probability against the number of documents, one line per design")),
    ("power", mark_translatable("Stable Ranking Probability against the number of significant pairs")),
)
SHAPES = (("CSV", ".csv"), ("LaTeX", ".tex"), ("Markdown", ".md"), ("SVG", ".svg"), ("JSON", ".json"))
FEWEST = 6
"""The fewest documents for a significant difference: with 5, the smallest two-sided p is 0.0625."""
STEP = 5  # between the numbers of documents that are simulated if none are given
FIGURE = re.compile(r"\d[\d.,]*")
NUMBERS = r"^[0-9]{1,6}(,[0-9]{1,6}){0,199}$"

PAGE = PAGES["Stability"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class StabilityForm(BaseModel):
    """The simulations that are asked for."""

    model_config = ConfigDict(extra="ignore")

    designs: Literal["by grouping", "by normalization", "paper"] = Asks(
        "by grouping", description="By grouping: who rates what. By normalization: with pSxS. Paper: all 36 designs."
    )
    recipe: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] = Asks(
        "srp-paper", description="Which ratings and scores are read."
    )
    documents: Annotated[str, StringConstraints(pattern=NUMBERS)] | None = Asks(
        None, description="Documents in a study, separated by commas; default: steps up to the number available."
    )
    studies: Annotated[int, Asks(ge=2, le=limits.MOST_STUDIES)] = Asks(
        limits.STUDIES, description="Number of studies simulated for each point."
    )
    studies_per_document_set: Annotated[int, Asks(ge=1, le=limits.MOST_STUDIES)] = Asks(
        limits.STUDIES_PER_SET, description="1 draws new documents for every study."
    )
    pairs: Literal["same_documents", "all"] = Asks(
        "same_documents",
        description="Which studies are compared: studies of the same documents, or all pairs of studies.",
    )
    permutations: Annotated[int, Asks(ge=1, le=limits.MOST_PERMUTATIONS)] = limits.PERMUTATIONS
    seed: Annotated[int, Asks(ge=0, le=2**63 - 1)] = 0

    def report_options(self) -> BaseModel:
        """Return the options of the report. Raises Invalid."""
        return parse_report_options(REPORT, self.request_body(), place=REPORT.options_in)

    def request_body(self) -> dict[str, object]:
        """Return the body of a request to the interface."""
        alone = {"designs", "documents"}
        one_each = [{"grouping": one.assignment.grouping, "normalize": one.normalize} for one in self._designs()]
        documents = None if self.documents is None else [int(count) for count in self.documents.split(",")]
        designs = self.designs if self.designs == "paper" else one_each
        return {**self.model_dump(mode="json", exclude=alone), "designs": designs, "documents": documents}

    def _designs(self) -> tuple[StudyDesign, ...]:
        if self.designs == "paper":
            return make_riley_2024_designs()
        if self.designs == "by normalization":
            return tuple(StudyDesign(normalize=method) for method in METHODS)
        return tuple(StudyDesign(RaterAssignmentScheme(grouping)) for grouping in GROUPINGS)


@router.get(PAGE.route_pattern)
def stability_page(request: Request, caller: Reader, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """The question; once it was asked, the job, the report, or the button that begins the job."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get_campaign(session, campaign)
    given = select_filled_form_values(StabilityForm, request.query_params, choose_request_language(request))
    begun = "designs" in request.query_params
    values = {"fields": make_form_fields(StabilityForm, given), "open": not begun}
    values |= {"job": None, "view": None, "why": "", "single": False}
    if not begun:
        return render_campaign_page(request, PAGE, about, caller, values)
    try:
        question = parse_stability_form(given)
        asking = ReportRequest(REPORT, (campaign,), question.report_options())
        outcome = report_requests.find_or_queue_report(database, asking, ask=get_running_job)
    except JobNotRequested:
        begin = make_start_button_values(f"/v1/campaigns/{quote(campaign, safe='')}/stability", question.request_body())
        return render_campaign_page(request, PAGE, about, caller, {**values, **begin})
    except (Invalid, Conflict) as error:
        # An error that a job has stored keeps only the name of its class.
        single = error.name() == NoMultiplyRatedDocuments.name()
        fields, why = mark_refused_fields(make_form_fields(StabilityForm, given), error)
        failed = {**values, "fields": fields, "why": why, "single": single, "open": True}
        return render_campaign_page(request, PAGE, about, caller, failed, status=422)
    if isinstance(outcome, JobView):
        return render_campaign_page(request, PAGE, about, caller, {**values, "job": outcome, "script": "job"})
    view = StabilityView.model_validate_json(outcome.body)
    address = f"/campaigns/{quote(campaign, safe='')}/stability-report"
    shown = {
        "view": view,
        "tables": REPORT.tables(view),
        "caption": REPORT.caption(view),
        "warnings": group_alike_warnings(REPORT.warnings(view)),
        "methods": METHODS,
        "more": _suggest_document_counts(view, given, request.url.path),
        "charts": [
            make_page_chart(
                f"{address}.svg?{urlencode({**given, 'picture': picture})}",
                partial(REPORT.charts[picture], view),
                text,
            )
            for picture, text in PICTURES
        ],
        "links": [(name, f"{address}{suffix}?{urlencode(given)}") for name, suffix in SHAPES],
    }
    return render_campaign_page(request, PAGE, about, caller, {**values, **shown})


@router.get("/campaigns/{campaign}/stability-report.{shape}")
def serve_stability_report(
    request: Request,
    caller: Reader,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    shape: Shape,
    database: DatabaseDep,
    picture: Annotated[Literal["documents", "power"], Query()] = "documents",
) -> Response:
    """What the page shows, by address. Raises JobNotDone where it was not worked out yet."""
    options = parse_stability_form(select_filled_form_values(StabilityForm, request.query_params)).report_options()
    with database.transaction(snapshot=True) as session:
        lookup = store.look_up_report(session, ReportRequest(REPORT, (campaign,), options))
    if lookup.body is None:
        raise JobNotDone
    report = lookup.make_stored_report(lookup.body)
    tag = f"{report.etag}.{shape}.{picture}"
    if shape == "json":
        return conditional_response(request, report.body, "application/json", tag)
    headers = PICTURE if shape == "svg" else {}
    return conditional_response(
        request, lambda: render_report(REPORT, report.body, shape, picture), MEDIA_TYPES[shape], tag, headers
    )


def group_alike_warnings(warnings: Iterable[str]) -> list[list[str]]:
    """Group warnings by what they say, ignoring the design and the figures in them.

    >>> warnings = ["psxs, 5 documents: the smallest p is 0.1", "pool", "none, 4 documents: the smallest p is 0.2"]
    >>> group_alike_warnings(warnings)
    [['psxs, 5 documents: the smallest p is 0.1', 'none, 4 documents: the smallest p is 0.2'], ['pool']]
    """
    groups: dict[str, list[str]] = {}
    for text in warnings:
        groups.setdefault(FIGURE.sub("#", text.partition(" documents: ")[2] or text), []).append(text)
    return list(groups.values())


def _suggest_document_counts(view: StabilityView, given: Mapping[str, str], path: str) -> tuple[str, str] | None:
    """Return numbers of documents that tell more than the default ones, and the address that asks for them."""
    if "documents" in given or max(view.request.documents) >= FEWEST or view.documents_available < FEWEST:
        return None
    counts = [str(count) for count in range(FEWEST, min(view.documents_available, 2 * STEP - 1) + 1)]
    return ", ".join(counts), f"{path}?{urlencode({**given, 'documents': ','.join(counts)})}"


def parse_stability_form(given: dict[str, str]) -> StabilityForm:
    """Parse the form. Raises Invalid, naming each field that is wrong."""
    try:
        return StabilityForm.model_validate(given)
    except ValidationError as error:
        raise Invalid(places=tuple(Place(fault["loc"], fault["msg"]) for fault in error.errors())) from None
