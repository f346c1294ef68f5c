"""A campaign under several recipes side by side, as JSON, CSV, LaTeX, Markdown or SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, StringConstraints

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.kit.recipe_choices import AsOfQuery
from app.api.models.ranking_comparison import EXAMPLE, RankingsSideBySideOut
from app.api.models.times import parse_data_version_or_time
from app.domain.recipe import NAMED
from app.reports.kit.redact import hide_rater_and_task_keys
from app.reports.kit.report import StoredReport
from app.reports.ranking.renderings import MEDIA_TYPES
from app.reports.ranking_comparison.compared_rankings import ComparedRanking, RankingsSideBySide
from app.reports.ranking_comparison.tables import render_rankings_side_by_side
from app.services.access.tokens import Caller
from app.services.jobs import ranking_comparison
from app.services.jobs.jobs import JobView
from app.storage.db import Database
from app.web.access import Viewer
from app.web.conditional_requests import conditional_response
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import example_response, non_json_example_response
from app.web.negotiation import choose_media_type

router = APIRouter(prefix="/v1/campaigns/{campaign}/reports", tags=["reports"])

Kind = Literal["csv", "tex", "md", "svg"]
JSON = "application/json"
KINDS = {JSON: "json", **{media_type.partition(";")[0]: kind for kind, media_type in MEDIA_TYPES.items()}}
PICTURE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
NAMES = r"^[A-Za-z0-9._~:@+\-]{1,128}(,[A-Za-z0-9._~:@+\-]{1,128}){0,11}$"
TEXTS = non_json_example_response(
    200,
    "The rankings.",
    csv=("text/csv", "system,ranking,rank\r\nref,recommended,1\r\n"),
    tex=("application/x-tex", "\\begin{tabular}{lr}\nref & 1 \\\\\n\\end{tabular}\n"),
    md=("text/markdown", "| System | recommended |\n| :-- | --: |\n| `ref` | 1 (1) |\n"),
    svg=("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
)
KNOWN: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed: `If-None-Match` has its ETag."}}
IN_JSON = example_response(200, EXAMPLE, "The rankings.")
ANY: dict[int | str, dict[str, Any]] = {
    200: {**IN_JSON[200], "content": {**IN_JSON[200]["content"], **TEXTS[200]["content"]}},
    **KNOWN,
    **LATER,
}
Ask = Callable[[], RankingsSideBySide | JobView]


class ComparedRecipesQuery(AsOfQuery):
    """Which recipes."""

    recipes: Annotated[str, StringConstraints(pattern=NAMES)] = Field(
        ",".join(NAMED),
        description="Names with commas between, at most 12; the campaign's own ones too.",
        examples=["recommended,google-mqm"],
    )

    def list_recipe_names(self) -> list[str]:
        """Return the names in the given order, each once."""
        return list(dict.fromkeys(self.recipes.split(",")))


@router.get("/recipes", summary="Rank by several recipes", response_class=Response, responses=ANY)
async def get_recipe_comparison(
    caller: Viewer,
    request: Request,
    campaign: CampaignKey,
    query: Annotated[ComparedRecipesQuery, Query()],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """Rank and cluster of each system under each recipe, and the pairs on which the recipes disagree.

    If a recipe does not fit the campaign, the reason is given. A job ranks many systems by many recipes.
    """
    kind = KINDS[choose_media_type(request, tuple(KINDS))]
    return await _answer(caller, request, campaign, query, database, prefer, kind)


@router.get(
    "/recipes.{kind}",
    summary="Rank by several recipes, as a table or picture",
    response_class=Response,
    responses={**TEXTS, **KNOWN, **LATER},
)
async def get_recipe_comparison_in_format(
    caller: Viewer,
    request: Request,
    campaign: CampaignKey,
    kind: Kind,
    query: Annotated[ComparedRecipesQuery, Query()],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """The same as CSV, LaTeX, Markdown or SVG: one column a recipe, one line a system."""
    return await _answer(caller, request, campaign, query, database, prefer, kind)


async def _answer(
    caller: Caller,
    request: Request,
    campaign: str,
    query: ComparedRecipesQuery,
    database: Database,
    prefer: str,
    kind: str,
) -> Response:
    ask = partial(
        ranking_comparison.find_or_queue_recipe_rankings,
        database,
        campaign,
        query.list_recipe_names(),
        as_of=parse_data_version_or_time(query.as_of),
    )
    return await respond_with_rankings_or_job(caller, request, database, prefer, ask, kind)


async def respond_with_rankings_or_job(
    caller: Caller, request: Request, database: Database, prefer: str, find_or_queue: Ask, kind: str
) -> Response:
    """Return the rankings if they are ready in time; otherwise the job that makes them."""
    outcome = await wait_for_report_or_job(request, database, prefer, find_or_queue)
    if isinstance(outcome, JobView):
        return job_response(outcome)
    if isinstance(outcome, StoredReport):
        return await to_thread.run_sync(stored_rankings_response, request, caller, outcome, kind)
    return await to_thread.run_sync(rankings_response, request, caller, outcome, kind)


def stored_rankings_response(request: Request, caller: Caller, report: StoredReport, kind: str = "") -> Response:
    """Return a stored report in the given format, or else in the one that `Accept` prefers."""
    return rankings_response(
        request,
        caller,
        ranking_comparison.parse_stored_rankings(report.body),
        kind or KINDS[choose_media_type(request, tuple(KINDS))],
    )


def hide_rater_keys(rankings: RankingsSideBySide) -> RankingsSideBySide:
    """Return the rankings without the keys of raters and tasks, which occur only in warnings and reasons."""
    return replace(rankings, columns=tuple(map(_blind, rankings.columns)))


def _blind(column: ComparedRanking) -> ComparedRanking:
    view = column.view
    if view is not None:
        view = view.model_copy(
            update={"warnings": tuple(str(hide_rater_and_task_keys(text)) for text in view.warnings)}
        )
    why = None if column.why is None else str(hide_rater_and_task_keys(column.why))
    return replace(column, view=view, why=why, etag=f"{column.etag}.blind")


def rankings_response(request: Request, caller: Caller, rankings: RankingsSideBySide, kind: str) -> Response:
    """Return rankings in one format with its own ETag; nothing about raters unless the caller is a manager."""
    if not caller.has_rights_of("manager"):
        rankings = hide_rater_keys(rankings)
    if kind == "json":
        return conditional_response(
            request,
            lambda: RankingsSideBySideOut.from_rankings(rankings).model_dump_json().encode(),
            JSON,
            rankings.etag,
        )
    headers = PICTURE if kind == "svg" else {}
    tag = f"{rankings.etag}.{kind}"
    return conditional_response(
        request, lambda: render_rankings_side_by_side(rankings, kind), MEDIA_TYPES[kind], tag, headers
    )
