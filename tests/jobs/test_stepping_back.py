"""Who computes takes what raters leave, and never nothing: where the kernel weighs sessions, one of that weight."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.jobs import computing
from tests.working import until


def stepped_back(*, low_priority: bool) -> tuple[int, int, bool]:
    """Of a child that has stepped back: by how much it is nicer, its class, and whether its session is its own."""
    reader, writer = os.pipe()
    before, child = os.nice(0), os.fork()
    if child == 0:
        try:
            computing._step_back(low_priority=low_priority)
            os.write(writer, pickle.dumps((os.nice(0) - before, os.sched_getscheduler(0), os.getsid(0) == os.getpid())))
        finally:
            os._exit(0)  # whatever happened: no second run of these tests begins here
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        nice, kind, own = pickle.load(pipe)  # noqa: S301, from our own child
    return int(nice), int(kind), bool(own)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the kernel's word about sessions stands, made up."""
    monkeypatch.setattr(computing, "AUTOGROUPS", tmp_path / "enabled")
    monkeypatch.setattr(computing, "AUTOGROUP", tmp_path / "session")
    return tmp_path


def test_where_sessions_are_weighed_who_computes_has_one_of_its_own(groups: Path) -> None:
    (groups / "enabled").write_text("1\n")
    assert stepped_back(low_priority=True) == (computing.NICE, os.SCHED_OTHER, True)
    assert (groups / "session").read_text() == str(computing.NICE)


def test_where_several_are_told_at_once_the_kernel_is_told_again(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux (`proc_sched_autogroup_set_nice`) hears of others than root one in a tenth of a second: EAGAIN."""
    busy, write = [BlockingIOError] * 2, os.write

    def told(line: int, data: bytes) -> int:
        if data == str(computing.NICE).encode() and busy:
            raise busy.pop()
        return write(line, data)

    monkeypatch.setattr(os, "write", told)
    (groups / "enabled").write_text("1\n")
    assert stepped_back(low_priority=True) == (computing.NICE, os.SCHED_OTHER, True)
    assert (groups / "session").read_text() == str(computing.NICE)


def test_a_session_that_cannot_be_made_to_weigh_less_is_not_begun(
    groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computing, "AUTOGROUP", groups / "read-only" / "session")
    (groups / "enabled").write_text("1\n")
    assert stepped_back(low_priority=True) == (computing.NICE, os.SCHED_OTHER, False)


@pytest.mark.parametrize("said", ["0\n", None])
def test_elsewhere_who_computes_is_nice(groups: Path, said: str | None) -> None:
    if said is not None:
        (groups / "enabled").write_text(said)
    assert stepped_back(low_priority=True) == (computing.NICE, os.SCHED_OTHER, False)
    assert not (groups / "session").exists()


def test_where_nobody_judges_who_computes_is_only_nice(groups: Path) -> None:
    (groups / "enabled").write_text("1\n")
    assert stepped_back(low_priority=False) == (computing.NICE, os.SCHED_OTHER, False)


@pytest.fixture
def weighed() -> None:
    if not computing.AUTOGROUPS.exists() or computing.AUTOGROUPS.read_text().strip() != "1":
        pytest.skip("this kernel does not weigh sessions")


def test_the_kernel_takes_the_weight_of_a_session(weighed: None) -> None:
    assert stepped_back(low_priority=True) == (computing.NICE, os.SCHED_OTHER, True)


THREE_AT_ONCE = """
import os
from app.jobs import computing
for _ in range(3):
    if not os.fork():
        os._exit(not computing._has_own_weight())
print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(3)])
"""


def test_the_kernel_takes_the_weights_of_sessions_that_begin_at_once_also_of_others_than_root(weighed: None) -> None:
    less = [] if os.geteuid() != 0 else ["setpriv", "--bounding-set", "-sys_admin"]
    if less and not shutil.which(less[0]):
        pytest.skip("no setpriv here, by which root lays its rights aside")
    done = subprocess.run([*less, sys.executable, "-c", THREE_AT_ONCE], capture_output=True, text=True, check=True)
    assert done.stdout == "[0, 0, 0]\n"


def burn(report: int, *, nice: bool) -> None:
    """In a child: compute on one processor together with the other, and say now and then how much time that was."""
    try:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        if nice:
            computing._step_back(low_priority=True)
        else:
            os.setsid()  # where sessions are weighed, what else runs in ours would take of its share
        while True:
            until = time.process_time() + 0.01
            while time.process_time() < until:
                pass
            os.pwrite(report, f"{time.process_time():020.4f}".encode(), 20 if nice else 0)
    finally:
        os._exit(0)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no processor can be shared on purpose here")
def test_beside_a_busy_process_who_computes_has_its_share(tmp_path: Path) -> None:
    """A tenth as the weights say; of the idle class it was a three-hundredth, of the least weight a seventieth."""
    report = os.open(tmp_path / "report", os.O_RDWR | os.O_CREAT)
    os.pwrite(report, b"0" * 40, 0)
    children = []
    for nice in (True, False):
        child = os.fork()
        if child == 0:
            burn(report, nice=nice)
        children.append(child)

    def had() -> tuple[float, float]:
        text = os.pread(report, 40, 0)
        return float(text[:20]), float(text[20:])

    try:
        until(lambda: min(had()) > 0, "both have begun")
        begun = had()
        until(lambda: had()[0] - begun[0] > 1.5, "the busy one has had its time")
        busy, computed = (now - then for now, then in zip(had(), begun, strict=True))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(report)
    assert 0.03 < computed / busy < 0.6
