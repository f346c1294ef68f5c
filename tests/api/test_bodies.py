from __future__ import annotations

import asyncio
import gzip
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import anyio
import httpx
import psutil
import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter, ValidationError

from app.api.models.times import TimeIn
from app.web import request_bodies, strict_json
from tests.patience import soon

Serving = Callable[..., AbstractContextManager[httpx.Client]]
NEW = {"key": "k", "protocol": "da"}


def test_json_is_taken_only_as_json(admin: httpx.Client) -> None:
    body = json.dumps(NEW).encode()
    for kind in ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert admin.post("/v1/campaigns", content=body, headers={"Content-Type": kind}).status_code == 415
    for kind in ("application/json; charset=utf-16", "application/json; charset=latin-1"):
        assert admin.post("/v1/campaigns", content=body, headers={"Content-Type": kind}).status_code == 415
    encoded = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert admin.post("/v1/campaigns", content=gzip.compress(body), headers=encoded).status_code == 415
    kind = "Application/JSON; charset=UTF-8"
    assert admin.post("/v1/campaigns", content=body, headers={"Content-Type": kind}).status_code == 201


def test_a_body_is_bounded_whether_or_not_it_says_its_length(
    make_app: Callable[..., FastAPI], serving: Serving, secret: Callable[..., str]
) -> None:
    headers = {"Authorization": f"Bearer {secret()}", "Content-Type": "application/json"}
    with serving(make_app(body_limit=1024), **headers) as client:
        body = json.dumps({**NEW, "name": "x" * 1024}).encode()
        assert client.post("/v1/campaigns", content=body).status_code == 413
        assert client.post("/v1/campaigns", content=iter([body[:512], body[512:]])).status_code == 413
        assert client.post("/v1/campaigns", content=json.dumps(NEW).encode()).status_code == 201


def test_an_upload_is_bounded(
    make_app: Callable[..., FastAPI], serving: Serving, secret: Callable[..., str], populated: dict[str, str]
) -> None:
    files = f"/v1/campaigns/demo/imports/{populated['import']}/files/"
    with serving(make_app(upload_limit=2_000_000), Authorization=f"Bearer {secret()}") as client:
        assert client.put(files + "a.tsv", content=bytes(2_000_001)).status_code == 413
        assert client.put(files + "a.tsv", content=iter([bytes(1_500_000)] * 2)).status_code == 413
        assert client.put(files + "a.tsv", content=bytes(2_000_000)).json()["size"] == 2_000_000


def test_a_form_is_not_a_file(admin: httpx.Client, populated: dict[str, str]) -> None:
    path = f"/v1/campaigns/demo/imports/{populated['import']}/files/a.tsv"
    answer = admin.put(path, files={"file": ("a.tsv", io.BytesIO(b"x"))})
    assert answer.status_code == 415


class Peer:
    """A client below httpx, which sends piece by piece and holds nothing."""

    def __init__(self, method: str, path: str, secret: str, pieces: Iterator[bytes], *, ends: bool = True) -> None:
        headers = {"authorization": f"Bearer {secret}", "content-type": "application/json", "host": "testserver"}
        self.scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        self.pieces, self.ends = pieces, ends
        self.answer: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, object]:
        for piece in self.pieces:
            return {"type": "http.request", "body": piece, "more_body": True}
        if not self.ends:
            await anyio.sleep(30)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        self.answer.append(message)

    async def ask(self, app: FastAPI) -> None:
        await app(self.scope, self.receive, self.send)


def test_a_body_that_stops_coming_is_given_up(
    make_app: Callable[..., FastAPI], serving: Serving, secret: Callable[..., str]
) -> None:
    app, token = make_app(body_timeout=0.2), secret()

    def given_up_after() -> float:
        peer = Peer("POST", "/v1/campaigns", token, iter([b'{"key": "k']), ends=False)
        started = time.monotonic()
        client.portal.call(peer.ask, app)
        assert peer.answer[0]["status"] == 408
        return time.monotonic() - started

    with serving(app) as client:
        assert soon(given_up_after, 5)


class Leaver(Peer):
    """A client that is gone before its body has come."""

    async def receive(self) -> dict[str, object]:
        for piece in self.pieces:
            return {"type": "http.request", "body": piece, "more_body": True}
        return {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/campaigns"),
        ("PUT", "/v1/campaigns/demo/imports/{import}/files/half.tsv"),
        ("POST", "/v1/campaigns/demo/imports?format=mqm-tsv"),
    ],
)
def test_a_client_that_leaves_in_the_middle_is_no_error_of_ours(
    admin: httpx.Client, app: FastAPI, populated: dict[str, str], secret: Callable[..., str], method: str, path: str
) -> None:
    address, _, query = path.format(**populated).partition("?")
    peer = Leaver(method, address, secret(), iter([b'{"key": "k']))
    peer.scope["query_string"] = query.encode()
    admin.portal.call(peer.ask, app)
    assert peer.answer[0]["status"] == 400


def test_an_upload_is_never_whole_in_memory(
    admin: httpx.Client, app: FastAPI, populated: dict[str, str], secret: Callable[..., str]
) -> None:
    """200 MB pass through a process that grows by less than a third of that."""
    process, piece = psutil.Process(), bytes(1 << 16)
    path = f"/v1/campaigns/demo/imports/{populated['import']}/files/big.tsv"
    peer = Peer("PUT", path, secret(), (piece for _ in range(200 << 4)))
    peak, done = [process.memory_info().rss], threading.Event()

    def look() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], process.memory_info().rss)

    before, looker = peak[0], threading.Thread(target=look)
    looker.start()
    try:
        admin.portal.call(peer.ask, app)
    finally:
        done.set()
        looker.join()
    assert json.loads(peer.answer[1]["body"])["size"] == 200 << 20
    assert peak[0] - before < 64 << 20


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=1.5", "limit"),
        ("limit=2&limit=2", "limit"),
        ("limt=2", "limt"),
        ("cursor=%00%00", "cursor"),
        ("%3Cscript%3E=1", "(name)"),
    ],
)
def test_a_query_is_strict_and_says_which_parameter(admin: httpx.Client, query: str, told: str) -> None:
    answer = admin.get(f"/v1/campaigns?{query}")
    assert answer.status_code == 422
    assert ["query", told] in [error["loc"] for error in answer.json()["errors"]]


def test_an_address_without_parameters_takes_none(anonymous: httpx.Client) -> None:
    for path in ("/livez", "/version", "/openapi.json", "/docs", "/v1/recipes"):
        assert anonymous.get(f"{path}?x=1").status_code == 422


def test_only_lists_may_be_repeated(admin: httpx.Client, populated: dict[str, str]) -> None:
    ranking = "/v1/campaigns/demo/ranking?recipe=google-mqm&permutations=100"
    both = admin.get(f"{ranking}&exclude=system:A&exclude=rater:rater1")
    assert both.status_code == 200, both.text
    assert both.json()["recipe"]["exclude"] == ["rater:rater1", "system:A"]
    assert admin.get(f"{ranking}&alpha=0.1&alpha=0.2").status_code == 422


def test_a_ranking_can_be_asked_of_the_past(admin: httpx.Client, populated: dict[str, str]) -> None:
    ranking = "/v1/campaigns/demo/ranking?recipe=google-mqm&permutations=100"
    now = admin.get(ranking).json()
    assert admin.get(f"{ranking}&as_of={now['data_version']}").json() == now
    assert admin.get(f"{ranking}&as_of=2099-01-01T00:00:00Z").json() == now
    for bad in ("yesterday", "-1", "1.0", "2026-01-01", "9" * 40, "2026-01-01T00:00:00", "0001-01-01T00:00:00Z"):
        assert admin.get(f"{ranking}&as_of={bad}").status_code == 422


def test_a_large_body_is_made_a_model_beside_the_event_loop(
    admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_the_loop = []
    read = request_bodies.JsonBodyReader._read

    def noted(self: request_bodies.JsonBodyReader[Any], data: bytes) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            on_the_loop.append(False)
        else:
            on_the_loop.append(True)
        return read(self, data)

    monkeypatch.setattr(request_bodies.JsonBodyReader, "_read", noted)
    for key, notes in (("small", "x"), ("large", "x" * request_bodies.AT_ONCE)):
        body = {"key": key, "protocol": "da", "settings": {"notes": notes}}
        assert admin.post("/v1/campaigns", json=body).status_code == 201
    assert on_the_loop == [True, False], "a small one is done before a thread is found for it"


@pytest.mark.parametrize(
    ("number", "fits"), [(2**63 - 1, True), (-(2**63), True), (2**63, False), (-(2**63) - 1, False), (10**64, False)]
)
def test_an_integer_of_a_body_fits_sixty_four_bits(number: int, fits: bool) -> None:
    with nullcontext() if fits else pytest.raises(strict_json.JsonNotStrict):
        assert strict_json.parse_json(f'{{"n": {number}}}'.encode()) == {"n": number}


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("1970-01-01T00:00:00Z", True),
        ("1969-12-31T23:59:59Z", False),
        ("9998-12-31T23:59:59+00:00", True),
        ("9999-01-01T00:00:00Z", False),
        ("2026-02-30T00:00:00Z", False),
    ],
)
def test_a_time_is_of_a_year_that_every_zone_of_the_database_has(text: str, taken: bool) -> None:
    with nullcontext() if taken else pytest.raises(ValidationError):
        assert TypeAdapter(TimeIn).validate_python(text).isoformat() == text.replace("Z", "+00:00")
