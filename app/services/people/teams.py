"""Teams: the raters of one coordinator, within a campaign."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.services.access.tokens import Caller
from app.services.campaigns import audit
from app.services.people.raters import RemovalNeedsDraft
from app.storage import campaigns, teams
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class TeamView:
    """A team. raters: the number enrolled in it."""

    key: str
    name: str
    raters: int
    created_at: datetime


def put_team(session: Session, campaign: str, key: str, name: str, *, by: Caller) -> TeamView:
    """Create or rename a team. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign, lock=True)
    view = _view(teams.upsert_team(session, row.id, key, name))
    audit.record_action(session, row.id, actor=by.actor, action="team put", what={"team": key})
    return view


def get_team(session: Session, campaign: str, key: str, *, by: Caller) -> TeamView:
    """Return a team that the caller leads. Raises NotFound."""
    row = teams.load_team(session, campaigns.load_campaign(session, campaign).id, key)
    if not by.can_lead_team(key):
        raise teams.TeamNotFound
    return _view(row)


def list_teams(session: Session, campaign: str, *, by: Caller, after: str | None, limit: int) -> list[TeamView]:
    """List teams by key, starting after `after`; a coordinator gets their own team."""
    only = None if by.has_rights_of("manager") else by.team
    campaign_id = campaigns.load_campaign(session, campaign).id
    return [_view(row) for row in teams.load_teams_page(session, campaign_id, after=after, limit=limit, only_team=only)]


def delete_team(session: Session, campaign: str, key: str, *, by: Caller) -> None:
    """Remove an empty team from a draft. Raises NotFound, RemovalNeedsDraft, TeamInUse."""
    row = campaigns.load_campaign(session, campaign, lock=True)
    teams.load_team(session, row.id, key)
    if row.state != "draft":
        raise RemovalNeedsDraft(f"this one is {row.state}")
    teams.delete_team_row(session, row.id, key)
    audit.record_action(session, row.id, actor=by.actor, action="team removed", what={"team": key})


def _view(row: teams.TeamRecord) -> TeamView:
    return TeamView(row.key, row.name, row.raters, row.created_at)
