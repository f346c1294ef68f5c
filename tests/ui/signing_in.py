"""The service with an identity provider on loopback, and somebody who signs in there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
import pytest

from app.main import create_app
from app.services.access.provider_options import IdentityProviderOptions
from app.services.access.provider_roles import parse_group_roles
from app.storage.db import Database
from app.web.deps import ServiceOptions
from app.web.single_sign_on import provider
from tests.identity_provider import CLIENT, SECRET, IdentityProvider, identity_provider
from tests.ui.conftest import TestClient

ROLES = {"ops": "admin", "mt": "manager", "bonn": "coordinator/demo/bonn", "readers": "viewer", "demo": "viewer/demo"}
SAME = {"Sec-Fetch-Site": "same-origin"}
PAGE = {"Accept": "text/html"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Service:
    """The service with its provider. now: the seconds of the provider's clock here, which tests move."""

    id: IdentityProvider
    client: httpx.Client
    url: str
    now: list[float] = field(default_factory=lambda: [10_000.0])

    def begin(self, subject: str = "ada", **query: str) -> dict[str, str]:
        """Click on the link and agree there: what the browser comes back with."""
        answer = self.client.get("/oidc/sign-in", params=query)
        assert answer.status_code == 303, answer.text
        return self.id.authorize(answer.headers["Location"], subject)

    def come_back(self, back: dict[str, str]) -> httpx.Response:
        return self.client.get("/oidc/callback", params=back, headers=PAGE)

    def sign_in(self, subject: str = "ada", **query: str) -> httpx.Response:
        answer = self.come_back(self.begin(subject, **query))
        assert answer.status_code == 200, answer.text
        return answer

    def me(self) -> httpx.Response:
        return self.client.get("/v1/me")

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def let_pass(self, seconds: float) -> None:
        """As if the provider had been asked so long ago."""
        self.ask(f"UPDATE account_sessions SET checked_at = clock_timestamp() - interval '{seconds} s'")
        self.now[0] += seconds


@pytest.fixture
def service(database: Database, database_url: str) -> Iterator[Service]:
    with identity_provider() as there:
        options = IdentityProviderOptions(there.issuer, CLIENT, SECRET, roles=parse_group_roles(ROLES))
        app = create_app(database, ServiceOptions(provider=options))
        there.people["ada"] = ["mt"]
        now = [10_000.0]
        app.state.provider = provider.IdentityProviderClient(options, clock=lambda: now[0])
        with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as client:
            yield Service(there, client, database_url, now)


def log_out(service: Service, token: str, **headers: str) -> httpx.Response:
    return service.client.post("/oidc/backchannel-logout", data={"logout_token": token}, headers=headers)
