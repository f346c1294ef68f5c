"""P32: `serve` keeps all that it starts: whatever is killed or stands still comes back without a hand."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults.supervised import Supervised, send, supervised
from tests.working import LIMIT, until

KILL, STOP = signal.SIGKILL, signal.SIGSTOP
HEALS_WITHIN = 30.0  # seconds, on a machine that is not busy
PARTS = ("web", "worker", "postgres", "postmaster", "backends")


def suffer(run: Supervised, part: str, number: signal.Signals) -> float:
    """Kill or stop every process of a part; seconds until everything runs again."""
    old = send(getattr(run, part), number)
    assert old, f"there is no {part}"
    begun = run.ready() if part != "web" else {}

    def changed() -> bool:
        now = getattr(run, part)()
        if number == KILL:
            return not set(now) & set(old)
        return all(_goes_on(pid) for pid in old)

    took = until(changed, f"{part} is still as it was: {begun}")
    return took + run.healed(f"{part} after {number.name}")


def _goes_on(pid: int) -> bool:
    """Whether a process is gone or is not stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T"
    except OSError:
        return True


def test_what_is_killed_or_stopped_comes_back_and_the_log_says_why(data_dir: Path, tmp_path: Path) -> None:
    """The small twin of the matrix below: each part once, two web processes."""
    with supervised(data_dir, tmp_path, workers=2) as run:
        for part, number in (("postgres", KILL), ("web", KILL), ("worker", STOP), ("postgres", STOP)):
            suffer(run, part, number)
        assert run.said("Postgres: it ended")
        assert run.said("web 1: it ended by signal 9")
        assert run.said("web 2: it ended by signal 9")
        assert run.said("worker: it was stopped by a signal")
        assert run.said("of Postgres was stopped by a signal")
        assert set(run.statuses) <= {200, 503}
    assert run.process.returncode == 0
    assert not run.postgres()


@pytest.mark.soak
@pytest.mark.parametrize("number", [KILL, STOP], ids=lambda number: number.name)
def test_every_part_comes_back_from_every_fault(data_dir: Path, tmp_path: Path, number: signal.Signals) -> None:
    with supervised(data_dir, tmp_path, workers=2) as run:
        for part in PARTS:
            took = suffer(run, part, number)
            print(f"{part} after {number.name}: {took:.1f} s")  # noqa: T201  (a figure)
            assert took < LIMIT


SLOW = """
import os, signal, sys, time
if any(word in " ".join(sys.orig_argv) for word in ("app.cli._web", "multiprocessing.spawn")):
    import ctypes
    time.sleep({start})
    signal.signal(signal.SIGUSR1, lambda *_: ctypes.PyDLL(None).sleep({held}))  # nothing else of the process runs
"""
LONGER = 7  # seconds: more than a check of five would bear


def test_a_web_process_that_starts_slowly_or_computes_for_long_is_not_ended(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW.format(start=LONGER, held=LONGER))
    with supervised(data_dir, tmp_path, "--no-worker", workers=2, PYTHONPATH=str(tmp_path)) as run:
        before = run.web()
        assert len(before) == 2
        send(run.web, signal.SIGUSR1)
        assert not run.ready(), "nobody answers while both compute"
        run.healed("they answer again")
        assert run.web() == before
        assert not run.said("started again")
