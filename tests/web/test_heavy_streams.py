"""Files that are sent as they are made: only a few that take computing at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import anyio

from app.web.file_streams import MOST_HEAVY, stream_response
from tests.working import LIMIT

STREAMS, PIECES = 8, 4


class Kitchen:
    """Makes pieces, each of which takes so many seconds or until several are being made, and knows how many were."""

    def __init__(self, seconds: float) -> None:
        self._lock, self._now, self._several = threading.Lock(), 0, threading.Event()
        self._seconds = seconds
        self.most = 0

    def pieces(self) -> Iterator[bytes]:
        for n in range(PIECES):
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
                if self._now > MOST_HEAVY:
                    self._several.set()
            self._several.wait(self._seconds)
            with self._lock:
                self._now -= 1
            yield b"%d" % n


def taken(*, heavy: bool) -> tuple[int, list[bytes]]:
    """How many pieces were made at once, and what came of all streams."""
    # Where several may be made at once, they are waited for.
    kitchen, came = Kitchen(0.01 if heavy else LIMIT), list[bytes]()

    async def take() -> None:
        answer = stream_response(kitchen.pieces(), "text/plain", filename="a", heavy=heavy)
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
