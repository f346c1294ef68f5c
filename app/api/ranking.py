"""A campaign's ranking as JSON, CSV, Parquet, LaTeX, Markdown or SVG, by suffix or Accept; and the named recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.kit.recipe_choices import AsOfQuery, RecipeAndChoicesQuery, check_may_exclude, override_recipe_choices
from app.api.models.ranking import EXAMPLE, RECIPE, RecipeOut
from app.api.models.recipe import RecipeIn
from app.api.models.times import parse_data_version_or_time
from app.domain.errors import Invalid, Place
from app.domain.recipe import CHECKED_AGAINST, NAMED, Recipe
from app.reports.inputs import named_recipes
from app.reports.kit.redact import hide_raters
from app.reports.kit.render import parquet
from app.reports.kit.report import StoredReport
from app.reports.ranking.renderings import MEDIA_TYPES, RANKING_TYPES, TABLES, render_ranking
from app.services.access.tokens import Caller
from app.services.campaigns import recipes
from app.services.jobs import rankings, segment_scores
from app.services.jobs.jobs import JobView
from app.storage.db import Database
from app.web.access import Public, Viewer
from app.web.conditional_requests import conditional_response
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import example_response, non_json_example_response
from app.web.file_streams import stream_response
from app.web.negotiation import choose_media_type
from app.web.pagination import Page
from app.web.request_bodies import read_json_body_as

router = APIRouter(prefix="/v1", tags=["reports"])

Kind = Literal["csv", "tex", "md", "svg", "parquet"]
Table = Annotated[Literal["systems", "pairs"], Query(description="Which table, where the answer is one.")]
JSON = "application/json"
KINDS = {JSON: "json", **{media_type.partition(";")[0]: kind for kind, media_type in RANKING_TYPES.items()}}
PICTURE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
TEXTS = non_json_example_response(
    200,
    "The ranking.",
    csv=("text/csv", "rank,system,score\r\n1,ref,0.9115\r\n"),
    tex=("application/x-tex", "\\begin{tabular}{rl}\n1 & ref \\\\\n\\end{tabular}\n"),
    md=("text/markdown", "| Rank | System |\n| --: | :-- |\n| 1 | `ref` |\n"),
    svg=("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
    parquet=(parquet.MEDIA_TYPE, "PAR1"),
)
KNOWN: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed: `If-None-Match` has its ETag."}}
IN_JSON = example_response(200, EXAMPLE, "The ranking.")
ANY: dict[int | str, dict[str, Any]] = {
    200: {**IN_JSON[200], "content": {**IN_JSON[200]["content"], **TEXTS[200]["content"]}},
    **KNOWN,
    **LATER,
}
Found = StoredReport | JobView


def _recipe(recipe: Recipe) -> RecipeOut:
    return RecipeOut.model_validate(
        {
            "name": recipe.name,
            "checked_against": CHECKED_AGAINST[recipe.name],
            "recipe": {**recipe.as_json(), "hash": recipe.hash},
        }
    )


RECIPE_OUT = _recipe(NAMED["google-mqm"])


class RankingQuery(RecipeAndChoicesQuery):
    """Choices, and what is wanted of a ranking that is sent as a table or as a picture."""

    table: Literal["systems", "pairs"] = "systems"
    picture: Literal["systems", "pairs"] = Field(
        "systems", description="The forest plot of the systems, or the matrix of all pairs, if the answer is SVG."
    )


@router.get(
    "/recipes", summary="List recipes", responses=example_response(200, Page[RecipeOut](items=[RECIPE_OUT], next=None))
)
async def list_recipes(_: Public) -> Page[RecipeOut]:
    """The named recipes follow published practice. Each states the published figures it was checked against."""
    return Page[RecipeOut](items=[_recipe(recipe) for recipe in NAMED.values()], next=None)


@router.get("/campaigns/{campaign}/ranking", summary="Rank the systems", response_class=Response, responses=ANY)
async def get_ranking(
    caller: Viewer,
    request: Request,
    campaign: CampaignKey,
    query: Annotated[RankingQuery, Query()],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """Use a named recipe and the choices that replace its own. Return JSON, or what `Accept` prefers.

    A job makes a ranking of many systems that is expected to take more than five seconds, and any ranking of more than
    40,000 judgments.
    """
    kind, ask = _kind(request), partial(_ranking, request, caller, campaign, query, database)
    return await _answer(caller, request, database, prefer, ask, kind, query)


@router.get(
    "/campaigns/{campaign}/ranking.{kind}",
    summary="Rank the systems, as a table or picture",
    response_class=Response,
    responses={**TEXTS, **KNOWN, **LATER},
)
async def get_ranking_as(
    caller: Viewer,
    request: Request,
    campaign: CampaignKey,
    kind: Kind,
    query: Annotated[RankingQuery, Query()],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """The same ranking as CSV, LaTeX, Markdown, SVG, or, where the extra `parquet` is installed, Parquet (else 422)."""
    _check(kind)
    ask = partial(_ranking, request, caller, campaign, query, database)
    return await _answer(caller, request, database, prefer, ask, kind, query)


@router.post(
    "/campaigns/{campaign}/ranking",
    summary="Rank the systems by a recipe of your own",
    response_class=Response,
    responses=ANY,
)
async def post_ranking(
    caller: Viewer,
    request: Request,
    campaign: CampaignKey,
    query: Annotated[AsOfQuery, Query()],
    body: Annotated[RecipeIn, read_json_body_as(RecipeIn, named={"name": "google-mqm"}, whole=RECIPE)],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """The body holds every choice. Nothing is created: the same recipe on the same data gives the same report."""
    kind, ask = _kind(request), partial(_by_sent, caller, campaign, query, body, database)
    return await _answer(caller, request, database, prefer, ask, kind, RankingQuery())


@router.get(
    "/campaigns/{campaign}/ranking/segments",
    summary="Get the segment scores behind a ranking",
    response_class=StreamingResponse,
    responses={
        **non_json_example_response(
            200, "One line per segment and system.", csv=("text/csv", "system,document,position,score\r\n")
        ),
        **LATER,
    },
)
async def get_segment_scores(
    caller: Viewer,
    request: Request,
    campaign: CampaignKey,
    query: Annotated[RecipeAndChoicesQuery, Query()],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """Returns, as CSV, what the recipe averages into system scores. Over 40,000 judgments, a job makes it."""
    ask = partial(_segments, request, caller, campaign, query, database)
    outcome: Iterator[bytes] | Found = await wait_for_report_or_job(request, database, prefer, ask)
    return job_response(outcome) if isinstance(outcome, JobView) else _segment_scores_response(outcome, campaign)


def _segments(
    request: Request, caller: Caller, campaign: str, query: RecipeAndChoicesQuery, database: Database
) -> Iterator[bytes] | Found:
    recipe = _resolve_recipe(request, caller, campaign, query, database)
    return segment_scores.find_or_queue_segment_scores(
        database, campaign, recipe=recipe, as_of=parse_data_version_or_time(query.as_of)
    )


def _segment_scores_response(table: Iterator[bytes] | StoredReport, campaign: str) -> StreamingResponse:
    pieces = segment_scores.unpack_segment_scores(table.body) if isinstance(table, StoredReport) else table
    return stream_response(pieces, MEDIA_TYPES["csv"], filename=f"{campaign}.segments.csv")


def segment_scores_response(report: StoredReport) -> StreamingResponse:
    """Return the table that a job made."""
    return stream_response(
        segment_scores.unpack_segment_scores(report.body), MEDIA_TYPES["csv"], filename="segments.csv"
    )


def _kind(request: Request) -> str:
    """Return the format that `Accept` prefers; refuse it before computing anything if it cannot be produced here."""
    kind = KINDS[choose_media_type(request, tuple(KINDS))]
    _check(kind)
    return kind


def _check(kind: str) -> None:
    if kind == parquet.SUFFIX:
        parquet.check_parquet_installed()


def _resolve_recipe(
    request: Request, caller: Caller, campaign: str, query: RecipeAndChoicesQuery, database: Database
) -> Recipe:
    """Return the recipe of a query: a recipe of the campaign by name, with the choices that the query replaces."""
    check_may_exclude(caller, query.exclude)
    with database.transaction(snapshot=True) as session:
        return override_recipe_choices(request, named_recipes.resolve_recipe(session, campaign, query.recipe))


def _ranking(
    request: Request, caller: Caller, campaign: str, query: RecipeAndChoicesQuery, database: Database
) -> Found:
    recipe = _resolve_recipe(request, caller, campaign, query, database)
    return rankings.find_or_queue_ranking(
        database, campaign, recipe=recipe, as_of=parse_data_version_or_time(query.as_of)
    )


def _by_sent(caller: Caller, campaign: str, query: AsOfQuery, body: RecipeIn, database: Database) -> Found:
    check_may_exclude(caller, body.exclude)
    with database.transaction(snapshot=True) as session:
        recipe = recipes.parse_recipe_from_request(session, campaign, body.get_given_choices())
    return rankings.find_or_queue_ranking(
        database, campaign, recipe=recipe, as_of=parse_data_version_or_time(query.as_of)
    )


async def _answer(
    caller: Caller,
    request: Request,
    database: Database,
    prefer: str,
    ask: Callable[[], Found],
    kind: str,
    query: RankingQuery,
) -> Response:
    outcome = await wait_for_report_or_job(request, database, prefer, ask)
    if isinstance(outcome, JobView):
        return job_response(outcome)
    return await to_thread.run_sync(
        _ranking_response, request, caller, outcome, kind, query.picture if kind == "svg" else query.table
    )


def ranking_response(request: Request, caller: Caller, report: StoredReport, picture: str) -> Response:
    """Return a stored ranking in the format that `Accept` prefers. Raises Invalid for an unknown picture."""
    if picture not in (*TABLES, ""):
        places = (Place(("query", "picture"), f"there are: {', '.join(TABLES)}"),)
        raise Invalid("the query is not valid", places=places)
    kind = _kind(request)
    return _ranking_response(request, caller, report, kind, picture if picture and kind == "svg" else TABLES[0])


def _ranking_response(request: Request, caller: Caller, report: StoredReport, kind: str, table: str) -> Response:
    """Return a ranking in one format with its own ETag; nothing about raters unless the caller is a manager."""
    if not caller.has_rights_of("manager"):
        report = hide_raters(report)
    if kind == "json":
        return conditional_response(request, report.body, JSON, report.etag)
    headers = PICTURE if kind == "svg" else {}
    tag = f"{report.etag}.{kind}.{table}"
    return conditional_response(
        request, lambda: render_ranking(report.body, kind, table), RANKING_TYPES[kind], tag, headers
    )
