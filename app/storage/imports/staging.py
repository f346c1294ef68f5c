"""Staging of an import: records go by COPY into temporary tables, which last until the transaction ends."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.storage.db import COMMAND_TIMEOUT, driver_connection
from app.storage.imports.copy_format import NAMES, TABLES, CopyBuffer, format_canonical_json
from app.storage.temporary_tables import enable_temporary_table_subqueries

__all__ = [
    "OUTPUTS_OF",
    "CopyBuffer",
    "analyze_staging_tables",
    "copy_into_staging",
    "create_staging_tables",
    "drop_staging_tables",
    "format_canonical_json",
    "truncate_staging_tables",
]

DERIVED = ("placed", "resolved", "told", "scored")  # derived from the staged tables
WAITING = ("staged_voids", "staged_scores")  # kept until the last part of an import

SAMPLED = 10  # the statistics target: 300 times as many rows of a table are sampled

# Tables filled in this transaction have no statistics yet, so the planner would join them with nested loops.
SETTINGS = ("enable_nestloop = off", "work_mem = '128MB'", "jit = off", f"statement_timeout = '{COMMAND_TIMEOUT:.0f}s'")


# The stored outputs named by a staged table, as a FROM clause: w is the row, g its segment, x the output.
OUTPUTS_OF = """
{table} w JOIN systems s ON s.campaign_id = :campaign AND s.key = w.system
JOIN documents d ON d.campaign_id = :campaign AND d.key = w.document
JOIN segments g ON g.campaign_id = :campaign AND g.document_id = d.id AND g.position = w.position
JOIN outputs x ON x.campaign_id = :campaign AND x.system_id = s.id AND x.segment_id = g.id"""


def create_staging_tables(session: Session) -> None:
    """Create the temporary tables of one import."""
    enable_temporary_table_subqueries(session)
    for setting in SETTINGS:
        session.execute(text(f"SET LOCAL {setting}"))
    for table, columns in TABLES.items():
        session.execute(text(f"CREATE TEMP TABLE {table} ({columns}) ON COMMIT DROP"))


def truncate_staging_tables(session: Session) -> None:
    """Empty the temporary tables for the next records of the same import, except those needed at its end."""
    session.execute(text("TRUNCATE " + ", ".join(table for table in TABLES if table not in WAITING)))
    _drop(session, DERIVED)


def drop_staging_tables(session: Session) -> None:
    """Drop the temporary tables before the transaction ends, so that it can run another import."""
    _drop(session, (*TABLES, *DERIVED))


def _drop(session: Session, tables: Iterable[str]) -> None:
    for table in tables:
        session.execute(text(f"DROP TABLE IF EXISTS pg_temp.{table}"))


def copy_into_staging(session: Session, lines: CopyBuffer) -> None:
    """COPY all lines into their tables."""
    for table, blocks in lines.drain_blocks():
        columns = ", ".join(NAMES[table].columns)
        with (
            driver_connection(session).cursor() as cursor,
            cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copying,
        ):
            for block in blocks:
                copying.write(block)


# The columns used in joins, groups and sorts; statistics on texts and payloads would cost more than the joins.
ANALYZED = (
    "staged_segments (document, position)",
    "staged_outputs (system, document, position)",
    "staged_items (n, task, item, document, rater)",
    "staged_judgments (n, item, position)",
)


def analyze_staging_tables(session: Session) -> None:
    """Give the planner statistics on the staged rows; by table sizes alone, it joins many items with nested loops.

    For those on stored rows, see `query_planner_statistics`.
    """
    analyze_tables_by_small_sample(session, *ANALYZED)


def analyze_tables_by_small_sample(session: Session, *tables: str) -> None:
    """Give the planner statistics on temporary tables from a tenth of the usual sample, which is enough for joins."""
    session.execute(text(f"SET LOCAL default_statistics_target = {SAMPLED}"))
    session.execute(text(f"ANALYZE {', '.join(tables)}"))
    session.execute(text("SET LOCAL default_statistics_target TO DEFAULT"))
