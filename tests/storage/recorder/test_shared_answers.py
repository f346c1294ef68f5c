"""Kept answers: none outlives an erasure that it began before, the table stays small, and no backup has them."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from app.domain.errors import Unavailable
from app.services import answers as keeping
from app.services.access import tokens
from app.services.campaigns import housekeeping as sweeping
from app.services.campaigns.campaigns import NewCampaign, create
from app.services.remembered import Answer
from app.storage import audit, campaigns, embedded, migrate
from app.storage.backup import backup, restore
from app.storage.db import Session
from app.storage.housekeeping import LOCK
from app.storage.recorder import shared_answers
from app.storage.recorder.cache_version import MARKED, Asked
from app.storage.recorder.recorder import Recorder
from tests.spine import Spine, fresh
from tests.working import LIMIT, until

HELD = 77  # an advisory lock at which a writer waits, its snapshot taken
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
KEY = hashlib.sha256(b"of a request").digest()
Erase = Callable[[Session, int], None]


@pytest.fixture(scope="module")
def shared(postgres: embedded.Server, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        yield found


@pytest.fixture
def spine(shared: Spine) -> Spine:
    """A database with nothing kept, and a campaign without data, as one of that changes least by an erasure."""
    with shared.database.transaction() as session:
        session.execute(text("DELETE FROM answers"))
        if session.execute(text("SELECT count(*) FROM campaigns")).scalar() == 0:
            create(session, NewCampaign(key="c", protocol="mqm"), actor="test")
    return shared


@pytest.fixture
def prefix(spine: Spine) -> str:
    with spine.database.transaction() as session:
        return tokens.issue(session, role="manager").token.prefix


def mark_of(spine: Spine, prefix: str) -> str:
    with psycopg.connect(spine.url) as owner:
        row = psycopg.RawCursor(owner).execute(MARKED[False].encode(), (prefix, "c")).fetchone()
    assert row is not None
    return str(row[1])


def kept(spine: Spine) -> int:
    (((n,),)) = spine.ask("SELECT count(*) FROM answers")
    return int(n)


def write(spine: Spine, prefix: str, mark: str, *, until_released: bool = False, body: bytes = b"[]\n") -> None:
    """Keep an answer as processes do, but patiently. until_released: it waits with its snapshot taken."""
    statements = "; ".join(shared_answers.FUNCTIONS).replace(f"'{shared_answers.PATIENCE}'", "'60s'")
    if until_released:
        waits = f"WHERE (SELECT pg_advisory_lock_shared({HELD})) IS NOT NULL AND t.prefix"
        assert "WHERE t.prefix" in statements
        statements = statements.replace("WHERE t.prefix", waits)
    with psycopg.connect(spine.url, autocommit=True) as connection:
        connection.execute(statements.encode())
        psycopg.RawCursor(connection).execute(shared_answers.CALLS[False], (prefix, "c", KEY, mark, True, body))


def forget(session: Session, campaign_id: int) -> None:
    shared_answers.forget(session, [campaign_id])


def forget_carelessly(session: Session, campaign_id: int) -> None:
    session.execute(text("DELETE FROM answers WHERE campaign_id = :c"), {"c": campaign_id})


def erase(spine: Spine, how: Erase) -> None:
    """As an erasure goes: the campaign is held, the log says so, and what was kept of it is deleted at last."""
    with spine.database.transaction() as session:
        row = campaigns.get(session, "c", lock=True)
        audit.append(session, row.id, actor="test", action="rater erased", what={})
        how(session, row.id)


@pytest.mark.parametrize(("how", "left"), [(forget, 0), (forget_carelessly, 1)], ids=["forget", "negative control"])
def test_an_erasure_is_not_outrun_by_a_writer_that_began_before_it(
    spine: Spine, prefix: str, how: Erase, left: int
) -> None:
    mark = mark_of(spine, prefix)
    with ThreadPoolExecutor(2) as threads, psycopg.connect(spine.url, autocommit=True) as holder:
        holder.execute(f"SELECT pg_advisory_lock({HELD})".encode())
        writing = threads.submit(write, spine, prefix, mark, until_released=True)
        until(lambda: spine.ask(WAITING) == [(1,)], "the writer waits")
        erasing = threads.submit(erase, spine, how)
        until(lambda: erasing.done() or spine.ask(WAITING) == [(2,)], "the erasure goes on or waits")
        assert erasing.done() is bool(left), "who forgets waits for who writes"
        holder.execute(f"SELECT pg_advisory_unlock({HELD})".encode())
        writing.result(LIMIT)
        erasing.result(LIMIT)
    assert mark_of(spine, prefix) != mark
    assert kept(spine) == left


def test_a_writer_that_comes_while_an_erasure_goes_on_keeps_nothing(spine: Spine, prefix: str) -> None:
    mark = mark_of(spine, prefix)
    write(spine, prefix, mark)
    assert kept(spine) == 1, "the control"
    came = threading.Event()

    def forget_and_be_met(session: Session, campaign_id: int) -> None:
        forget(session, campaign_id)
        came.set()
        until(lambda: spine.ask(WAITING) == [(1,)], "the writer waits")

    with ThreadPoolExecutor(2) as threads:
        erasing = threads.submit(erase, spine, forget_and_be_met)
        assert came.wait(LIMIT)
        writing = threads.submit(write, spine, prefix, mark)
        erasing.result(LIMIT)
        writing.result(LIMIT)
    assert kept(spine) == 0


def test_nothing_is_kept_under_a_mark_that_passed_nor_while_the_campaign_is_held(spine: Spine, prefix: str) -> None:
    mark = mark_of(spine, prefix)
    with spine.database.transaction() as session:
        campaigns.get(session, "c", lock=True)
        write(spine, prefix, mark)
    assert kept(spine) == 0
    write(spine, prefix, mark)
    assert kept(spine) == 1
    erase(spine, forget)
    write(spine, prefix, mark)
    assert kept(spine) == 0
    with spine.database.transaction() as session:
        tokens.revoke(session, prefix, by=None)
    write(spine, prefix, mark)
    assert kept(spine) == 0


def test_writers_of_one_answer_do_not_disturb_each_other_and_a_later_mark_takes_its_place(
    spine: Spine, prefix: str
) -> None:
    mark = mark_of(spine, prefix)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: write(spine, prefix, mark), range(16)))
    assert kept(spine) == 1
    with spine.database.transaction() as session:
        audit.append(session, campaigns.get(session, "c").id, actor="test", action="test", what={})
    write(spine, prefix, mark_of(spine, prefix), body=b"[]\nlater")
    assert spine.ask("SELECT mark <> '', sent FROM answers") == [(True, b"[]\nlater")]


def fill(spine: Spine, ages: list[int]) -> None:
    """Answers of a thousand bytes, of so many hours."""
    with spine.database.transaction() as session:
        session.execute(
            text(
                """INSERT INTO answers (key, campaign_id, mark, whole, sent, created_at)
                   SELECT sha256(n::text::bytea), c.id, 'm', true, repeat('x', 1000)::bytea, now() - n * interval '1 h'
                   FROM campaigns c, unnest(CAST(:ages AS int[])) n WHERE c.key = 'c'"""
            ),
            {"ages": ages},
        )


def test_a_sweep_lets_go_of_what_is_a_day_old_and_of_the_oldest_beyond_the_room(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(spine, [0, 1, 2, 3, 23, 25, 48])
    monkeypatch.setattr(sweeping, "MOST", 10_000)
    swept = sweeping.sweep(spine.database)
    assert swept is not None
    assert swept["answers of reports"] == 2
    monkeypatch.setattr(sweeping, "MOST", 3_999)
    swept = sweeping.sweep(spine.database)
    assert swept is not None
    assert swept["answers of reports"] == 2
    ages = "SELECT extract(hour FROM now() - created_at)::int FROM answers ORDER BY 1"
    assert spine.ask(ages) == [(0,), (1,), (2,)]


def test_two_sweeps_are_not_at_it_at_once_and_none_waits_long_for_the_table(spine: Spine) -> None:
    fill(spine, [25])
    with spine.database.transaction() as session:
        session.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": LOCK})
        with spine.database.transaction() as other:
            assert shared_answers.sweep(other, most=0) == 0
    with psycopg.connect(spine.url) as owner:
        owner.execute("LOCK TABLE answers IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Unavailable), spine.database.transaction() as session:
            shared_answers.sweep(session, most=0)
    assert kept(spine) == 1


LOCKED = "LOCK TABLE answers IN ACCESS EXCLUSIVE MODE"
GONE = "ALTER TABLE answers RENAME TO mislaid"
NOT_OURS = "REVOKE DELETE, SELECT ON answers FROM plumbline_app"


@pytest.mark.parametrize("what", [LOCKED, GONE, NOT_OURS])
def test_whatever_is_wrong_with_it_a_worker_sweeps_the_rest(
    spine: Spine, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    fill(spine, [25])
    with wrong(spine, what), caplog.at_level(logging.WARNING):
        swept = sweeping.sweep(spine.database)
    assert swept is not None
    assert (swept["sessions"], swept["answers of reports"]) == (0, 0)
    assert [one.message[:32] for one in caplog.records] == ["answers that are kept for other "]
    assert kept(spine) == 1


def test_what_is_not_there_is_forgotten_and_what_is_not_ours_is_told(spine: Spine) -> None:
    fill(spine, [1])
    ((number,),) = spine.ask("SELECT id FROM campaigns WHERE key = 'c'")
    with wrong(spine, GONE), spine.database.transaction() as session:
        shared_answers.forget(session, [number])
    with wrong(spine, NOT_OURS), pytest.raises(shared_answers.NotForgotten), spine.database.transaction() as session:
        shared_answers.forget(session, [number])
    assert kept(spine) == 1
    with spine.database.transaction() as session:
        shared_answers.forget(session, [number])
    assert kept(spine) == 0


@contextmanager
def wrong(spine: Spine, what: str) -> Iterator[None]:
    """Something is wrong with the table for the length of a block."""
    undone = {
        GONE: "ALTER TABLE mislaid RENAME TO answers",
        NOT_OURS: "GRANT DELETE, SELECT ON answers TO plumbline_app",
    }
    with psycopg.connect(spine.url, autocommit=what != LOCKED) as owner:
        owner.execute(what)
        try:
            yield
        finally:
            if what in undone:
                owner.execute(undone[what])


@pytest.mark.parametrize(("room", "n"), [(1, 1), (0, 0)])
def test_nothing_is_kept_where_nobody_sweeps(
    spine: Spine, prefix: str, monkeypatch: pytest.MonkeyPatch, room: int, n: int
) -> None:
    monkeypatch.setattr(keeping, "FULL", room)
    answer = Answer(mark_of(spine, prefix), '"e"', (), None, b"x")

    async def keep() -> None:
        recorder = Recorder(spine.database.url, role=spine.database.role)
        await recorder.open()
        keeper = keeping.Keeper(recorder)
        keeper.put(Asked(prefix, "c", names=False, key=KEY), answer)
        await keeper.settle()
        await recorder.close()

    asyncio.run(keep())
    assert kept(spine) == n


def test_a_backup_has_none_of_them(spine: Spine, prefix: str, empty_database_url: str, tmp_path: Path) -> None:
    write(spine, prefix, mark_of(spine, prefix))
    backup(spine.url, tmp_path / "whole")
    restore(empty_database_url, tmp_path / "whole")
    migrate.check(empty_database_url)
    with psycopg.connect(empty_database_url) as there:
        assert there.execute("SELECT (SELECT count(*) FROM answers), (SELECT count(*) FROM campaigns)").fetchall() == [
            (0, 1)
        ]
        assert there.execute("SELECT relpersistence FROM pg_class WHERE relname = 'answers'").fetchall() == [("u",)]
