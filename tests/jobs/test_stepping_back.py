"""P12: who computes takes what raters leave, and where the kernel weighs sessions, in a session that weighs least."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from app.jobs import computing


def stepped_back(*, yielding: bool) -> tuple[int, int, bool]:
    """Of a child that has stepped back: by how much it is nicer, its class, and whether its session is its own."""
    reader, writer = os.pipe()
    before, child = os.nice(0), os.fork()
    if child == 0:
        computing._step_back(yielding=yielding)
        os.write(writer, pickle.dumps((os.nice(0) - before, os.sched_getscheduler(0), os.getsid(0) == os.getpid())))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        nice, kind, own = pickle.load(pipe)  # noqa: S301, from our own child
    return int(nice), int(kind), bool(own)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the kernel's word about sessions stands, made up."""
    monkeypatch.setattr(computing, "AUTOGROUPS", tmp_path / "enabled")
    monkeypatch.setattr(computing, "AUTOGROUP", tmp_path / "session")
    return tmp_path


def test_where_sessions_are_weighed_who_computes_has_one_of_the_least_weight(groups: Path) -> None:
    (groups / "enabled").write_text("1\n")
    assert stepped_back(yielding=True) == (computing.NICEST - os.nice(0), os.SCHED_OTHER, True)
    assert (groups / "session").read_text() == str(computing.NICEST)


@pytest.mark.parametrize("said", ["0\n", None])
def test_elsewhere_who_computes_is_of_the_idle_class(groups: Path, said: str | None) -> None:
    if said is not None:
        (groups / "enabled").write_text(said)
    assert stepped_back(yielding=True) == (computing.NICE, os.SCHED_IDLE, False)
    assert not (groups / "session").exists()


def test_where_nobody_judges_who_computes_is_only_nice(groups: Path) -> None:
    (groups / "enabled").write_text("1\n")
    assert stepped_back(yielding=False) == (computing.NICE, os.SCHED_OTHER, False)


def test_the_kernel_takes_the_weight_of_a_session() -> None:
    if not computing.AUTOGROUPS.exists() or computing.AUTOGROUPS.read_text().strip() != "1":
        pytest.skip("this kernel does not weigh sessions")
    assert stepped_back(yielding=True) == (computing.NICEST - os.nice(0), os.SCHED_OTHER, True)
