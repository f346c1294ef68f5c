"""Queries about bearer tokens. Expiry is by the database clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.domain.errors import NotFound
from app.storage.sorting import SortCursor, SortOrder, sort_query_after_cursor
from app.storage.tables import campaigns, raters, teams, tokens
from app.storage.word_search import filter_by_words

TokenRecord = sa.Row[Any]
USE_NOTED = timedelta(minutes=5)
_USE_NOTED = sa.cast(USE_NOTED, sa.Interval)
_FIRST_ADMIN_LOCK = 7_215_340_915  # any constant that no other lock uses: the same for every starter


class TokenNotFound(NotFound):
    """There is no such token, or it is not yours to manage."""


def _time(at: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return sa.cast(at, sa.DateTime(timezone=True))


def _prefix(key: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return key.collate("C")


_ORDERS = {
    "prefix": SortOrder(None, _prefix),
    "made": SortOrder(tokens.c.created_at, _time),
    "-made": SortOrder(tokens.c.created_at, _time, descending=True),
}


def make_live_token_condition() -> sa.ColumnElement[bool]:
    """Neither revoked nor expired now."""
    return tokens.c.revoked_at.is_(None) & sa.func.coalesce(tokens.c.expires_at > sa.func.statement_timestamp(), True)


def make_base_token_query() -> sa.Select[Any]:
    """Select tokens with the keys of campaign, rater and team, whether they are live, and whether to note their use."""
    keys = [table.c.key.label(name) for name, table in (("campaign", campaigns), ("rater", raters), ("team", teams))]
    unnoted = sa.func.coalesce(tokens.c.last_used_at <= sa.func.statement_timestamp() - _USE_NOTED, sa.true())
    live = make_live_token_condition().label("live")
    shown = sa.select(tokens, *keys, live, unnoted.label("use_unnoted")).select_from(tokens)
    for column, table in ((tokens.c.campaign_id, campaigns), (tokens.c.rater_id, raters), (tokens.c.team_id, teams)):
        shown = shown.outerjoin(table, table.c.id == column)
    return shown


# Every request runs this: building the statement again would take three times as long as executing it.
_BY_PREFIX = make_base_token_query().where(tokens.c.prefix == sa.bindparam("name"))


def load_staff_token_names(session: Session, campaign_id: int | None, limit: int) -> list[TokenRecord]:
    """Return prefix, name and role of the newest tokens of non-raters; of one campaign, or of all."""
    query = sa.select(tokens.c.prefix, tokens.c.name, tokens.c.role).where(tokens.c.role != "rater")
    if campaign_id is not None:
        query = query.where(sa.or_(tokens.c.campaign_id.is_(None), tokens.c.campaign_id == campaign_id))
    return list(session.execute(query.order_by(tokens.c.created_at.desc()).limit(limit)))


def insert_token(
    session: Session, *, prefix: str, digest: bytes, values: Mapping[str, object], bound: Mapping[str, int | None]
) -> TokenRecord:
    """Store a token by its hash. values: role, name, expires_at, once. bound: ids of its campaign, team, rater."""
    session.execute(sa.insert(tokens).values(prefix=prefix, hash=digest, **values, **bound))
    return load_token_by_prefix(session, prefix)


def find_token_by_prefix(session: Session, prefix: str) -> TokenRecord | None:
    """Return the token with this prefix, live or not."""
    return session.execute(_BY_PREFIX, {"name": prefix}).one_or_none()


def is_token_live(session: Session, token_id: int) -> bool:
    """Tell whether a token is neither revoked nor expired now."""
    return bool(session.execute(sa.select(make_live_token_condition()).where(tokens.c.id == token_id)).scalar())


def load_token_by_prefix(session: Session, prefix: str) -> TokenRecord:
    """Return the token with this prefix, live or not. Raises TokenNotFound."""
    row = find_token_by_prefix(session, prefix)
    if row is None:
        raise TokenNotFound
    return row


def load_token_by_id(session: Session, token_id: int) -> TokenRecord:
    """Return the token with this id, live or not; it must exist."""
    return session.execute(make_base_token_query().where(tokens.c.id == token_id)).one()


def load_tokens_page(
    session: Session,
    *,
    after: SortCursor | None,
    limit: int,
    roles: Collection[str],
    campaign: str | None,
    live: bool | None = None,
    sort: str = "prefix",
    words: Sequence[str] = (),
) -> list[TokenRecord]:
    """Return tokens with some roles after a cursor in a sort order; `campaign` limits them to one campaign.

    live: only tokens that are still valid, or only the others. words: each is a part of prefix, purpose, campaign, team
    or rater, ignoring case.
    """
    wanted = make_base_token_query().where(tokens.c.role.in_(roles)).limit(limit)
    if campaign is not None:
        wanted = wanted.where(campaigns.c.key == campaign)
    if live is not None:
        wanted = wanted.where(make_live_token_condition() == sa.literal(live))
    named = (tokens.c.prefix, tokens.c.name, campaigns.c.key, teams.c.key, raters.c.key)
    wanted = filter_by_words(wanted, named, words)
    return list(session.execute(sort_query_after_cursor(wanted, _prefix(tokens.c.prefix), _ORDERS[sort], after=after)))


def note_token_use(session: Session, row: TokenRecord) -> None:
    """Note that a token is used, at most once in USE_NOTED, which is the precision of the displayed time."""
    if row.use_unnoted:
        note_token_use_by_id(session, row.id)


def note_token_use_by_id(session: Session, token_id: int) -> None:
    """Note the use of a token that was found earlier, at most once in USE_NOTED."""
    now = sa.func.statement_timestamp()
    unnoted = tokens.c.last_used_at.is_(None) | (tokens.c.last_used_at <= now - _USE_NOTED)
    session.execute(sa.update(tokens).where((tokens.c.id == token_id) & unnoted).values(last_used_at=now))


def mark_token_revoked(session: Session, prefix: str) -> bool:
    """Revoke a token now; return False if it was already revoked, because the first revocation stands."""
    here = (tokens.c.prefix == prefix) & tokens.c.revoked_at.is_(None)
    revoked = sa.update(tokens).where(here).values(revoked_at=sa.func.now()).returning(tokens.c.id)
    return session.execute(revoked).one_or_none() is not None


def mark_token_session_opened(session: Session, token_id: int) -> bool:
    """Note that a token opened its session; return False if it had done so before."""
    here = (tokens.c.id == token_id) & tokens.c.opened_at.is_(None)
    opened = sa.update(tokens).where(here).values(opened_at=sa.func.statement_timestamp()).returning(tokens.c.id)
    return session.execute(opened).one_or_none() is not None


def revoke_rater_tokens(session: Session, campaign_id: int, rater_id: int) -> list[str]:
    """Revoke every token of a rater now; return the prefixes of those that were live."""
    here = (tokens.c.campaign_id == campaign_id) & (tokens.c.rater_id == rater_id) & tokens.c.revoked_at.is_(None)
    revoked = sa.update(tokens).where(here).values(revoked_at=sa.func.now()).returning(tokens.c.prefix)
    return sorted(session.execute(revoked).scalars())


def lock_first_admin_creation(session: Session) -> None:
    """Let one starter at a time check whether an admin exists, until the transaction ends."""
    session.execute(sa.select(sa.func.pg_advisory_xact_lock(_FIRST_ADMIN_LOCK)))


def has_live_admin(session: Session) -> bool:
    """Tell whether a live token with role admin exists."""
    return bool(
        session.execute(sa.select(sa.exists().where((tokens.c.role == "admin") & make_live_token_condition()))).scalar()
    )
