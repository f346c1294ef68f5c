"""The rights of the serving role: it reads and writes everything except what only the owner may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import sqlalchemy as sa

from app.storage import organization_list, queue_schema
from app.storage.current_organization import DEFAULT, organization_schema
from app.storage.db import APP_ROLE

APPEND_ONLY = (
    "activity",
    "arms",
    "audit_log",
    "consents",
    "guidelines",
    "hour_adjustments",
    "judgments",
    "locks",
    "metric_scores",
    "plans",
    "qualification_attempts",
    "qualifications",
    "recipes",
    "screen_judgments",
    "seals",
    "versions",
    "voids",
)
UNCHANGED = ("questionnaire_answers",)
"""Append-only until the rater is erased."""
_OTHER_RIGHTS = """
SELECT 1 FROM pg_class c JOIN pg_roles r ON r.rolname = %s
WHERE c.relnamespace = ANY(%s::regnamespace[]) AND c.relkind IN ('r', 'p') AND (
  NOT has_table_privilege(r.oid, c.oid, 'SELECT')
  OR c.relname = ANY(%s) AND has_table_privilege(r.oid, c.oid, 'UPDATE')) LIMIT 1"""


def grant_rights_to_serving_role(connection: sa.Connection, organization: int) -> None:
    """Let the serving role read and write everything except what only the owner may change."""
    exists = connection.execute(sa.text("SELECT 1 FROM pg_roles WHERE rolname = :r"), {"r": APP_ROLE}).scalar()
    if not exists:
        return
    schema = organization_schema(organization)
    shared: tuple[str, ...] = queue_schema.GRANTS if organization == DEFAULT else ()
    if organization == DEFAULT and organization_list.has_ever_added_organization(connection):
        shared += organization_list.GRANTS
    for statement in (
        f"GRANT USAGE ON SCHEMA {schema} TO {APP_ROLE}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {APP_ROLE}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {APP_ROLE}",
        f"REVOKE UPDATE, DELETE, TRUNCATE ON {', '.join(APPEND_ONLY)} FROM {APP_ROLE}",
        f"REVOKE UPDATE, TRUNCATE ON {', '.join(UNCHANGED)} FROM {APP_ROLE}",
        f"REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM {APP_ROLE}",
        *shared,
    ):
        connection.execute(sa.text(statement))


def has_exact_serving_rights(connection: psycopg.Connection[Any], schemas: Sequence[str]) -> bool:
    """Tell whether the serving role, if it exists, can read all tables of these schemas, with no excess rights."""
    fixed = [*APPEND_ONLY, *UNCHANGED, "alembic_version"]
    return connection.execute(_OTHER_RIGHTS, [APP_ROLE, list(schemas), fixed]).fetchone() is None
