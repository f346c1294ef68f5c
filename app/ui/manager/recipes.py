"""A campaign under several recipes side by side, and the pairs on which they disagree."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response

from app.domain.recipe import NAMED
from app.reports.kit.redact import hide_rater_and_task_keys
from app.reports.ranking_comparison import tables as side_by_side_renderings
from app.reports.ranking_comparison.compared_rankings import RankingsSideBySide
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.jobs import ranking_comparison
from app.services.jobs.jobs import JobNotRequested, JobView, get_running_job
from app.ui.access import Reader
from app.ui.manager.charts import make_page_chart
from app.ui.manager.long_reports import make_start_button_values
from app.ui.manager.page_table import PAGES
from app.ui.manager.page_values import list_ranking_recipe_names
from app.ui.manager.pages import render_campaign_page
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

MOST = 12
SHAPES = (("CSV", ".csv"), ("LaTeX", ".tex"), ("Markdown", ".md"), ("SVG", ".svg"), ("JSON", ""))

PAGE = PAGES["Recipes"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(PAGE.route_pattern)
def recipe_comparison_page(
    request: Request,
    caller: Reader,
    campaign: CampaignKey,
    database: DatabaseDep,
    recipe: Annotated[list[str], Query()] = [],  # noqa: B006  (pydantic copies it)
) -> Response:
    """The recipes that were ticked, else those that come with the service."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get_campaign(session, campaign)
        offered = list_ranking_recipe_names(session, campaign)
    chosen = [name for name in offered if name in recipe][:MOST] or list(NAMED)[:MOST]
    values: dict[str, object] = {"offered": offered, "chosen": chosen, "why": [], "job": None}
    try:
        outcome = ranking_comparison.find_or_queue_recipe_rankings(database, campaign, chosen, ask=get_running_job)
    except JobNotRequested:
        return render_campaign_page(
            request, PAGE, about, caller, {**values, **make_start_button_values(_address(campaign, "", chosen))}
        )
    if isinstance(outcome, JobView):
        return render_campaign_page(request, PAGE, about, caller, {**values, "job": outcome, "script": "job"})
    return render_campaign_page(
        request, PAGE, about, caller, {**values, **_make_comparison_content(caller, campaign, chosen, outcome)}
    )


def _make_comparison_content(
    caller: Caller, campaign: str, chosen: list[str], rankings: RankingsSideBySide
) -> dict[str, object]:
    """Return the table with its picture; nothing about raters unless the caller is a manager."""
    why = [f"{one.name}: {one.why}" for one in rankings.columns if one.why]
    return {
        "why": why if caller.has_rights_of("manager") else [str(hide_rater_and_task_keys(text)) for text in why],
        "ranked": bool(rankings.columns_with_ranking),
        "table": side_by_side_renderings.make_rankings_table(rankings),
        "changed_pairs": rankings.list_disagreeing_pairs(),
        "names": [one.name for one in rankings.columns_with_ranking],
        "caption": side_by_side_renderings.make_caption(rankings),
        "chart": make_page_chart(
            _address(campaign, ".svg", chosen),
            partial(side_by_side_renderings.render_rankings_side_by_side, rankings, "svg"),
        ),
        "links": [(name, _address(campaign, suffix, chosen)) for name, suffix in SHAPES],
    }


def _address(campaign: str, suffix: str, chosen: list[str]) -> str:
    query = urlencode({"recipes": ",".join(chosen)})
    return f"/v1/campaigns/{quote(campaign, safe='')}/reports/recipes{suffix}?{query}"
