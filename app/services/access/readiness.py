"""Whether the service can answer requests."""

from __future__ import annotations

from app.domain.errors import Unavailable
from app.storage import schema_revisions
from app.storage.db import Database


class SchemaMismatch(Unavailable):
    """The database has the schema of an earlier version."""

    published = "OtherSchema"


def check_readiness(database: Database) -> None:
    """Raise Unavailable unless the database answers and has the schema of this version or of a later one.

    Migrations only add to the schema, so this version keeps working while the next one starts beside it.
    """
    schema = database.schema_revision()
    if schema != schema_revisions.find_head_revision() and schema in schema_revisions.list_known_revisions():
        raise SchemaMismatch(retry_after=5)
