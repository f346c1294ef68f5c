"""The series of a campaign: campaigns that are run together, such as language pairs, ranked in one table."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response

from app.domain.errors import Invalid
from app.reports.inputs.campaign import CampaignInfo
from app.reports.kit.redact import hide_rater_and_task_keys
from app.reports.ranking_comparison import tables as side_by_side_renderings
from app.reports.ranking_comparison.series import MOST_CAMPAIGNS
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.jobs import ranking_comparison
from app.services.jobs.jobs import JobNotRequested, JobView, get_running_job
from app.storage.db import Database, Session
from app.ui.access import Reader
from app.ui.manager.charts import make_page_chart
from app.ui.manager.forms import describe_error
from app.ui.manager.long_reports import make_start_button_values
from app.ui.manager.page_table import PAGES
from app.ui.manager.page_values import list_ranking_recipe_names
from app.ui.manager.pages import render_campaign_page
from app.ui.manager.reports import SHAPES
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

DEFAULT_RECIPE = "recommended"

PAGE = PAGES["Series"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(PAGE.route_pattern)
def campaign_series_page(
    request: Request,
    caller: Reader,
    campaign: CampaignKey,
    database: DatabaseDep,
    recipe: Annotated[str, Query(max_length=128)] = DEFAULT_RECIPE,
) -> Response:
    """Rank and cluster of each system in each campaign of the series that the reader may see, or the job for that."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get_campaign(session, campaign)
        offered = list_ranking_recipe_names(session, campaign)
        members = _list_members(session, about.series, caller)
    chosen = recipe if recipe in offered else DEFAULT_RECIPE
    values: dict[str, object] = {
        "recipes": offered,
        "chosen": chosen,
        "members": members,
        "table": None,
        "why": "",
        "job": None,
    }
    if about.series is not None:
        try:
            values |= _series_ranking_values(database, about.series, chosen, caller)
        except JobNotRequested:
            values |= make_start_button_values(_address(about.series, "", chosen))
        except Invalid as error:
            values["why"] = describe_error(error)
    return render_campaign_page(request, PAGE, about, caller, values)


def _list_members(session: Session, series: str | None, caller: Caller) -> list[CampaignInfo]:
    """Return the campaigns of a series that the reader may see."""
    if series is None:
        return []
    return campaigns.list_campaigns(
        session, after=None, limit=MOST_CAMPAIGNS, only=caller.campaign, where={"series": series}
    )


def _series_ranking_values(database: Database, name: str, recipe: str, caller: Caller) -> dict[str, object]:
    """Return the table with its picture, or the job that makes it; redacted for viewers. Raises Invalid."""
    outcome = ranking_comparison.find_or_queue_series_rankings(
        database, name, recipe=recipe, only=caller.campaign, ask=get_running_job
    )
    if isinstance(outcome, JobView):
        return {"job": outcome, "script": "job"}
    why = [
        (one.name, one.why if caller.has_rights_of("manager") else str(hide_rater_and_task_keys(one.why)))
        for one in outcome.columns
        if one.why
    ]
    return {
        "table": side_by_side_renderings.make_rankings_table(outcome),
        "notes": [*outcome.notes],
        "left_out": why,
        "caption": side_by_side_renderings.make_caption(outcome),
        "chart": make_page_chart(
            _address(name, ".svg", recipe),
            partial(side_by_side_renderings.render_rankings_side_by_side, outcome, "svg"),
        ),
        "links": [(shape, _address(name, suffix, recipe)) for shape, suffix in SHAPES],
    }


def _address(name: str, suffix: str, recipe: str) -> str:
    return f"/v1/series/{quote(name, safe='')}/ranking{suffix}?{urlencode({'recipe': recipe})}"
