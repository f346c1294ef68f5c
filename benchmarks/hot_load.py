"""A load generator for machines without `wrk`: many connections, one request at a time on each, in its own process.

    python -m benchmarks.hot_load HOST PORT SECONDS < plan.json > figures.json

Two kinds of plan. A list of connections, each a list of requests as text: a connection sends its requests over and
over, each as soon as the one before is answered. Or a timetable, `{"clients": N, "sent": [[second, client, kind,
request], ...]}`, by second: each request is sent when its time has come, however slow the answers are, and its latency
counts from that time, so waiting for the answer to an earlier one counts as well. It shares the cores with the server,
as the bound's load generator does.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
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


class Answer:
    """An answer as it arrives. Of its body only the end is kept: a report has 23 MB, and to put these together kept the
    generator from everybody's answers for seconds.
    """

    def __init__(self) -> None:
        self.status = ""
        self._head = b""
        self._end = b""
        self._missing: int | None = None  # bytes; None: of a body in chunks, whose end says so

    def take(self, data: bytes) -> bool:
        """Whether the answer is whole with these bytes; of a stream of events, its headers."""
        if not self.status:
            self._head += data
            head, found, data = self._head.partition(b"\r\n\r\n")
            if not found:
                return False
            self.status, head = head[9:12].decode(), head.lower()
            if b"text/event-stream" in head:
                self._missing = 0
            elif b"transfer-encoding: chunked" not in head:
                self._missing = _length(head)
        if self._missing is None:
            self._end = (self._end + data[-len(LAST) :])[-len(LAST) :]
            return self._end == LAST
        self._missing -= len(data)
        return self._missing <= 0


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line[15:])
    return 0


LAST = b"0\r\n\r\n"
"""The end of a body in chunks."""
PATIENCE = 30.0
"""Seconds for answers that are due when the last request has been sent."""
EVENTS = "events"
BEGAN = "began"
"""When the timetable began, by the clock that all processes of a machine share."""


class Latencies:
    """Seconds from when requests were due until they were answered, and their statuses, by kind."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.statuses: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.events = 0

    def note(self, kind: str, seconds: float, status: str) -> None:
        """One answer; `lost` is the status of a request whose connection ended twice."""
        self.seconds[kind].append(seconds)
        self.statuses[kind][status] += 1

    def figures(self) -> dict[str, dict[str, Any]]:
        """By kind."""
        return {
            kind: {"n": len(taken), **_ends(sorted(taken)), "statuses": dict(self.statuses[kind])}
            for kind, taken in self.seconds.items()
        }


class Client(asyncio.Protocol):
    """One client of a timetable: one request at a time; it connects anew where the server has closed the connection."""

    def __init__(self, address: tuple[str, int], latencies: Latencies) -> None:
        self._address, self._latencies = address, latencies
        self._waiting: deque[tuple[float, str, bytes]] = deque()
        self._transport: asyncio.Transport | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._asking, self._repeated = False, False
        self._answer = Answer()

    @property
    def idle(self) -> bool:
        """Whether all has been answered."""
        return not self._waiting

    def due(self, at: float, kind: str, request: bytes) -> None:
        """Send a request as soon as those before it are answered. at: when it was to be sent."""
        self._waiting.append((at, kind, request))
        if not self._asking:
            self._send()

    def give_up(self) -> None:
        """The end; what is not answered by now is noted as such."""
        for at, kind, _ in self._waiting:
            self._latencies.note(kind, time.perf_counter() - at, "none")
        self._waiting.clear()
        self._asking = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what to write to."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Note a whole answer and go on. What comes unasked belongs to a stream, which is answered by its headers."""
        if not self._asking:
            self._latencies.events += data.count(b"event: ")
            return
        if self._answer.take(data):
            self._answered(self._answer.status)

    def connection_lost(self, _: Exception | None) -> None:
        """Servers close connections on which nothing was asked for a while; what was just sent is sent once more."""
        self._transport = None
        if not self._asking:
            return
        if self._repeated:
            self._answered("lost")
        else:
            self._repeated = True
            self._send()

    def _answered(self, status: str) -> None:
        at, kind, _ = self._waiting.popleft()
        self._latencies.note(kind, time.perf_counter() - at, status)
        self._asking = self._repeated = False
        if self._waiting:
            self._send()

    def _send(self) -> None:
        self._asking, self._answer = True, Answer()
        if self._transport is None or self._transport.is_closing():
            self._connecting = asyncio.create_task(self._connect())
        else:
            self._transport.write(self._waiting[0][2])

    async def _connect(self) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, *self._address)
        except OSError:
            self._answered("lost")
            return
        assert self._transport is not None
        self._transport.write(self._waiting[0][2])


async def keep_time(host: str, port: int, timetable: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Figures by kind of request, once each of a timetable is answered."""
    latencies = Latencies()
    clients = [Client((host, port), latencies) for _ in range(timetable["clients"])]
    began, clock = time.perf_counter(), time.monotonic()
    for second, client, kind, request in timetable["sent"]:
        ahead = began + second - time.perf_counter()
        if ahead > 0:
            await asyncio.sleep(ahead)
        clients[client].due(began + second, kind, request.encode())
    patience = time.perf_counter() + PATIENCE
    while not all(client.idle for client in clients) and time.perf_counter() < patience:
        await asyncio.sleep(0.01)
    for client in clients:
        client.give_up()
    return {**latencies.figures(), EVENTS: {"n": latencies.events}, BEGAN: {"clock": clock}}


def _ends(taken: Sequence[float]) -> dict[str, float]:
    """Median and p99 of sorted seconds."""
    return {"p50": taken[len(taken) // 2], "p99": taken[int(len(taken) * 0.99)]}


async def _connect(loop: asyncio.AbstractEventLoop, caller: Caller, host: str, port: int) -> None:
    await loop.create_connection(lambda: caller, host, port)


async def drive(host: str, port: int, seconds: float, plan: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Figures of one run: a fifth of the time to warm up, then what is counted."""
    taken: list[float] = []
    statuses: Counter[int] = Counter()
    loop = asyncio.get_running_loop()
    callers = [Caller([one.encode() for one in requests], taken, statuses) for requests in plan]
    for caller in callers:
        await _connect(loop, caller, host, port)
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
        **_ends(taken),
        "statuses": dict(statuses),
    }


def main() -> None:
    """Read a plan, run it, print the figures."""
    host, port, seconds = sys.argv[1:]
    plan = json.load(sys.stdin)
    timed = isinstance(plan, dict)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        run = keep_time(host, int(port), plan) if timed else drive(host, int(port), float(seconds), plan)
        print(json.dumps(runner.run(run)))


if __name__ == "__main__":
    main()
