"""Server-sent events: a client gets data again whenever they have changed.

A waiting stream holds no thread, no transaction and no connection. All clients that watch the same data share one
check, every two seconds at most, and all checks together use two threads. After a check, there is a pause ten times as
long as the check, so watching a large campaign takes at most about a tenth of the time. A stream ends when its client
leaves, when the credential or the watched object ends, when the server stops, and after ten minutes; the browser then
reconnects.
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
from app.web.admission import release_admission_slot
from app.web.problems import problem_response

STOPPING = "stopping"  # in the state of the application's lifespan: set once the server is stopping
MEDIA_TYPE = "text/event-stream"
MOST = 100  # streams per process
THREADS = 2
EVERY = 2.0  # seconds between two checks
PAUSE = 10  # the pause after a check, as a multiple of its duration
ALIVE = 15.0  # seconds of silence after which a stream sends a sign of life
LONGEST = 600.0  # seconds of one stream
AGAIN_MS = 3000  # milliseconds after which a browser reconnects
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """The current data. The same tag means the same body."""

    tag: str
    body: bytes


Look = Callable[[str | None], LiveSnapshot | None]
"""Returns the current data, or None if they still have this tag. Runs in a thread."""


@dataclass(slots=True)
class _SharedStream:
    """State shared by all clients that watch the same data."""

    watchers: int = 0
    seen: LiveSnapshot | None = None
    looked: float = 0.0
    took: float = 0.0
    task: asyncio.Task[LiveSnapshot] | None = None


class EventStreams:
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
        """Run some work in one of the few threads that all streams share."""
        if self._threads is None:
            self._threads = CapacityLimiter(THREADS)
        return await to_thread.run_sync(work, limiter=self._threads)

    async def stream_events(
        self, key: object, look: Look, may_stay: Callable[[], bool], stopping: asyncio.Event | None
    ) -> AsyncIterator[bytes]:
        """Yield the data, and again whenever they change."""
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
            pause = self.every
            try:
                seen = await self._latest(shared, look)
                if seen.tag != sent or time.monotonic() - said >= self.alive:
                    if not await self.run_in_thread(may_stay):
                        return
                    yield format_server_sent_event(seen) if seen.tag != sent else b": still here\n\n"
                    sent, said = seen.tag, time.monotonic()
            except Unavailable:
                pause = max(pause, min(PAUSE * shared.took, self.alive))
                yield b": not available now\n\n"
            except NotFound:  # the watched object was removed, perhaps with its whole organization
                return
            with anyio.move_on_after(pause):
                await stopping.wait()

    async def _latest(self, shared: _SharedStream, look: Look) -> LiveSnapshot:
        """Return the current data; one check serves all clients that wait at the same time."""
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
                try:
                    return look(known.tag if known is not None else None)
                finally:
                    shared.took = time.monotonic() - begun

            change = await self.run_in_thread(timed)
            if isinstance(change, LiveSnapshot):
                shared.seen = change
            shared.looked = time.monotonic()
            assert shared.seen is not None  # noqa: S101  (the first look knows no tag)
            return shared.seen
        finally:
            shared.task = None


def _ignore_result(task: asyncio.Task[LiveSnapshot]) -> None:
    """Mark an error as seen: waiting clients get it, and if all have left, nobody needs it."""
    if not task.cancelled():
        task.exception()


def format_server_sent_event(seen: LiveSnapshot) -> bytes:
    """Format one event: a name, and the body as its data. The JSON contains no line breaks.

    >>> format_server_sent_event(LiveSnapshot("t", b'{"a": 1}'))
    b'event: progress\\ndata: {"a": 1}\\n\\n'
    """
    return b"event: progress\ndata: " + seen.body + b"\n\n"


class EventStreamResponse(StreamingResponse):
    """A response of events, which counts against the limit of streams, not that of requests."""

    def __init__(
        self, live: EventStreams, key: object, look: Look, may_stay: Callable[[], bool], request: Request
    ) -> None:
        stopping: asyncio.Event | None = getattr(request.state, STOPPING, None)
        super().__init__(live.stream_events(key, look, may_stay, stopping), media_type=MEDIA_TYPE, headers=HEADERS)
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream, or 503 if the limit of streams is reached."""
        if self._live.open >= self._live.most:
            headers = {"Retry-After": "30"}
            title = "Too many streams at once"
            await problem_response(Request(scope), 503, title, kind="too-busy", headers=headers)(scope, receive, send)
            return
        self._live.open += 1
        release_admission_slot(scope)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._live.open -= 1
