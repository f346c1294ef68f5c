"""Check whether the server still answers, so that no code waits for one that hangs with its connections open.

A frozen server (its processes are stopped, or the whole machine is) neither refuses statements nor closes connections.
A client that has sent a statement then waits for ever, and on a Unix socket no system setting limits this wait. A limit
on each statement would not help, because some statements rightly take minutes. Therefore a probe repeats a small query
on its own connection. While the query gets no answer, all waiting code gets an error, and new requests get it at once.
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

from app.storage.connections import AsyncConnectionWithStartupOptions, ConnectionWithStartupOptions

EVERY = 0.4  # seconds between an answer and the next question
ANSWER_WITHIN = 1.0  # seconds; with the pause and the driver's check every tenth of a second, less than 2
CONNECT_WITHIN = 2  # seconds, the smallest value that libpq accepts
LOOK_EVERY = 0.1  # seconds between two checks while a connection waits
SILENT = "the server does not answer"
T = TypeVar("T")


class DatabaseLivenessProbe:
    """Probes from a separate thread whether a server answers, until closed. options: of the connection."""

    def __init__(self, url: str, options: str = "") -> None:
        self.silent = False
        self._url, self._options = url, options
        self._closed = False
        self._beats = 0
        self._beaten, self._wanted = threading.Condition(), threading.Event()
        self._thread = threading.Thread(target=self._ask_on, name="pulse", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the probe."""
        self._closed = True
        self._wanted.set()
        self._thread.join(ANSWER_WITHIN + CONNECT_WITHIN)

    def wait_for_answer(self) -> None:
        """Return once the server has answered or refused after this call. Raises OperationalError if it is silent.

        Code that opens a connection calls this first, because the driver waits for a new connection without any check.
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
            except psycopg.Error:  # it refuses, so it is not silent: the next statement gets this error at once
                self._report_change(silent=False)
        if connection is not None:
            connection.close()

    def _report_change(self, *, silent: bool) -> None:
        with self._beaten:
            self.silent = silent
            self._beats += 1
            self._beaten.notify_all()

    def _ask_database(self, connection: ProbedConnection | None) -> ProbedConnection:
        """Query on the connection, or on a new one if it is closed. Raises ConnectionTimeout or a psycopg error."""
        if connection is not None and not connection.closed:
            with suppress(psycopg.OperationalError):  # ended by an administrator or lost: try a new connection
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


class ProbedConnection(ConnectionWithStartupOptions):
    """A connection that stops waiting when its probe fails. limit: in addition, the longest wait in seconds."""

    pulse: DatabaseLivenessProbe | None = None
    limit: float | None = None
    limit_passed = False

    def wait(self, gen: PQGen[T], interval: float = LOOK_EVERY, timeout: float | None = None) -> T:
        """Wait for the server. If it does not answer, close the connection and raise OperationalError."""
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


class ProbedAsyncConnection(AsyncConnectionWithStartupOptions):
    """The asynchronous counterpart of `ProbedConnection`, for the event loop."""

    pulse: DatabaseLivenessProbe | None = None

    async def wait(self, gen: PQGen[T], interval: float = LOOK_EVERY, timeout: float | None = None) -> T:
        """Wait for the server. If it does not answer, close the connection and raise OperationalError."""

        def look() -> None:
            if self.pulse is not None and self.pulse.silent:
                self.pgconn.finish()
                raise psycopg.OperationalError(SILENT)

        return await super().wait(_waiting(gen, look), interval, timeout)


def _waiting(gen: PQGen[T], look: Callable[[], None]) -> Generator[Any, Any, T]:
    """Run the driver's generator, and call `look` whenever nothing has arrived for a while."""
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
