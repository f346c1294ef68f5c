"""The recorder: apart from `storage.db`, the only place that commits; it serves the hot routes.

All answers waiting for one campaign are written with one statement and one commit, and each gets its response after
this commit. A flush takes what arrived during the one before it. It waits a moment for more only if more is about to
come (`app.storage.recorder.flush_delay`). After an error, each member is tried again alone, so a bad answer never makes
others fail. When a connection breaks, the flush is repeated: every statement here may be executed twice.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from app.domain.errors import AppError, Unavailable
from app.storage.current_organization import (
    DEFAULT,
    organization_number_from_row_id,
    pin_current_organization,
    search_path_statement,
    use_organization,
)
from app.storage.db import POOL_TIMEOUT, DatabaseBusy, DatabaseDown, make_sqlalchemy_url, translate_database_errors
from app.storage.liveness_probe import SILENT, DatabaseLivenessProbe, ProbedAsyncConnection
from app.storage.recorder.flush_delay import ENOUGH, RecentAnswerSenders
from app.storage.recorder.judgments import (
    STORED,
    AnswerOutcome,
    CampaignWriteTarget,
    Connection,
    RaterAnswer,
    prepare_write_connection,
    write_judgments,
)

MOST = 64
WAITING = 2048  # members waiting in all campaigns together
SHARING = 0.04  # seconds that an answer waits for others at most
KNOWN_LANES = 1000  # number of queues whose last arrivals are kept
AGAINST_EACH_OTHER = "40"  # SQLSTATE class of deadlocks
OTHERS_TURN = 0.1  # seconds for the other transaction to take its locks; retries without a pause met it again
RAW = AsyncConnectionPool[ProbedAsyncConnection]
LaneKey = tuple[str, int, int]  # what is written, for which campaign, under which version of its settings
T = TypeVar("T")
M = TypeVar("M")

# Every look-up in these statements is by key. A planner without statistics would scan small tables, keep that plan, and
# still use it after the tables have grown.
PLANS = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan"
WAITS = "-c lock_timeout=1500 -c statement_timeout=8000 -c idle_in_transaction_session_timeout=10000"


class RecorderShuttingDown(Unavailable):
    """The service is stopping."""

    published = "ShuttingDown"


@dataclass(slots=True)
class WriteRequest(Generic[M, T]):
    """What one request wants to write. all_or_nothing: alone in its flush, and stored whole or not at all."""

    members: Sequence[M]
    actor: str
    all_or_nothing: bool
    done: asyncio.Future[list[T]]


@dataclass(slots=True)
class CampaignWriteQueue(Generic[M, T]):
    """The requests that wait for one campaign, and how to flush them. address: a key, unique within a flush.

    at_once: a flush is one statement, which is a transaction by itself unless a roll-back of the whole may be needed.
    sharing: seconds that the first member waits for others at most. timer: starts the flush after this time.
    kind: of what is written.
    """

    flush: Callable[[Connection, Sequence[M], str], Awaitable[list[T]]]
    address: Callable[[M], object]
    stored: Callable[[T], bool]
    at_once: bool = False
    sharing: float = SHARING
    kind: str = ""
    waiting: deque[WriteRequest[M, T]] = field(default_factory=deque)
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None

    @property
    def has_enough_to_flush(self) -> bool:
        """Whether the waiting requests deserve a flush of their own."""
        return len(self.waiting) >= ENOUGH or self.waiting[0].all_or_nothing

    def take_next_flush(self, most: int) -> list[WriteRequest[M, T]]:
        """Take the first members that fit into one flush."""
        if self.waiting[0].all_or_nothing:
            return [self.waiting.popleft()]
        taken: list[WriteRequest[M, T]] = []
        addresses: set[object] = set()
        while self.waiting and len(taken) < most and not self.waiting[0].all_or_nothing:
            at = self.address(self.waiting[0].members[0])
            if at in addresses:
                break
            addresses.add(at)
            taken.append(self.waiting.popleft())
        return taken


class AnswerRecorder:
    """Writes the data of the hot routes. size: connections. most: members of one flush. pulse: probe of the server.

    on_flush: is called after each commit with the kind of data, the number of members, and the seconds it took.
    """

    def __init__(
        self,
        url: str,
        *,
        role: str | None = None,
        size: int = 4,
        most: int = MOST,
        pulse: DatabaseLivenessProbe | None = None,
        on_flush: Callable[[str, int, float], None] = lambda _kind, _n, _seconds: None,
    ) -> None:
        self.most = most
        self.on_flush = on_flush
        self.pulse = pulse
        self.flushes = 0
        self.members = 0
        self._lanes: dict[LaneKey, CampaignWriteQueue[Any, Any]] = {}
        self._arrivals: OrderedDict[LaneKey, RecentAnswerSenders] = OrderedDict()
        self._waiting = 0
        self._closing = False
        options = f"-c timezone=UTC {PLANS} {WAITS}" + (f" -c role={role}" if role else "")
        self._url = make_sqlalchemy_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._given = {"options": options, "connect_timeout": 2, "autocommit": True}
        self._size = size
        self._opened: RAW | None = None

    async def open(self) -> None:
        """Begin to connect; if the database is down, callers wait for it later."""
        self._closing = False
        self._opened = AsyncConnectionPool(
            self._url,
            min_size=1,
            max_size=self._size,
            open=False,
            timeout=POOL_TIMEOUT,
            reconnect_timeout=POOL_TIMEOUT,
            max_waiting=WAITING,
            connection_class=ProbedAsyncConnection,
            configure=self._prepare,
            kwargs=self._given,
        )
        await self._opened.open(wait=False)

    async def _prepare(self, connection: ProbedAsyncConnection) -> None:
        """Prepare a new connection for its work."""
        connection.pulse = self.pulse
        await prepare_write_connection(connection)

    @property
    def _pool(self) -> RAW:
        """The connections. Raises RecorderShuttingDown if the pool is not open."""
        if self._opened is None:
            raise RecorderShuttingDown(retry_after=2)
        return self._opened

    def _expect_answers(self) -> None:
        """Raise DatabaseDown at once if the server is known not to answer."""
        if self.pulse is not None and self.pulse.silent:
            raise DatabaseDown(SILENT, retry_after=1)

    async def close(self) -> None:
        """Write what is waiting, then close the connections."""
        self._closing = True
        for key, lane in self._lanes.items():
            self._start(key, lane)
        under_way = [lane.task for lane in self._lanes.values() if lane.task is not None]
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._pool.close()
        self._opened = None

    async def record_answers(
        self, write_target: CampaignWriteTarget, answers: Sequence[RaterAnswer], *, actor: str, all_or_nothing: bool
    ) -> list[AnswerOutcome]:
        """Record answers, in their order. all_or_nothing: all of them, or none if one cannot be stored.

        Raises Unavailable, StorageFull, Conflict or Invalid if the database refuses.
        """

        async def flush(connection: Connection, wants: Sequence[RaterAnswer], by: str) -> list[AnswerOutcome]:
            return await write_judgments(connection, write_target, wants, by)

        def lane() -> CampaignWriteQueue[RaterAnswer, AnswerOutcome]:
            return CampaignWriteQueue(
                flush, lambda answer: answer.key_in_flush, lambda outcome: outcome.verdict in STORED, at_once=True
            )

        return await self.queue_and_await_flush(
            ("judgments", *write_target.flush_group_key), lane, answers, actor=actor, all_or_nothing=all_or_nothing
        )

    async def queue_and_await_flush(
        self,
        key: LaneKey,
        make_queue: Callable[[], CampaignWriteQueue[M, T]],
        members: Sequence[M],
        *,
        actor: str,
        all_or_nothing: bool,
    ) -> list[T]:
        """Join a queue and wait until the flush; return its results."""
        if self._closing:
            raise RecorderShuttingDown(retry_after=2)
        if self._waiting >= WAITING:
            raise DatabaseBusy(retry_after=1)
        lane: CampaignWriteQueue[M, T] = self._lanes.setdefault(key, make_queue())
        lane.kind = key[0]
        done: asyncio.Future[list[T]] = asyncio.get_running_loop().create_future()
        lane.waiting.append(WriteRequest(members, actor, all_or_nothing, done))
        self._waiting += 1
        arrivals = self._note_arrival(key, lane, actor)
        if lane.has_enough_to_flush or not arrivals.expects_more_soon:
            self._start(key, lane)
        elif lane.task is None and lane.timer is None:
            self._start_later(key, lane)
        return await done

    def _note_arrival(self, key: LaneKey, lane: CampaignWriteQueue[M, T], actor: str) -> RecentAnswerSenders:
        """Note an arrival and return the latest arrivals of a queue, which outlive the queue."""
        arrivals = self._arrivals.get(key)
        if arrivals is None:
            arrivals = self._arrivals[key] = RecentAnswerSenders(lane.sharing)
            if len(self._arrivals) > KNOWN_LANES:
                self._arrivals.popitem(last=False)
        arrivals.record(actor)
        return arrivals

    def _start(self, key: LaneKey, lane: CampaignWriteQueue[M, T]) -> None:
        """Flush what is waiting, unless a flush is under way."""
        if lane.timer is not None:
            lane.timer.cancel()
            lane.timer = None
        if lane.task is None:
            # Needed because a timer, for example, may call this.
            with use_organization(organization_number_from_row_id(key[1])):
                lane.task = asyncio.create_task(self._drain(key, lane))

    def _start_later(self, key: LaneKey, lane: CampaignWriteQueue[M, T]) -> None:
        """Flush after others have had time to arrive."""
        lane.timer = asyncio.get_running_loop().call_later(lane.sharing, self._start, key, lane)

    def _shares(self, key: LaneKey, lane: CampaignWriteQueue[M, T]) -> bool:
        """Tell whether requests that arrived during a flush should wait for more."""
        arrivals = self._arrivals.get(key)
        return (
            not self._closing and arrivals is not None and arrivals.expects_more_soon and not lane.has_enough_to_flush
        )

    async def _drain(self, key: LaneKey, lane: CampaignWriteQueue[M, T]) -> None:
        try:
            while lane.waiting:
                members = lane.take_next_flush(self.most)
                self._waiting -= len(members)
                began = time.monotonic()
                try:
                    await self._answer(lane, members)
                finally:
                    if key in self._arrivals:
                        self._arrivals[key].flush_seconds = time.monotonic() - began
                    for member in members:
                        if not member.done.done():
                            member.done.set_exception(RecorderShuttingDown(retry_after=1))
                if lane.waiting and self._shares(key, lane):
                    lane.task = None
                    self._start_later(key, lane)
                    return
        finally:
            if lane.timer is None:
                self._end(key, lane)

    def _end(self, key: LaneKey, lane: CampaignWriteQueue[M, T]) -> None:
        """Remove a queue; requests still waiting there, after an error, get an exception."""
        del self._lanes[key]
        for member in lane.waiting:
            _set_error(member.done, RecorderShuttingDown(retry_after=1))
        self._waiting -= len(lane.waiting)

    async def _answer(self, lane: CampaignWriteQueue[M, T], members: list[WriteRequest[M, T]]) -> None:
        """Flush some members and set their results; after an error that no single one explains, flush each alone."""
        try:
            results = await self._flush(lane, members)
        except AppError as error:
            if len(members) == 1 or isinstance(error, Unavailable):
                for member in members:
                    _set_error(member.done, error)
                return
            for member in members:
                await self._answer(lane, [member])
            return
        for member in members:
            count = len(member.members)
            mine, results = results[:count], results[count:]
            if not member.done.done():
                member.done.set_result(mine)

    async def _flush(self, lane: CampaignWriteQueue[M, T], members: list[WriteRequest[M, T]]) -> list[T]:
        wants = [want for member in members for want in member.members]
        actors = {member.actor for member in members}
        actor = actors.pop() if len(actors) == 1 else "raters"
        self.flushes += 1
        self.members += len(members)

        async def work(connection: Connection) -> list[T]:
            return await lane.flush(connection, wants, actor)

        def keep(results: list[T]) -> bool:
            return not members[0].all_or_nothing or all(map(lane.stored, results))

        begun = time.monotonic()
        results = await self.run_transaction(work, keep=keep, at_once=lane.at_once and not members[0].all_or_nothing)
        self.on_flush(lane.kind, len(wants), time.monotonic() - begun)
        return results

    async def run_transaction(
        self,
        work: Callable[[Connection], Awaitable[T]],
        *,
        keep: Callable[[T], bool] = lambda _: True,
        at_once: bool = False,
    ) -> T:
        """Run some work in one transaction and commit it; roll it back if `keep` rejects the result.

        at_once: the work is one statement, so in the default organization it needs no BEGIN and COMMIT.

        If a broken connection interrupts the work, or another transaction conflicts with it, the work runs once more,
        so it must be repeatable. Raises Unavailable if the conflict recurs; the data sent are then not at fault.
        """
        with translate_database_errors():
            try:
                return await self._run_flush(work, keep, at_once)
            except psycopg.OperationalError as error:
                state = error.sqlstate or "08"
                if not state.startswith(("08", "57P", AGAINST_EACH_OTHER)):
                    raise
                self._expect_answers()
            if state.startswith(AGAINST_EACH_OTHER):
                await asyncio.sleep(OTHERS_TURN)
            else:
                with _no_connection():
                    await self._pool.check()
            try:
                return await self._run_flush(work, keep, at_once)
            except psycopg.OperationalError as error:
                if (error.sqlstate or "").startswith(AGAINST_EACH_OTHER):
                    raise DatabaseBusy(retry_after=1) from error
                raise

    async def _run_flush(
        self, work: Callable[[Connection], Awaitable[T]], keep: Callable[[T], bool], at_once: bool
    ) -> T:
        organization = pin_current_organization()
        async with self.open_reading_connection() as connection:
            if at_once and organization == DEFAULT:
                return await work(connection)
            try:
                await connection.execute("BEGIN")
                if organization != DEFAULT:
                    await connection.execute(search_path_statement(organization).encode(), prepare=False)
                result = await work(connection)
                await connection.execute("COMMIT" if keep(result) else "ROLLBACK", prepare=False)
            except BaseException:
                with suppress(psycopg.Error):  # the connection may be lost, and the transaction with it
                    await connection.rollback()
                raise
        return result

    @asynccontextmanager
    async def open_reading_connection(self) -> AsyncIterator[Connection]:
        """Yield a connection in autocommit mode, for reading."""
        pool = self._pool  # a closed pool closes connections that are returned to it
        self._expect_answers()
        with _no_connection():
            connection = await pool.getconn()
        try:
            yield connection
        finally:
            await pool.putconn(connection)


class _no_connection:  # noqa: N801  (a context manager, like contextlib's)
    """Translate the error for a connection that could not be had into our own."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PoolTimeout):
            raise DatabaseDown(retry_after=1) from error


def _set_error(done: asyncio.Future[Any], error: AppError) -> None:
    if not done.done():
        done.set_exception(error)
