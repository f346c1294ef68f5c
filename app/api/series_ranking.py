"""Series: the campaigns of several language pairs in one table."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.api.kit.job_responses import LATER, Prefer
from app.api.ranking_comparison import ANY, KINDS, KNOWN, TEXTS, Kind, respond_with_rankings_or_job
from app.domain.keys import KEY_PATTERN
from app.services.access.tokens import Caller
from app.services.jobs import ranking_comparison
from app.storage.db import Database
from app.web.access import Viewer
from app.web.deps import DatabaseDep
from app.web.negotiation import choose_media_type

router = APIRouter(prefix="/v1/series/{series}", tags=["reports"])

SeriesKey = Annotated[
    str, Path(alias="series", pattern=KEY_PATTERN, description="Series that campaigns name.", examples=["wmt26"])
]


class SeriesRankingQuery(BaseModel):
    """The recipe of every ranking."""

    model_config = ConfigDict(extra="forbid")

    recipe: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] = Field(
        "recommended",
        description="Recipe name as defined in each campaign, including custom recipes.",
        examples=["wmt-da"],
    )


@router.get("/ranking", summary="Rank systems over the campaigns of a series", response_class=Response, responses=ANY)
async def get_series_ranking(
    caller: Viewer,
    request: Request,
    name: SeriesKey,
    query: Annotated[SeriesRankingQuery, Query()],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """Return rank and cluster of each system in each campaign that you may see, and its mean relative rank.

    For many campaigns or many systems, a job computes it.
    """
    kind = KINDS[choose_media_type(request, tuple(KINDS))]
    return await _answer(caller, request, name, query, database, prefer, kind)


@router.get(
    "/ranking.{kind}",
    summary="Rank over the campaigns of a series, as a table or picture",
    response_class=Response,
    responses={**TEXTS, **KNOWN, **LATER},
)
async def get_series_ranking_in_format(
    caller: Viewer,
    request: Request,
    name: SeriesKey,
    kind: Kind,
    query: Annotated[SeriesRankingQuery, Query()],
    database: DatabaseDep,
    prefer: Prefer = "",
) -> Response:
    """The same as CSV, LaTeX, Markdown or SVG: one column a campaign, one line a system."""
    return await _answer(caller, request, name, query, database, prefer, kind)


async def _answer(
    caller: Caller, request: Request, name: str, query: SeriesRankingQuery, database: Database, prefer: str, kind: str
) -> Response:
    ask = partial(
        ranking_comparison.find_or_queue_series_rankings, database, name, recipe=query.recipe, only=caller.campaign
    )
    return await respond_with_rankings_or_job(caller, request, database, prefer, ask, kind)
