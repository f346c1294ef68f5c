"""Queries about invitations, whose seats are the enrolments made through them, and about completion codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.storage.attention_checks import IS_CHECK
from app.storage.sorting import SortCursor, make_sort_orders, sort_query_after_cursor, text_sort_term, time_sort_term
from app.storage.tables import campaigns, enrolments, invitations, raters, tasks, teams
from app.storage.word_search import filter_by_words

InvitationRecord = sa.Row[Any]


ORDERS = make_sort_orders({"invitation": (None, text_sort_term), "made": (invitations.c.created_at, time_sort_term)})
"""The orders in which invitations can be sorted."""
LOOKED_AT = 500
"""The most completion codes that a page searches."""


class InvitationNotFound(NotFound):
    """There is no such invitation, or it has ended."""


def _is_live() -> sa.ColumnElement[bool]:
    """Neither revoked nor expired by now."""
    i = invitations.c
    return i.revoked_at.is_(None) & sa.func.coalesce(i.expires_at > sa.func.statement_timestamp(), True)


def _query() -> sa.Select[Any]:
    """Select invitations with the keys of campaign and team, the number of taken seats, and whether they are live."""
    i = invitations.c
    taken = sa.select(sa.func.count()).where(
        enrolments.c.campaign_id == i.campaign_id, enrolments.c.invitation_id == i.id
    )
    shown = sa.select(
        invitations,
        i.signing_key.is_not(None).label("signed"),
        campaigns.c.key.label("campaign"),
        teams.c.key.label("team"),
        taken.scalar_subquery().label("taken"),
        _is_live().label("live"),
    )
    joined = invitations.join(campaigns, campaigns.c.id == i.campaign_id).outerjoin(teams, teams.c.id == i.team_id)
    return shown.select_from(joined)


def insert_invitation(session: Session, values: Mapping[str, object]) -> InvitationRecord:
    """Store an invitation under the hash of its secret."""
    session.execute(sa.insert(invitations).values(**values))
    return session.execute(_query().where(invitations.c.public_id == values["public_id"])).one()


def find_invitation_by_id(session: Session, public_id: str) -> InvitationRecord | None:
    """Return the invitation with this id, live or not."""
    return session.execute(_query().where(invitations.c.public_id == public_id)).one_or_none()


def load_invitation(session: Session, campaign_id: int, public_id: str) -> InvitationRecord:
    """Return the campaign's invitation with this id, live or not. Raises InvitationNotFound."""
    row = find_invitation_by_id(session, public_id)
    if row is None or row.campaign_id != campaign_id:
        raise InvitationNotFound
    return row


def load_invitations_page(
    session: Session,
    campaign_id: int,
    *,
    after: SortCursor | None,
    limit: int,
    live: bool | None = None,
    sort: str = "invitation",
    words: Sequence[str] = (),
) -> list[InvitationRecord]:
    """Return a campaign's invitations after a cursor in a sort order.

    live: only invitations that are still valid, or only the others. words: each is a part of id, platform or team,
    ignoring case.
    """
    i = invitations.c
    query = _query().where(i.campaign_id == campaign_id).limit(limit)
    if live is not None:
        query = query.where(_is_live() == sa.literal(live))
    query = filter_by_words(query, (i.public_id, i.platform, teams.c.key), words)
    return list(session.execute(sort_query_after_cursor(query, i.public_id.collate("C"), ORDERS[sort], after=after)))


def mark_invitation_revoked(session: Session, campaign_id: int, public_id: str) -> bool:
    """Revoke an invitation now; return False if it was already revoked."""
    i = invitations.c
    here = (i.campaign_id == campaign_id) & (i.public_id == public_id) & i.revoked_at.is_(None)
    revoked = sa.update(invitations).where(here).values(revoked_at=sa.func.now()).returning(i.id)
    return session.execute(revoked).one_or_none() is not None


def lock_campaign_for_seat_claim(session: Session, campaign_id: int) -> str:
    """Let claims for a seat run one at a time until the transaction ends; return the campaign's state."""
    query = sa.select(campaigns.c.state).where(campaigns.c.id == campaign_id)
    return str(session.execute(query.with_for_update(key_share=True)).scalar_one())


def compute_seconds_until_next_claim(session: Session, invitation: InvitationRecord) -> int | None:
    """Return the seconds until a new claim is allowed if `per_hour` came in the last hour; None if allowed now."""
    now = sa.func.statement_timestamp()
    here = (enrolments.c.campaign_id == invitation.campaign_id) & (enrolments.c.invitation_id == invitation.id)
    lately = here & (enrolments.c.created_at > now - sa.text("interval '1 hour'"))
    left = sa.func.extract("epoch", enrolments.c.created_at + sa.text("interval '1 hour'") - now)
    query = sa.select(sa.func.ceil(left)).where(lately).order_by(enrolments.c.created_at.desc())
    first = session.execute(query.offset(invitation.per_hour - 1).limit(1)).scalar()
    return None if first is None else max(1, int(first))


def find_rater_key_by_external_id(session: Session, campaign_id: int, external_id: str) -> str | None:
    """Return the key of the rater with an external id."""
    query = sa.select(raters.c.key).join(enrolments, enrolments.c.rater_id == raters.c.id)
    here = (enrolments.c.campaign_id == campaign_id) & (enrolments.c.external_id == external_id)
    return session.execute(query.where(here)).scalar()


def find_completion_url(session: Session, campaign_id: int, rater_id: int) -> str | None:
    """Return the URL to which a rater's platform wants them to return."""
    query = sa.select(invitations.c.completion_url).join(enrolments, enrolments.c.invitation_id == invitations.c.id)
    return session.execute(
        query.where(enrolments.c.campaign_id == campaign_id, enrolments.c.rater_id == rater_id)
    ).scalar()


def load_completion_codes_page(
    session: Session,
    campaign_id: int,
    *,
    after: int,
    limit: int,
    rater_id: int | None = None,
    words: Sequence[str] = (),
) -> tuple[list[InvitationRecord], int | None]:
    """Return tasks with a completion code by id after `after`: rater, external id and time of the hand-in.

    Also return the id of the last task searched, if there may be more. words: each is a part of rater, external id,
    code or platform, ignoring case; for these, a page searches at most LOOKED_AT tasks, so it may have fewer than
    `limit`.
    """
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
        sa.literal_column(IS_CHECK.format(task="tasks"), sa.Boolean).label("attention_check"),
    )
    joined = tasks.join(raters, raters.c.id == tasks.c.rater_id).outerjoin(enrolments, e.rater_id == raters.c.id)
    query = shown.select_from(joined.outerjoin(invitations, i.id == e.invitation_id))
    query = query.where(tasks.c.campaign_id == campaign_id, tasks.c.completion_code.is_not(None), tasks.c.id > after)
    if rater_id is not None:
        query = query.where(tasks.c.rater_id == rater_id)
    query = query.order_by(tasks.c.id)
    if not words:
        return list(session.execute(query.limit(limit))), None
    looked = query.limit(LOOKED_AT).subquery()
    named = (looked.c.rater, looked.c.external_id, looked.c.code, looked.c.platform)
    rows = list(session.execute(filter_by_words(sa.select(looked).order_by(looked.c.id).limit(limit), named, words)))
    count, last = session.execute(sa.select(sa.func.count(), sa.func.max(looked.c.id))).one()
    return rows, int(last) if count == LOOKED_AT and len(rows) < limit else None
