"""P14: too much at once is refused at once, and nobody holds a connection by doing nothing."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.main import create_app
from app.storage.db import Database
from app.web import admission
from app.web.access import Public
from app.web.deps import Options
from app.web.protocol import BoundedProtocol
from tests.working import until

Address = tuple[str, int]
Serving = Callable[..., AbstractContextManager[Address]]
BURST = 64
WORK = 0.25  # seconds


class Slow:
    """A route that takes its time in a thread, and how many were in it at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def handle(self, _: Public) -> dict[str, int]:
        self.now += 1
        self.most = max(self.most, self.now)
        time.sleep(WORK)
        self.now -= 1
        return {}

    async def admitted(self, _: Public) -> dict[str, int]:
        """The same without a thread, so that everyone who is let in is counted."""
        self.now += 1
        self.most = max(self.most, self.now)
        await anyio.sleep(WORK)
        self.now -= 1
        return {}


def with_slow_routes(database: Database) -> tuple[FastAPI, Slow]:
    app, slow = create_app(database, Options()), Slow()
    app.router.routes.append(APIRoute("/slow", slow.handle))
    app.router.routes.append(APIRoute("/admitted", slow.admitted))
    app.openapi().clear()
    return app, slow


def burst(address: Address, path: str, n: int = BURST) -> list[tuple[httpx.Response, float]]:
    """Answers to requests sent together, each on a connection of its own, and how long each took."""
    url = f"http://{address[0]}:{address[1]}{path}"

    def one(_: int) -> tuple[httpx.Response, float]:
        started = time.monotonic()
        answer = httpx.get(url, timeout=20, trust_env=False, verify=False)  # noqa: S501  (plain HTTP)
        return answer, time.monotonic() - started

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))


def test_a_burst_is_served_or_refused_in_time_and_health_is_always_told(database: Database, serving: Serving) -> None:
    app, slow = with_slow_routes(database)
    limit = admission.PER_CONNECTION * database.size
    with serving(app) as address, ThreadPoolExecutor(1) as pool:
        burning = pool.submit(burst, address, "/slow")
        time.sleep(0.1)
        for path in ("/livez", "/readyz", "/metrics"):
            assert httpx.get(f"http://{address[0]}:{address[1]}{path}", timeout=2, trust_env=False).status_code == 200
        answers = burning.result(timeout=30)
    refused = [(answer, seconds) for answer, seconds in answers if answer.status_code == 503]
    assert {answer.status_code for answer, _ in answers} == {200, 503}
    assert len(answers) - len(refused) >= limit
    for answer, seconds in refused:
        assert int(answer.headers["Retry-After"]) >= 1
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:plumbline:problem:too-busy"
        assert answer.headers["X-Request-Id"] == answer.json()["instance"]
        assert seconds < 2
    assert slow.now == 0


def test_no_more_than_the_limit_are_let_in_at_once(database: Database, serving: Serving) -> None:
    app, slow = with_slow_routes(database)
    with serving(app) as address:
        burst(address, "/admitted")
    assert slow.most == admission.PER_CONNECTION * database.size


def test_without_the_layer_everybody_is_let_in(
    database: Database, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    monkeypatch.setattr("app.main.PER_CONNECTION", 10_000)
    app, slow = with_slow_routes(database)
    with serving(app) as address:
        burst(address, "/admitted")
    assert slow.most > admission.PER_CONNECTION * database.size


def test_a_place_is_given_back_whatever_happens_to_the_request(
    make_app: Callable[..., FastAPI], serving: Serving
) -> None:
    with serving(make_app(body_timeout=0.3)) as address:
        for _ in range(12):  # more than there are places
            with socket.create_connection(address, timeout=5) as gone:
                gone.sendall(b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n")
                gone.sendall(b"Content-Type: application/json\r\n\r\n{")
        time.sleep(0.6)
        url = f"http://{address[0]}:{address[1]}/v1/recipes"
        until(lambda: httpx.get(url, trust_env=False).status_code == 200, "there is a place again")


def opened(address: Address, n: int, sent: bytes) -> list[socket.socket]:
    found = []
    for _ in range(n):
        line = socket.create_connection(address, timeout=5)
        line.sendall(sent)
        found.append(line)
    return found


def ended(lines: list[socket.socket], by: float) -> int:
    """How many the other side has closed by then."""
    n = 0
    for line in lines:
        line.settimeout(max(by - time.monotonic(), 0.01))
        try:
            n += line.recv(1 << 16) == b""
        except ConnectionResetError:
            n += 1
        except TimeoutError:
            pass
    return n


HALF = b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Half"


def test_five_hundred_half_open_headers_are_closed_in_five_seconds(
    make_app: Callable[..., FastAPI], serving: Serving
) -> None:
    """With its negative control beside it: the server's own protocol keeps them."""
    app = make_app()
    with ExitStack() as stack:
        bounded = stack.enter_context(serving(app))
        unbounded = stack.enter_context(serving(app, http=HttpToolsProtocol, lifespan="off"))
        started = time.monotonic()
        kept = opened(unbounded, 3, HALF)
        half = opened(bounded, 500, HALF)
        silent = opened(bounded, 3, b"")
        blank = opened(bounded, 3, b"\r\n")
        for line in (*kept, *half, *silent, *blank):
            stack.callback(line.close)
        served = httpx.get(f"http://{bounded[0]}:{bounded[1]}/livez", timeout=2, trust_env=False)
        assert served.status_code == 200
        assert ended([*half, *silent, *blank], started + 5.5) == 506
        assert ended(kept, time.monotonic() + 0.1) == 0


class Hasty(BoundedProtocol):
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
    with serving(make_app(), http=Hasty) as address, socket.create_connection(address, timeout=5) as line:
        assert sent_slowly(line, HALF * 3) < 40


def test_a_second_request_on_a_connection_has_its_own_time(make_app: Callable[..., FastAPI], serving: Serving) -> None:
    whole = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    with serving(make_app(), http=Hasty) as address, socket.create_connection(address, timeout=5) as line:
        for _ in range(3):
            line.sendall(whole)
            assert b'{"status":"ok"}' in line.recv(1 << 16)
            time.sleep(0.5)  # longer than headers may take, and yet no header is owed
        line.sendall(HALF)
        assert ended([line], time.monotonic() + 2) == 1


@pytest.mark.parametrize("flood", [b"x" * (1 << 20), b"y: z\r\n" * (1 << 18)])
def test_headers_without_end_are_refused(make_app: Callable[..., FastAPI], serving: Serving, flood: bytes) -> None:
    with serving(make_app()) as address, socket.create_connection(address, timeout=5) as line:
        started = time.monotonic()
        received = b""
        try:
            line.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nX: " + flood)
            while piece := line.recv(1 << 16):
                received += piece
        except (ConnectionResetError, BrokenPipeError):
            pass  # it was closed while we were still sending
        assert time.monotonic() - started < 3
        assert b"200 OK" not in received


def test_what_is_no_http_gets_a_problem(make_app: Callable[..., FastAPI], serving: Serving) -> None:
    with serving(make_app()) as address, socket.create_connection(address, timeout=5) as line:
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
    with serving(large, http=Hasty, lifespan="off") as address:
        assert len(httpx.get(f"http://{address[0]}:{address[1]}/", trust_env=False).content) == size
        with socket.create_connection(address, timeout=5) as line:
            line.sendall(whole)
            time.sleep(1.2)
            assert received_from(line) < size


def test_a_body_that_trickles_is_given_up(make_app: Callable[..., FastAPI], serving: Serving) -> None:
    with serving(make_app(body_timeout=0.5)) as address, socket.create_connection(address, timeout=5) as line:
        line.sendall(b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n")
        line.sendall(b"Content-Type: application/json\r\n\r\n")
        started = time.monotonic()
        for _ in range(20):
            line.sendall(b" ")
            time.sleep(0.1)
            line.settimeout(0.01)
            try:
                answer = line.recv(1 << 16)
                break
            except TimeoutError:
                continue
        assert answer.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - started < 2
