"""The application over a real database, its clients, and a watch on every error that it answers."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.main import create_app
from app.services.access import tokens
from app.services.access.tokens import Role
from app.services.templates.templates import TEMPLATES
from app.storage import embedded
from app.storage.db import Database
from app.web.deps import ServiceOptions
from app.web.request_log import RequestIdAndLogMiddleware
from tests.api.live_campaign import Auth, open_live, tokens_of
from tests.collecting import give_task
from tests.patience import patience as patience  # a fixture
from tests.spine import Spine, template_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it recommends another client library, for its own sake
    from starlette.testclient import TestClient

OPTIONS = ServiceOptions()
INTERNALS = re.compile(
    rb"Traceback|File \"|site-packages|sqlalchemy|psycopg|\bSELECT\b|\bINSERT\b|0x[0-9a-f]{8}|app\.[a-z]+\."
)
REQUEST_ID = re.compile(r"r_[0-9a-f]{32}")
MEMBERS = {"type", "title", "status", "detail", "instance", "errors"}
OF_ONE_KIND = {"stored", "sent"}  # of a stale judgment: both answers, so that a page can ask


class NotAProblem(AssertionError):
    """An error answer broke the promise that every error is problem+json with a request id and without internals."""


def check_problem(status: int, headers: dict[str, str], body: bytes, asked: bytes = b"") -> None:
    """Raise NotAProblem where an error is not as promised.

    asked: the query as it was sent. Its names are told back as places, and who makes up queries of the words of our own
    modules, as one of our tests does, is told those.
    """
    if status < 400:
        return
    if headers.get("content-type") != "application/problem+json":
        raise NotAProblem(f"{status} is {headers.get('content-type')}: {body[:200]!r}")
    told = json.loads(body) if body else {}
    if body and (set(told) - OF_ONE_KIND != MEMBERS or told["status"] != status):
        raise NotAProblem(f"{status} says {sorted(told)}")
    named = headers.get("x-request-id", "")
    if not REQUEST_ID.fullmatch(named) or (body and told["instance"] != named):
        raise NotAProblem(f"{status} has no request id")
    shown = [found[0] for found in INTERNALS.finditer(body) if found[0] not in asked]
    if shown:
        raise NotAProblem(f"{status} shows {shown[0]!r}")
    if status in {429, 503} and not headers.get("retry-after", "").isdigit():
        raise NotAProblem(f"{status} without Retry-After")


class Watch:
    """Stands outside the application and looks at every answer as it leaves."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.broken: list[str] = []
        self.seen = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {}
        body = bytearray()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif start and start["status"] >= 400:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    self._look(scope, start, bytes(body))
            await send(message)

        await self.app(scope, receive, watched)

    def _look(self, scope: Scope, start: Message, body: bytes) -> None:
        self.seen += 1
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in start["headers"]}
        try:
            check_problem(start["status"], headers, body, unquote_to_bytes(scope.get("query_string", b"")))
        except NotAProblem as error:
            self.broken.append(f"{scope['method']} {scope['path'][:200]}: {error}")


@pytest.fixture(autouse=True)
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Watch]]:
    """Every application that a test makes is watched, and a broken promise fails the test, whatever it asserts.

    A negative control empties the list.
    """
    watches: list[Watch] = []
    built = RequestIdAndLogMiddleware.__call__

    async def outermost(layer: RequestIdAndLogMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        async def inner(s: Scope, r: Receive, w: Send) -> None:
            await built(layer, s, r, w)

        one = Watch(inner)
        watches.append(one)
        await one(scope, receive, send)

    monkeypatch.setattr(RequestIdAndLogMiddleware, "__call__", outermost)
    yield watches
    broken = [line for one in watches for line in one.broken]
    assert not broken, "\n".join(broken[:10])


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A fresh migrated database under the serving role."""
    handle = Database(database_url, size=8, role="plumbline_app")
    yield handle
    handle.close()


@pytest.fixture
def app(database: Database) -> FastAPI:
    """The application."""
    return create_app(database, OPTIONS)


@pytest.fixture
def make_app(database: Database) -> Callable[..., FastAPI]:
    """Make the application with other options."""
    return lambda **changes: create_app(database, replace(OPTIONS, **changes))


@contextmanager
def _serving(app: FastAPI, **headers: str) -> Iterator[httpx.Client]:
    """A client of a running application; what it does not handle becomes its 500, not the test's exception."""
    with TestClient(app, raise_server_exceptions=False, headers=headers) as client:
        yield client


@pytest.fixture
def serving() -> Callable[..., AbstractContextManager[httpx.Client]]:
    """Run an application and give a client of it."""
    return _serving


@pytest.fixture
def anonymous(app: FastAPI) -> Iterator[httpx.Client]:
    """A client without a credential."""
    with _serving(app) as client:
        yield client


@pytest.fixture
def secret(database: Database) -> Callable[..., str]:
    """Make a token and give its secret."""

    def make(role: Role = "admin", **given: object) -> str:
        with database.transaction() as session:
            return tokens.issue_token(session, role=role, **given).secret

    return make


@pytest.fixture
def ask(database_url: str) -> Callable[..., None]:
    """Run statements as the owner of the schema, in one transaction."""

    def run(*statements: str) -> None:
        with psycopg.connect(database_url) as connection:
            for statement in statements:
                connection.execute(statement)

    return run


@pytest.fixture
def dump(database_url: str) -> Callable[[], str]:
    """Every row of every table as text, as a dump has them."""

    def everything() -> str:
        with psycopg.connect(database_url) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            rows = [connection.execute(f'SELECT t::text FROM "{name}" t').fetchall() for (name,) in tables]
        return "\n".join(text for table in rows for (text,) in table)

    return everything


@pytest.fixture
def ask_rows(database_url: str) -> Callable[[str], list[tuple[Any, ...]]]:
    """Rows of a query, as the owner of the schema."""

    def run(query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(database_url) as connection:
            return connection.execute(query.encode()).fetchall()

    return run


@pytest.fixture
def admin(anonymous: httpx.Client, secret: Callable[..., str]) -> httpx.Client:
    """A client with the token of an admin."""
    anonymous.headers["Authorization"] = f"Bearer {secret()}"
    return anonymous


COLUMNS = ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity", "metadata"]
MQM = "\t".join(COLUMNS) + "\n"
MQM += "".join(
    f"{system}\tnews.1\t{n}\t{n}\trater{n % 2}\tSource {n}.\tTarget {n} of {system}.\t{category}\t{severity}\t\n"
    for system, severities in {"A": "MMm-", "B": "mm--", "C": "----"}.items()
    for n, (category, severity) in enumerate(
        ({"M": ("Accuracy", "Major"), "m": ("Fluency", "Minor"), "-": ("No-error", "No-error")}[s] for s in severities),
        1,
    )
)


def populate(admin: httpx.Client, url: str) -> dict[str, str]:
    """A campaign with judgments, an import under way and a token; the values that path parameters can take."""
    made = admin.post(
        "/v1/campaigns", json={"key": "demo", "protocol": "mqm", "target_language": "de", "series": "wmt"}
    )
    assert made.status_code == 201, made.text
    read = admin.post("/v1/campaigns/demo/imports", params={"format": "mqm-tsv"}, content=MQM.encode())
    assert read.status_code == 200, read.text
    announced = admin.post("/v1/campaigns/demo/imports", json={"format": "mqm-tsv"})
    assert announced.status_code == 201, announced.text
    token = admin.post("/v1/tokens", json={"role": "viewer"})
    stored = admin.put("/v1/campaigns/demo/recipes/strict", json={"name": "google-mqm", "alpha": 0.01})
    assert stored.status_code == 200, stored.text
    excluded = admin.post("/v1/campaigns/demo/exclusions", json={"system": "B", "reason": "late"})
    assert excluded.status_code == 201, excluded.text
    for path in ("teams/bonn", "raters/r1"):
        enrolled = admin.put(f"/v1/campaigns/demo/{path}", json={"name": "Bonn"} if "teams" in path else {})
        assert enrolled.status_code == 200, enrolled.text
    invited = admin.post("/v1/campaigns/demo/invitations", json={"count": 2})
    assert invited.status_code == 201, invited.text
    hook = admin.post("/v1/campaigns/demo/webhooks", json={"url": "https://hooks.example.org/"})
    assert hook.status_code == 201, hook.text
    for path, texts in {"guidelines": {"en": "Read first."}, "consent": {"en": "I agree."}}.items():
        written = admin.put(f"/v1/campaigns/demo/{path}", json=texts)
        assert written.status_code == 200, written.text
    lifted = admin.delete(excluded.headers["Location"], params={"reason": "not so late"})
    assert lifted.status_code == 200, lifted.text
    return {
        "campaign": "demo",
        "archive": "x" * 22,
        "import": announced.json()["import"],
        "name": "ratings.tsv",
        "format": "jsonl",
        "kind": "csv",
        "prefix": token.json()["prefix"],
        "protocol": "mqm",
        "recipe": "strict",
        "series": "wmt",
        "rater": "r1",
        "task": give_task(url, "demo", "r1"),
        "item": "1",
        "segment": "1",
        "screen": "1",
        "flag": "f_" + "0" * 32,
        "message": "1",
        "team": "bonn",
        "invitation": invited.json()["invitation"],
        "webhook": hook.json()["webhook"],
        "exclusion": str(excluded.json()["exclusion"]),
        "file": "start.js",
        "document": "news.1",
        "plan": "1",
        "set": "anchors",
        "system": "A",
        "media": "m_" + "0" * 32,
        "upload": "u_" + "0" * 32,
        "given": "0" * 16,
        "metric": "comet-22",
        "moment": "before",
        "shape": "svg",
        "job": "j_" + "0" * 32,
        "template": next(iter(TEMPLATES)),
    }


@pytest.fixture(scope="session")
def populated_template(
    postgres: embedded.EmbeddedServer, migrated_template: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """The name of a database with what `populate` makes, and the values."""
    values: dict[str, str] = {}
    with template_by_admin(postgres, migrated_template, lambda admin, url: values.update(populate(admin, url))) as name:
        yield name, values


@contextmanager
def template_by_admin(
    postgres: embedded.EmbeddedServer, migrated: str, fill: Callable[[httpx.Client, str], object]
) -> Iterator[str]:
    """The name of a database with what an admin did over HTTP: done once, as it takes as long as many tests.

    fill: gets the client of the admin and the owner's address of the database.
    """

    def ask(spine: Spine) -> None:
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="admin").secret
        with _serving(create_app(spine.database, OPTIONS), Authorization=f"Bearer {secret}") as client:
            fill(client, spine.url)
        with psycopg.connect(spine.url) as connection:
            connection.execute("DELETE FROM tokens WHERE role = 'admin'")  # each test issues its own

    with template_of(postgres, migrated, ask) as name:
        yield name


@pytest.fixture(scope="session")
def live_template(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The name of a database with the campaign of `live`."""
    with template_by_admin(postgres, migrated_template, lambda admin, _: open_live(admin)) as name:
        yield name


def template_asked_for(request: pytest.FixtureRequest, migrated: str, templates: Mapping[str, str]) -> str:
    """The database that has what a test asks for from the start, else the migrated one.

    templates: by the fixture that a test asks for, the one that names the database, alone or first of several things.
    """
    for asked, template in templates.items():
        if asked in request.fixturenames:
            made = request.getfixturevalue(template)
            return str(made[0] if isinstance(made, tuple) else made)
    return migrated


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_template: str) -> str:
    """Who asks for what is populated, or for the open campaign, has a copy of it from the start."""
    asked = {"populated": "populated_template", "open_campaign": "live_template"}
    return template_asked_for(request, migrated_template, asked)


@pytest.fixture
def populated(populated_template: tuple[str, dict[str, str]]) -> dict[str, str]:
    """What `populate` makes."""
    return dict(populated_template[1])


@pytest.fixture
def open_campaign() -> str:
    """The key of an open campaign that is in the database from the start."""
    return "live"


@pytest.fixture
def live(open_campaign: str, admin: httpx.Client) -> httpx.Client:
    """An open campaign: six documents, two systems, three raters, each group of two items a task of its own."""
    return admin


@pytest.fixture
def auth(database: Database) -> Auth:
    """The headers of each rater."""
    return tokens_of(database)
