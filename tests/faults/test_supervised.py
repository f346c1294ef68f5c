"""`serve` keeps all that it starts: whatever is killed or stands still comes back without a hand."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from pathlib import Path

import psycopg
import pytest

from tests.faults.supervised import Supervised, send, supervised
from tests.faults.test_full_disk import LOGGED, fill
from tests.faults.test_full_disk import small_disk as small_disk  # a fixture
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
            as_many = len(old) if part in {"web", "worker"} else 1
            return len(now) >= as_many and not set(now) & set(old)
        return all(_goes_on(pid) for pid in old)

    took = until(changed, f"{part} is still as it was: {begun}")
    return took + run.healed(f"{part} after {number.name}")


def _goes_on(pid: int) -> bool:
    """Whether a process is gone or is not stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T"
    except OSError:
        return True


@pytest.mark.soak
@pytest.mark.parametrize("number", [KILL, STOP], ids=lambda number: number.name)
def test_every_part_comes_back_from_every_fault(data_dir: Path, tmp_path: Path, number: signal.Signals) -> None:
    with supervised(data_dir, tmp_path, workers=2) as run:
        for part in PARTS:
            took = suffer(run, part, number)
            print(f"{part} after {number.name}: {took:.1f} s")  # noqa: T201  (a figure)
            assert took < LIMIT


# What needs space in each kind of file; of the log, until it has ended.
NEEDING = {
    "data": "CREATE UNLOGGED TABLE large AS SELECT repeat('x', 500) AS text FROM generate_series(1, 400000)",
    "temp": """SET work_mem = '64kB'; SELECT count(*) FROM
               (SELECT repeat('x', 200) || i AS t FROM generate_series(1, 1000000) AS i ORDER BY 1 OFFSET 0) AS s""",
    "log": LOGGED,
}


def exhaust(run: Supervised, statement: str) -> None:
    """Carry out a statement until it fails."""
    with psycopg.connect(run.server.url("admin")) as db:
        while True:
            db.execute(statement.encode())


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
@pytest.mark.parametrize("kind", sorted(NEEDING))
def test_what_a_full_disk_ends_comes_back_once_there_is_space(small_disk: Path, tmp_path: Path, kind: str) -> None:
    with supervised(small_disk / "data", tmp_path, "--no-worker") as run:
        filler = fill(small_disk)
        with pytest.raises(psycopg.Error) as found:
            exhaust(run, NEEDING[kind])
        if kind == "log":
            until(lambda: run.ready().get("http") == 503, "it is told")
            until(lambda: run.said("its disk is full"), "and why")
        else:
            assert found.value.sqlstate == "53100"
        filler.unlink()
        took = run.healed(f"after want of space for {kind}")
        print(f"{kind}: {took:.1f} s")  # noqa: T201  (a figure)
        with psycopg.connect(run.server.url("admin"), autocommit=True) as db:
            db.execute("CREATE TABLE room AS SELECT 1 AS one")
        assert set(run.statuses) <= {200, 503}


SLOW = """
import os, signal, sys, time
if any(word in " ".join(sys.orig_argv) for word in ("app.cli.serving.web", "multiprocessing.spawn")):
    import ctypes
    with open({starts!r}, "ab") as starts:
        starts.write(b".")
        n = starts.tell()
    time.sleep({start} if n in {slow} else 0)
    signal.signal(signal.SIGUSR1, lambda *_: ctypes.PyDLL(None).sleep({held}))  # nothing else of the process runs
"""
LONGER = 7  # seconds: more than a check of five would bear


@pytest.mark.parametrize(
    "slow", [pytest.param({3}, id="third start"), pytest.param(range(1, 9), id="every start", marks=pytest.mark.soak)]
)
def test_who_is_slow_is_left_alone_and_who_is_killed_or_stopped_comes_back(
    data_dir: Path, tmp_path: Path, slow: Collection[int]
) -> None:
    """The small twin of the matrix above. That a worker has a successor is a test of the worker.

    slow: which start of a web process takes long. The third is that of a successor, while the other process computes.
    """
    code = SLOW.format(starts=str(tmp_path / "starts"), slow=slow, start=LONGER, held=LONGER)
    (tmp_path / "sitecustomize.py").write_text(code)
    with supervised(data_dir, tmp_path, "--no-worker", workers=2, PYTHONPATH=str(tmp_path)) as run:
        before = run.web()
        assert len(before) == 2
        os.kill(before[0], KILL)
        until(lambda: before[0] not in run.web(), "it is gone")
        until(lambda: len(run.web()) == 2, "its successor begins")
        both = run.web()
        assert before[1] in both
        os.kill(before[1], signal.SIGUSR1)
        assert not run.ready(), "nobody answers while one begins and the other computes"
        run.healed("a web process after SIGKILL, and one that computed")
        assert run.web() == both, "both are left alone"
        assert len(run.said("; restarting in")) == 1
        assert not run.said("started again")

        suffer(run, "postgres", STOP)
        suffer(run, "postgres", KILL)
        # Numbers of processes begin anew at times, so the lower one may be of either.
        for word in ("of Postgres was stopped by a signal", "Postgres: it ended", ": it ended by signal 9"):
            assert run.said(word)
        assert set(run.statuses) <= {200, 503}
    assert run.process.returncode == 0
    assert not run.postgres()


DEMO = """
from app.cli import demo, main
demo._collect = lambda console, database, managed: managed.enrol_rater(demo.GUEST, {})  # nothing of it is judged
demo._report = lambda *_: None
main()
"""


@pytest.mark.soak
def test_a_demo_comes_back_like_the_service(data_dir: Path, tmp_path: Path) -> None:
    """Its small twin is in `cli/test_demo_command`, where a demo runs already."""
    with supervised(data_dir, tmp_path, program=("-c", DEMO, "demo"), PLUMBLINE_PORT="0") as run:
        suffer(run, "postgres", KILL)
        suffer(run, "web", KILL)
        assert set(run.statuses) <= {200, 503}
    assert run.process.returncode == 0
    assert not run.postgres()
