"""What the supervisor does about a process that a signal has stopped."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from app.cli.serving.supervised_parts import HeartbeatTimeouts, SupervisedProcess
from app.storage.processes import is_process_suspended
from tests.working import until

LIMITS = HeartbeatTimeouts(stopped=4.0)


@pytest.fixture
def stopped() -> Iterator[SupervisedProcess]:
    """A part whose process a signal has just stopped."""
    part = SupervisedProcess(
        "part", [sys.executable, "-c", "import time; time.sleep(1000)"], environment={}, limits=LIMITS
    )
    part.check_and_mend(0.2, may_start=True)
    child = child_of(part)
    child.send_signal(signal.SIGSTOP)
    until(lambda: is_process_suspended(child.pid), "it stands still")
    yield part
    child.kill()
    part.ensure_stopped_within(0.1)


def child_of(part: SupervisedProcess) -> Any:
    assert part._process is not None
    return part._process


def test_who_is_stopped_is_let_go_on_after_a_while(stopped: SupervisedProcess) -> None:
    child = child_of(stopped)
    stopped.check_and_mend(3.9, may_start=True)
    assert is_process_suspended(child.pid), "somebody may look at it"
    stopped.check_and_mend(0.1, may_start=True)
    until(lambda: not is_process_suspended(child.pid), "it goes on")
    stopped.check_and_mend(4.0, may_start=True)
    assert child_of(stopped) is child
    assert child.poll() is None


def test_who_does_not_go_on_is_ended_and_started_again(
    stopped: SupervisedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = child_of(stopped)
    send = child.send_signal
    monkeypatch.setattr(child, "send_signal", lambda number: number == signal.SIGCONT or send(number))
    stopped.check_and_mend(7.9, may_start=True)
    assert child.poll() is None
    stopped.check_and_mend(0.1, may_start=True)
    assert child.poll() == -signal.SIGKILL
    assert stopped.condition.reason == "it was stopped by a signal"
