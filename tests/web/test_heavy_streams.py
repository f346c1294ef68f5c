"""Files that are sent as they are made: only a few that take computing at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import anyio

from app.web.streams import MOST_HEAVY, stream

STREAMS, PIECES = 8, 4


class Kitchen:
    """Makes pieces, and knows how many were being made at once."""

    def __init__(self) -> None:
        self._lock, self._now = threading.Lock(), 0
        self.most = 0

    def pieces(self) -> Iterator[bytes]:
        for n in range(PIECES):
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
            time.sleep(0.01)
            with self._lock:
                self._now -= 1
            yield b"%d" % n


def taken(*, heavy: bool) -> tuple[int, list[bytes]]:
    """How many pieces were made at once, and what came of all streams."""
    kitchen, came = Kitchen(), list[bytes]()

    async def take() -> None:
        answer = stream(kitchen.pieces(), "text/plain", filename="a", heavy=heavy)
        came.append(b"".join([bytes(piece) async for piece in answer.body_iterator]))

    async def all_at_once() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(STREAMS):
                group.start_soon(take)

    anyio.run(all_at_once)
    return kitchen.most, came


def test_a_few_heavy_streams_are_made_at_a_time_and_all_of_them_whole() -> None:
    most, came = taken(heavy=True)
    assert most <= MOST_HEAVY
    assert came == [b"0123"] * STREAMS
    assert taken(heavy=False)[0] > MOST_HEAVY  # the control
