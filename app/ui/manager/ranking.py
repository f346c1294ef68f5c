"""A campaign's ranking: table, picture, pairs, and download links."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response

from app.domain.errors import Invalid
from app.domain.recipe import CHECKED_AGAINST, NAMED, Recipe
from app.reports.inputs import named_recipes
from app.reports.inputs.campaign import CampaignInfo
from app.reports.kit import text_formatting
from app.reports.kit.redact import hide_raters
from app.reports.kit.report import StoredReport
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking import view as ranking_view
from app.reports.ranking.forest_plot import plot_forest
from app.reports.ranking.pair_matrix import plot_pair_matrix
from app.reports.ranking.view import RankingView
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.jobs import rankings
from app.services.jobs.jobs import JobNotRequested, JobView, get_running_job
from app.stats.ranking.ranking import INFLUENCE_NOTE, RANK_RANGE_NOTE, RATERS_DIFFER
from app.storage.db import Session
from app.ui.access import Reader
from app.ui.manager.charts import make_page_chart
from app.ui.manager.claims import describe_ranking_claims
from app.ui.manager.evidence import list_ranking_questions_and_answers
from app.ui.manager.long_reports import make_start_button_values
from app.ui.manager.page_table import PAGES
from app.ui.manager.page_values import list_ranking_recipe_names
from app.ui.manager.pages import render_campaign_page
from app.ui.messages import choose_request_language, load_page_messages, mark_translatable
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

DEFAULT_RECIPE = "recommended"
OWN = mark_translatable("nothing; it belongs to this campaign")
OF_DOCUMENTS = re.compile(r"\d[\d,]* documents?: ")
SHAPES = (("CSV", ".csv"), ("LaTeX", ".tex"), ("Markdown", ".md"), ("SVG", ".svg"), ("JSON", ""))

PAGE = PAGES["Ranking"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(PAGE.route_pattern)
def ranking_page(
    request: Request,
    reader: Reader,
    campaign: CampaignKey,
    database: DatabaseDep,
    recipe: Annotated[str, Query(max_length=128)] = DEFAULT_RECIPE,
) -> Response:
    """The ranking under a recipe by name, own ones too, the job that makes it, or the button that begins one.

    Where the recipe does not fit the campaign the page says why.
    """
    with database.transaction(snapshot=True) as session:
        about = campaigns.get_campaign(session, campaign)
        offered = list_ranking_recipe_names(session, campaign)
        chosen, wanted = _meant(session, campaign, recipe)
    shared = {
        "recipes": list(dict.fromkeys((*offered, chosen))),
        "chosen": chosen,
        "checked": CHECKED_AGAINST.get(chosen, OWN),
        "job": None,
        "view": None,
    }
    try:
        outcome = rankings.find_or_queue_ranking(database, about.key, recipe=wanted, ask=get_running_job)
    except JobNotRequested:
        begin = make_start_button_values(make_ranking_address(about.key, "", chosen))
        return render_campaign_page(request, PAGE, about, reader, {**shared, **begin})
    except Invalid as error:
        failed = {**shared, "why": error.detail or error.title()}
        return render_campaign_page(request, PAGE, about, reader, failed, status=422)
    if isinstance(outcome, JobView):
        return render_campaign_page(request, PAGE, about, reader, {**shared, "job": outcome, "script": "job"})
    shown = _make_ranking_content(redact_ranking_for_reader(reader, outcome), about, chosen)
    words = load_page_messages(choose_request_language(request), "manager/ranking")
    with database.transaction(snapshot=True) as session:
        shown["evidence"] = list_ranking_questions_and_answers(session, campaign, reader, words)
    shown["claims"] = describe_ranking_claims(shown["view"], words)
    return render_campaign_page(request, PAGE, about, reader, {**shared, **shown})


def make_ranking_address(campaign: str, suffix: str, recipe: str, **more: str) -> str:
    """Return the address of a representation of the ranking. more: which table or picture, if not the usual one."""
    asked = urlencode({"recipe": recipe, **more})
    return f"/v1/campaigns/{quote(campaign, safe='')}/ranking{suffix}?{asked}"


def make_pairwise_matrix_picture_address(campaign: str, recipe: str) -> str:
    """Return the address of the picture of all pairs."""
    return make_ranking_address(campaign, ".svg", recipe, picture="pairs")


def _meant(session: Session, campaign: str, name: str) -> tuple[str, Recipe]:
    """Return the recipe with a name in the campaign, `locked` included; the default if there is no such recipe."""
    try:
        return name, named_recipes.resolve_recipe(session, campaign, name)
    except named_recipes.NoSuchRecipe:
        return DEFAULT_RECIPE, NAMED[DEFAULT_RECIPE]


def redact_ranking_for_reader(reader: Caller, report: StoredReport) -> RankingView:
    """Return a ranking as a reader sees it: without manager's rights, it contains nothing about raters."""
    return ranking_view.parse_ranking_view_json(
        report.body if reader.has_rights_of("manager") else hide_raters(report).body
    )


def merge_document_count_warnings(warnings: Iterable[str]) -> list[str]:
    """Merge all warnings about the same number of documents into one, at the place of the first.

    >>> few = ["5 documents: too few for BCa", "no pair is tested", "5 documents: too few for rank sets"]
    >>> merge_document_count_warnings(few)
    ['5 documents: too few for BCa. Too few for rank sets', 'no pair is tested']
    """
    groups: dict[str, list[str]] = {}
    for text in warnings:
        head = OF_DOCUMENTS.match(text)
        groups.setdefault(head[0] if head else text, []).append(text)
    return [
        ". ".join([first, *(text_formatting.capitalize(text.removeprefix(head)) for text in rest)])
        for head, (first, *rest) in groups.items()
    ]


def _make_ranking_content(view: RankingView, about: CampaignInfo, recipe: str) -> dict[str, Any]:
    return {
        "view": view,
        "captions": text_formatting,
        "ranking_captions": ranking_captions,
        "warnings": merge_document_count_warnings(view.warnings),
        "raters_differ": RATERS_DIFFER,
        "rank_range_note": RANK_RANGE_NOTE,
        "influence_note": INFLUENCE_NOTE,
        "systems": ranking_tables.make_systems_table(view),
        "system_targets": [{"system": line.system} for line in view.systems],
        "pair_targets": [{"system": pair.better, "other": pair.worse} for pair in view.pairs],
        "pairs": ranking_tables.make_pairs_table(view),
        "links": [(name, make_ranking_address(about.key, suffix, recipe)) for name, suffix in SHAPES],
        "forest": make_page_chart(make_ranking_address(about.key, ".svg", recipe), partial(plot_forest, view)),
        "matrix": make_page_chart(
            make_pairwise_matrix_picture_address(about.key, recipe), partial(plot_pair_matrix, view)
        ),
        "pair_links": [
            ("CSV", make_ranking_address(about.key, ".csv", recipe, table="pairs")),
            ("SVG", make_pairwise_matrix_picture_address(about.key, recipe)),
        ],
    }
