"""Load the state of a campaign's set-up with one statement; the manager's remaining steps follow from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.storage.tables import (
    arms,
    campaigns,
    documents,
    enrolments,
    guidelines,
    judgments,
    locks,
    metric_scores,
    outputs,
    plans,
    qualifications,
    screen_judgments,
    systems,
    tasks,
    variants,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSetupFacts:
    """What a campaign has.

    documents, systems, raters: their numbers; documents: of the test set; raters: only active ones.

    The other fields tell whether the campaign has any: outputs of systems, guidelines, a consent text, a plan, tasks
    that are not handed in, tasks of all kinds, judgments, a registered analysis.
    """

    documents: int
    systems: int
    raters: int
    outputs: bool
    guidelines: bool
    consent: bool
    plan: bool
    work_left: bool
    tasks: bool
    judgments: bool
    side_by_side: bool
    arms: bool
    metrics: bool
    lock: bool


def describe_protocol_bound_data(session: Session, campaign_id: int) -> str | None:
    """Name data of the campaign that fit only its current protocol; return None if there are none."""
    answers = (
        ("judgments", judgments, sa.true()),
        ("comparisons of columns", screen_judgments, sa.true()),
        ("answers of a qualification test", qualifications, sa.true()),
        ("documents with known answers", documents, documents.c.kind != "test"),
        ("prefilled errors", variants, variants.c.kind == "prefill"),
    )
    for what, table, among in answers:
        if session.execute(sa.select(sa.exists().where(table.c.campaign_id == campaign_id, among))).scalar():
            return what
    return None


def filter_judged_campaign_keys(session: Session, keys: Collection[str]) -> set[str]:
    """Return those of these campaign keys whose campaigns have judgments."""
    judged = sa.exists().where(judgments.c.campaign_id == campaigns.c.id)
    return set(session.execute(sa.select(campaigns.c.key).where(campaigns.c.key.in_(keys), judged)).scalars())


def load_campaign_setup_facts(session: Session, key: str) -> CampaignSetupFacts:
    """Return the set-up of the campaign with this key; all empty if there is no such campaign."""
    campaign = sa.select(campaigns.c.id).where(campaigns.c.key == key).scalar_subquery()

    def number(table: sa.Table, *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
        query = sa.select(sa.func.count()).select_from(table)
        return query.where(table.c.campaign_id == campaign, *where).scalar_subquery()

    def any_of(table: sa.Table, *where: sa.ColumnElement[bool]) -> sa.Exists:
        return sa.exists().where(table.c.campaign_id == campaign, *where)

    planned = tasks.c.plan.is_not(None)  # an attention check is not part of the work
    query = sa.select(
        number(documents, documents.c.kind == "test").label("documents"),
        number(systems).label("systems"),
        number(enrolments, enrolments.c.state == "active").label("raters"),
        any_of(outputs).label("outputs"),
        any_of(guidelines, guidelines.c.kind == "guidelines").label("guidelines"),
        any_of(guidelines, guidelines.c.kind == "consent").label("consent"),
        any_of(plans).label("plan"),
        # Each state has its own index.
        sa.or_(*(any_of(tasks, tasks.c.state == state, planned) for state in ("free", "leased"))).label("work_left"),
        any_of(tasks).label("tasks"),
        any_of(judgments).label("judgments"),
        any_of(screen_judgments).label("side_by_side"),
        any_of(arms).label("arms"),
        any_of(metric_scores).label("metrics"),
        any_of(locks).label("lock"),
    )
    return CampaignSetupFacts(**session.execute(query).one()._mapping)
