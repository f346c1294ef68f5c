"""Queries about teams: the raters of one coordinator, within a campaign."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.domain.errors import Conflict, NotFound
from app.storage.tables import enrolments, teams

TeamRecord = sa.Row[Any]


class TeamNotFound(NotFound):
    """There is no such team, or it is not yours."""


class TeamInUse(Conflict):
    """This team has raters, invitations or credentials and cannot be removed."""


def _query(campaign_id: int) -> sa.Select[Any]:
    """Select teams with the number of raters enrolled in each."""
    here = (enrolments.c.campaign_id == teams.c.campaign_id) & (enrolments.c.team_id == teams.c.id)
    size = sa.select(sa.func.count()).where(here, enrolments.c.state != "erased").scalar_subquery()
    return sa.select(teams, size.label("raters")).where(teams.c.campaign_id == campaign_id)


def load_team(session: Session, campaign_id: int, key: str) -> TeamRecord:
    """Return the team with this key. Raises TeamNotFound."""
    row = session.execute(_query(campaign_id).where(teams.c.key == key)).one_or_none()
    if row is None:
        raise TeamNotFound
    return row


def has_team(session: Session, campaign_id: int, key: str) -> bool:
    """Tell whether a team with this key exists."""
    there = sa.exists().where(teams.c.campaign_id == campaign_id, teams.c.key == key)
    return bool(session.execute(sa.select(there)).scalar())


def upsert_team(session: Session, campaign_id: int, key: str, name: str) -> TeamRecord:
    """Create a team, or rename it."""
    made = insert(teams).values(campaign_id=campaign_id, key=key, name=name)
    session.execute(made.on_conflict_do_update(index_elements=["campaign_id", "key"], set_={"name": name}))
    return load_team(session, campaign_id, key)


def load_teams_page(
    session: Session, campaign_id: int, *, after: str | None, limit: int, only_team: str | None
) -> list[TeamRecord]:
    """Return teams by key after `after`; `only_team` keeps one team."""
    key = teams.c.key.collate("C")
    query = _query(campaign_id).order_by(key).limit(limit)
    if after is not None:
        query = query.where(key > after)
    if only_team is not None:
        query = query.where(teams.c.key == only_team)
    return list(session.execute(query))


def delete_team_row(session: Session, campaign_id: int, key: str) -> None:
    """Delete a team to which nothing refers. Raises TeamInUse."""
    here = (teams.c.campaign_id == campaign_id) & (teams.c.key == key)
    try:
        with session.begin_nested():
            session.execute(sa.delete(teams).where(here))
    except IntegrityError as error:
        raise TeamInUse from error
