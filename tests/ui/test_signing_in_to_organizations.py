"""Groups of the identity provider lead to an organization and a role in it, for as long as somebody is in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.main import create_app
from app.services.access import single_sign_on
from app.services.access.provider_options import IdentityProviderOptions
from app.services.access.provider_roles import BadGroupRole, parse_group_roles
from app.storage.db import Database
from app.web.deps import ServiceOptions
from app.web.single_sign_on import provider
from tests.identity_provider import CLIENT, SECRET, identity_provider
from tests.organized import OURS, TWIN, within
from tests.ui.conftest import TestClient
from tests.ui.signing_in import PAGE, Service, log_out

ROLES = {"lost": "nowhere:manager", "leads": "twin:owner", "readers": "twin:viewer", "ours": "manager"}


@pytest.fixture
def template(organized_template: str) -> str:
    return organized_template


@pytest.fixture
def service(database: Database, database_url: str) -> Iterator[Service]:
    with identity_provider() as there:
        options = IdentityProviderOptions(there.issuer, CLIENT, SECRET, roles=parse_group_roles(ROLES))
        app = create_app(database, ServiceOptions(provider=options))
        now = [10_000.0]
        app.state.provider = provider.IdentityProviderClient(options, clock=lambda: now[0])
        with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as client:
            yield Service(there, client, within(database_url, TWIN), now)


@pytest.mark.parametrize(
    ("groups", "organization", "role"),
    [
        (["leads"], TWIN, "admin"),
        (["readers", "ours"], TWIN, "viewer"),
        (["ours"], OURS, "manager"),
        (["lost", "ours"], OURS, "manager"),
    ],
)
def test_the_first_group_gives_organization_and_role(
    service: Service, groups: list[str], organization: int, role: str
) -> None:
    service.id.people["ada"] = groups
    service.sign_in()
    assert service.client.cookies["staff"].startswith("o1-") == (organization == TWIN)
    assert service.me().json()["role"] == role
    assert service.ask("SELECT count(*) FROM accounts") == [(int(organization == TWIN),)]
    page = service.client.get("/campaigns", headers=PAGE)
    assert page.status_code == 200
    assert f">{'Twin' if organization == TWIN else 'Default organization'}</span>" in page.text


def test_who_leaves_the_organizations_groups_is_shut_out_of_it(service: Service) -> None:
    service.id.people["ada"] = ["readers", "ours"]
    service.sign_in()
    service.id.people["ada"] = ["ours"]  # which is a role, but not there
    service.let_pass(41)
    assert service.me().status_code == 401
    service.sign_in()
    assert service.me().json()["role"] == "manager"
    assert not service.client.cookies["staff"].startswith("o1-")


def test_signing_out_at_the_provider_ends_sessions_in_every_organization(service: Service) -> None:
    service.id.people["ada"] = ["leads"]
    service.sign_in()
    assert service.me().status_code == 200
    answer = log_out(service, service.id.logout_token(sub="ada"))
    assert answer.status_code == 200
    assert service.me().status_code == 401


def test_signing_out_that_broke_off_in_one_organization_is_carried_out_when_told_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.id.people["ada"] = ["leads"]
    service.sign_in()
    token = service.id.logout_token(sub="ada")
    whole, calls = single_sign_on.end_sessions_for_logout, list[int]()

    def break_off_at_the_second(*given: Any, **named: Any) -> bool:
        calls.append(1)
        if len(calls) == 2:
            raise ConnectionAbortedError
        return whole(*given, **named)

    monkeypatch.setattr(single_sign_on, "end_sessions_for_logout", break_off_at_the_second)
    assert log_out(service, token).status_code == 500
    assert service.me().status_code == 200
    assert [log_out(service, token).status_code for _ in range(2)] == [200, 400]
    assert service.me().status_code == 401


@pytest.mark.parametrize("role", ["Twin:manager", ":manager", "twin:rater", "owner", "twin:coordinator"])
def test_what_no_organization_or_role_is_called_is_refused(role: str) -> None:
    with pytest.raises(BadGroupRole):
        parse_group_roles({"group": role})
