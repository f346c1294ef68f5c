"""A schema with data upgrades under live posts; killed in the middle it is whole, and starters migrate once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from app.storage import embedded, migrate
from app.storage.db import APP_ROLE, make_sqlalchemy_url
from app.storage.embedded.cluster import find_server_processes
from tests.services.data.test_imports import MQM
from tests.spine import opened
from tests.working import LIMIT, until

OLD = "2026_11_20_spine"
POSTERS, MOST, AFTER = 4, 20_000, 10
SLOWEST = 8.0  # seconds: longer than the lock timeout of migrations
UPGRADE = "import sys; from app.storage import migrate; migrate.upgrade_schema(sys.argv[1])"
ALONE = """
import sys, sqlalchemy as sa
from alembic import command
from app.storage import migrate
from app.storage.db import make_sqlalchemy_url
with sa.create_engine(make_sqlalchemy_url(sys.argv[1]), poolclass=sa.NullPool).connect() as connection:
    command.upgrade(migrate.make_alembic_config(connection), "head")
    connection.commit()
"""
# The negative control of a kill: each statement is a transaction of its own, so half of a schema stays behind.
STEPWISE = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    connection.execute("CREATE TABLE half (id int)")
    connection.execute("CREATE TABLE other_half (campaign_id bigint REFERENCES campaigns (id))")
"""
COLUMNS = """SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
WHERE table_schema = 'public' ORDER BY 1, 2"""
OBJECTS = """SELECT conname, 'constraint' FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace
WHERE n.nspname = 'public' UNION SELECT c.relname, 'index' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'public'::regnamespace AND i.indisvalid  -- one that was broken off is used by nobody
UNION SELECT tgname, 'trigger' FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2"""
WAITING = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
AND backend_type = 'client backend'"""
THERE = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend'"""
REVISIONS = [s.revision for s in ScriptDirectory.from_config(migrate.make_alembic_config()).walk_revisions()][::-1]


@pytest.fixture
def old_url(database_url: str) -> str:
    return made_old(database_url)


def made_old(url: str) -> str:
    """Put judgments into a database, and make it one of the first version."""
    with opened(url) as spine:
        spine.take("c", "mqm-tsv", MQM.encode())
    migrate.downgrade_schema(url, OLD)
    return url


def ask(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def alone(url: str, revision: str = "head") -> None:
    """The migrations without what `migrate.upgrade_schema` does round them."""
    engine = sa.create_engine(make_sqlalchemy_url(url), poolclass=sa.NullPool)
    with engine.connect() as connection:
        command.upgrade(migrate.make_alembic_config(connection), revision)
        connection.commit()


def schema(url: str) -> list[tuple[object, ...]]:
    """Every column, constraint, index and trigger, and the revision."""
    marker = ask(url, "SELECT version_num, '', '', '' FROM alembic_version")
    return [*marker, *ask(url, COLUMNS), *ask(url, OBJECTS)]


@dataclass(slots=True)
class OldVersion:
    """Posts revisions of judgments as a version does that knows the columns of its own schema only."""

    url: str
    known: tuple[str, ...] = ()
    acked: list[tuple[int, int]] = field(default_factory=list)
    slowest: float = 0.0

    def __post_init__(self) -> None:
        found = ask(self.url, "SELECT column_name FROM information_schema.columns WHERE table_name = 'judgments'")
        self.known = tuple(sorted(str(name) for (name,) in found if name not in {"id", "revision", "version"}))

    def post(self, poster: int, upgraded: threading.Event) -> None:
        """Answer one judgment again and again until after the upgrade; each answer is acked once it is committed."""
        left = AFTER
        columns = ", ".join(self.known)
        record = f"""INSERT INTO judgments ({columns}, revision, version)
            SELECT {columns}, %s, %s FROM judgments WHERE id = %s"""
        with psycopg.connect(self.url, options=f"-c role={APP_ROLE}", autocommit=True) as connection:
            source = connection.execute("SELECT id FROM judgments ORDER BY id OFFSET %s", [poster]).fetchone()
            assert source is not None
            for revision in range(2, MOST):
                start = time.monotonic()
                with connection.transaction():
                    version = connection.execute(
                        "UPDATE campaigns SET data_version = data_version + 1 RETURNING id, data_version"
                    ).fetchone()
                    assert version is not None
                    connection.execute(
                        "INSERT INTO versions (campaign_id, n, actor, what) VALUES (%s, %s, 'old', 'post')", version
                    )
                    connection.execute(record, [revision, version[1], source[0]])
                self.acked.append((source[0], revision))
                self.slowest = max(self.slowest, time.monotonic() - start)
                left -= upgraded.is_set()
                if not left:
                    return
                time.sleep(0.005)
        pytest.fail("the upgrade did not end")

    def all_at_once(self, meanwhile: str) -> None:
        """Every poster at work while `meanwhile` (`head`, or SQL) is carried out."""
        upgraded = threading.Event()
        with ThreadPoolExecutor(POSTERS) as threads:
            posters = [threads.submit(self.post, n, upgraded) for n in range(POSTERS)]
            while len(self.acked) < POSTERS and not any(poster.done() for poster in posters):
                time.sleep(0.005)
            before = len(self.acked)
            try:
                self._carry_out(meanwhile)
            finally:
                during = len(self.acked) - before
                upgraded.set()
            for poster in posters:
                poster.result(LIMIT)
        assert during > 0, "the upgrade was not under live posts"

    def _carry_out(self, meanwhile: str) -> None:
        if meanwhile == "head":
            migrate.upgrade_schema(self.url)
            return
        with psycopg.connect(self.url) as connection:
            connection.execute(meanwhile)

    def stored(self) -> list[tuple[int, int]]:
        """Of the answers that were acked, those that are there, each as often as it is."""
        found = ask(
            self.url,
            """SELECT s.id, j.revision FROM judgments j JOIN judgments s
            USING (item_id, segment_id, rater_id) WHERE s.revision = 1 AND j.revision > 1""",
        )
        return sorted((int(str(source)), int(str(revision))) for source, revision in found)


def test_an_old_version_goes_on_posting_while_its_schema_is_upgraded(old_url: str) -> None:
    old = OldVersion(old_url)
    old.all_at_once("head")
    migrate.check_schema(old_url)
    assert old.stored() == sorted(old.acked)
    assert old.slowest < SLOWEST
    with opened(old_url) as spine:
        assert spine.rank("c", "google-mqm")["n_ratings"] > 0


def test_a_migration_that_the_old_version_cannot_live_with_is_caught(old_url: str) -> None:
    """Negative control: a column that must be filled, and that the old version does not know."""
    change = (
        "ALTER TABLE judgments ADD COLUMN mood text NOT NULL DEFAULT ''; ALTER TABLE judgments ALTER mood DROP DEFAULT"
    )
    with pytest.raises(psycopg.errors.NotNullViolation):
        OldVersion(old_url).all_at_once(change)


@contextmanager
def migrating(url: str, program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A child in the middle of its work: it waits for what somebody holds. Killed at the end."""
    with psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE campaigns, raters, judgments, tasks IN ROW EXCLUSIVE MODE")
        holder.execute("LOCK TABLE alembic_version IN SHARE MODE")  # which each revision writes at its end
        holder.execute("ALTER FUNCTION raters_needed() COST 100")  # as it is; older revisions touch one of the five
        child = subprocess.Popen([sys.executable, "-c", program, url, *arguments], stderr=subprocess.PIPE)
        try:
            until(lambda: ask(url, WAITING) != [(0,)] or child.poll() is not None, "it comes to the table that is held")
            assert child.poll() is None, child.stderr.read() if child.stderr else b""
            yield child
        finally:
            child.kill()
            child.communicate()
            wait_until_gone(url)


def wait_until_gone(url: str) -> None:
    """Wait until the server has noticed that a waiting client was killed."""

    def gone() -> bool:
        if ask(url, WAITING) == [(0,)]:
            return True
        with psycopg.connect(url) as connection:
            # Only waiting clients look whether anybody is still there; this is what their lock timeout comes to.
            connection.execute(WAITING.replace("count(*)", "pg_terminate_backend(pid)"))
        return False

    until(gone, "the backend of a killed migration ends")


NEWEST = 1  # revision that is killed each time, as it is the one that is worked on; the others in the soak
KILLED = [
    pytest.param(n, id=name, marks=[pytest.mark.soak] if n < len(REVISIONS) - NEWEST else [])
    for n, name in enumerate(REVISIONS)
][1:]


@pytest.mark.parametrize("n", KILLED)
def test_killed_in_mid_migration_the_old_schema_is_whole_and_a_second_start_completes_it(old_url: str, n: int) -> None:
    alone(old_url, REVISIONS[n - 1])
    before, judged = schema(old_url), ask(old_url, "SELECT id, revision, payload FROM judgments ORDER BY id")
    with migrating(old_url, UPGRADE):
        pass
    assert schema(old_url) == before
    migrate.upgrade_schema(old_url)
    migrate.check_schema(old_url)
    assert ask(old_url, "SELECT id, revision, payload FROM judgments ORDER BY id") == judged


@pytest.mark.soak
def test_where_the_database_is_killed_in_mid_migration_the_old_schema_is_whole(data_dir: Path) -> None:
    """At every revision; the child stands still meanwhile, as it would come again and complete it."""
    with embedded.start_server(data_dir) as server:
        migrate.upgrade_schema(server.url("owner"))
        url = made_old(server.url("owner"))
        judged = ask(url, "SELECT id, revision, payload FROM judgments ORDER BY id")
        for revision in REVISIONS[1:]:
            before = schema(url)
            with suppress(psycopg.OperationalError), migrating(url, UPGRADE) as child:  # who held the tables is cut off
                child.send_signal(signal.SIGSTOP)
                for pid in find_server_processes(server.cluster):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                embedded.start_server(data_dir).close()  # we hold it already, so this stops nothing
            assert schema(url) == before
            alone(url, revision)
        migrate.upgrade_schema(url)  # the queue's own steps
        migrate.check_schema(url)
        assert ask(url, "SELECT id, revision, payload FROM judgments ORDER BY id") == judged


def test_half_a_schema_would_be_seen(old_url: str) -> None:
    """Negative control: the same kill, in a migration that is not one transaction."""
    before = schema(old_url)
    with migrating(old_url, STEPWISE):
        pass
    assert schema(old_url) != before


def both_at_once(url: str, program: str, *, waiting: int) -> list[int]:
    """The exit codes of two starters of whom so many come to a table that is held, and that go on together."""
    with psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE campaigns, raters IN ROW EXCLUSIVE MODE")  # every revision touches one of them
        starters = [subprocess.Popen([sys.executable, "-c", program, url], stderr=subprocess.DEVNULL) for _ in range(2)]
        try:
            until(lambda: ask(url, WAITING) == [(waiting,)] and ask(url, THERE) == [(3,)], "the two wait together")
            holder.rollback()
            return [starter.wait(LIMIT) for starter in starters]
        finally:
            for starter in starters:
                starter.kill()
                starter.wait()


def test_two_starters_upgrade_a_database_with_data_once(old_url: str) -> None:
    assert both_at_once(old_url, UPGRADE, waiting=1) == [0, 0]
    migrate.check_schema(old_url)


@pytest.mark.soak
def test_two_starters_without_the_lock_get_in_each_others_way(old_url: str) -> None:
    """Negative control: the same two, each as if it were alone."""
    assert sorted(both_at_once(old_url, ALONE, waiting=2)) == [0, 1]
