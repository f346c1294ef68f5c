"""A database that goes and comes back needs no new start of the service, and health is told as it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
import sqlalchemy as sa

from app.main import create_app
from app.services.access import tokens
from app.storage import embedded, migrate
from app.storage.db import Database
from app.web.deps import ServiceOptions
from tests.patience import soon
from tests.working import LIMIT, until

Serving = Callable[..., AbstractContextManager[tuple[str, int]]]
HEALS_WITHIN = 5.0  # seconds


@contextmanager
def client_of(database: Database, serving: Serving) -> Iterator[httpx.Client]:
    """An admin's client of the application over a database."""
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="admin").secret
    with serving(create_app(database, ServiceOptions())) as (host, port):
        headers = {"Authorization": f"Bearer {secret}"}
        with httpx.Client(base_url=f"http://{host}:{port}", headers=headers, timeout=LIMIT, trust_env=False) as client:
            yield client


def statuses(client: httpx.Client, *paths: str) -> list[int]:
    return [client.get(path).status_code for path in paths]


def test_a_database_that_was_away_is_served_from_again_within_seconds(data_dir: Path, serving: Serving) -> None:
    server = embedded.start_server(data_dir)
    migrate.upgrade_schema(server.url("owner"))
    database = Database(server.url("owner"), size=3, role="plumbline_app")
    with client_of(database, serving) as client:
        assert statuses(client, "/livez", "/readyz", "/v1/campaigns") == [200, 200, 200]

        server.stop()

        def healed() -> float:
            """Seconds from when the database is back until it is served from; it is away before and after."""
            assert statuses(client, "/livez", "/readyz", "/v1/campaigns") == [200, 503, 503]
            away = client.get("/v1/campaigns")
            assert away.json()["type"] == "urn:plumbline:problem:database-down"
            assert int(away.headers["Retry-After"]) >= 1
            with embedded.start_server(data_dir):
                back = time.monotonic()
                until(lambda: statuses(client, "/v1/campaigns", "/readyz") == [200, 200], "it is served from again")
                seconds = time.monotonic() - back
                made = client.post("/v1/campaigns", json={"key": f"after-{back}", "protocol": "da"})
                assert made.status_code == 201, made.text
            return seconds

        assert soon(healed, HEALS_WITHIN)
    database.close()


def kill_backends(database: Database) -> int:
    """End every other connection of this role to the database, as an administrator or a crash does; how many."""
    with psycopg.connect(database.url) as connection:
        # A worker of the autovacuum has no role, and only a superuser may end it.
        query = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
                   AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""
        return len(connection.execute(query).fetchall())


def rounds(client: httpx.Client, database: Database) -> list[int]:
    """What the requests after each of some kills are answered."""
    found = []
    for _ in range(5):
        assert kill_backends(database) >= 1
        found += statuses(client, "/v1/campaigns", "/v1/me", "/readyz")
    return found


def test_killed_connections_are_noticed_before_the_next_request(database: Database, serving: Serving) -> None:
    with client_of(database, serving) as client:
        assert statuses(client, "/v1/campaigns", "/readyz") == [200, 200]
        assert set(rounds(client, database)) == {200}


def test_connections_that_are_not_looked_at_first_fail(
    database_url: str, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: the same without a look at the connection before it is used."""
    make = sa.create_engine
    monkeypatch.setattr(sa, "create_engine", lambda *a, **given: make(*a, **{**given, "pool_pre_ping": False}))
    careless = Database(database_url, size=2, role="plumbline_app")
    with client_of(careless, serving) as client:
        assert statuses(client, "/v1/campaigns", "/readyz") == [200, 200]
        assert 503 in rounds(client, careless)
    careless.close()
