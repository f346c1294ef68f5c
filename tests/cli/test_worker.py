"""The worker works, says that it lives, and stops when told to."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from app.cli.worker import choose_computing_process_count
from tests.cli.conftest import Answer, Command
from tests.patience import soon
from tests.working import LIMIT, until


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "app.cli", *arguments]


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PLUMBLINE_DATABASE_URL": database_url, "PLUMBLINE_DATA_DIR": str(tmp_path / "data")}


Ask = Callable[..., Answer]


@pytest.fixture
def plumbline(database_url: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """plumbline(*arguments): run the command here. of: another data folder."""

    def run(*arguments: str, of: str = "data") -> Answer:
        monkeypatch.setenv("PLUMBLINE_DATA_DIR", str(tmp_path / of))
        return command(database_url, *arguments)

    return run


def test_a_worker_that_never_ran_is_not_alive(plumbline: Ask) -> None:
    check = plumbline("worker", "--alive")
    assert check.returncode == 2
    assert b"no worker of this data folder" in check.stderr


@pytest.mark.parametrize(("cores", "alone", "beside"), [(1, 1, 1), (2, 2, 1), (8, 8, 7)])
def test_a_worker_beside_a_server_leaves_it_a_core(cores: int, alone: int, beside: int) -> None:
    assert (
        choose_computing_process_count(cores, beside_server=False),
        choose_computing_process_count(cores, beside_server=True),
    ) == (
        alone,
        beside,
    )


def test_a_worker_gives_a_sign_of_life_and_ends_on_sigterm(
    environment: dict[str, str], tmp_path: Path, plumbline: Ask
) -> None:
    beat = tmp_path / "data" / "worker.beat"

    def ended_after() -> float:
        beat.unlink(missing_ok=True)
        worker = subprocess.Popen(_command("worker"), env=environment, stderr=subprocess.DEVNULL)
        try:
            until(beat.exists, "it gives a sign of life")
            assert plumbline("worker", "--alive").returncode == 0
            assert plumbline("worker", "--alive", of="other").returncode == 2
            assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
            started = time.monotonic()
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(LIMIT) == 0
            return time.monotonic() - started
        finally:
            worker.kill()
            worker.wait(LIMIT)

    assert soon(ended_after, 10)


@pytest.fixture
def signals_as_before() -> Iterator[None]:
    """A worker of this process has handlers of its own."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals_as_before")
def test_an_old_sign_of_life_does_not_count(plumbline: Ask, tmp_path: Path) -> None:
    assert plumbline("worker", "--once").returncode == 0
    beat = tmp_path / "data" / "worker.beat"
    beat.parent.mkdir()
    beat.write_text("long ago")
    os.utime(beat, (1, 1))
    assert plumbline("worker", "--alive").returncode == 2


def _ended(process: psutil.Process) -> bool:
    """Gone, or only waiting for whoever adopted it to take note."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_the_worker_of_a_killed_service_ends_by_itself(environment: dict[str, str], tmp_path: Path) -> None:
    command = _command("serve", "--port", "0")
    service = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    workers: list[psutil.Process] = []
    beat = tmp_path / "data" / "worker.beat"
    try:
        until(beat.exists, "it gives a sign of life")
        workers = [child for child in psutil.Process(service.pid).children() if "worker" in child.cmdline()]
        assert len(workers) == 1
        time.sleep(1.5)
        assert not _ended(workers[0]), "while the service lives, so does its worker"
        workers[0].kill()
        until(lambda: _ended(workers[0]), "it is killed")
        beat.unlink()
        deadline = time.monotonic() + LIMIT
        while len(workers) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
            of_service = psutil.Process(service.pid).children()
            workers += [child for child in of_service if child not in workers and "worker" in child.cmdline()]
        workers.pop(0)
        assert len(workers) == 1, "a worker that ends has a successor"
        until(beat.exists, "it works, and so looks whether the service lives")
        service.kill()
        service.wait(LIMIT)
        until(lambda: _ended(workers[0]), "the worker ends, too", within=10)
    finally:
        for left in [child for child in workers if not _ended(child)]:
            left.kill()
        service.kill()
        service.wait(LIMIT)
