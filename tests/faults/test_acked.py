"""A 2xx for a judgment means that it is on disk, whatever is killed, exactly once and in order.

A database that is frozen is not waited for: whoever asks is told so within seconds, and it heals by itself.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from app.storage.embedded.cluster import PostgresCluster, find_server_processes
from tests.faults.serving import Raters, Service, judging, service
from tests.working import until

EXITS_WITHIN = 10.0  # seconds
HEALS_WITHIN = 10.0
PATIENCE = 20.0  # seconds that a client waits: ten times what it takes, and a frozen server would take them all
ASKING = 8


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, scratch: Path) -> Iterator[Service]:
    """A service that runs again after each test, whatever was killed in it."""
    folder = scratch / "acked"
    folder.mkdir(mode=0o711)
    with service(folder / "data", tmp_path_factory.mktemp("home")) as found:
        yield found


def kill_app(run: Service) -> None:
    run.stop(signal.SIGKILL)
    run.start()


def end_app(run: Service) -> None:
    assert run.stop(signal.SIGTERM) <= EXITS_WITHIN
    run.start()


WAYS: tuple[Callable[[Service], None], ...] = (  # the last one by itself: web/test_stop
    kill_app,
    lambda run: run.kill_postgres(),
    lambda run: run.kill_backends(),
    end_app,
)


def wait_for_more(raters: Raters) -> None:
    """Until some more is acknowledged."""
    before = raters.statuses[200]
    until(lambda: raters.statuses[200] >= before + 20, f"more after {raters.statuses}", within=HEALS_WITHIN)


def killed(run: Service, clients: int, kills: int) -> Raters:
    """Raters who went on while things were killed."""
    raters = judging(run, clients, key=f"killed-{kills}")
    raters.begin()
    try:
        for n in range(kills):
            wait_for_more(raters)
            WAYS[n % len(WAYS)](run)
        wait_for_more(raters)
    finally:
        raters.end()
    return raters


@pytest.mark.parametrize(("clients", "kills"), [(4, 3), pytest.param(8, 12, marks=pytest.mark.soak)])
def test_whatever_was_confirmed_is_there_exactly_once(run: Service, clients: int, kills: int) -> None:
    raters = killed(run, clients, kills)
    assert raters.lost() == []
    assert set(raters.statuses) <= {200, 503}
    assert sum(map(len, raters.acked.values())) >= 20 * (kills + 1)


@pytest.mark.soak
def test_a_server_that_confirms_before_it_is_on_disk_is_caught(data_dir: Path, tmp_path: Path) -> None:
    """The negative control: the same with commits that do not wait for the disk, set behind the service's back."""
    with service(data_dir, tmp_path / "home") as run:
        with psycopg.connect(run.server.url("admin"), autocommit=True) as db:
            db.execute("ALTER ROLE plumbline SET synchronous_commit = off")
            db.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")  # else it may write just before a kill
            db.execute("SELECT pg_reload_conf()")
        run.kill_backends()
        raters = judging(run, 8)
        raters.begin()
        try:
            for _ in range(6):
                wait_for_more(raters)
                with psycopg.connect(run.server.url("admin"), autocommit=True) as db:
                    db.execute("CHECKPOINT")  # what is to be lost are answers, not the tasks that raters hold
                wait_for_more(raters)
                run.kill_postgres()
                time.sleep(1)
                if raters.statuses[412]:  # a rater who was confirmed a revision is told that there is none
                    break
        finally:
            raters.end()
        assert raters.lost() != []


def signalled(cluster: PostgresCluster, number: signal.Signals) -> None:
    for pid in find_server_processes(cluster):
        with suppress(ProcessLookupError):  # one that has ended meanwhile
            os.kill(pid, number)


@contextmanager
def frozen(cluster: PostgresCluster) -> Iterator[None]:
    """Every process of the server stands still for the length of a block, and keeps all its connections."""
    signalled(cluster, signal.SIGSTOP)
    try:
        yield
    finally:
        signalled(cluster, signal.SIGCONT)


def test_a_frozen_database_is_told_to_everybody_and_nothing_confirmed_is_lost(run: Service) -> None:
    raters = judging(run, 4, key="frozen")
    secret = next(iter(raters.live.secrets.values()))
    headers = {"Authorization": f"Bearer {secret}"}

    def asked(path: str) -> tuple[int, float]:
        begun = time.monotonic()
        with suppress(httpx.TimeoutException):
            answer = httpx.get(f"{run.origin}{path}", headers=headers, timeout=PATIENCE, trust_env=False)
            return answer.status_code, time.monotonic() - begun
        return 0, PATIENCE

    raters.begin()
    try:
        until(lambda: raters.statuses[200] > 50, "it never began")
        with frozen(run.server.cluster), ThreadPoolExecutor(2 * ASKING) as pool:
            # The raters' posts are under way; these come after it, before and after it is noticed.
            paths = ["/readyz", "/v1/me", f"/v1/campaigns/{raters.live.key}", "/v1/me"] * (ASKING // 4)
            first = list(pool.map(asked, paths))
            later = list(pool.map(asked, paths))
            under_way = "those whose answers were under way are told, too"
            until(lambda: raters.statuses[503], under_way, within=PATIENCE)
            alive = asked("/livez")
        before = raters.statuses[200]
        until(lambda: raters.statuses[200] > before + 50, f"it did not go on: {raters.statuses}")
    finally:
        raters.end()
    assert {status for status, _ in first + later} == {503}
    assert alive[0] == 200
    assert raters.lost() == []
    assert set(raters.statuses) <= {200, 503}
