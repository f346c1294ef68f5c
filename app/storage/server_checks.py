"""Requirements that a Postgres server must meet before judgments are stored on it."""

from __future__ import annotations

from typing import Any

import psycopg

from app.domain.errors import Conflict

OLDEST = 15
DURABLE = ("fsync", "full_page_writes", "synchronous_commit")

_IN_FORCE = "SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = 'off' ORDER BY name"
# Settings of a database or a role take effect with its next connection, so this connection may not show them.
_CARRIED = """
SELECT coalesce('role ' || quote_ident(r.rolname), ''), coalesce('database ' || quote_ident(d.datname), '')
FROM pg_db_role_setting s
CROSS JOIN unnest(s.setconfig) AS entry
LEFT JOIN pg_roles r ON r.oid = s.setrole
LEFT JOIN pg_database d ON d.oid = s.setdatabase
WHERE (s.setdatabase = 0 OR d.datname = current_database())
  AND (s.setrole = 0 OR r.rolname = ANY(%s))
  AND lower(entry) IN ('synchronous_commit=off', 'synchronous_commit=false', 'synchronous_commit=no',
                       'synchronous_commit=0')
ORDER BY 1, 2
"""


class ServerNotDurable(Conflict):
    """This Postgres server can lose what it has confirmed."""

    published = "NotDurable"


class PostgresTooOld(Conflict):
    """This Postgres server is too old."""

    published = "TooOld"


class DatabaseNotUnicode(Conflict):
    """This database does not store Unicode; create one with ENCODING 'UTF8'."""


def check_server_at_url(url: str, *, serving_role: str | None = None) -> None:
    """Call `check_server` on a separate connection."""
    with psycopg.connect(url, autocommit=True) as connection:
        check_server(connection, serving_role=serving_role)


def check_server(connection: psycopg.Connection[Any], *, serving_role: str | None = None) -> None:
    """Check that the server is Postgres 15 or later and stores Unicode, and that its commits are durable.

    The function checks the settings of this connection, and those that its role, the serving role and the database set
    for their next connections.

    Raises PostgresTooOld, DatabaseNotUnicode, or ServerNotDurable, which names every setting that is off, and where.
    """
    major = connection.info.server_version // 10_000
    if major < OLDEST:
        raise PostgresTooOld(f"it is Postgres {major}; Plumbline needs {OLDEST} or later")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise DatabaseNotUnicode(f"its encoding is {encoding}")
    off = [f"{name} is off" for (name,) in connection.execute(_IN_FORCE, [list(DURABLE)])]
    roles = [connection.info.user, *([serving_role] if serving_role else [])]
    carried = connection.execute(_CARRIED, [roles])
    off += ["synchronous_commit is off for " + " in ".join(filter(None, where)) for where in carried]
    if off:
        raise ServerNotDurable("; ".join(off))
