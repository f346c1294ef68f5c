"""Queries about exclusions: what analyses leave out from a data version on. Lifted exclusions stay stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.domain.errors import Conflict
from app.storage.optional_filters import join_optional_conditions
from app.storage.tables import documents, exclusions, raters, systems, tasks
from app.storage.word_search import join_conditions_per_word, make_word_condition_values

ExclusionRecord = sa.Row[Any]
_TABLES: Mapping[str, sa.Table] = MappingProxyType(
    {"rater": raters, "task": tasks, "document": documents, "system": systems}
)

# The kind and the key of the object that an exclusion names.
_NAMED = """
SELECT e.version AS n, w.what, w.key, e.reason, e.actor, e.at, e.lifted_version, e.lifted_reason, e.lifted_actor,
       e.lifted_at, e.withdrawal
FROM exclusions e CROSS JOIN LATERAL (
    SELECT 'rater' AS what, key FROM raters WHERE id = e.rater_id
    UNION ALL SELECT 'task', key FROM tasks WHERE id = e.task_id
    UNION ALL SELECT 'document', key FROM documents WHERE id = e.document_id
    UNION ALL SELECT 'system', key FROM systems WHERE id = e.system_id) w
WHERE e.campaign_id = :campaign"""


_SEARCHED = "concat_ws(' ', w.key, e.reason, e.actor, e.lifted_reason, e.lifted_actor)"


class AlreadyExcluded(Conflict):
    """This is excluded already."""

    published = "ExcludedAlready"


def find_exclusion_target_id(session: Session, campaign_id: int, what: str, key: str) -> int | None:
    """Return the id of a rater, task, document or system of the campaign, by its key."""
    table = _TABLES[what]
    query = sa.select(table.c.id).where(table.c.campaign_id == campaign_id, table.c.key == key)
    return session.execute(query).scalar()


def is_excluded(session: Session, campaign_id: int, what: str, target_id: int) -> bool:
    """Tell whether this object is excluded now."""
    here = (exclusions.c.campaign_id == campaign_id) & (exclusions.c[f"{what}_id"] == target_id)
    query = sa.select(sa.exists().where(here, exclusions.c.lifted_version.is_(None)))
    return bool(session.execute(query).scalar())


def insert_exclusion(
    session: Session,
    campaign_id: int,
    *,
    what: str,
    target_id: int,
    version: int,
    reason: str,
    actor: str,
    withdrawal: bool = False,
) -> None:
    """Exclude an object from a data version on. withdrawal: because the system was withdrawn."""
    values = {"campaign_id": campaign_id, "version": version, f"{what}_id": target_id, "reason": reason, "actor": actor}
    made = sa.insert(exclusions).values(**values, withdrawal=withdrawal, at=sa.func.clock_timestamp())
    session.execute(made)


def find_exclusion_number_of_withdrawn_system(session: Session, campaign_id: int, system_id: int) -> int | None:
    """Return the number of the exclusion in force that was created when a system was withdrawn."""
    here = (exclusions.c.campaign_id == campaign_id) & (exclusions.c.system_id == system_id)
    standing = exclusions.c.withdrawal & exclusions.c.lifted_version.is_(None)
    return session.execute(sa.select(exclusions.c.version).where(here, standing)).scalar()


def end_exclusion(session: Session, campaign_id: int, n: int, *, version: int, reason: str, actor: str) -> None:
    """End an exclusion with a data version."""
    here = (exclusions.c.campaign_id == campaign_id) & (exclusions.c.version == n)
    said = {"lifted_version": version, "lifted_reason": reason, "lifted_actor": actor}
    session.execute(sa.update(exclusions).where(here).values(**said, lifted_at=sa.func.statement_timestamp()))


def find_exclusion(session: Session, campaign_id: int, n: int) -> ExclusionRecord | None:
    """Return the exclusion that a data version created."""
    return session.execute(sa.text(f"{_NAMED} AND e.version = :n"), {"campaign": campaign_id, "n": n}).one_or_none()


def load_exclusions_page(
    session: Session,
    campaign_id: int,
    *,
    after: int,
    limit: int,
    what: str | None = None,
    standing: bool | None = None,
    descending: bool = False,
    words: Sequence[str] = (),
) -> list[ExclusionRecord]:
    """Return exclusions in the order in which they were made, after a number; 0 is the start.

    what: only this kind. standing: only those in force, or only lifted ones. descending: newest first.
    words: each is a part of key, reasons or actors, ignoring case.
    """
    values: dict[str, object] = {
        "campaign": campaign_id,
        "after": after or None,
        "limit": limit,
        "what": what,
        "standing": standing,
    }
    only = {
        "after": f"e.version {'<' if descending else '>'} :after",
        "what": "w.what = :what",
        "standing": "(e.lifted_version IS NULL) = :standing",
    }
    conditions = join_optional_conditions(only, values) + join_conditions_per_word(_SEARCHED, words)
    query = sa.text(f"{_NAMED} {conditions} ORDER BY e.version {'DESC' if descending else 'ASC'} LIMIT :limit")
    return list(session.execute(query, {**values, **make_word_condition_values(words)}))


def load_exclusions_in_force(session: Session, campaign_id: int, version: int) -> list[ExclusionRecord]:
    """Return the exclusions in force at a data version."""
    stood = "e.version <= :version AND (e.lifted_version IS NULL OR e.lifted_version > :version)"
    query = sa.text(f"{_NAMED} AND {stood} ORDER BY e.version")
    return list(session.execute(query, {"campaign": campaign_id, "version": version}))
