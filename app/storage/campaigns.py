"""Queries about campaigns and the versions of their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.errors import Conflict, NotFound
from app.storage import seals
from app.storage.sorting import SortCursor, SortOrder, sort_query_after_cursor
from app.storage.tables import campaigns, versions
from app.storage.word_search import make_word_condition

CampaignRecord = sa.Row[Any]
_KEY = campaigns.c.key.collate("C")


# Marks above and below letters, as in é: not every Postgres has a collation that can ignore them.
_MARKS = "[\\u0300-\\u036f]"


def _fold_name(name: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Fold a name to lower case without accents, so that É sorts next to é and e."""
    letters = sa.func.pg_catalog.normalize(name, "NFKD")
    return sa.func.lower(sa.func.regexp_replace(letters, _MARKS, "", "g")).collate("C")


def _time(at: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return sa.cast(at, sa.DateTime(timezone=True))


def _is_closed(state: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return state == "closed"


_ORDERS = {
    "key": SortOrder(None, _fold_name),
    "-key": SortOrder(None, _fold_name, descending=True),
    "name": SortOrder(campaigns.c.name, _fold_name),
    "-name": SortOrder(campaigns.c.name, _fold_name, descending=True),
    "created": SortOrder(campaigns.c.created_at, _time),
    "-created": SortOrder(campaigns.c.created_at, _time, descending=True),
    # The state in the cursor is the one that the campaign had when the page was read. With the current state, closing
    # that campaign would skip all campaigns after it.
    "closed": SortOrder(campaigns.c.state, _is_closed),
}
# Built once, because almost every request loads its campaign.
_BY_KEY = sa.select(campaigns).where(campaigns.c.key == sa.bindparam("name"))
_BY_KEY_LOCKED = _BY_KEY.with_for_update()


class CampaignNotFound(NotFound):
    """There is no such campaign, or it is not yours."""


class CampaignExists(Conflict):
    """A campaign with this key exists already."""


def insert_campaign(session: Session, values: Mapping[str, object]) -> CampaignRecord:
    """Store a new campaign. Raises CampaignExists if the key is taken."""
    statement = insert(campaigns).values(**values).on_conflict_do_nothing(index_elements=["key"]).returning(campaigns)
    row = session.execute(statement).one_or_none()
    if row is None:
        raise CampaignExists(str(values["key"]))
    return row


def load_campaign(session: Session, key: str, *, lock: bool = False) -> CampaignRecord:
    """Return the campaign with this key; `lock` locks it until the transaction ends. Raises CampaignNotFound."""
    row = session.execute(_BY_KEY_LOCKED if lock else _BY_KEY, {"name": key}).one_or_none()
    if row is None:
        raise CampaignNotFound
    return row


def load_campaigns_page(
    session: Session,
    *,
    after: SortCursor | None,
    limit: int,
    campaign_id: int | None,
    sort: str = "key",
    where: Mapping[str, str] = MappingProxyType({}),
    words: Sequence[str] = (),
    name: str | None = None,
) -> list[CampaignRecord]:
    """Return at most `limit` campaigns after a cursor in a sort order. campaign_id: the only one to return.

    where: required values of some columns. words: each is a part of the name, the key or the series, ignoring case.
    name: a part of the name or the key.
    """
    query, c = sa.select(campaigns).limit(limit), campaigns.c
    for column, value in where.items():
        query = query.where(c[column] == value)
    for word in words:
        query = query.where(make_word_condition((c.name, c.key, c.series), word))
    if name is not None:
        query = query.where(make_word_condition((c.name, c.key), name))
    return _load_records(session, sort_query_after_cursor(query, _KEY, _ORDERS[sort], after=after), campaign_id)


def load_language_pairs(session: Session, *, campaign_id: int | None) -> list[tuple[str | None, str | None]]:
    """Return the language pairs of all campaigns, or of one."""
    pair = (campaigns.c.source_language, campaigns.c.target_language)
    query = sa.select(*pair).distinct().order_by(*pair)
    rows = session.execute(query if campaign_id is None else query.where(campaigns.c.id == campaign_id))
    return [(source, target) for source, target in rows]


def _load_records(session: Session, query: sa.Select[Any], campaign_id: int | None) -> list[CampaignRecord]:
    return list(session.execute(query if campaign_id is None else query.where(campaigns.c.id == campaign_id)))


def update_campaign(session: Session, campaign_id: int, values: Mapping[str, object]) -> None:
    """Overwrite some fields of a campaign."""
    session.execute(sa.update(campaigns).where(campaigns.c.id == campaign_id).values(**values))


def take_next_data_version(session: Session, campaign_id: int, *, actor: str, what: str, judged: bool = False) -> int:
    """Take the campaign's next data version: one for each transaction whose changes a report can see.

    judged: the version adds judgments, voids or comparisons; the code that adds them also seals it
    (`app.storage.seals`).

    The campaign's row stays locked until the transaction ends, so versions are committed in order.
    """
    n = session.execute(
        sa.update(campaigns)
        .where(campaigns.c.id == campaign_id)
        .values(data_version=campaigns.c.data_version + 1)
        .returning(campaigns.c.data_version)
    ).scalar_one()
    # Not now(), which is the start of the transaction: it may have waited for the previous version.
    taken = {"campaign_id": campaign_id, "n": n, "at": sa.func.clock_timestamp(), "actor": actor, "what": what}
    session.execute(sa.insert(versions).values(taken))
    if not judged:
        seals.seal_empty_version(session, campaign_id, int(n))
    return int(n)


def find_data_version_at(session: Session, campaign_id: int, moment: object) -> int:
    """Return the last version committed by a time; 0 before the first."""
    query = sa.select(sa.func.max(versions.c.n)).where(versions.c.campaign_id == campaign_id, versions.c.at <= moment)
    return int(session.execute(query).scalar() or 0)
