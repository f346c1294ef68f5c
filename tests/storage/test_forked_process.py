"""Work in a copy of a process, tried in processes of one thread."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = """
import os, sys
from app.domain.errors import AppError, Invalid, Place
from app.storage.forked_process import run_in_forked_process

def load(name):
    __import__(name)
    return name in sys.modules, os.getpid()

def fail(error):
    raise error
"""


def tried(code: str) -> subprocess.CompletedProcess[str]:
    """A process that has run this."""
    return subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False, timeout=120)


def test_what_it_loads_is_not_loaded_here() -> None:
    done = tried(
        "loaded, pid = run_in_forked_process(load, 'wave'); print(loaded, pid != os.getpid(), 'wave' in sys.modules)"
    )
    assert (done.stdout, done.stderr) == ("True True False\n", "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("Invalid('no', places=(Place(('body',), 'bad'),))", "Invalid no (Place(loc=('body',), msg='bad'),)"),
        ("FileNotFoundError(2, 'none', 'file')", "FileNotFoundError [Errno 2] none: 'file' ()"),
    ],
)
def test_its_errors_are_raised_here(error: str, said: str) -> None:
    done = tried(
        f"try: run_in_forked_process(fail, {error})\n"
        "except (AppError, OSError) as raised: print(type(raised).__name__, raised, getattr(raised, 'places', ()))"
    )
    assert (done.stdout, done.stderr) == (f"{said}\n", "")


def test_of_a_mistake_it_says_what_and_this_process_ends() -> None:
    done = tried("run_in_forked_process(fail, ZeroDivisionError('a mistake')); print('went on')")
    assert done.returncode == 1
    assert "ZeroDivisionError: a mistake" in done.stderr
    assert not done.stdout


def test_a_process_that_is_told_to_stop_ends_its_copy() -> None:
    done = tried(
        "import signal, time\n"
        "signal.signal(signal.SIGALRM, lambda *_: sys.exit(7))\n"
        "signal.alarm(1)\n"
        "run_in_forked_process(time.sleep, 100)"
    )
    assert (done.returncode, done.stderr) == (7, "")
