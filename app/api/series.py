"""Series: the campaigns of several language pairs in one table."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app.api.side_by_side import ANY, KINDS, KNOWN, TEXTS, Kind, shown
from app.domain.keys import KEY_PATTERN
from app.services import series
from app.web.access import Viewer
from app.web.deps import DatabaseDep
from app.web.negotiation import preferred

router = APIRouter(prefix="/v1/series/{series}", tags=["reports"])

SeriesKey = Annotated[
    str, Path(alias="series", pattern=KEY_PATTERN, description="Series that campaigns name.", examples=["wmt26"])
]


class ByRecipe(BaseModel):
    """The recipe of every ranking."""

    model_config = ConfigDict(extra="forbid")

    recipe: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] = Field(
        "recommended", description="What the name means in each campaign, own recipes included.", examples=["wmt-da"]
    )


@router.get("/ranking", summary="Rank over the campaigns of a series", response_class=Response, responses=ANY)
def get_series_ranking(
    caller: Viewer, request: Request, name: SeriesKey, asked: Annotated[ByRecipe, Query()], database: DatabaseDep
) -> Response:
    """Rank and cluster of each system in each campaign that you may see, and its mean relative rank."""
    found = series.ranking(database, name, recipe=asked.recipe, only=caller.campaign)
    return shown(request, caller, found, KINDS[preferred(request, tuple(KINDS))])


@router.get(
    "/ranking.{kind}",
    summary="Rank over the campaigns of a series, as a table or picture",
    response_class=Response,
    responses={**TEXTS, **KNOWN},
)
def get_series_ranking_as(
    caller: Viewer,
    request: Request,
    name: SeriesKey,
    kind: Kind,
    asked: Annotated[ByRecipe, Query()],
    database: DatabaseDep,
) -> Response:
    """The same as CSV, LaTeX, Markdown or SVG: one column a campaign, one line a system."""
    return shown(request, caller, series.ranking(database, name, recipe=asked.recipe, only=caller.campaign), kind)
