"""Teams: the raters of one coordinator."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import AfterValidator, Field, StringConstraints

from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.services.people import teams
from app.web.access import Coordinator, Manager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Cursor, Limit, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1/campaigns/{campaign}/teams", tags=["raters"])

TeamKey = Annotated[
    str,
    Path(alias="team", pattern=KEY_PATTERN, description="Key of the team.", examples=["bonn"]),
    AfterValidator(reject_dot_segment),
]
IN_USE: dict[int | str, dict[str, Any]] = {409: {"description": "The campaign is no draft, or the team is in use."}}


class TeamIn(BodyModel):
    """A team."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class TeamOut(ResponseModel):
    """A team."""

    key: str
    name: str
    raters: int = Field(description="Number of raters enrolled in it.")
    created_at: Time


EXAMPLE = TeamOut.model_validate(
    {"key": "bonn", "name": "Agency in Bonn", "raters": 7, "created_at": "2026-11-20T12:00:00Z"}
)


@router.put("/{team}", summary="Create or rename a team", responses=example_response(200, EXAMPLE))
def put_team(
    caller: Manager,
    campaign: CampaignKey,
    team: TeamKey,
    body: Annotated[TeamIn, read_json_body_as(TeamIn, agency={"name": "Agency in Bonn"})],
    session: SessionDep,
) -> Response:
    """A coordinator's token names the team; it sees the team's enrolments and no others."""
    return json_response(TeamOut.model_validate(teams.put_team(session, campaign, team, body.name, by=caller)))


@router.get("", summary="List teams", responses=example_response(200, Page[TeamOut](items=[EXAMPLE], next=None)))
def list_teams(
    caller: Coordinator, campaign: CampaignKey, session: SessionDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[TeamOut]:
    """List the teams by key; coordinators get only their own."""
    views = teams.list_teams(session, campaign, by=caller, after=cursor, limit=limit + 1)
    return make_page([TeamOut.model_validate(view) for view in views], limit, lambda team: team.key)


@router.get("/{team}", summary="Get a team", responses=example_response(200, EXAMPLE))
def get_team(caller: Coordinator, campaign: CampaignKey, team: TeamKey, session: SessionDep) -> TeamOut:
    """Return its name and the number of its raters."""
    return TeamOut.model_validate(teams.get_team(session, campaign, team, by=caller))


@router.delete("/{team}", status_code=204, summary="Remove a team", response_description="Removed.", responses=IN_USE)
def delete_team(caller: Manager, campaign: CampaignKey, team: TeamKey, session: SessionDep) -> None:
    """Remove a team from a draft if nobody is in it."""
    teams.delete_team(session, campaign, team, by=caller)
