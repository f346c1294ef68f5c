"""A printable page of a campaign: ranking, pairs, data card and score distribution."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response

from app.domain.errors import Invalid
from app.domain.recipe import NAMED, Recipe
from app.reports import registry
from app.reports.inputs import named_recipes
from app.reports.kit import store, text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.request import ReportRequest
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking import tables as ranking_tables
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.jobs import rankings, report_requests
from app.services.jobs.jobs import JobNotRequested, JobView, get_running_job
from app.storage.db import Database
from app.ui.access import Reader
from app.ui.manager.forms import describe_error
from app.ui.manager.long_reports import make_start_button_values
from app.ui.manager.page_table import PAGES
from app.ui.manager.pages import render_campaign_page
from app.ui.manager.ranking import (
    DEFAULT_RECIPE,
    make_pairwise_matrix_picture_address,
    make_ranking_address,
    redact_ranking_for_reader,
)
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

PARTS = ("card", "distributions")

LONG = "it is long for this many judgments: open it on its own page, then print again"
PAGE = PAGES["Print"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(PAGE.route_pattern)
def printable_ranking_page(
    request: Request,
    caller: Reader,
    campaign: CampaignKey,
    database: DatabaseDep,
    recipe: Annotated[str, Query(max_length=128)] = DEFAULT_RECIPE,
) -> Response:
    """The ranking under a recipe with all that is to be known of it, on one page."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get_campaign(session, campaign)
        try:
            wanted = named_recipes.resolve_recipe(session, campaign, recipe)
        except named_recipes.NoSuchRecipe:
            recipe, wanted = DEFAULT_RECIPE, NAMED[DEFAULT_RECIPE]
    values: dict[str, object] = {
        "captions": text_formatting,
        "ranking_captions": ranking_captions,
        "view": None,
        "why": "",
        "job": None,
    }
    values |= {
        "picture": make_ranking_address(campaign, ".svg", recipe),
        "matrix": make_pairwise_matrix_picture_address(campaign, recipe),
    }
    values["parts"] = [_part(database, campaign, caller, name) for name in PARTS]
    try:
        values |= _ranking_values(database, campaign, caller, wanted)
    except JobNotRequested:
        values |= make_start_button_values(make_ranking_address(campaign, "", recipe))
    except Invalid as error:
        values["why"] = describe_error(error)
    return render_campaign_page(request, PAGE, about, caller, values)


def _ranking_values(database: Database, campaign: str, caller: Caller, recipe: Recipe) -> dict[str, object]:
    outcome = rankings.find_or_queue_ranking(database, campaign, recipe=recipe, ask=get_running_job)
    if isinstance(outcome, JobView):
        return {"job": outcome, "script": "job"}
    view = redact_ranking_for_reader(caller, outcome)
    return {
        "view": view,
        "systems": ranking_tables.make_systems_table(view),
        "pairs": ranking_tables.make_pairs_table(view),
    }


def _part(database: Database, campaign: str, caller: Caller, name: str) -> dict[str, object]:
    """Return a report's title, tables and picture, or the reason why there is none."""
    kind = registry.ALL[f"campaign/{name}"]
    part: dict[str, object] = {"title": kind.title, "why": "", "tables": (), "caption": "", "warnings": ()}
    try:
        asked = ReportRequest(kind, (campaign,), kind.options())
        report = report_requests.find_or_queue_report(database, asked, ask=get_running_job)
    except Invalid as error:
        return {**part, "why": describe_error(error), "picture": ""}
    except JobNotRequested:
        return {**part, "why": LONG, "picture": ""}
    if isinstance(report, JobView):
        return {**part, "why": LONG, "picture": ""}
    if not caller.has_rights_of("manager"):
        report = store.redact_report_for_viewers(kind, report)
    view: ReportHeader = kind.result.model_validate_json(report.body)
    shown: list[TableSection] = list(kind.tables(view))
    at = f"/v1/campaigns/{quote(campaign, safe='')}/reports/{quote(name)}.svg?{urlencode({'picture': 'default'})}"
    return {**part, "tables": shown, "caption": kind.caption(view), "warnings": view.warnings, "picture": at}
