"""The worker works, says that it lives, and stops when told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMIT = 30


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "app.cli", *arguments]


def _plumbline(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(_command(*arguments), env=environment, capture_output=True, timeout=LIMIT)


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PLUMBLINE_DATABASE_URL": database_url, "TMPDIR": str(tmp_path)}


def test_a_worker_that_never_ran_is_not_alive(environment: dict[str, str]) -> None:
    check = _plumbline("worker", "--alive", environment=environment)
    assert check.returncode == 2
    assert b"no worker of this machine" in check.stderr


def test_a_worker_gives_a_sign_of_life_and_ends_on_sigterm(environment: dict[str, str], tmp_path: Path) -> None:
    worker = subprocess.Popen(_command("worker"), env=environment, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + LIMIT
        while not list(tmp_path.glob("*.beat")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert _plumbline("worker", "--alive", environment=environment).returncode == 0
        started = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(LIMIT) == 0
        assert time.monotonic() - started < 10
    finally:
        worker.kill()
        worker.wait(LIMIT)


def test_an_old_sign_of_life_does_not_count(environment: dict[str, str], tmp_path: Path) -> None:
    assert _plumbline("worker", "--once", environment=environment).returncode == 0
    beat = tmp_path / f"plumbline-worker-{os.geteuid()}.beat"
    beat.write_text("long ago")
    os.utime(beat, (1, 1))
    assert _plumbline("worker", "--alive", environment=environment).returncode == 2
