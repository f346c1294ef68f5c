"""A 2xx for a judgment means that it is on disk, whatever is killed, exactly once and in order."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.faults.serving import Raters, Service, judging, service
from tests.working import until

EXITS_WITHIN = 10.0  # seconds
HEALS_WITHIN = 10.0


def kill_app(run: Service) -> None:
    run.stop(signal.SIGKILL)
    run.start()


def end_app(run: Service) -> None:
    assert run.stop(signal.SIGTERM) <= EXITS_WITHIN
    run.start()


WAYS: tuple[Callable[[Service], None], ...] = (
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
    raters = judging(run, clients)
    raters.begin()
    try:
        for n in range(kills):
            wait_for_more(raters)
            WAYS[n % len(WAYS)](run)
        wait_for_more(raters)
    finally:
        raters.end()
    return raters


@pytest.mark.parametrize(("clients", "kills"), [(4, 4), pytest.param(8, 12, marks=pytest.mark.soak)])
def test_whatever_was_confirmed_is_there_exactly_once(data_dir: Path, tmp_path: Path, clients: int, kills: int) -> None:
    with service(data_dir, tmp_path / "home") as run:
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
        run.kill_backends()
        raters = judging(run, 8)
        raters.begin()
        try:
            for _ in range(6):
                wait_for_more(raters)
                run.kill_postgres()
                time.sleep(1)
                if raters.statuses[412]:  # a rater who was confirmed a revision is told that there is none
                    break
        finally:
            raters.end()
        assert raters.lost() != []
