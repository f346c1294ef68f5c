"""Answers that are sent as they are made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi.responses import StreamingResponse

MOST_HEAVY = 2  # pieces that take computing, made at a time by one process
_heavy: RunVar[CapacityLimiter] = RunVar("heavy streams")


def stream(pieces: Iterator[bytes], media_type: str, *, filename: str, heavy: bool = False) -> StreamingResponse:
    """Send pieces in threads; what made them is closed whether or not the client stays to the end.

    filename: a key, so it needs no quoting. heavy: making a piece takes computing, so however many ask, only a few are
    made at a time; who waits for the next holds no thread.
    """
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
    return StreamingResponse(_sent(pieces, heavy=heavy), media_type=media_type, headers=headers)


async def _sent(pieces: Iterator[bytes], *, heavy: bool) -> AsyncIterator[bytes]:
    limiter = _few() if heavy else None
    try:
        while (piece := await to_thread.run_sync(next, pieces, b"", limiter=limiter)) != b"":
            yield piece
    finally:
        if isinstance(pieces, Generator):
            with CancelScope(shield=True):
                await to_thread.run_sync(pieces.close)


def _few() -> CapacityLimiter:
    """The same for all heavy streams of an event loop."""
    try:
        return _heavy.get()
    except LookupError:
        _heavy.set(CapacityLimiter(MOST_HEAVY))
        return _heavy.get()
