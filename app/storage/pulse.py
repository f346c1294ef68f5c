"""Whether the server still answers, so that nobody waits for one that has stopped and yet keeps its connections.

A server that is frozen (stopped, or its machine is) refuses nothing and ends nothing: who has sent it a statement waits
for ever, and on a Unix socket no setting of the system bounds that. A limit on each statement is no way out, for some
rightly take minutes. So one small question is asked over and over on a connection of its own; while it is not answered,
everybody who waits is told so, and whoever comes is told at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen
from psycopg.waiting import Ready

from app.storage.connections import ConfiguredAsyncConnection, ConfiguredConnection

EVERY = 0.4  # seconds between an answer and the next question
ANSWER_WITHIN = 1.0  # seconds; with the pause, and a look of the driver in a tenth of a second, less than 2
CONNECT_WITHIN = 2  # seconds, the least that libpq knows
LOOK_EVERY = 0.1  # seconds, of whoever waits
SILENT = "the server does not answer"
T = TypeVar("T")


class DatabaseLivenessProbe:
    """Asks a server whether it answers, from a thread of its own, until closed. options: of the connection."""

    def __init__(self, url: str, options: str = "") -> None:
        self.silent = False
        self._url, self._options = url, options
        self._closed = False
        self._beats = 0
        self._beaten, self._wanted = threading.Condition(), threading.Event()
        self._thread = threading.Thread(target=self._ask_on, name="pulse", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ask no more."""
        self._closed = True
        self._wanted.set()
        self._thread.join(ANSWER_WITHIN + CONNECT_WITHIN)

    def wait_for_answer(self) -> None:
        """Return once the server has answered, or refused, after this call. Raises OperationalError where it is silent.

        Whoever connects asks first, for the driver waits for a connection without a look.
        """
        with self._beaten:
            begun = self._beats
            self._wanted.set()
            self._beaten.wait_for(lambda: self.silent or self._beats > begun, 2 * ANSWER_WITHIN)
            if self.silent or self._beats == begun:
                raise psycopg.OperationalError(SILENT)

    def _ask_on(self) -> None:
        connection: ProbedConnection | None = None
        while not self._closed:
            self._wanted.wait(EVERY)
            self._wanted.clear()
            try:
                connection = self._ask_database(connection)
                self._report_change(silent=False)
            except errors.ConnectionTimeout:
                self._report_change(silent=True)
            except psycopg.Error:  # it refuses, so it is not silent: whoever asks it something hears that at once
                self._report_change(silent=False)
        if connection is not None:
            connection.close()

    def _report_change(self, *, silent: bool) -> None:
        with self._beaten:
            self.silent = silent
            self._beats += 1
            self._beaten.notify_all()

    def _ask_database(self, connection: ProbedConnection | None) -> ProbedConnection:
        """Ask on the connection, or on a new one where that has ended. Raises ConnectionTimeout, or psycopg's error."""
        if connection is not None and not connection.closed:
            with suppress(psycopg.OperationalError):  # ended by an administrator, or lost: is another to be had?
                connection.execute("SELECT 1")
                return connection
            if connection.limit_passed:
                self._report_change(silent=True)
        made = ProbedConnection.connect(
            self._url, connect_timeout=CONNECT_WITHIN, autocommit=True, options=self._options, prepare_threshold=None
        )
        made.limit = ANSWER_WITHIN
        made.execute("SELECT 1")
        return made


class ProbedConnection(ConfiguredConnection):
    """A connection that waits no longer than its pulse beats. limit: the longest wait in seconds, beside that."""

    pulse: DatabaseLivenessProbe | None = None
    limit: float | None = None
    limit_passed = False

    def wait(self, gen: PQGen[T], interval: float = LOOK_EVERY, timeout: float | None = None) -> T:
        """Wait for the server. Raises OperationalError, and is closed then, where it is silent."""
        return super().wait(_waiting(gen, self._is_over()), interval, timeout)

    def _is_over(self) -> Callable[[], None]:
        until = None if self.limit is None else time.monotonic() + self.limit

        def look() -> None:
            if until is not None and time.monotonic() > until:
                self.limit_passed = True
            elif self.pulse is None or not self.pulse.silent:
                return
            self.pgconn.finish()
            raise psycopg.OperationalError(SILENT)

        return look


class ProbedAsyncConnection(ConfiguredAsyncConnection):
    """The same for the event loop."""

    pulse: DatabaseLivenessProbe | None = None

    async def wait(self, gen: PQGen[T], interval: float = LOOK_EVERY, timeout: float | None = None) -> T:
        """Wait for the server. Raises OperationalError, and is closed then, where it is silent."""

        def look() -> None:
            if self.pulse is not None and self.pulse.silent:
                self.pgconn.finish()
                raise psycopg.OperationalError(SILENT)

        return await super().wait(_waiting(gen, look), interval, timeout)


def _waiting(gen: PQGen[T], look: Callable[[], None]) -> Generator[Any, Any, T]:
    """What the driver waits for, with a look whenever nothing has come for a while."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready == Ready.NONE:
                look()
            wanted = gen.send(ready)
    except StopIteration as ended:
        outcome: T = ended.value
        return outcome
