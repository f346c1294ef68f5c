"""Every error is problem+json with a request id and without internals; and the watch over it would notice."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.routing import APIRoute

from app.domain.errors import AppError, Conflict, RateLimitExceeded, StorageFull, Unavailable
from app.web.logs import REQUEST
from app.web.problems import retry_after_header

Serving = Callable[..., AbstractContextManager[httpx.Client]]


class Watching(Protocol):
    broken: list[str]


def test_an_unknown_address_is_a_problem_that_quotes_nothing(anonymous: httpx.Client) -> None:
    answer = anonymous.get("/v1/no-such-thing")
    assert answer.status_code == 404
    assert "no-such-thing" not in answer.text
    assert answer.json()["instance"] == answer.headers["X-Request-Id"]


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [
        ("/v1/campaigns", "DELETE", "GET, HEAD, POST"),
        ("/v1/campaigns/k/ranking", "PUT", "GET, HEAD, POST"),
        ("/livez", "TRACE", "GET, HEAD"),
        ("/v1/tokens/0f3a9c51d27e", "OPTIONS", "DELETE, GET, HEAD"),
        ("/", "POST", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_told_every_method_of_the_address(
    anonymous: httpx.Client, path: str, method: str, allowed: str
) -> None:
    answer = anonymous.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize(("n", "told"), [(19, 19), (20, 20), (21, 20)])
def test_the_first_twenty_faults_of_a_query_are_told(admin: httpx.Client, n: int, told: int) -> None:
    answer = admin.get("/v1/campaigns", params={f"p{i}": "1" for i in range(n)})
    assert [error["loc"] for error in answer.json()["errors"]] == [["query", f"p{i}"] for i in range(told)]


def test_the_kind_of_a_problem_is_stable_and_the_place_is_named(admin: httpx.Client) -> None:
    answer = admin.post("/v1/campaigns", json={"key": "no blanks", "protocol": "da", "extra": 1})
    told = answer.json()
    assert (answer.status_code, told["type"]) == (422, "urn:plumbline:problem:invalid")
    assert {tuple(error["loc"]) for error in told["errors"]} == {("body", "key"), ("body", "extra")}
    assert "no blanks" not in answer.text
    admin.post("/v1/campaigns", json={"key": "k", "protocol": "da"})
    again = admin.post("/v1/campaigns", json={"key": "k", "protocol": "da"})
    assert (again.status_code, again.json()["type"]) == (409, "urn:plumbline:problem:campaign-exists")


class Odd(AppError):
    """Select something internal."""

    kind = "odd"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError('File "/srv/app/storage/db.py", SELECT secret FROM tokens'), 500),
        (Odd("sqlalchemy said no"), 500),
        (RecursionError(), 500),
        (Unavailable(retry_after=7), 503),
        (StorageFull(), 507),
    ],
)
def test_what_fails_inside_shows_nothing_of_the_inside(
    app: FastAPI, serving: Serving, caplog: pytest.LogCaptureFixture, error: Exception, status: int
) -> None:
    def fails() -> None:
        raise error

    caplog.set_level(logging.INFO)
    app.router.routes.append(APIRoute("/fails", fails))
    with serving(app) as client:
        answer = client.get("/fails")
    assert answer.status_code == status
    assert "SELECT" not in answer.text
    assert (answer.headers.get("Retry-After") == "7") is (status == 503)
    said = [record.__dict__[REQUEST] for record in caplog.records if record.name == "plumbline.requests"]
    assert (answer.headers["X-Request-Id"], status) in [(line["request"], line["status"]) for line in said]


@pytest.mark.parametrize(
    "careless",
    [
        lambda: PlainTextResponse("no", 404),
        lambda: JSONResponse({"detail": "no"}, 400),
        lambda: JSONResponse({"title": "Traceback (most recent call last)"}, 500),
        lambda: PlainTextResponse("", 503),
    ],
)
def test_the_watch_notices_an_error_that_is_no_problem(
    app: FastAPI, serving: Serving, watch: list[Watching], careless: Callable[[], object]
) -> None:
    """The negative control of the hook that looks at every answer of this suite."""
    app.router.routes.append(APIRoute("/careless", careless))
    with serving(app) as client:
        client.get("/careless")
    assert [one.broken for one in watch if one.broken]
    watch.clear()


def test_the_watch_notices_internals_within_a_proper_problem(
    app: FastAPI, serving: Serving, watch: list[Watching]
) -> None:
    class Leaks(AppError):
        """It went wrong."""

        kind = "conflict"

    def leaks() -> None:
        raise Leaks("psycopg.errors.UniqueViolation")

    app.router.routes.append(APIRoute("/leaks", leaks))
    with serving(app) as client:
        assert client.get("/leaks").status_code == 409
    assert "psycopg" in watch[-1].broken[0]
    watch.clear()


def test_a_foreign_origin_is_let_in_only_where_the_installation_names_it(
    make_app: Callable[..., FastAPI], serving: Serving, anonymous: httpx.Client
) -> None:
    ask = {"Origin": "https://good.example", "Access-Control-Request-Method": "GET"}
    assert "access-control-allow-origin" not in anonymous.options("/v1/me", headers=ask).headers
    with serving(make_app(cors_origins=("https://good.example",))) as client:
        assert client.options("/v1/me", headers=ask).headers["Access-Control-Allow-Origin"] == "https://good.example"
        refused = client.options("/v1/me", headers={**ask, "Origin": "https://evil.example"})
        assert refused.status_code == 400
        simple = client.get("/v1/me", headers={"Origin": "https://good.example"})
        assert simple.status_code == 401
        assert "access-control-allow-credentials" not in simple.headers


def test_errors_of_the_moment_say_when_to_come_again_and_others_only_where_they_know() -> None:
    told = [
        retry_after_header(error) for error in (RateLimitExceeded(), Unavailable(), Conflict(), Conflict(retry_after=5))
    ]
    assert told == [{"Retry-After": "1"}, {"Retry-After": "1"}, {}, {"Retry-After": "5"}]
