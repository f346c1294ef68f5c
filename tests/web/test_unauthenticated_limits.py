"""What those may cost who have not shown who they are, beside those who have."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.cli.serving import web
from app.config import Settings
from app.main import create_app, make_service_options
from app.services.access import tokens
from app.storage import embedded
from app.storage.db import Database
from app.web import unauthenticated_limits
from app.web.admission import AdmissionSlot
from app.web.deps import ServiceOptions
from app.web.http_protocol import IdleConnections, LimitedHttpProtocol
from app.web.rate_limits import UnauthenticatedLimits
from tests.web.conftest import one_database
from tests.working import LIMIT, until

Address = tuple[str, int]
Serving = Callable[..., AbstractContextManager[Address]]
MakeApp = Callable[..., ASGIApp]
LONG = UnauthenticatedLimits(seconds=LIMIT)
CAMPAIGN = {"key": "c", "protocol": "mqm", "source_language": "en", "target_language": "de", "domain": "news"}


@pytest.fixture(scope="module")
def database(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Database]:
    """One for all: strangers leave nothing in it, and who is known has a token of their own."""
    with one_database(postgres, migrated_template) as handle:
        yield handle


@pytest.fixture
def secret(database: Database) -> str:
    """An admin's token."""
    with database.transaction() as session:
        return tokens.issue_token(session, role="admin", name="test").secret


@contextmanager
def client(address: Address, secret: str | None = None, *, source: str = "127.0.0.1") -> Iterator[httpx.Client]:
    """Somebody at an address of this machine's own network."""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    transport = httpx.HTTPTransport(local_address=source)
    with httpx.Client(
        base_url=f"http://{address[0]}:{address[1]}", headers=headers, transport=transport, timeout=LIMIT
    ) as found:
        yield found


def half_bodies(stack: ExitStack, address: Address, n: int) -> list[socket.socket]:
    """Connections that owe the rest of a body, with no credential."""
    lines = []
    for _ in range(n):
        line = stack.enter_context(socket.create_connection(address, timeout=LIMIT))
        line.sendall(b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n")
        line.sendall(b"Content-Type: application/json\r\n\r\n{")
        lines.append(line)
    return lines


def sign_in(one: httpx.Client, secret: str) -> httpx.Response:
    return one.post("/v1/session", json={"token": secret})


def test_slow_strangers_shut_nobody_out(make_app: MakeApp, serving: Serving, secret: str) -> None:
    """Neither who has a token, nor who signs in from the very same address."""
    with serving(make_app(strangers=LONG)) as address, ExitStack() as stack:
        half_bodies(stack, address, 45)
        with client(address, secret) as known, client(address) as new:
            for _ in range(3):
                assert known.get("/v1/me").status_code == 200
                assert sign_in(new, secret).status_code == 201


def test_without_all_this_they_do(
    make_app: MakeApp, serving: Serving, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: a place is held while the body arrives, and strangers are let in as anybody."""
    monkeypatch.setattr(AdmissionSlot, "pause", lambda _: None)
    with serving(make_app()) as address, ExitStack() as stack:
        half_bodies(stack, address, 45)
        with client(address, secret) as known:
            until(lambda: known.get("/v1/me").status_code == 503, "every place is taken")


def test_a_body_that_arrives_holds_no_place(make_app: MakeApp, serving: Serving, secret: str) -> None:
    """Of those who are known, too: a slow upload keeps nobody out, and is stored once it is there."""
    with serving(make_app()) as address, client(address, secret) as known, ExitStack() as stack:
        body = b'{"key": "slow", "protocol": "mqm", "source_language": "en", "target_language": "de"}'
        lines = []
        for n in range(12):  # more than there are places
            line = stack.enter_context(socket.create_connection(address, timeout=LIMIT))
            sent = body.replace(b"slow", b"slow%d" % n)
            head = f"POST /v1/campaigns HTTP/1.1\r\nHost: x\r\nContent-Length: {len(sent)}\r\n"
            line.sendall(f"{head}Authorization: Bearer {secret}\r\nContent-Type: application/json\r\n\r\n".encode())
            line.sendall(sent[:20])
            lines.append((line, sent))
            assert known.get("/v1/me").status_code == 200
        for line, sent in lines:
            line.sendall(sent[20:])
            assert line.recv(1 << 16).startswith(b"HTTP/1.1 201"), "stored"


def test_the_oldest_of_too_many_bodies_is_given_up(make_app: MakeApp, serving: Serving) -> None:
    with serving(make_app(strangers=UnauthenticatedLimits(seconds=LIMIT, places=2))) as address, ExitStack() as stack:
        lines = half_bodies(stack, address, 2)
        time.sleep(0.3)
        lines += half_bodies(stack, address, 1)
        assert lines[0].recv(1 << 16).startswith(b"HTTP/1.1 408"), "the oldest"
        for line in lines[1:]:
            line.settimeout(0.3)
            with pytest.raises(TimeoutError):
                line.recv(1 << 16)


def test_a_stranger_has_little_time_for_a_body(make_app: MakeApp, serving: Serving) -> None:
    with serving(make_app(strangers=UnauthenticatedLimits(seconds=0.3))) as address, ExitStack() as stack:
        (line,) = half_bodies(stack, address, 1)
        assert line.recv(1 << 16).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(("beyond", "status"), [(-1, 201), (0, 201), (1, 413)])
def test_a_stranger_has_a_small_body(
    make_app: MakeApp, serving: Serving, secret: str, beyond: int, status: int
) -> None:
    body = b'{"token": "%s"}' % secret.encode()
    most, body = 1000, body.ljust(1000 + beyond)
    with serving(make_app(strangers=UnauthenticatedLimits(body=most))) as address, client(address) as new:
        headers = {"Content-Type": "application/json"}
        assert new.post("/v1/session", content=body, headers=headers).status_code == status
        assert new.post("/v1/session", content=iter([body]), headers=headers).status_code == status, "in pieces"


def test_who_is_known_has_a_body_as_large_as_ever(make_app: MakeApp, serving: Serving, secret: str) -> None:
    """With the very first request of a credential, too."""
    with serving(make_app(strangers=UnauthenticatedLimits(body=10))) as address, client(address, secret) as known:
        assert known.post("/v1/campaigns", json={**CAMPAIGN, "name": "n" * 100}).status_code in {201, 422}
        assert "bytes" not in known.post("/v1/campaigns", json=CAMPAIGN).text


def test_a_rate_by_address_that_nobody_known_feels(make_app: MakeApp, serving: Serving, secret: str) -> None:
    with serving(make_app(strangers=UnauthenticatedLimits(rate=0.001, burst=5))) as address, ExitStack() as stack:
        known, new = stack.enter_context(client(address, secret)), stack.enter_context(client(address))
        with client(address, source="127.0.0.2") as other:
            assert known.get("/v1/me").status_code == 200  # the first one tells who they are
            told = [new.get("/v1/recipes") for _ in range(6)]
            assert [one.status_code for one in told] == [200] * 4 + [429] * 2
            assert int(told[-1].headers["Retry-After"]) >= 1
            assert told[-1].json()["type"] == "urn:plumbline:problem:too-many"
            assert told[-1].headers["Connection"] == "close"
            assert {known.get("/v1/me").status_code for _ in range(10)} == {200}
            assert new.get("/livez").status_code == 200
            assert other.get("/v1/recipes").status_code == 200


def test_refusals_of_an_address_take_turns_and_nobody_known_waits(
    make_app: MakeApp, serving: Serving, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are refused at once, none is kept longer than a bound."""
    monkeypatch.setattr(unauthenticated_limits, "REFUSALS", 0.001)
    monkeypatch.setattr(unauthenticated_limits, "HELD", 2 * LIMIT)
    with serving(make_app(strangers=UnauthenticatedLimits(rate=0.001, burst=2))) as address, ExitStack() as stack:
        known, new = stack.enter_context(client(address, secret)), stack.enter_context(client(address))
        assert known.get("/v1/me").status_code == 200
        assert [new.get("/v1/recipes").status_code for _ in range(2)] == [200, 429], "the first one at once"
        with socket.create_connection(address) as held, client(address, source="127.0.0.2") as other:
            held.sendall(b"GET /v1/recipes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert {known.get("/v1/me").status_code for _ in range(10)} == {200}
            assert other.get("/v1/recipes").status_code == 200
            held.settimeout(0.2)
            with pytest.raises(TimeoutError):
                held.recv(1)
            monkeypatch.setattr(unauthenticated_limits, "MOST_HELD", 1)
            assert new.get("/v1/recipes").status_code == 429, "at once, as another waits already"


def test_failed_sign_ins_are_limited_by_address_and_told_in_the_log(
    make_app: MakeApp, serving: Serving, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = "plb_0f3a9c51d27e_" + "x" * 43
    caplog.set_level(logging.WARNING, "plumbline.access")
    with serving(make_app(strangers=UnauthenticatedLimits(failures=3, window=LIMIT))) as address, ExitStack() as stack:
        one, known = stack.enter_context(client(address)), stack.enter_context(client(address, secret))
        with client(address, source="127.0.0.2") as other:
            assert known.get("/v1/me").status_code == 200
            assert sign_in(one, wrong).status_code == 401
            assert sign_in(one, secret).status_code == 201, "a success in between takes none of them back"
            one.cookies.clear()
            assert [sign_in(one, wrong).status_code for _ in range(3)] == [401, 401, 429]
            assert sign_in(one, secret).status_code == 429, "whatever is tried"
            assert one.get("/v1/recipes").status_code == 200, "what is no sign-in"
            assert known.get("/v1/me").status_code == 200, "who is signed in"
            assert sign_in(other, secret).status_code == 201, "at another address"
    said: list[Any] = [vars(record)["request"] for record in caplog.records]
    assert [(one["address"], one["failed"]) for one in said] == [("127.0.0.1", n) for n in (1, 2, 3)]
    assert secret not in caplog.text
    assert wrong not in caplog.text


def test_a_cookie_does_not_make_many_tokens_one_try(make_app: MakeApp, serving: Serving) -> None:
    with (
        serving(make_app(strangers=UnauthenticatedLimits(failures=3, window=LIMIT))) as address,
        client(address) as one,
    ):
        one.cookies.set("staff", "expired")
        assert [sign_in(one, f"plb_{n:012}_{'x' * 43}").status_code for n in range(4)] == [401, 401, 401, 429]


def test_the_same_stale_credential_counts_once(make_app: MakeApp, serving: Serving, secret: str) -> None:
    """A tab that was left open, and asks every few seconds, locks nobody out."""
    stale = "plb_0f3a9c51d27e_" + "x" * 43
    with serving(make_app(strangers=UnauthenticatedLimits(failures=2))) as address, client(address, stale) as tab:
        assert {tab.get("/v1/me").status_code for _ in range(5)} == {401}
        with client(address) as one:
            assert sign_in(one, secret).status_code == 201


def test_a_place_is_given_and_taken_once_however_often_it_is_said() -> None:
    steps: list[int] = []

    def take(n: int, **_: bool) -> None:
        steps.append(n)

    layer: Any = SimpleNamespace(arriving=0, limit=2, change_slots_in_use=take, has_free_slot=lambda **_: True)
    place = AdmissionSlot(layer)
    told = []
    for said in (place.resume, *[place.pause] * 2, *[place.resume] * 2, *[place.release] * 2):
        said()
        told.append((sum(steps), layer.arriving))
    place.resume()
    assert told == [(1, 0), (0, 1), (0, 1), (1, 0), (1, 0), (0, 0), (0, 0)]
    assert (sum(steps), layer.arriving) == (0, 0)


def test_of_too_many_credentials_the_one_shown_longest_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unauthenticated_limits, "FAMILIAR", 2)
    familiar = unauthenticated_limits.RecentlyValidCredentials()
    for digest in (b"a", b"b", b"a", b"c"):
        familiar.keep(digest)
    assert [familiar.has(digest) for digest in (b"a", b"b", b"c", b"d")] == [True, False, True, False]


def test_who_opens_too_many_connections_loses_their_own_oldest(make_app: MakeApp, serving: Serving) -> None:
    class Few(LimitedHttpProtocol):
        idle = IdleConnections(6)

    with serving(make_app(), http=Few) as address, ExitStack() as stack:
        other = stack.enter_context(client(address, source="127.0.0.2"))
        assert other.get("/livez").status_code == 200  # and stays open
        lines = [stack.enter_context(socket.create_connection(address, timeout=LIMIT)) for _ in range(7)]
        until(lambda: ended(lines[0]), "the oldest is closed")
        assert ended(lines[1]), "two more than there may be"
        assert not any(ended(line) for line in lines[2:])
        with client(address) as new:
            assert new.get("/livez").status_code == 200
        kept = other._transport._pool.connections  # type: ignore[attr-defined]  # no other way to see it
        assert len(kept) == 1
        assert other.get("/livez").status_code == 200


def ended(line: socket.socket) -> bool:
    line.settimeout(0.05)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LocalHost:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("mt.example.org", 200),
        ("evil.example.org", 421),
        ("localhost.evil.example.org", 421),
        ("mt.example.org.", 421),
        ("x@mt.example.org", 421),
        ("", 421),
    ],
)
def test_under_which_names_the_service_is_asked(make_app: MakeApp, serving: Serving, host: str, status: int) -> None:
    app = make_app(allowed_hosts=frozenset({"localhost", "mt.example.org"}))
    with serving(app) as address, client(address) as one:
        assert one.get("/v1/recipes", headers={"Host": host}).status_code == status
        assert one.get("/livez", headers={"Host": host}).status_code == 200


def test_the_openapi_document_is_built_once_however_many_ask_first(
    database_url: str, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, written = [], []

    def document(_: object) -> dict[str, object]:
        built.append(1)
        time.sleep(0.5)
        return {str(n): n for n in range(1000)}

    def dumps(*given: Any, **how: Any) -> str:
        written.append(1)
        return json.dumps(*given, **how)

    monkeypatch.setattr("app.web.openapi.document.json", SimpleNamespace(dumps=dumps))
    monkeypatch.setattr("app.web.openapi.document.build_openapi_document", document)
    database = Database(database_url, size=8, role="plumbline_app")
    with serving(create_app(database, ServiceOptions())) as address, ThreadPoolExecutor(16) as pool:
        url = f"http://{address[0]}:{address[1]}/openapi.json"
        answers = list(pool.map(lambda _: httpx.get(url, timeout=LIMIT, trust_env=False), range(16)))
    database.close()
    assert [answer.status_code for answer in answers] == [200] * 16
    assert {answer.headers["content-type"] for answer in answers} == {"application/json"}
    assert {answer.content for answer in answers} == {json.dumps(document(None), separators=(",", ":")).encode()}
    assert (len(built), len(written)) == (2, 1), "once for them, and once for this line"


CLIENT, OTHER, NEXT = "203.0.113.7", "203.0.113.8", "10.0.0.1"


def proxied(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, trusted: str | None) -> Callable[..., list[int]]:
    """Ask so often for something with this header of a proxy, as `plumbline serve` has it with the setting."""
    monkeypatch.delenv("PLUMBLINE_TRUSTED_PROXIES", raising=False)
    if trusted is not None:
        monkeypatch.setenv("PLUMBLINE_TRUSTED_PROXIES", trusted)
    monkeypatch.setattr(web, "_allow_files", lambda: None)
    served = web.make_uvicorn_config()
    app = make_app(strangers=UnauthenticatedLimits(rate=1e-6, burst=3))
    if served.proxy_headers:
        app = ProxyHeadersMiddleware(app, trusted_hosts=served.forwarded_allow_ips or ())

    def ask(header: str | None, times: int, source: str = "127.0.0.1") -> list[int]:
        headers = {} if header is None else {"X-Forwarded-For": header}
        transport = httpx.ASGITransport(app, client=(source, 1))

        async def asked() -> list[int]:
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as one:
                return [(await one.get("/v1/recipes")).status_code for _ in range(times)]

        return asyncio.run(asked())

    return ask


def test_behind_a_trusted_proxy_strangers_are_told_apart_by_what_it_says(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = proxied(make_app, monkeypatch, "127.0.0.1")
    assert ask(CLIENT, 4) == [200, 200, 200, 429]
    assert ask(OTHER, 2) == [200, 200]
    assert ask(f"{OTHER}, {CLIENT}", 1) == [429], "what stands further left was sent by the stranger"
    assert ask(f"{CLIENT}, {NEXT}", 4) == [200, 200, 200, 429], "a proxy that nobody named is a stranger"
    assert ask(None, 1) == [200]
    assert ask(OTHER, 2) == [200, 429]
    assert ask(OTHER, 4, source=NEXT) == [429] * 4, "who is no proxy of ours may not name another"


def test_of_two_trusted_proxies_the_outer_says_who_asks(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = proxied(make_app, monkeypatch, "127.0.0.1, 10.0.0.0/8")
    assert ask(f"{CLIENT}, {NEXT}", 3) == [200, 200, 200]
    assert ask(f"{OTHER}, {CLIENT}, 10.9.9.9, {NEXT}", 1) == [429]
    assert ask(f"{OTHER}, {NEXT}", 1) == [200]


@pytest.mark.parametrize("trusted", [None, "", "192.0.2.1"])
def test_nobody_else_is_believed(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, trusted: str | None) -> None:
    ask = proxied(make_app, monkeypatch, trusted)
    assert [status for n in range(4) for status in ask(f"203.0.113.{n}", 1)] == [200, 200, 200, 429]
    assert ask(None, 1, source=CLIENT) == [200]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, None),
        ({"PUBLIC_URL": "https://mt.example.org"}, "any"),
        ({"ALLOWED_HOSTS": "MT.example.org:8000, b.example.org"}, {"mt.example.org", "b.example.org"}),
        ({"ALLOWED_HOSTS": "a", "PUBLIC_URL": "https://mt.example.org"}, {"a"}),
    ],
)
def test_names_and_allowance_come_from_the_settings(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], names: set[str] | str | None
) -> None:
    for name, value in {"STRANGER_RATE": "7", "FAILED_SIGN_INS": "3", **given}.items():
        monkeypatch.setenv(f"PLUMBLINE_{name}", value)
    found = make_service_options(Settings.load())
    assert found.strangers == UnauthenticatedLimits(rate=7, burst=70, failures=3)
    if names is None:
        assert {"localhost", "127.0.0.1", socket.gethostname().lower()} <= (found.allowed_hosts or set())
    else:
        assert found.allowed_hosts == (None if names == "any" else names)
