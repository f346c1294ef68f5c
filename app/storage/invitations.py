"""Queries about invitations, whose seats are the enrolments that came by them, and about codes of completion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.storage.tables import campaigns, enrolments, invitations, raters, tasks, teams

InvitationRecord = sa.Row[Any]


class InvitationNotFound(NotFound):
    """There is no such invitation, or it has ended."""


def _query() -> sa.Select[Any]:
    """Invitations with the key of campaign and team, the seats taken, and whether they are live."""
    i = invitations.c
    taken = sa.select(sa.func.count()).where(
        enrolments.c.campaign_id == i.campaign_id, enrolments.c.invitation_id == i.id
    )
    live = i.revoked_at.is_(None) & sa.func.coalesce(i.expires_at > sa.func.statement_timestamp(), True)
    shown = sa.select(
        invitations,
        i.signing_key.is_not(None).label("signed"),
        campaigns.c.key.label("campaign"),
        teams.c.key.label("team"),
        taken.scalar_subquery().label("taken"),
        live.label("live"),
    )
    joined = invitations.join(campaigns, campaigns.c.id == i.campaign_id).outerjoin(teams, teams.c.id == i.team_id)
    return shown.select_from(joined)


def insert_invitation(session: Session, values: Mapping[str, object]) -> InvitationRecord:
    """Store an invitation by the hash of its secret."""
    session.execute(sa.insert(invitations).values(**values))
    return session.execute(_query().where(invitations.c.public_id == values["public_id"])).one()


def find_invitation(session: Session, public_id: str) -> InvitationRecord | None:
    """The invitation of this id, live or not."""
    return session.execute(_query().where(invitations.c.public_id == public_id)).one_or_none()


def load_invitation(session: Session, campaign_id: int, public_id: str) -> InvitationRecord:
    """The campaign's invitation of this id, live or not. Raises InvitationNotFound."""
    row = find_invitation(session, public_id)
    if row is None or row.campaign_id != campaign_id:
        raise InvitationNotFound
    return row


def load_invitations_page(
    session: Session, campaign_id: int, *, after: str | None, limit: int
) -> list[InvitationRecord]:
    """A campaign's invitations by id after `after`."""
    public_id = invitations.c.public_id.collate("C")
    query = _query().where(invitations.c.campaign_id == campaign_id).order_by(public_id).limit(limit)
    return list(session.execute(query if after is None else query.where(public_id > after)))


def end_invitation(session: Session, campaign_id: int, public_id: str) -> bool:
    """End an invitation now; False where it had ended by hand already."""
    i = invitations.c
    here = (i.campaign_id == campaign_id) & (i.public_id == public_id) & i.revoked_at.is_(None)
    revoked = sa.update(invitations).where(here).values(revoked_at=sa.func.now()).returning(i.id)
    return session.execute(revoked).one_or_none() is not None


def lock_campaign_for_claim(session: Session, campaign_id: int) -> str:
    """Let one claim at a time look for a seat and take it, until the transaction ends; the campaign's state."""
    query = sa.select(campaigns.c.state).where(campaigns.c.id == campaign_id)
    return str(session.execute(query.with_for_update(key_share=True)).scalar_one())


def seconds_until_next_claim(session: Session, invitation: InvitationRecord) -> int | None:
    """Seconds until somebody new may come again where `per_hour` have within the hour; None where somebody may now."""
    now = sa.func.statement_timestamp()
    here = (enrolments.c.campaign_id == invitation.campaign_id) & (enrolments.c.invitation_id == invitation.id)
    lately = here & (enrolments.c.created_at > now - sa.text("interval '1 hour'"))
    left = sa.func.extract("epoch", enrolments.c.created_at + sa.text("interval '1 hour'") - now)
    query = sa.select(sa.func.ceil(left)).where(lately).order_by(enrolments.c.created_at.desc())
    first = session.execute(query.offset(invitation.per_hour - 1).limit(1)).scalar()
    return None if first is None else max(1, int(first))


def find_rater_by_external_id(session: Session, campaign_id: int, external_id: str) -> str | None:
    """The key of the rater who is known by an external id."""
    query = sa.select(raters.c.key).join(enrolments, enrolments.c.rater_id == raters.c.id)
    here = (enrolments.c.campaign_id == campaign_id) & (enrolments.c.external_id == external_id)
    return session.execute(query.where(here)).scalar()


def find_completion_url(session: Session, campaign_id: int, rater_id: int) -> str | None:
    """Where the platform that a rater came from wants them back."""
    query = sa.select(invitations.c.completion_url).join(enrolments, enrolments.c.invitation_id == invitations.c.id)
    return session.execute(
        query.where(enrolments.c.campaign_id == campaign_id, enrolments.c.rater_id == rater_id)
    ).scalar()


def load_completions_page(
    session: Session, campaign_id: int, *, after: int, limit: int, rater_id: int | None = None
) -> list[InvitationRecord]:
    """Tasks with a code of completion by id after `after`: whose, under which external id, and when handed in."""
    i, e = invitations.c, enrolments.c
    shown = sa.select(
        tasks.c.id,
        tasks.c.public_id.label("task"),
        tasks.c.completion_code.label("code"),
        tasks.c.handed_in_at,
        raters.c.key.label("rater"),
        e.external_id,
        i.public_id.label("invitation"),
        i.platform,
    )
    joined = tasks.join(raters, raters.c.id == tasks.c.rater_id).outerjoin(enrolments, e.rater_id == raters.c.id)
    query = shown.select_from(joined.outerjoin(invitations, i.id == e.invitation_id))
    query = query.where(tasks.c.campaign_id == campaign_id, tasks.c.completion_code.is_not(None), tasks.c.id > after)
    if rater_id is not None:
        query = query.where(tasks.c.rater_id == rater_id)
    return list(session.execute(query.order_by(tasks.c.id).limit(limit)))
