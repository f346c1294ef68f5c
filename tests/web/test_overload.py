"""Too much at once is refused at once, and nobody holds a connection by doing nothing."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.main import create_app
from app.storage import embedded
from app.storage.db import Database
from app.web import admission
from app.web.access import Public
from app.web.deps import ServiceOptions
from app.web.http_protocol import LimitedHttpProtocol
from tests.patience import soon
from tests.web.conftest import one_database
from tests.working import LIMIT, until

Address = tuple[str, int]
Serving = Callable[..., AbstractContextManager[Address]]
BURST = 64
AT_ONCE = 2.0  # seconds in which who cannot be served is told so, and who asks how we are


class Slow:
    """A route that takes until it is let go, and how many were in it at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.counted = threading.Lock()
        self.go = threading.Event()

    def _come(self) -> None:
        with self.counted:
            self.now += 1
            self.most = max(self.most, self.now)

    def _leave(self) -> None:
        with self.counted:
            self.now -= 1

    def handle(self, _: Public) -> dict[str, int]:
        self._come()
        self.go.wait(LIMIT)
        self._leave()
        return {}

    async def admitted(self, _: Public) -> dict[str, int]:
        """The same without a thread, so that everyone who is let in is counted."""
        self._come()
        while not self.go.is_set():
            await anyio.sleep(0.01)
        self._leave()
        return {}


def with_slow_routes(database: Database) -> tuple[FastAPI, Slow]:
    app, slow = create_app(database, ServiceOptions()), Slow()
    app.router.routes.append(APIRoute("/slow", slow.handle))
    app.router.routes.append(APIRoute("/admitted", slow.admitted))
    app.openapi().clear()
    return app, slow


@pytest.fixture(scope="module")
def database(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Database]:
    """One for all: nothing here is stored."""
    with one_database(postgres, migrated_template) as handle:
        yield handle


@contextmanager
def burst(address: Address, path: str, n: int = BURST) -> Iterator[list[Future[tuple[httpx.Response, float]]]]:
    """Answers to requests sent together, each on a connection of its own, and how long each took."""
    url = f"http://{address[0]}:{address[1]}{path}"

    def one(_: int) -> tuple[httpx.Response, float]:
        started = time.monotonic()
        answer = httpx.get(url, timeout=LIMIT, trust_env=False, verify=False)  # noqa: S501  (plain HTTP)
        return answer, time.monotonic() - started

    with ThreadPoolExecutor(n) as pool:
        yield [pool.submit(one, i) for i in range(n)]


def answered(sent: list[Future[tuple[httpx.Response, float]]]) -> list[tuple[httpx.Response, float]]:
    """What has been answered so far."""
    return [one.result() for one in sent if one.done()]


def told_after(address: Address, path: str) -> float:
    """Seconds until health is told."""
    started = time.monotonic()
    health = httpx.get(f"http://{address[0]}:{address[1]}{path}", timeout=LIMIT, trust_env=False)
    assert health.status_code == 200
    return time.monotonic() - started


def refused_within(address: Address, slow: Slow, limit: int) -> float:
    """Seconds that who was refused, or asked how we are, waited most, while all whom there is room for are served."""
    slow.go.clear()
    with burst(address, "/slow") as sent:
        try:
            until(lambda: len(answered(sent)) == BURST - limit, "all for whom there is no room are refused")
            until(lambda: slow.now == limit, "the others are in")
            health = [told_after(address, path) for path in ("/livez", "/readyz", "/metrics")]
            refused = answered(sent)
            assert (slow.now, len(refused)) == (limit, BURST - limit), "they are in still, while health was told"
        finally:
            slow.go.set()
    assert [one.result()[0].status_code for one in sent].count(200) == limit
    assert slow.now == 0
    for answer, _ in refused:
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) >= 1
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:plumbline:problem:too-busy"
        assert answer.headers["X-Request-Id"] == answer.json()["instance"]
    return max(*health, *(seconds for _, seconds in refused))


def test_a_burst_is_served_or_refused_in_time_and_health_is_always_told(database: Database, serving: Serving) -> None:
    app, slow = with_slow_routes(database)
    with serving(app) as address:
        assert soon(lambda: refused_within(address, slow, admission.PER_CONNECTION * database.size), AT_ONCE)


def most_let_in(address: Address, slow: Slow, let_in: int) -> int:
    """How many of a burst were in at once, when so many were in and all others have been answered."""
    with burst(address, "/admitted") as sent:
        try:
            until(lambda: slow.now >= let_in and len(answered(sent)) == BURST - let_in, "all have come in or not")
        finally:
            slow.go.set()
    return slow.most


def test_no_more_than_the_limit_are_let_in_at_once(database: Database, serving: Serving) -> None:
    app, slow = with_slow_routes(database)
    limit = admission.PER_CONNECTION * database.size
    with serving(app) as address:
        assert most_let_in(address, slow, limit) == limit


@pytest.mark.soak
def test_without_the_layer_everybody_is_let_in(
    database: Database, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    monkeypatch.setattr("app.main.PER_CONNECTION", 10_000)
    app, slow = with_slow_routes(database)
    with serving(app) as address:
        assert most_let_in(address, slow, BURST) == BURST > admission.PER_CONNECTION * database.size


def test_a_place_is_given_back_whatever_happens_to_the_request(
    make_app: Callable[..., FastAPI], serving: Serving
) -> None:
    with serving(make_app(body_timeout=0.3)) as address:
        for _ in range(12):  # more than there are places
            with socket.create_connection(address, timeout=LIMIT) as gone:
                gone.sendall(b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n")
                gone.sendall(b"Content-Type: application/json\r\n\r\n{")
        time.sleep(0.6)
        url = f"http://{address[0]}:{address[1]}/v1/recipes"
        until(lambda: httpx.get(url, timeout=LIMIT, trust_env=False).status_code == 200, "there is a place again")


@dataclass(frozen=True)
class Line:
    """A connection, and when it was made."""

    socket: socket.socket
    since: float

    def ended(self, within: float) -> bool:
        """Whether the other side has closed it, so many seconds after it was made."""
        self.socket.settimeout(max(self.since + within - time.monotonic(), 0.01))
        try:
            return self.socket.recv(1 << 16) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


def opened(address: Address, n: int, sent: bytes) -> list[Line]:
    found = []
    for _ in range(n):
        since = time.monotonic()
        line = socket.create_connection(address, timeout=LIMIT)
        line.sendall(sent)
        found.append(Line(line, since))
    return found


HALF = b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Half"


SLACK = 1.5  # seconds from when the headers are due


class Sooner(LimitedHttpProtocol):
    """With a bound that does not take long to wait for."""

    headers_within = 1.0


def test_headers_have_four_seconds() -> None:
    assert LimitedHttpProtocol.headers_within == 4


@pytest.mark.parametrize("protocol", [Sooner, pytest.param(LimitedHttpProtocol, marks=pytest.mark.soak)])
def test_five_hundred_half_open_headers_are_closed_in_time(
    make_app: Callable[..., FastAPI], serving: Serving, protocol: type[LimitedHttpProtocol]
) -> None:
    """With its negative control beside it: the server's own protocol keeps them."""
    app = make_app()
    with serving(app, http=protocol) as bounded, serving(app, http=HttpToolsProtocol, lifespan="off") as unbounded:

        def left_open() -> float:
            """Of 506 that are owed an end, how many have none; no number is low enough where health is told late."""
            with ExitStack() as stack:
                kept = opened(unbounded, 3, HALF)
                owed = [*opened(bounded, 500, HALF), *opened(bounded, 3, b""), *opened(bounded, 3, b"\r\n")]
                for line in (*kept, *owed):
                    stack.callback(line.socket.close)
                health = told_after(bounded, "/livez")
                still = [line for line in owed if not line.ended(protocol.headers_within + SLACK)]
                assert all(line.ended(LIMIT) for line in still)
                assert not any(line.ended(0) for line in kept)
            return len(still) if health < AT_ONCE else math.inf

        assert soon(left_open, 1), "all 506, once in three times: a pause of the machine is none of the server"


class Hasty(LimitedHttpProtocol):
    """With bounds that a test can wait for."""

    headers_within = 0.4
    reads_within = 0.4


def sent_slowly(line: socket.socket, data: bytes) -> int:
    """How many bytes can be sent, one at a time, until the other side ends it."""
    for n, byte in enumerate(data):
        try:
            line.sendall(bytes([byte]))
        except (BrokenPipeError, ConnectionResetError):
            return n
        time.sleep(0.02)
    return len(data)


def test_a_trickle_of_header_bytes_does_not_extend_the_time(make_app: Callable[..., FastAPI], serving: Serving) -> None:
    with serving(make_app(), http=Hasty) as address, socket.create_connection(address, timeout=LIMIT) as line:
        assert sent_slowly(line, HALF * 3) < 40


def test_a_second_request_on_a_connection_has_its_own_time(make_app: Callable[..., FastAPI], serving: Serving) -> None:
    whole = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

    def ended_after() -> float:
        with socket.create_connection(address, timeout=LIMIT) as line:
            for _ in range(3):
                line.sendall(whole)
                answer = b""
                while b'{"status":"ok"}' not in answer:  # it may come in pieces
                    piece = line.recv(1 << 16)
                    assert piece, answer
                    answer += piece
                time.sleep(0.5)  # longer than headers may take, and yet no header is owed
            line.sendall(HALF)
            since = time.monotonic()
            assert Line(line, since).ended(LIMIT)
            return time.monotonic() - since

    with serving(make_app(), http=Hasty) as address:
        assert soon(ended_after, 2)


@pytest.mark.parametrize("flood", [b"x" * (1 << 20), b"y: z\r\n" * (1 << 18)])
def test_headers_without_end_are_refused(make_app: Callable[..., FastAPI], serving: Serving, flood: bytes) -> None:
    def refused_after() -> float:
        with socket.create_connection(address, timeout=LIMIT) as line:
            started = time.monotonic()
            received = b""
            try:
                line.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nX: " + flood)
                while piece := line.recv(1 << 16):
                    received += piece
            except (ConnectionResetError, BrokenPipeError):
                pass  # it was closed while we were still sending
            assert b"200 OK" not in received
            return time.monotonic() - started

    with serving(make_app()) as address:
        assert soon(refused_after, 3)


async def refuse_unread(scope: Scope, _receive: Receive, send: Send) -> None:
    """An application that answers a POST before its body has come."""
    status = 413 if scope["method"] == "POST" else 200
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def test_the_rest_of_a_body_that_was_refused_is_let_pass(serving: Serving) -> None:
    """A client or proxy that sends on reads the answer, and the connection serves the next request."""
    rest = b"x" * (2 * LimitedHttpProtocol.headers_up_to)
    with serving(refuse_unread, lifespan="off") as address, socket.create_connection(address, timeout=LIMIT) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % len(rest))
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 413")
        client.sendall(rest[:-1])
        time.sleep(0.3)  # so that the service reads it by itself
        client.sendall(rest[-1:])
        client.sendall(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_an_idle_connection_keeps_nothing_of_its_last_request(serving: Serving) -> None:
    connections: list[LimitedHttpProtocol] = []

    class Listed(LimitedHttpProtocol):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            connections.append(self)

    serve = serving(refuse_unread, http=Listed, lifespan="off")
    with serve as address, socket.create_connection(address, timeout=LIMIT) as line:
        for _ in range(2):
            line.sendall(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            assert line.recv(1 << 16).startswith(b"HTTP/1.1 200")
            until(lambda: connections[0].cycle is None, "the request is forgotten")
            assert [(one.scope, one.headers) for one in connections] == [(None, None)]


def test_a_request_that_begins_while_the_one_before_it_is_answered_is_answered_as_well(serving: Serving) -> None:
    async def answer_later(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.2)
        await refuse_unread(scope, receive, send)

    whole = b"GET / HTTP/1.1\r\nHost: t\r\n\r\n"
    with serving(answer_later, lifespan="off") as address:
        for cut in (5, 20, len(whole)):
            with socket.create_connection(address, timeout=LIMIT) as line:
                line.sendall(whole + whole[:cut])
                answers = line.recv(1 << 16)
                line.sendall(whole[cut:])
                while answers.count(b"HTTP/1.1 200") < 2:
                    piece = line.recv(1 << 16)
                    assert piece, "it was closed instead"
                    answers += piece


def test_the_rest_of_a_body_that_was_refused_has_as_long_as_headers(serving: Serving) -> None:
    serve = serving(refuse_unread, http=Hasty, lifespan="off")
    with serve as address, socket.create_connection(address, timeout=LIMIT) as line:
        line.sendall(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n")
        assert line.recv(1 << 16).startswith(b"HTTP/1.1 413")
        assert sent_slowly(line, b"x" * 200) < 200


def test_what_is_no_http_gets_a_problem(make_app: Callable[..., FastAPI], serving: Serving) -> None:
    with serving(make_app()) as address, socket.create_connection(address, timeout=LIMIT) as line:
        line.sendall(b"this is no request\r\n\r\n")
        head, _, body = line.recv(1 << 16).partition(b"\r\n\r\n")
    told: dict[str, Any] = json.loads(body)
    assert head.startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in head
    assert told["status"] == 400
    assert f"x-request-id: {told['instance']}".encode() in head


def received_from(line: socket.socket) -> int:
    """How many bytes still come until the other side ends it, one way or the other."""
    n = 0
    try:
        while piece := line.recv(1 << 20):
            n += len(piece)
    except ConnectionResetError:
        pass
    return n


def test_a_reader_that_stops_reading_is_let_go(serving: Serving) -> None:
    """A control of its own: the same answer, read, arrives whole."""
    size = 1 << 25

    async def large(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(size >> 16):
            await send({"type": "http.response.body", "body": bytes(1 << 16), "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    whole = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    def came(address: Address) -> int:
        """Bytes that come to who reads."""
        return len(httpx.get(f"http://{address[0]}:{address[1]}/", timeout=LIMIT, trust_env=False).content)

    def lacking() -> int:
        """Bytes that do not come to who reads: some, where the machine stands still for as long as Hasty waits."""
        with suppress(httpx.TransportError):
            return size - came(address)
        return size

    with serving(large, lifespan="off") as address:
        assert came(address) == size
    with serving(large, http=Hasty, lifespan="off") as address:
        assert soon(lacking, 1)
        with socket.create_connection(address, timeout=LIMIT) as line:
            line.sendall(whole)
            time.sleep(1.2)
            assert received_from(line) < size


def test_a_body_that_trickles_is_given_up(make_app: Callable[..., FastAPI], serving: Serving) -> None:
    def given_up_after() -> float:
        with socket.create_connection(address, timeout=LIMIT) as line:
            line.sendall(b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n")
            line.sendall(b"Content-Type: application/json\r\n\r\n")
            started, answer = time.monotonic(), b""
            for _ in range(400):
                line.sendall(b" ")
                line.settimeout(0.1)
                with suppress(TimeoutError):
                    answer = line.recv(1 << 16)
                    break
            assert answer.startswith(b"HTTP/1.1 408")
            return time.monotonic() - started

    with serving(make_app(body_timeout=0.5)) as address:
        assert soon(given_up_after, 2)
