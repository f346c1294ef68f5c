"""A load generator for machines without `wrk`: many connections, one request at a time on each, in its own process.

    python -m benchmarks.hot_load HOST PORT SECONDS < plan.json > figures.json

The plan is a list of connections, each a list of requests as text; a connection sends its requests over and over. It
shares the cores with the server, as the bound's load generator does.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import uvloop


class Caller(asyncio.Protocol):
    """One connection: sends the next request once the answer to the one before it is whole."""

    def __init__(self, requests: Sequence[bytes], seconds: list[float], statuses: Counter[int]) -> None:
        self.requests = requests
        self.seconds = seconds
        self.statuses = statuses
        self.recording = False
        self.stopping = False
        self.done = asyncio.get_running_loop().create_future()
        self._at = 0
        self._sent = 0.0
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        """Count a whole answer and go on."""
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found or len(rest) < _length(head):
            return
        if self.recording:
            self.seconds.append(time.perf_counter() - self._sent)
            self.statuses[int(head[9:12])] += 1
        self._buffer = b""
        if self.stopping:
            self._transport.close()
        else:
            self._send()

    def connection_lost(self, _: Exception | None) -> None:
        """The end."""
        if not self.done.done():
            self.done.set_result(None)

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self.requests[self._at])
        self._at = (self._at + 1) % len(self.requests)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def drive(host: str, port: int, seconds: float, plan: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Figures of one run: a fifth of the time to warm up, then what is counted."""
    taken: list[float] = []
    statuses: Counter[int] = Counter()
    loop = asyncio.get_running_loop()
    callers = [Caller([one.encode() for one in requests], taken, statuses) for requests in plan]
    for caller in callers:
        await loop.create_connection(lambda caller=caller: caller, host, port)
    await asyncio.sleep(seconds / 5)
    for caller in callers:
        caller.recording = True
    began = time.perf_counter()
    await asyncio.sleep(seconds)
    for caller in callers:
        caller.recording = False
        caller.stopping = True
    lasted = time.perf_counter() - began
    await asyncio.wait_for(asyncio.gather(*(caller.done for caller in callers)), 30)
    taken.sort()
    return {
        "rate": len(taken) / lasted,
        "p50": taken[len(taken) // 2],
        "p99": taken[int(len(taken) * 0.99)],
        "statuses": dict(statuses),
    }


def main() -> None:
    """Read a plan, run it, print the figures."""
    host, port, seconds = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(drive(host, int(port), float(seconds), json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
