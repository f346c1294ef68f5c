"""Whether requests can be served."""

from __future__ import annotations

from app.domain.errors import Unavailable
from app.storage import migrate
from app.storage.db import Database


class SchemaMismatch(Unavailable):
    """The database does not have the schema of this version."""

    published = "OtherSchema"


def check_readiness(database: Database) -> None:
    """Raise Unavailable unless the database answers and has the schema of this version."""
    if database.schema() != migrate.find_head_revision():
        raise SchemaMismatch(retry_after=5)
