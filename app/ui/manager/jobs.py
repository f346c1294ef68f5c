"""Leads from a job to the page of the report that it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.services.jobs import jobs, ranking_comparison
from app.services.jobs.jobs import JobView
from app.ui.access import Reader
from app.ui.manager.page_table import PAGES
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

OWN_PAGES: Mapping[str, str] = {
    "stability": "Stability",
    "exclusion": "Exclusions",
    "ingest": "Texts",
    "plan": "Design",
    "progress": "Overview",
    "replan": "Replan",
    "segments": "Exports",
    **dict.fromkeys(("quality", "timing", "revisions"), "Quality"),
    ranking_comparison.KIND: "Recipes",
    ranking_comparison.SERIES: "Series",
}
"""Pages that open without the job's options: their forms ask in another way, or the options are part of the page."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(f"{PAGES['Jobs'].route_pattern}/{{job}}")
def redirect_job_to_report(
    request: Request,  # noqa: ARG001  (where the route looks for who asks)
    caller: Reader,
    campaign: CampaignKey,
    job: str,
    database: DatabaseDep,
) -> Response:
    """Lead to the report's own page, with the question that the job answers. Raises JobNotFound."""
    with database.transaction(snapshot=True) as session:
        view = jobs.get_visible_job(session, job, caller)
    return RedirectResponse(make_report_address(campaign, view), 303)


def make_report_address(campaign: str, view: JobView) -> str:
    """Return the address of a report's page, also for a failed job, because the form there says why it failed."""
    over, _, name = view.kind.rpartition("/")
    base, given = f"/campaigns/{quote(campaign, safe='')}", view.request.arguments
    if own := OWN_PAGES.get(view.kind) or OWN_PAGES.get(name):
        return base + PAGES[own].path
    if name == "ranking":
        return f"{base}?{urlencode({'recipe': given['recipe']['name']})}"
    if over == "campaigns":
        others = [("with", key) for key in view.campaigns if key != campaign]
        return f"{base}/comparisons/{quote(name)}?{urlencode([*others, *_query(given)])}"
    page = PAGES["Gate"].path if name == "gate" else f"{PAGES['Reports'].path}/{quote(name)}"
    query = urlencode(_query(given))
    return f"{base}{page}{f'?{query}' if query else ''}"


def _query(given: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return options as a form sends them."""
    return [(name, _text(value)) for name, value in given.items() if value is not None]


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)
