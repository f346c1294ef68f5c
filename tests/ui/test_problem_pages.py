"""What a browser is shown where there is no page, or where one fails; programs get a problem. No database is asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.domain.errors import Unavailable
from app.main import create_app
from app.storage.db import Database
from app.ui.pages import PageRoute
from app.web.deps import ServiceOptions
from tests.ui.test_pages import check_strict

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it recommends another client library, for its own sake
    from starlette.testclient import TestClient

BROWSERS = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
    "text/html",
)
PROGRAMS = (
    "*/*",
    "",
    "application/json",
    "application/json, text/html;q=0.5",
    "text/html;q=0, */*",
    "text/*;q=0.1, */*",
)
JSON = "application/problem+json"


@contextmanager
def opened() -> Iterator[FastAPI]:
    with closing(Database("postgresql://nobody@127.0.0.1:1/none", size=1)) as database:
        yield create_app(database, ServiceOptions())


@pytest.fixture(scope="module")
def app() -> Iterator[FastAPI]:
    with opened() as made:
        yield made


@pytest.fixture
def anyone(app: FastAPI) -> httpx.Client:
    """Without a session; what fails inside is an answer, as it is from a server."""
    return TestClient(app, headers={"Accept": BROWSERS[0]}, follow_redirects=False, raise_server_exceptions=False)


@pytest.mark.parametrize("accept", BROWSERS)
def test_a_mistyped_address_is_a_page_with_a_way_home(anyone: httpx.Client, accept: str) -> None:
    answer = anyone.get("/campaings", headers={"Accept": accept})
    page = check_strict(answer)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-store"
    assert "There is no such page" in answer.text
    assert {"class": "brand", "href": "/"} in page.of("a")


@pytest.mark.parametrize("accept", PROGRAMS)
def test_a_program_that_mistypes_an_address_is_told_a_problem(anyone: httpx.Client, accept: str) -> None:
    answer = anyone.get("/campaings", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (404, JSON)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1", 404),
        ("GET", "/v1/campaings", 404),
        ("POST", "/campaings", 404),
        ("DELETE", "/campaigns", 405),
        ("GET", "/assets/0000000000000000/style.css", 404),
    ],
)
def test_the_interface_what_is_sent_and_files_have_problems_for_browsers_too(
    anyone: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = anyone.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, JSON)


def test_it_is_a_page_of_whoever_is_signed_in_and_tells_nothing_of_what_there_is(anyone: httpx.Client) -> None:
    staff = anyone.get("/campaigns/secret/nothing/here", headers={"Cookie": "staff=x"})
    assert "/campaigns" in [a.get("href") for a in check_strict(staff).of("a")]
    rater = anyone.get("/rate/nothing", headers={"Cookie": "rater=x"})
    assert "/rate" in [a.get("href") for a in check_strict(rater).of("a")]
    astray = check_strict(anyone.get("/hours", headers={"Cookie": "rater=x"})).of("a")
    assert {"class": "button", "href": "/rate"} in astray
    assert {"class": "button", "href": ""} not in astray
    one, other = (anyone.get(path).text for path in ("/campaigns/aaa/nothing", "/campaigns/bbb/nothing"))
    assert one.replace("aaa", "bbb") == other


def test_it_speaks_the_language_of_the_reader(anyone: httpx.Client) -> None:
    answer = anyone.get("/campaings?lang=de")
    assert "Diese Seite gibt es nicht" in answer.text
    assert answer.headers["content-language"] == "de"


@pytest.mark.parametrize("path", ["//evil.example/x", "///evil.example", "/\\evil.example", "/%22%3E%3Cscript%3E"])
def test_no_address_that_is_typed_leads_to_another_host_or_becomes_markup(anyone: httpx.Client, path: str) -> None:
    answer = anyone.get(f"http://testserver{path}")
    assert answer.status_code == 404
    check_strict(answer)


def test_a_head_of_no_page_is_that_of_the_page(anyone: httpx.Client) -> None:
    answer = anyone.head("/campaings")
    assert (answer.status_code, answer.content) == (404, b"")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("error", "status", "again", "said"),
    [
        (RuntimeError("SELECT secret"), 500, None, "Something went wrong on our side"),
        (Unavailable(retry_after=7), 503, "7", Unavailable().title()),
    ],
)
def test_a_page_that_fails_is_a_page(
    app: FastAPI, anyone: httpx.Client, error: Exception, status: int, again: str | None, said: str
) -> None:
    def fails() -> None:
        raise error

    app.router.routes.insert(0, PageRoute("/fails", fails))
    answer, told = anyone.get("/fails"), anyone.get("/fails", headers={"Accept": "*/*"})
    app.router.routes.pop(0)
    assert {"class": "button", "href": ""} in check_strict(answer).of("a")  # Try again
    assert said in answer.text
    assert "SELECT" not in answer.text
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, again)
    assert (told.status_code, told.headers["content-type"]) == (status, JSON)


def test_what_fails_beside_the_pages_stays_a_problem(app: FastAPI, anyone: httpx.Client) -> None:
    def fails() -> None:
        raise RuntimeError

    app.router.routes.insert(0, APIRoute("/fails", fails))
    answer = anyone.get("/fails")
    app.router.routes.pop(0)
    assert (answer.status_code, answer.headers["content-type"]) == (500, JSON)


def test_a_browser_that_comes_when_there_is_no_room_is_told_so_by_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.main.PER_CONNECTION", 0)
    with opened() as full:
        client = TestClient(full, headers={"Accept": BROWSERS[0]})
        answer, told = client.get("/campaigns"), client.get("/v1/campaigns")
    check_strict(answer)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "The server is busy" in answer.text
    assert (told.status_code, told.headers["content-type"]) == (503, JSON)
