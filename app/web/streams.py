"""Answers that are sent as they are made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator

from anyio import CancelScope, to_thread
from fastapi.responses import StreamingResponse


def stream(pieces: Iterator[bytes], media_type: str, *, filename: str) -> StreamingResponse:
    """Send pieces in threads; what made them is closed whether or not the client stays to the end.

    filename: a key, so it needs no quoting.
    """
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
    return StreamingResponse(_sent(pieces), media_type=media_type, headers=headers)


async def _sent(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    try:
        while (piece := await to_thread.run_sync(next, pieces, b"")) != b"":
            yield piece
    finally:
        if isinstance(pieces, Generator):
            with CancelScope(shield=True):
                await to_thread.run_sync(pieces.close)
