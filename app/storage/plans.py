"""Plans: the data from which a design is compiled, and compiled plans with tasks and items, written by COPY."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from psycopg import sql
from sqlalchemy import text

from app.domain.errors import NotFound
from app.storage.db import Session, driver_connection
from app.storage.query_planning import execute_full_scan
from app.storage.tables import plans

Row = sa.Row[Any]


class PlanNotFound(NotFound):
    """The campaign has no such plan."""


DOCUMENTS = """
SELECT d.id, d.key, d.kind, d.domain, d.origin, d.meta ->> 'stratum' AS stratum,
       array_agg(coalesce(g.source, '') ORDER BY g.position) AS sources,
       array_agg(g.id ORDER BY g.position) AS segment_ids,
       f.refs
FROM documents d JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id
LEFT JOIN (
    SELECT x.document_id, array_agg(x.name ORDER BY x.name COLLATE "C") AS refs FROM (
        SELECT s.document_id, r.name, count(*) AS n FROM reference_texts r
        JOIN segments s ON s.campaign_id = :campaign AND s.id = r.segment_id
        WHERE r.campaign_id = :campaign GROUP BY s.document_id, r.name) x
    JOIN (SELECT document_id, count(*) AS n FROM segments WHERE campaign_id = :campaign GROUP BY document_id) y
      ON y.document_id = x.document_id AND y.n = x.n
    GROUP BY x.document_id) f ON f.document_id = d.id
WHERE d.campaign_id = :campaign AND d.kind NOT IN ('tutorial', 'attention')
GROUP BY d.id, f.refs ORDER BY d.position NULLS LAST, d.key COLLATE "C" """
SYSTEMS = """
SELECT id, key FROM systems WHERE campaign_id = :campaign AND state = 'active' ORDER BY key COLLATE "C" """
ALL_SYSTEMS = """SELECT id, key FROM systems WHERE campaign_id = :campaign"""
MARKS = """
SELECT d.key AS document, s.key AS system,
       array_agg(encode(o.sha256, 'hex') ORDER BY g.position) AS marks
FROM systems s
JOIN documents d ON d.campaign_id = :campaign AND d.kind = 'test'
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id
LEFT JOIN outputs o ON o.campaign_id = :campaign AND o.system_id = s.id AND o.segment_id = g.id
WHERE s.campaign_id = :campaign AND s.state = 'active'
GROUP BY d.key, s.key HAVING count(o.id) > 0"""
RATERS = """
SELECT r.id, r.key, p.key AS person, e.capacity, e.capacity_unit, e.buckets, t.key AS team
FROM enrolments e JOIN raters r ON r.campaign_id = :campaign AND r.id = e.rater_id
LEFT JOIN people p ON p.id = r.person_id LEFT JOIN teams t ON t.id = e.team_id
WHERE e.campaign_id = :campaign AND e.state = 'active' AND e.invitation_id IS NULL ORDER BY r.key COLLATE "C" """
# Documents judged outside any plan: imported, or carried over.
JUDGED = """
SELECT count(DISTINCT i.document_id) FROM items i
JOIN tasks t ON t.campaign_id = :campaign AND t.id = i.task_id AND t.plan IS NULL
JOIN documents d ON d.campaign_id = :campaign AND d.id = i.document_id AND d.kind = 'test'
WHERE i.campaign_id = :campaign
  AND EXISTS (SELECT FROM judgments j WHERE j.campaign_id = :campaign AND j.item_id = i.id)"""
# For an ended invitation, count the raters who joined through it.
SEATS = """
SELECT coalesce(sum(CASE
    WHEN i.revoked_at IS NULL AND coalesce(i.expires_at > now(), true) THEN i.seats
    ELSE (SELECT count(*) FROM enrolments e WHERE e.campaign_id = :campaign AND e.invitation_id = i.id
          AND e.state = 'active') END), 0) FROM invitations i WHERE i.campaign_id = :campaign"""


def load_documents_to_plan(session: Session, campaign_id: int) -> list[Row]:
    """Return documents to judge and to calibrate on, with sources, segment ids, and complete references."""
    return list(execute_full_scan(session, DOCUMENTS, {"campaign": campaign_id}))


def load_systems_to_plan(session: Session, campaign_id: int) -> list[Row]:
    """Return the systems that take part."""
    return list(session.execute(text(SYSTEMS), {"campaign": campaign_id}))


def load_output_hashes(session: Session, campaign_id: int) -> list[Row]:
    """Return the output hashes of each document and system with outputs; null for a missing output."""
    return list(execute_full_scan(session, MARKS, {"campaign": campaign_id}))


def load_raters_to_plan(session: Session, campaign_id: int) -> list[Row]:
    """Return the raters to whom a plan can assign work by name."""
    return list(session.execute(text(RATERS), {"campaign": campaign_id}))


def count_documents_judged_without_plan(session: Session, campaign_id: int) -> int:
    """Count the documents whose outputs were judged without a plan."""
    return int(session.execute(text(JUDGED), {"campaign": campaign_id}).scalar_one())


def count_invitation_seats(session: Session, campaign_id: int) -> int:
    """Count the raters who may join through invitations."""
    return int(session.execute(text(SEATS), {"campaign": campaign_id}).scalar_one())


def find_plan_in_force(session: Session, campaign_id: int) -> Row | None:
    """Return the plan in force."""
    query = sa.select(plans).where(plans.c.campaign_id == campaign_id).order_by(plans.c.version.desc()).limit(1)
    return session.execute(query).one_or_none()


def load_plan(session: Session, campaign_id: int, version: int | None) -> Row:
    """Return a plan by its version, by default the latest. Raises PlanNotFound."""
    if version is None:
        plan = find_plan_in_force(session, campaign_id)
    else:
        query = sa.select(plans).where(plans.c.campaign_id == campaign_id, plans.c.version == version)
        plan = session.execute(query).one_or_none()
    if plan is None:
        raise PlanNotFound
    return plan


def load_plans_page(session: Session, campaign_id: int, *, after: int, limit: int) -> list[Row]:
    """Return plans by version after `after`."""
    query = sa.select(plans).where(plans.c.campaign_id == campaign_id, plans.c.version > after)
    return list(session.execute(query.order_by(plans.c.version).limit(limit)))


def insert_plan(session: Session, values: Mapping[str, object]) -> None:
    """Store a plan, which is then frozen."""
    session.execute(sa.insert(plans).values(**values))


# Arrays, not joins: with statistics that do not know the campaign, joins would read all its items for each task.
_PLANNED = "ARRAY(SELECT id FROM tasks WHERE campaign_id = :campaign AND plan IS NOT NULL)"
_THEIRS = f"ARRAY(SELECT id FROM items WHERE campaign_id = :campaign AND task_id = ANY({_PLANNED}))"
FORGET = (
    f"DELETE FROM credits WHERE campaign_id = :campaign AND item_id = ANY({_THEIRS})",
    f"""UPDATE items SET of_item_id = NULL
        WHERE campaign_id = :campaign AND task_id = ANY({_PLANNED}) AND of_item_id IS NOT NULL""",
    f"DELETE FROM items WHERE campaign_id = :campaign AND task_id = ANY({_PLANNED})",
    "DELETE FROM tasks WHERE campaign_id = :campaign AND plan IS NOT NULL",
    "DELETE FROM groups WHERE campaign_id = :campaign",
    "DELETE FROM bucket_raters WHERE campaign_id = :campaign",
    "DELETE FROM plan_documents WHERE campaign_id = :campaign",
    "DELETE FROM variants WHERE campaign_id = :campaign AND kind = 'degraded'",
)


def delete_untouched_tasks(session: Session, campaign_id: int) -> None:
    """Delete the tasks of plans on which no rater has worked; the plans themselves stay."""
    # Not with `execute_full_scan`: the checks for rows that still refer to the deleted ones would read the rows of all
    # campaigns, and the connection keeps their plans.
    for statement in FORGET:
        session.execute(text(statement), {"campaign": campaign_id})


@dataclass(frozen=True, slots=True)
class TableRowsToInsert:
    """Rows of one table, in the order of these columns."""

    table: str
    columns: tuple[str, ...]
    rows: Iterable[Sequence[object]]


TYPES: Mapping[str, Mapping[str, str]] = {
    "variants": {"how": "jsonb", "spans": "jsonb"},
    "tasks": {"meta": "jsonb"},
    "items": {"meta": "jsonb"},
}


def insert_rows_by_copy(session: Session, batch: TableRowsToInsert) -> None:
    """Write rows by COPY; values of JSON columns are passed as Python values."""
    json_columns = {batch.columns.index(name) for name in TYPES.get(batch.table, {}) if name in batch.columns}
    names = sql.SQL(", ").join(map(sql.Identifier, batch.columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(batch.table), names)
    with driver_connection(session).cursor() as cursor, cursor.copy(statement) as copy:
        for row in batch.rows:
            copy.write_row([_json(v) if n in json_columns else v for n, v in enumerate(row)])


def reserve_row_ids(session: Session, table: str, n: int) -> list[int]:
    """Return new ids for rows to be written."""
    query = text("SELECT nextval(pg_get_serial_sequence(:table, 'id')) FROM generate_series(1, :n)")
    return list(session.execute(query, {"table": table, "n": n}).scalars())


def load_outputs_by_position(
    session: Session, campaign_id: int, documents: Iterable[str]
) -> dict[tuple[str, str, int], Row]:
    """Return the outputs of some documents, with id and text, by (system, document, position)."""
    query = """SELECT s.key AS system, d.key AS document, g.position, o.id, o.text, g.source
           FROM outputs o JOIN systems s ON s.campaign_id = :campaign AND s.id = o.system_id
           JOIN segments g ON g.campaign_id = :campaign AND g.id = o.segment_id
           JOIN documents d ON d.campaign_id = :campaign AND d.id = g.document_id
           WHERE o.campaign_id = :campaign AND d.key = ANY(:keys)
           ORDER BY s.key COLLATE "C", d.key COLLATE "C", g.position"""
    rows = execute_full_scan(session, query, {"campaign": campaign_id, "keys": sorted(set(documents))})
    return {(row.system, row.document, row.position): row for row in rows}


DEGRADED = """
SELECT v.output_id, v.name FROM variants v WHERE v.campaign_id = :campaign AND v.kind = 'degraded'"""


def load_degraded_text_keys(session: Session, campaign_id: int) -> set[tuple[int, str]]:
    """Return the outputs with a stored degraded text: (id of the output, name of the set of texts)."""
    return {(row.output_id, row.name) for row in execute_full_scan(session, DEGRADED, {"campaign": campaign_id})}


JOIN_POOL = """
INSERT INTO bucket_raters (campaign_id, plan, bucket, rater_id)
SELECT DISTINCT :campaign, t.plan, t.bucket, CAST(:rater AS bigint) FROM tasks t
WHERE t.campaign_id = :campaign AND t.state IN ('free', 'leased') AND t.plan = (
    SELECT max(version) FROM plans WHERE campaign_id = :campaign) AND (t.rater_id IS NULL OR t.pooled)
ON CONFLICT DO NOTHING"""


def add_rater_to_task_pool(session: Session, campaign_id: int, rater_id: int) -> None:
    """Let a rater take tasks that are open to all."""
    session.execute(text(JOIN_POOL), {"campaign": campaign_id, "rater": rater_id})


INVITED = """
SELECT rater_id FROM enrolments WHERE campaign_id = :campaign AND invitation_id IS NOT NULL AND state = 'active'"""


def load_invited_rater_ids(session: Session, campaign_id: int) -> list[int]:
    """Return the raters who joined through an invitation."""
    return list(session.execute(text(INVITED), {"campaign": campaign_id}).scalars())


def load_all_systems(session: Session, campaign_id: int) -> list[Row]:
    """Return all systems, including withdrawn ones and those that represent a calibration set."""
    return list(session.execute(text(ALL_SYSTEMS), {"campaign": campaign_id}))


def load_degradation_donor_texts(session: Session, campaign_id: int, most: int) -> list[str]:
    """Return texts in the target language to take spans from, sorted: references if there are any, else outputs.

    If there are more than `most`, take those with the smallest hashes, which depend only on the texts.
    """
    for table in ("reference_texts", "outputs"):
        query = text(
            f"""SELECT text FROM (SELECT DISTINCT text FROM {table} WHERE campaign_id = :campaign AND text <> '') x
                ORDER BY sha256(convert_to(text, 'UTF8')) LIMIT :most"""
        )
        candidates = session.execute(query, {"campaign": campaign_id, "most": most}).scalars()
        if texts := sorted(candidates):
            return texts
    return []


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)
