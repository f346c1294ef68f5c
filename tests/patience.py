"""The service with patience: who waits for a lock or a connection gets it, however slow the machine is.

A service that people use gives up after a second or two and asks them to come again. On a machine that stands still for
as long, that would be the answer to any request of any test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from app.storage import db
from app.storage.recorder import answer_recorder

LONG = 60  # seconds
AS_SERVED = (db.POOL_TIMEOUT, db.CONNECT_TIMEOUT, answer_recorder.WAITS)


@contextmanager
def patient() -> Iterator[None]:
    """Applications and databases that are made meanwhile wait long."""
    pool, connect, waits = AS_SERVED
    longer, n = re.subn(r"_timeout=\d+", f"_timeout={LONG * 1000}", waits)
    assert n == 3, f"for a lock, for a statement, within a transaction: {waits}"
    with _bounds(max(pool, LONG), max(connect, LONG), longer):
        yield


@pytest.fixture(autouse=True, scope="module")
def patience() -> Iterator[None]:
    """No test is told that the service is busy because the machine is: here, not in processes of their own.

    For every test below a conftest that imports it.
    """
    with patient():
        yield


@contextmanager
def as_served() -> Iterator[None]:
    """Those that are made meanwhile wait as long as a service does: for tests of just that."""
    with _bounds(*AS_SERVED):
        yield


@contextmanager
def _bounds(pool: float, connect: int, waits: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as changed:
        for module in (db, answer_recorder):
            changed.setattr(module, "POOL_TIMEOUT", pool)
        changed.setattr(db, "CONNECT_TIMEOUT", connect)
        changed.setattr(answer_recorder, "WAITS", waits)
        yield


def soon(ask: Callable[[], float], within: float, *, tries: int = 3) -> bool:
    """Whether something takes less than so many seconds, at least once: a pause of the machine is no fault of ours.

    ask: do it, check the answer, and say how long it took, or whatever else is less where nobody is in the way.
    """
    return any(ask() < within for _ in range(tries))
