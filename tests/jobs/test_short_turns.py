"""P12: who computes ends its turns soon, so that a commit does not wait for a whole one."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from app.jobs import short_turns

TURNS = Path("/proc/self/sched")
# As a computing process begins: it is handed a line that is closed at once, and tells its turn when it would serve.
BEGUN = """
import os
from app.jobs import computing
class Line:
    def recv(self):
        told = [one for one in open("/proc/self/sched") if one.startswith("se.slice")]
        print(told[0].split(":")[1].strip(), os.sched_getscheduler(0) == os.SCHED_IDLE, flush=True)
        os._exit(0)  # who weighs least may wait long for its own end
computing.parent_process = lambda: None
computing.compute(Line(), "postgresql:///", None, "test", yielding={yielding})
"""


@pytest.fixture
def turns() -> None:
    if not TURNS.is_file() or "se.slice" not in TURNS.read_text(encoding="ascii"):
        pytest.skip("this kernel does not tell of turns")
    release = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    if release < (6, 12) or platform.machine() not in short_turns.SCHED_SETATTR:
        pytest.skip("this kernel does not hear a wish for short turns")


def begun(*, yielding: bool) -> tuple[int, bool]:
    """The turn of a process that computes, in nanoseconds, and whether it is of the idle class."""
    program = BEGUN.format(yielding=yielding)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    turn, idle = done.stdout.split()
    return int(turn), idle == "True"


def test_who_computes_beside_raters_has_short_turns_and_who_serves_nobody_long_ones(turns: None) -> None:
    turn, idle = begun(yielding=True)
    assert turn == short_turns.TURN or idle
    assert begun(yielding=False)[0] > short_turns.TURN


def test_the_wish_changes_neither_class_nor_how_nice_one_is() -> None:
    program = """
import os
from app.jobs.short_turns import take_short_turns
os.nice(3)
before = os.sched_getscheduler(0), os.nice(0)
heard = take_short_turns()
print(before == (os.sched_getscheduler(0), os.nice(0)), heard)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    known = platform.system() == "Linux" and platform.machine() in short_turns.SCHED_SETATTR
    assert done.stdout.split() == ["True", str(known and os.sched_getscheduler(0) == os.SCHED_OTHER)]
