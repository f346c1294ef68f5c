"""The application with the demo loaded, and browsers that are signed in or not."""

from __future__ import annotations

import html
import json
import re
import warnings
from collections.abc import Callable, Iterator

import httpx
import pytest

from app.main import create_app
from app.services.access import tokens
from app.storage import embedded
from app.storage.db import Database
from app.web.deps import ServiceOptions
from tests.judged_demo import load_judged
from tests.patience import patience as patience  # a fixture
from tests.spine import template_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it recommends another client library, for its own sake
    from starlette.testclient import TestClient

Browser = httpx.Client


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A fresh migrated database under the serving role."""
    handle = Database(database_url, size=4, role="plumbline_app")
    yield handle
    handle.close()


@pytest.fixture(scope="session")
def judged(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The template with the demo, judged."""
    with template_of(postgres, migrated_template, lambda spine: load_judged(spine.database)) as name:
        yield name


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_template: str) -> str:
    """Who asks for the demo has it in the database from the start."""
    return str(request.getfixturevalue("judged")) if "demo" in request.fixturenames else migrated_template


@pytest.fixture
def demo() -> str:
    """The key of the demo campaign."""
    return "demo"


@pytest.fixture
def browser(database: Database) -> Iterator[Browser]:
    """A browser that is not signed in; it does not follow redirects by itself."""
    headers = {"Accept": "text/html,*/*;q=0.8"}
    app = create_app(database, ServiceOptions())
    with TestClient(app, headers=headers, follow_redirects=False) as client:
        yield client


@pytest.fixture
def sign_in(browser: Browser, database: Database) -> Callable[..., Browser]:
    """Sign the browser in with a new token of a role, as the landing page's module does."""

    def signed_in(role: tokens.Role = "viewer", campaign: str | None = None) -> Browser:
        with database.transaction() as session:
            secret = tokens.issue_token(session, role=role, campaign=campaign).secret
        assert browser.post("/v1/session", json={"token": secret}).status_code == 201
        return browser

    return signed_in


BUTTON = re.compile(r'data-start="([^"]+)" data-method="([A-Z]+)" data-body="([^"]*)"')


def buttons(page: str) -> list[tuple[str, str, str]]:
    """What the buttons of a page send that begin what takes long: address, method and body."""
    return [tuple(map(html.unescape, found)) for found in BUTTON.findall(page)]  # type: ignore[misc]


def begin(browser: Browser, page: str) -> httpx.Response:
    """Press the button of a page that begins what takes long, as its module does."""
    ((address, method, body),) = buttons(page)
    csrf = next(iter(re.findall(r'<meta name="csrf" content="([^"]+)">', page)))
    headers = {"Prefer": "wait=0", "Accept": "application/json", "X-CSRF-Token": csrf, "Sec-Fetch-Site": "same-origin"}
    return browser.request(method, address, headers=headers, **({"json": json.loads(body)} if body else {}))
