"""Server-sent events: what somebody watches, sent again whenever it has changed.

A stream holds no thread, no transaction and no connection while it waits. All who watch the same share one look at it,
every two seconds at most, and all looks together have two threads. After a look there is a pause of ten times as long
as it took, so that watching a large campaign takes a tenth of the time at most. A stream ends when its client leaves,
when the credential or what is watched ends, when the server stops, and after ten minutes, after which a browser comes
again by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.domain.errors import NotFound, Unavailable
from app.web.admission import release_slot
from app.web.problems import problem_response

STOPPING = "stopping"  # in the state of the application's lifespan: set once the server stops
MEDIA_TYPE = "text/event-stream"
MOST = 100  # streams of one process
THREADS = 2
EVERY = 2.0  # seconds between two looks
PAUSE = 10  # times as long as a look took
ALIVE = 15.0  # seconds after which a silent stream says that it is there
LONGEST = 600.0  # seconds of one stream
AGAIN_MS = 3000  # after which a browser comes again
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """What there is now. tag: the same tag is the same body."""

    tag: str
    body: bytes


Look = Callable[[str | None], LiveSnapshot | None]
"""What there is now; None where it has this tag still. Done in a thread."""


@dataclass(slots=True)
class _SharedStream:
    """What all who watch the same thing share."""

    watchers: int = 0
    seen: LiveSnapshot | None = None
    looked: float = 0.0
    took: float = 0.0
    task: asyncio.Task[LiveSnapshot] | None = None


class LiveStreams:
    """The streams of one process."""

    def __init__(
        self, *, most: int = MOST, every: float = EVERY, alive: float = ALIVE, longest: float = LONGEST
    ) -> None:
        self.most = most
        self.every = every
        self.alive = alive
        self.longest = longest
        self.open = 0
        self.looks = 0
        self._shared: dict[object, _SharedStream] = {}
        self._threads: CapacityLimiter | None = None

    async def run_in_thread(self, work: Callable[[], object]) -> object:
        """Do some work in one of the few threads that all streams have."""
        if self._threads is None:
            self._threads = CapacityLimiter(THREADS)
        return await to_thread.run_sync(work, limiter=self._threads)

    async def stream_events(
        self, key: object, look: Look, may_stay: Callable[[], bool], stopping: asyncio.Event | None
    ) -> AsyncIterator[bytes]:
        """What there is, and again whenever it changes."""
        shared = self._shared.setdefault(key, _SharedStream())
        shared.watchers += 1
        try:
            async for piece in self._stream_events(shared, look, may_stay, stopping or asyncio.Event()):
                yield piece
        finally:
            shared.watchers -= 1
            if not shared.watchers and self._shared.get(key) is shared:
                del self._shared[key]

    async def _stream_events(
        self, shared: _SharedStream, look: Look, may_stay: Callable[[], bool], stopping: asyncio.Event
    ) -> AsyncIterator[bytes]:
        sent, until = None, time.monotonic() + self.longest
        said = time.monotonic()
        yield f"retry: {AGAIN_MS}\n\n".encode()
        while not stopping.is_set() and time.monotonic() < until:
            try:
                seen = await self._latest(shared, look)
                if seen.tag != sent or time.monotonic() - said >= self.alive:
                    if not await self.run_in_thread(may_stay):
                        return
                    yield format_server_sent_event(seen) if seen.tag != sent else b": still here\n\n"
                    sent, said = seen.tag, time.monotonic()
            except Unavailable:
                yield b": the database is away\n\n"
            except NotFound:  # what was watched was removed, perhaps with its whole organization
                return
            with anyio.move_on_after(self.every):
                await stopping.wait()

    async def _latest(self, shared: _SharedStream, look: Look) -> LiveSnapshot:
        """What there is, as one look found it for all who wait at the same time."""
        pause = max(self.every / 2, PAUSE * shared.took)
        if shared.seen is not None and time.monotonic() - shared.looked < pause:
            return shared.seen
        if shared.task is None:
            shared.task = asyncio.create_task(self._read_state(shared, look))
            shared.task.add_done_callback(_ignore_result)
        return await asyncio.shield(shared.task)

    async def _read_state(self, shared: _SharedStream, look: Look) -> LiveSnapshot:
        try:
            known = shared.seen
            self.looks += 1

            def timed() -> LiveSnapshot | None:
                begun = time.monotonic()
                change = look(known.tag if known is not None else None)
                shared.took = time.monotonic() - begun
                return change

            change = await self.run_in_thread(timed)
            if isinstance(change, LiveSnapshot):
                shared.seen = change
            shared.looked = time.monotonic()
            assert shared.seen is not None  # noqa: S101  (the first look knows no tag)
            return shared.seen
        finally:
            shared.task = None


def _ignore_result(task: asyncio.Task[LiveSnapshot]) -> None:
    """Whoever waits is told of an error; where all have left, nobody is to be."""
    if not task.cancelled():
        task.exception()


def format_server_sent_event(seen: LiveSnapshot) -> bytes:
    """One event: a name, and the body as its data. JSON has no line breaks of its own.

    >>> format_server_sent_event(LiveSnapshot("t", b'{"a": 1}'))
    b'event: progress\\ndata: {"a": 1}\\n\\n'
    """
    return b"event: progress\ndata: " + seen.body + b"\n\n"


class EventStreamResponse(StreamingResponse):
    """An answer of events, with a place among the streams instead of one among the requests."""

    def __init__(
        self, live: LiveStreams, key: object, look: Look, may_stay: Callable[[], bool], request: Request
    ) -> None:
        stopping: asyncio.Event | None = getattr(request.state, STOPPING, None)
        super().__init__(live.stream_events(key, look, may_stay, stopping), media_type=MEDIA_TYPE, headers=HEADERS)
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream, or say 503 where there are as many streams as there may be."""
        if self._live.open >= self._live.most:
            headers = {"Retry-After": "30"}
            title = "Too many streams at once"
            await problem_response(Request(scope), 503, title, kind="too-busy", headers=headers)(scope, receive, send)
            return
        self._live.open += 1
        release_slot(scope)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._live.open -= 1
