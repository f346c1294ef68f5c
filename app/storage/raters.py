"""Queries about raters: accounts within a campaign, their enrolments, contacts and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.domain.errors import Conflict, NotFound
from app.storage.sorting import SortCursor, make_sort_orders, sort_query_after_cursor, text_sort_term, time_sort_term
from app.storage.tables import contacts, enrolments, people, raters, teams, tokens
from app.storage.word_search import filter_by_words

RaterRecord = sa.Row[Any]


class RaterNotFound(NotFound):
    """There is no such rater, or it is not yours."""


class RaterInUse(Conflict):
    """This rater has tasks or judgments already and cannot be removed, only set to `left` or erased."""


_ENROLMENT = ("state", "capacity", "capacity_unit", "buckets", "languages", "external_id", "invitation_id", "erased_at")


ORDERS = make_sort_orders(
    {
        "key": (None, text_sort_term),
        "enrolled": (enrolments.c.created_at, time_sort_term),
        "state": (enrolments.c.state, text_sort_term),
        "team": (teams.c.key, text_sort_term),
    }
)
"""The orders in which raters can be sorted."""


def make_base_rater_query(campaign_id: int) -> sa.Select[Any]:
    """Select raters with enrolment, team, person and contact; missing values are null."""
    e, c = enrolments.c, contacts.c
    shown = sa.select(
        raters,
        *(e[name] for name in _ENROLMENT),
        sa.func.coalesce(e.settings_version, 0).label("settings_version"),
        e.created_at.label("enrolled_at"),
        e.team_id,
        teams.c.key.label("team"),
        people.c.key.label("person"),
        c.rater_id.is_not(None).label("has_contact"),
        c.name.label("contact_name"),
        c.email.label("contact_email"),
        c.note.label("contact_note"),
    )
    joined = raters.outerjoin(enrolments, e.rater_id == raters.c.id).outerjoin(contacts, c.rater_id == raters.c.id)
    joined = joined.outerjoin(teams, teams.c.id == e.team_id).outerjoin(people, people.c.id == raters.c.person_id)
    return shown.select_from(joined).where(raters.c.campaign_id == campaign_id)


def find_rater(session: Session, campaign_id: int, key: str) -> RaterRecord | None:
    """Return the rater with this key, enrolled or known from judgments."""
    return session.execute(make_base_rater_query(campaign_id).where(raters.c.key == key)).one_or_none()


def load_all_rater_names(session: Session, campaign_id: int) -> set[str]:
    """Return all names of raters, enrolled or known from judgments: keys, imported names, names of contacts."""
    shown = sa.select(raters.c.key, raters.c.name, contacts.c.name).where(raters.c.campaign_id == campaign_id)
    rows = session.execute(shown.outerjoin_from(raters, contacts, contacts.c.rater_id == raters.c.id))
    return {called for row in rows for called in row if called and called.strip()}


def load_rater(session: Session, campaign_id: int, key: str) -> RaterRecord:
    """Return the rater with this key, enrolled or known from judgments. Raises RaterNotFound."""
    row = find_rater(session, campaign_id, key)
    if row is None:
        raise RaterNotFound
    return row


def find_enrolled_rater_id(session: Session, campaign_id: int, key: str) -> int | None:
    """Return the id of a rater who is enrolled and not erased."""
    ids = sa.select(raters.c.id).join(enrolments, enrolments.c.rater_id == raters.c.id)
    here = (raters.c.campaign_id == campaign_id) & (raters.c.key == key) & (enrolments.c.state != "erased")
    rater_id: int | None = session.execute(ids.where(here)).scalar()
    return rater_id


def filter_enrolled_rater_keys(session: Session, campaign_id: int, keys: Sequence[str]) -> set[str]:
    """Return those keys that belong to raters who are enrolled and not erased."""
    enrolled_raters = sa.select(raters.c.key).join(enrolments, enrolments.c.rater_id == raters.c.id)
    here = (raters.c.campaign_id == campaign_id) & raters.c.key.in_(keys) & (enrolments.c.state != "erased")
    return set(session.execute(enrolled_raters.where(here)).scalars())


def load_raters_page(
    session: Session,
    campaign_id: int,
    *,
    after: SortCursor | None,
    limit: int,
    team: str | None,
    state: str | None,
    sort: str = "key",
    words: Sequence[str] = (),
) -> list[RaterRecord]:
    """Return raters after a cursor in a sort order, optionally of one team or in one state.

    words: each is a part of the key, the external id, or the name or address of the contact, ignoring case.
    """
    wanted = make_base_rater_query(campaign_id).limit(limit)
    if team is not None:
        wanted = wanted.where(teams.c.key == team)
    if state is not None:
        wanted = wanted.where(enrolments.c.state == state)
    named = (raters.c.key, enrolments.c.external_id, contacts.c.name, contacts.c.email)
    wanted = filter_by_words(wanted, named, words)
    return list(session.execute(sort_query_after_cursor(wanted, raters.c.key.collate("C"), ORDERS[sort], after=after)))


def load_raters_of_keys(session: Session, campaign_id: int, keys: Sequence[str]) -> dict[str, RaterRecord]:
    """Return the raters with these keys, by key."""
    return {row.key: row for row in session.execute(make_base_rater_query(campaign_id).where(raters.c.key.in_(keys)))}


def insert_rater(session: Session, campaign_id: int, key: str) -> int:
    """Create an account and return its id; its name is its key, because names of people are in contacts."""
    made = sa.insert(raters).values(campaign_id=campaign_id, key=key, name=key).returning(raters.c.id)
    return int(session.execute(made).scalar_one())


def insert_raters(session: Session, campaign_id: int, accounts: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Create accounts; return their ids by key."""
    made = sa.insert(raters).returning(raters.c.key, raters.c.id)
    rows = session.execute(made.values([{"campaign_id": campaign_id, **account} for account in accounts]))
    return {key: int(rater_id) for key, rater_id in rows}


def insert_enrolments(session: Session, campaign_id: int, values: Sequence[Mapping[str, object]]) -> None:
    """Enrol new accounts."""
    session.execute(sa.insert(enrolments), [{"campaign_id": campaign_id, **one} for one in values])


def insert_contacts(session: Session, campaign_id: int, values: Sequence[Mapping[str, object]]) -> None:
    """Store the personal data of new accounts."""
    if values:
        session.execute(sa.insert(contacts), [{"campaign_id": campaign_id, **one} for one in values])


def update_rater(session: Session, rater_id: int, values: Mapping[str, object]) -> None:
    """Overwrite person or attributes of an account."""
    session.execute(sa.update(raters).where(raters.c.id == rater_id).values(**values))


def upsert_enrolment(session: Session, campaign_id: int, rater_id: int, values: Mapping[str, object]) -> None:
    """Enrol an account, or overwrite its enrolment and increase its version."""
    made = insert(enrolments).values(campaign_id=campaign_id, rater_id=rater_id, **values)
    counted = {**values, "settings_version": enrolments.c.settings_version + 1}
    session.execute(made.on_conflict_do_update(index_elements=["rater_id"], set_=counted))


def replace_or_delete_contact(
    session: Session, campaign_id: int, rater_id: int, contact: Mapping[str, str | None] | None
) -> None:
    """Store personal data, or delete it."""
    if contact is None:
        session.execute(sa.delete(contacts).where(contacts.c.rater_id == rater_id))
        return
    made = insert(contacts).values(campaign_id=campaign_id, rater_id=rater_id, **contact)
    changed = {**contact, "updated_at": made.excluded.updated_at}
    session.execute(made.on_conflict_do_update(index_elements=["rater_id"], set_=changed))


def ensure_person(session: Session, key: str) -> int:
    """Return the id of the person with this key, created if missing."""
    session.execute(insert(people).values(key=key).on_conflict_do_nothing())
    return int(session.execute(sa.select(people.c.id).where(people.c.key == key).with_for_update()).scalar_one())


def is_person_in_other_campaign(session: Session, person: int, campaign_id: int) -> bool:
    """Tell whether a person has an account in another campaign."""
    there = sa.exists().where((raters.c.person_id == person) & (raters.c.campaign_id != campaign_id))
    return bool(session.execute(sa.select(there)).scalar())


def delete_unused_rater_account(session: Session, rater_id: int) -> None:
    """Delete an account that only its credentials refer to. Raises RaterInUse."""
    try:
        with session.begin_nested():
            for table in (tokens, contacts, enrolments):
                session.execute(sa.delete(table).where(table.c.rater_id == rater_id))
            session.execute(sa.delete(raters).where(raters.c.id == rater_id))
    except IntegrityError as error:
        raise RaterInUse from error


_BLOCKED = """
SELECT e.state,
  (SELECT max(version) FROM guidelines WHERE campaign_id = :campaign AND kind = 'consent') AS asked,
  (SELECT max(version) FROM consents WHERE campaign_id = :campaign AND rater_id = :rater) AS given,
  EXISTS (SELECT FROM qualifications WHERE campaign_id = :campaign) AS tested,
  EXISTS (SELECT FROM qualification_attempts WHERE campaign_id = :campaign AND rater_id = :rater AND passed) AS passed
FROM raters r LEFT JOIN enrolments e ON e.campaign_id = r.campaign_id AND e.rater_id = r.id
WHERE r.campaign_id = :campaign AND r.id = :rater"""


def load_rater_readiness(session: Session, campaign_id: int, rater_id: int) -> RaterRecord | None:
    """Return the rater's state, consent versions required and given, and test status; in one query."""
    return session.execute(sa.text(_BLOCKED), {"campaign": campaign_id, "rater": rater_id}).one_or_none()
