"""A load generator for machines without `wrk`: many connections, one request at a time on each, in its own process.

    python -m benchmarks.hot_load HOST PORT SECONDS < plan.json > figures.json

There are two kinds of plan. The first is a list of connections, each a list of requests as text. A connection repeats
its requests, and sends each as soon as the previous one is answered. The second is a timetable, `{"clients": N, "sent":
[[second, client, kind, request], ...]}`, sorted by second. Each request is sent at its time, however slow the answers
are. Its latency counts from that time, so it includes waiting for the answer to an earlier request. The generator
shares the cores with the server, as the bound's load generator does.
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
    """A connection that sends the next request once the answer to the previous one is complete."""

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
        """Start sending."""
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        """Count a complete answer, and send the next request."""
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
        """Note the end of the connection."""
        if not self.done.done():
            self.done.set_result(None)

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self.requests[self._at])
        self._at = (self._at + 1) % len(self.requests)


class Answer:
    """An answer as it arrives. It stores only the end of the body: a report has 23 MB, and joining its pieces would
    delay the generator's other answers for seconds.
    """

    def __init__(self) -> None:
        self.status = ""
        self._head = b""
        self._end = b""
        self._missing: int | None = None  # bytes; None: a chunked body, which marks its own end

    def take(self, data: bytes) -> bool:
        """Return whether these bytes complete the answer; a stream of events is complete after its headers."""
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
"""The end of a chunked body."""
PATIENCE = 30.0
"""Seconds to wait for answers after the last request has been sent."""
EVENTS = "events"
BEGAN = "began"
"""When the timetable began, by the clock that all processes of a machine share."""


class Latencies:
    """Seconds from the time when requests were due to their answers, and the statuses, by kind."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.statuses: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.events = 0

    def note(self, kind: str, seconds: float, status: str) -> None:
        """Note an answer; the status of a request whose connection ended twice is `lost`."""
        self.seconds[kind].append(seconds)
        self.statuses[kind][status] += 1

    def figures(self) -> dict[str, dict[str, Any]]:
        """Return the figures by kind."""
        return {
            kind: {"n": len(taken), **_ends(sorted(taken)), "statuses": dict(self.statuses[kind])}
            for kind, taken in self.seconds.items()
        }


class Client(asyncio.Protocol):
    """A client of a timetable with one request at a time; it reconnects if the server has closed the connection."""

    def __init__(self, address: tuple[str, int], latencies: Latencies) -> None:
        self._address, self._latencies = address, latencies
        self._waiting: deque[tuple[float, str, bytes]] = deque()
        self._transport: asyncio.Transport | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._asking, self._repeated = False, False
        self._answer = Answer()

    @property
    def idle(self) -> bool:
        """Whether everything has been answered."""
        return not self._waiting

    def due(self, at: float, kind: str, request: bytes) -> None:
        """Send a request as soon as earlier ones are answered. at: when it was due."""
        self._waiting.append((at, kind, request))
        if not self._asking:
            self._send()

    def give_up(self) -> None:
        """Stop, and note the requests that have no answer yet."""
        for at, kind, _ in self._waiting:
            self._latencies.note(kind, time.perf_counter() - at, "none")
        self._waiting.clear()
        self._asking = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport for sending."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Note a complete answer and continue. Unrequested data belong to a stream, which its headers have answered."""
        if not self._asking:
            self._latencies.events += data.count(b"event: ")
            return
        if self._answer.take(data):
            self._answered(self._answer.status)

    def connection_lost(self, _: Exception | None) -> None:
        """Reconnect: servers close idle connections. A request that was just sent is sent once more."""
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
    """Send the requests of a timetable, and return figures by kind of request once all are answered."""
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
    """Return median and 99th percentile of sorted seconds."""
    return {"p50": taken[len(taken) // 2], "p99": taken[int(len(taken) * 0.99)]}


async def _connect(loop: asyncio.AbstractEventLoop, caller: Caller, host: str, port: int) -> None:
    await loop.create_connection(lambda: caller, host, port)


async def drive(host: str, port: int, seconds: float, plan: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the figures of one run, after warming up for a fifth of its time."""
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
    """Read a plan, run it, and print the figures."""
    host, port, seconds = sys.argv[1:]
    plan = json.load(sys.stdin)
    timed = isinstance(plan, dict)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        run = keep_time(host, int(port), plan) if timed else drive(host, int(port), float(seconds), plan)
        print(json.dumps(runner.run(run)))


if __name__ == "__main__":
    main()
