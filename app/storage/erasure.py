"""Statements that erase a rater's identity: everything except the pseudonym and its judgments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage import attention_checks, comments, pearmut, questionnaires
from app.storage.tables import (
    campaigns,
    contacts,
    enrolments,
    idempotency,
    jobs,
    people,
    rater_messages,
    raters,
    reports,
    sessions,
    tokens,
)

AccountRecord = sa.Row[Any]


def _accounts() -> sa.Select[Any]:
    shown = sa.select(
        raters.c.id,
        raters.c.key,
        raters.c.person_id,
        raters.c.campaign_id,
        campaigns.c.key.label("campaign"),
        enrolments.c.state,
    )
    joined = raters.join(campaigns, campaigns.c.id == raters.c.campaign_id)
    return shown.select_from(joined.outerjoin(enrolments, enrolments.c.rater_id == raters.c.id))


def load_rater_accounts_of_key(session: Session, key: str, *, campaign: str | None) -> Sequence[AccountRecord]:
    """Return the accounts with this key, in one campaign or in all, by campaign."""
    query = _accounts().where(raters.c.key == key).order_by(raters.c.campaign_id)
    return session.execute(query if campaign is None else query.where(campaigns.c.key == campaign)).all()


def load_rater_accounts_of_person(session: Session, person_id: int) -> Sequence[AccountRecord]:
    """Return all accounts of a person, by campaign."""
    query = _accounts().where(raters.c.person_id == person_id)
    return session.execute(query.order_by(raters.c.campaign_id, raters.c.id)).all()


def erase_rater_account(session: Session, account: AccountRecord) -> None:
    """Erase name, attributes, contact, comments, questionnaires and credentials of an account; its judgments stay."""
    rater_id, campaign_id = account.id, account.campaign_id
    session.execute(sa.update(raters).where(raters.c.id == rater_id).values(name=raters.c.key, attributes={}))
    session.execute(sa.delete(contacts).where(contacts.c.rater_id == rater_id))
    session.execute(sa.delete(rater_messages).where(rater_messages.c.rater_id == rater_id))
    pearmut.erase_user_personal_data(session, campaign_id, rater_id)
    questionnaires.erase_answers(session, campaign_id, rater_id)
    comments.erase_comments_of_rater(session, campaign_id, rater_id)
    attention_checks.withdraw_open_attention_checks_of_rater(session, campaign_id, rater_id)
    gone: dict[str, object] = {"state": "erased", "external_id": None, "languages": [], "erased_at": sa.func.now()}
    made = insert(enrolments).values(campaign_id=campaign_id, rater_id=rater_id, capacity_unit="items", **gone)
    counted = {**gone, "erased_at": made.excluded.erased_at, "settings_version": enrolments.c.settings_version + 1}
    session.execute(made.on_conflict_do_update(index_elements=["rater_id"], set_=counted))
    theirs = sa.select(tokens.c.id).where(tokens.c.campaign_id == campaign_id, tokens.c.rater_id == rater_id)
    for table in (sessions, idempotency):
        session.execute(sa.delete(table).where(table.c.token_id.in_(theirs)))
    for table in (reports, jobs):  # a comparison may mention the campaign without being stored under it
        compared = table.c.kind.like("campaigns/%")
        session.execute(sa.delete(table).where((table.c.campaign_id == campaign_id) | compared))


def replace_person_key(session: Session, person_id: int, key: str) -> None:
    """Give a person a meaningless key. The accounts stay one person, so that nobody is counted twice."""
    session.execute(sa.update(people).where(people.c.id == person_id).values(key=key))
