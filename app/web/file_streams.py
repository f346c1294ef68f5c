"""Files that are sent while they are made.

The first pieces are made before the headers are sent, so that most errors still get a proper status. A file that ends
within them is sent with its length. A later error closes the connection without the last chunk, which no client takes
for the end. HTTP/1.0 has no chunks, and its clients would take a truncated file for a complete one. These clients (a
proxy, by default) get files that are finished first, on disk if they are large.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

MOST_HEAVY = 2  # pieces that need computing, made at a time by one process
FIRST = 1 << 16  # bytes made before the headers are sent
IN_MEMORY = 4 << 20  # bytes; anything more waits on disk
BLOCK = 1 << 18
_heavy: RunVar[CapacityLimiter] = RunVar("heavy streams")


class FileStreamResponse(StreamingResponse):
    """A file that is sent while it is made. Its headers are sent once the first pieces exist."""

    def __init__(self, made: AsyncGenerator[bytes, None], media_type: str, headers: dict[str, str]) -> None:
        super().__init__(made, media_type=media_type, headers=headers)
        self._made = made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Make the first pieces, or all of them, and send them. Raises the errors of making them."""
        most = FIRST if scope.get("http_version", "1.1") != "1.0" else None
        held = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  (closed by who sends)
        try:
            ended = await _fill(held, self._made, most)
        except BaseException:
            held.close()
            raise
        if ended:
            self.headers["Content-Length"] = str(held.tell())
        self.body_iterator = _held_then_rest(held, self._made)
        await super().__call__(scope, receive, send)


def stream_response(
    pieces: Iterator[bytes], media_type: str, *, filename: str, heavy: bool = False
) -> StreamingResponse:
    """Send pieces made in threads; their source is closed whether or not the client stays to the end.

    filename: a key, so it needs no quoting. heavy: making a piece needs computing, so only a few are made at a time,
    however many clients there are; waiting for the next piece holds no thread.
    """
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
    return FileStreamResponse(_stream_pieces(pieces, heavy=heavy), media_type, headers)


async def _fill(held: tempfile.SpooledTemporaryFile[bytes], pieces: AsyncIterator[bytes], most: int | None) -> bool:
    """Take pieces up to a number of bytes, None for all; return whether this was the end."""
    async for piece in pieces:
        held.write(piece)
        if most is not None and held.tell() >= most:
            return False
    return True


async def _held_then_rest(
    held: tempfile.SpooledTemporaryFile[bytes], rest: AsyncGenerator[bytes, None]
) -> AsyncIterator[bytes]:
    """Yield the held bytes, then the rest."""
    try:
        with held:
            held.seek(0)
            while block := held.read(BLOCK):
                yield block
        async for piece in rest:
            yield piece
    except OSError as fault:  # otherwise it would look as if the client had gone
        raise RuntimeError("the file could not be made to its end") from fault
    finally:
        with CancelScope(shield=True):
            await rest.aclose()


async def _stream_pieces(pieces: Iterator[bytes], *, heavy: bool) -> AsyncGenerator[bytes, None]:
    limiter = _heavy_stream_limit() if heavy else None
    try:
        while (piece := await to_thread.run_sync(next, pieces, None, limiter=limiter)) is not None:
            yield piece
    finally:
        if isinstance(pieces, Generator):
            with CancelScope(shield=True):
                await to_thread.run_sync(pieces.close)


def _heavy_stream_limit() -> CapacityLimiter:
    """Return the limit shared by all heavy streams of an event loop."""
    try:
        return _heavy.get()
    except LookupError:
        _heavy.set(CapacityLimiter(MOST_HEAVY))
        return _heavy.get()
