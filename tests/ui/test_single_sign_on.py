"""Signing in with an organization's account, against a provider on loopback: who gets in, as what, and until when."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.requests import Request

from app.config import Settings, make_identity_provider_options
from app.main import create_app
from app.services.access import tokens
from app.services.access.provider_options import IdentityProviderOptions
from app.services.access.provider_roles import parse_group_roles
from app.storage.db import Database
from app.ui import sign_in
from app.web import access
from app.web.deps import ServiceOptions
from app.web.rate_limits import UnauthenticatedLimits
from app.web.single_sign_on import cached_document, provider
from tests.identity_provider import CLIENT, new_key
from tests.ui.conftest import TestClient
from tests.ui.signing_in import FORM, PAGE, ROLES, SAME, Service, log_out
from tests.ui.signing_in import service as service  # a fixture


def make_demo(service: Service, database: Database) -> None:
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="admin").secret
    auth = {"Authorization": f"Bearer {secret}"}
    made = service.client.post("/v1/campaigns", json={"key": "demo", "protocol": "da"}, headers=auth)
    assert made.status_code == 201
    assert service.client.put("/v1/campaigns/demo/teams/bonn", json={"name": "Bonn"}, headers=auth).status_code == 200


def test_who_agrees_there_is_signed_in_here_and_comes_to_the_page_they_wanted(service: Service) -> None:
    assert 'href="/oidc/sign-in"' in service.client.get("/", headers=PAGE).text
    answer = service.sign_in(next="/campaigns/a?b=c")
    assert 'href="/campaigns/a?b=c"' in answer.text
    cookie = next(value for value in answer.headers.get_list("set-cookie") if value.startswith("staff="))
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    me = service.me().json()
    assert (me["role"], me["name"], me["campaign"]) == ("manager", "Ada Example", None)
    assert service.client.get("/campaigns", headers=PAGE).status_code == 200


def test_signing_in_again_is_the_same_person(service: Service) -> None:
    service.sign_in()
    prefix = service.me().json()["prefix"]
    service.sign_in()
    assert service.me().json()["prefix"] == prefix
    assert service.ask("SELECT count(*) FROM tokens") == [(1,)]
    assert service.ask("SELECT count(*) FROM account_sessions") == [(2,)]


def test_nobody_can_send_the_person_s_token(service: Service, database: Database) -> None:
    """Its secret is nowhere, and what the provider gave is sealed by the cookie."""
    service.sign_in()
    stored = str(service.ask("SELECT sealed, issuer, subject FROM account_sessions JOIN accounts ON true")[0])
    given = [*service.id.access, *service.id.refresh]
    assert given
    assert not [token for token in given if token in stored]


@pytest.mark.parametrize(
    ("groups", "role", "campaign"),
    [
        (["mt"], "manager", None),
        (["readers", "mt"], "manager", None),
        (["mt", "ops"], "admin", None),
        (["readers"], "viewer", None),
        (["bonn"], "coordinator", "demo"),
        (["demo", "x"], "viewer", "demo"),
    ],
)
def test_the_first_group_of_the_settings_that_somebody_is_in_gives_the_role(
    service: Service, database: Database, groups: list[str], role: str, campaign: str | None
) -> None:
    make_demo(service, database)
    service.id.people["ada"] = groups
    service.sign_in()
    me = service.me().json()
    assert (me["role"], me["campaign"], me["team"]) == (role, campaign, "bonn" if role == "coordinator" else None)


@pytest.mark.parametrize("groups", [[], ["M T"], ["MT"], ["mt "], ["bonn", "demo"]])
def test_without_a_listed_group_nobody_gets_in(service: Service, groups: list[str]) -> None:
    """bonn and demo are of a campaign that is not there."""
    service.id.people["ada"] = groups
    answer = service.come_back(service.begin())
    assert answer.status_code == 403
    assert "None of your groups may use this service" in answer.text
    assert '<a class="button plain" href="/">' in answer.text  # who has a link or a token can use that
    assert "staff" not in service.client.cookies
    assert service.me().status_code == 401


def test_a_removed_member_is_shut_out_within_a_minute_from_everywhere(service: Service) -> None:
    service.sign_in()
    other = dict(service.client.cookies)
    service.client.cookies.clear()
    service.sign_in()
    service.id.people["ada"] = []
    asked = service.id.count("/userinfo")
    service.let_pass(39)
    assert service.me().status_code == 200
    assert service.id.count("/userinfo") == asked  # the provider is asked at most every 40 seconds
    service.let_pass(41)
    assert service.me().status_code == 401
    assert service.id.count("/userinfo") == asked + 1
    service.client.cookies.clear()
    service.client.cookies.update(other)
    assert service.me().status_code == 401
    assert service.id.count("/userinfo") == asked + 1
    service.client.cookies.clear()
    assert service.come_back(service.begin()).status_code == 403
    service.client.cookies.update(other)
    assert "data-sign-out" not in service.come_back(service.begin()).text  # though the cookie is still there
    service.client.cookies.clear()
    service.id.people["ada"] = ["mt"]
    service.sign_in()
    assert service.me().status_code == 200


def test_another_group_changes_the_role_of_who_is_signed_in(service: Service) -> None:
    service.sign_in()
    before = service.me().json()
    service.id.people["ada"] = ["readers"]
    service.let_pass(41)
    after = service.me().json()
    assert (before["role"], after["role"]) == ("manager", "viewer")
    assert before["prefix"] == after["prefix"]
    body, csrf = {"key": "k", "protocol": "da"}, service.client.get("/v1/session").json()["csrf"]
    assert service.client.post("/v1/campaigns", json=body, headers={**SAME, "X-CSRF-Token": csrf}).status_code == 403
    assert ("role changed",) in service.ask("SELECT action FROM audit_log WHERE actor = 'identity provider'")


@pytest.mark.parametrize(("role", "again"), [("signed out there", False), ("still there", True)])
def test_an_access_token_that_ended_is_renewed_for_who_is_still_there(service: Service, role: str, again: bool) -> None:
    service.sign_in()
    service.id.access_lasts = False
    if not again:
        service.id.refresh.clear()
    for _ in range(2):  # the renewed tokens serve the next time
        service.let_pass(41)
        assert service.me().status_code == (200 if again else 401)
    assert service.ask("SELECT count(*) FROM sessions") == [(1 if again else 0,)]


def test_groups_that_only_identity_tokens_name_are_renewed_too(service: Service) -> None:
    service.id.shows_groups = False
    service.sign_in()
    service.let_pass(41)
    assert service.me().json()["role"] == "manager"
    service.id.people["ada"] = ["readers"]
    service.let_pass(41)
    assert service.me().json()["role"] == "viewer"
    service.id.people["ada"] = []
    service.let_pass(41)
    assert service.me().status_code == 401


def test_a_provider_that_cannot_say_later_who_is_in_a_group_is_refused_at_once(service: Service) -> None:
    service.id.shows_groups = service.id.gives_refresh = False
    answer = service.come_back(service.begin())
    assert answer.status_code == 401
    assert "userinfo must have the claim groups" in answer.text


def test_once_there_is_no_provider_its_sessions_end(service: Service) -> None:
    service.sign_in()
    service.client.app.state.provider = None  # type: ignore[attr-defined]
    service.let_pass(41)
    assert service.me().status_code == 401


def test_without_a_provider_there_is_nothing_to_see(database: Database) -> None:
    with TestClient(create_app(database, ServiceOptions()), follow_redirects=False) as client:
        assert "oidc" not in client.get("/", headers=PAGE).text
        assert client.get("/oidc/sign-in", headers=PAGE).status_code == 404
        assert client.get("/oidc/callback", params={"code": "c", "state": "s"}).status_code == 404
        assert client.post("/oidc/backchannel-logout", content="logout_token=x", headers=FORM).status_code == 404


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil", "/a\n", "javascript:1", "/\t/e", "/é"],
)
def test_signing_in_leads_to_no_other_site(service: Service, wanted: str) -> None:
    page = service.sign_in(next=wanted).text
    assert re.findall(r'href="([^"]*)" data-go-on', page) == ["/campaigns"]
    assert re.findall(r"content=\"0; url=([^\"]*)\"", page) == ["/campaigns"]


def refused(service: Service, back: dict[str, str], why: str, *, asked: int = 0) -> None:
    before = service.id.count("/token")
    answer = service.come_back(back)
    assert (answer.status_code, why in answer.text) == (401, True), answer.text
    assert "staff" not in service.client.cookies
    assert service.id.count("/token") - before == asked


def test_an_answer_that_this_browser_did_not_ask_for_is_refused_unasked(service: Service) -> None:
    back = service.begin()
    refused(service, {**back, "state": back["state"][:-1]}, "did not begin in this browser")
    refused(service, {**back, "state": ""}, "did not begin in this browser")
    refused(service, {"code": back["code"], "iss": back["iss"]}, "did not begin in this browser")
    refused(service, {**back, "iss": "https://evil.example"}, "did not confirm")
    refused(service, {**back, "code": ""}, "did not confirm")
    refused(service, {**back, "code": "x" * 4097}, "did not confirm")
    refused(service, {"error": "access_denied", "state": back["state"]}, "did not confirm")
    kept = dict(service.client.cookies)
    service.client.cookies.clear()
    refused(service, back, "did not begin in this browser")
    for cookie in ("x", "x" * 43, "x" * 43 + "." + "x" * 1401, "." + "x" * 4):
        service.client.cookies.set("sign-in", cookie)
        refused(service, back, "did not begin in this browser")
    service.client.cookies.clear()
    service.client.cookies.update(kept)
    assert service.come_back(back).status_code == 200


def test_the_answering_issuer_must_be_named_where_the_provider_says_that_it_does(service: Service) -> None:
    service.id.document["authorization_response_iss_parameter_supported"] = True
    back = service.begin()
    refused(service, {"code": back["code"], "state": back["state"]}, "did not confirm")
    assert service.come_back(back).status_code == 200


def test_a_code_is_good_once_and_for_the_browser_that_asked(service: Service) -> None:
    back = service.begin()
    kept = dict(service.client.cookies)
    assert service.come_back(back).status_code == 200
    service.client.cookies.clear()
    service.client.cookies.update(kept)
    refused(service, back, "did not confirm", asked=1)  # as the provider knows it no more
    stolen = service.begin()
    service.client.cookies.clear()
    own = service.begin("eve")
    refused(service, {**own, "code": stolen["code"]}, "did not confirm", asked=1)  # the verifier is another


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"iss": "https://evil.example"},
        {"aud": "another"},
        {"exp": 1},
        {"iat": 1},
        {"sub": "eve"},
    ],
)
def test_an_identity_token_of_something_else_is_refused(service: Service, claims: dict[str, Any]) -> None:
    service.id.people["eve"] = ["ops"]
    service.id.claims = claims
    answer = service.come_back(service.begin())
    assert answer.status_code == 401
    assert "staff" not in service.client.cookies
    assert service.ask("SELECT count(*) FROM tokens") == [(0,)]


def test_the_provider_can_change_its_keys_at_any_time_and_nobody_makes_us_ask_often(service: Service) -> None:
    service.sign_in()
    service.id.keys = [new_key("two")]
    service.now[0] += cached_document.AGAIN
    service.sign_in()
    assert service.id.count("/jwks") == 2
    forged = service.id.logout_token(sub="ada")
    service.id.keys = [new_key("three")]
    unknown = service.id.sign({"iss": service.id.issuer}, key=new_key("four"))
    for _ in range(5):
        assert log_out(service, unknown).status_code == 400
    assert service.id.count("/jwks") == 2
    service.now[0] += cached_document.AGAIN
    for _ in range(5):
        assert log_out(service, unknown).status_code == 400
    assert service.id.count("/jwks") == 3
    assert log_out(service, forged).status_code == 400  # its key is published no more


def test_strangers_cost_the_provider_one_look_at_its_document(service: Service) -> None:
    for _ in range(10):
        assert service.client.get("/oidc/sign-in").status_code == 303
        assert service.client.get("/oidc/callback?code=x&state=y").status_code == 401
        assert log_out(service, "a.b.c").status_code == 400
    assert service.id.requests == ["/.well-known/openid-configuration", "/jwks"]
    assert service.ask("SELECT count(*) FROM accounts") == [(0,)]


def test_who_tries_one_code_after_another_has_to_wait(database: Database, service: Service) -> None:
    options = ServiceOptions(
        provider=service.client.app.state.provider.options, strangers=UnauthenticatedLimits(failures=3)
    )  # type: ignore[attr-defined]
    with TestClient(create_app(database, options), follow_redirects=False) as client:
        state = parse_qs(urlsplit(client.get("/oidc/sign-in").headers["Location"]).query)["state"][0]
        tried = [client.get("/oidc/callback", params={"code": f"c{n}", "state": state}).status_code for n in range(5)]
        assert tried == [401, 401, 401, 429, 429]
        assert client.get("/oidc/sign-in").status_code == 303
    assert service.id.count("/token") == 3


def test_an_expired_cookie_does_not_make_many_codes_one_try(database: Database, service: Service) -> None:
    options = ServiceOptions(
        provider=service.client.app.state.provider.options, strangers=UnauthenticatedLimits(failures=3)
    )  # type: ignore[attr-defined]
    with TestClient(create_app(database, options), follow_redirects=False) as client:
        state = parse_qs(urlsplit(client.get("/oidc/sign-in").headers["Location"]).query)["state"][0]
        client.cookies.set("staff", "expired")
        tried = [client.get("/oidc/callback", params={"code": f"c{n}", "state": state}).status_code for n in range(4)]
    assert tried == [401, 401, 401, 429]


def test_a_page_of_another_site_that_opens_our_addresses_locks_nobody_out(database: Database, service: Service) -> None:
    """What it cannot know is the state; without it no code is sent to the provider, so nothing was tried."""
    options = ServiceOptions(
        provider=service.client.app.state.provider.options, strangers=UnauthenticatedLimits(failures=3)
    )  # type: ignore[attr-defined]
    with TestClient(create_app(database, options), follow_redirects=False) as client:
        here = Service(service.id, client, service.url)
        back = here.begin()
        wrong = [{"code": "x", "state": "y"}, {}, {"state": back["state"]}, {"error": "e", "state": back["state"]}]
        for n in range(3):
            assert [client.get("/oidc/callback", params=given).status_code for given in wrong] == [401] * 4
            client.cookies.set("staff", f"expired{n}")
        assert here.come_back(back).status_code == 200


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"authorization_endpoint": "http://id.example.org/authorize"},
        {"authorization_endpoint": None},
    ],
)
def test_a_document_that_cannot_be_trusted_signs_nobody_in(service: Service, document: dict[str, Any]) -> None:
    service.id.document = document
    assert service.client.get("/oidc/sign-in", headers=PAGE).status_code == 401


@pytest.mark.parametrize("named", [{"sid": "session of ada"}, {"sub": "ada"}, {"sub": "ada", "sid": "session of ada"}])
def test_who_signs_out_at_the_provider_is_signed_out_here_at_once(service: Service, named: dict[str, str]) -> None:
    service.id.people["bob"] = ["mt"]
    service.sign_in("bob")
    bob = dict(service.client.cookies)
    service.client.cookies.clear()
    service.sign_in()
    token = service.id.logout_token(**named)
    answer = log_out(service, token)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert service.me().status_code == 401
    assert log_out(service, token).status_code == 400  # carried out before
    service.sign_in()
    assert log_out(service, token).status_code == 400
    assert service.me().status_code == 200
    service.client.cookies.clear()
    service.client.cookies.update(bob)
    assert service.me().status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"sid": "another session"},
        {"sub": "bob"},
        {"sub": "ada", "sid": "another session"},
    ],
)
def test_a_notice_about_somebody_else_ends_nothing(service: Service, changes: dict[str, str]) -> None:
    service.sign_in()
    assert log_out(service, service.id.logout_token(**changes)).status_code == 200
    assert service.me().status_code == 200


@pytest.mark.parametrize("changes", [{"iss": "https://evil.example"}, {"aud": "x"}, {"iat": 1}, {"events": {}}])
def test_a_notice_that_is_not_valid_ends_nothing(service: Service, changes: dict[str, Any]) -> None:
    service.sign_in()
    assert log_out(service, service.id.logout_token(sub="ada", **changes)).json() == {"error": "invalid_request"}
    good = service.id.logout_token(sub="ada")
    whole = f"logout_token={good}".encode()
    for content, kind in ((b"", FORM), (b"logout_token=", FORM), (b"\xff", FORM), (whole, {})):
        answer = service.client.post("/oidc/backchannel-logout", content=content, headers=kind)
        assert answer.status_code == 400
    twice = f"logout_token={good}&logout_token={good}"
    assert service.client.post("/oidc/backchannel-logout", content=twice, headers=FORM).status_code == 400
    assert service.me().status_code == 200


def test_who_signs_out_here_is_led_to_sign_out_there(service: Service) -> None:
    service.sign_in()
    shown = service.client.get("/v1/session").json()
    address = urlsplit(shown["sign_out_url"])
    asked = {name: values[0] for name, values in parse_qs(address.query).items()}
    assert address.path == "/end"
    assert (asked["client_id"], asked["post_logout_redirect_uri"]) == (CLIENT, "http://testserver/")
    assert asked["id_token_hint"].count(".") == 2
    out = service.client.delete("/v1/session", headers={**SAME, "X-CSRF-Token": shown["csrf"]})
    assert out.status_code == 204
    assert service.ask("SELECT count(*) FROM account_sessions") == [(0,)]


def test_a_session_of_a_token_is_led_nowhere(service: Service, database: Database) -> None:
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="viewer").secret
    opened = service.client.post("/v1/session", json={"token": secret})
    assert opened.json()["sign_out_url"] is None
    assert service.client.get("/v1/session").json()["sign_out_url"] is None


def test_a_session_ends_when_its_time_is_over_whatever_the_provider_says(service: Service) -> None:
    service.sign_in()
    service.ask("UPDATE sessions SET expires_at = now() - interval '1 s'")
    assert service.me().status_code == 401


@pytest.mark.parametrize(
    ("claim", "shown", "role"),
    [
        ("groups", {"groups": "mt"}, "manager"),
        ("realm_access.roles", {"realm_access": {"roles": ["mt"]}}, "manager"),
        ("https://x.example/groups", {"https://x.example/groups": ["mt"]}, "manager"),
        ("groups", {"groups": [1, None, "readers"]}, "viewer"),
        ("groups", {"groups": {"mt": True}}, None),
        ("groups.names", {"groups": ["mt"]}, None),
    ],
)
def test_groups_stand_where_the_settings_say(claim: str, shown: dict[str, Any], role: str | None) -> None:
    options = IdentityProviderOptions(
        "https://id.example.org", CLIENT, groups_claim=claim, roles=parse_group_roles(ROLES)
    )
    there = provider.IdentityProviderClient(options)
    groups = there._groups(shown)
    there.close()
    roles = [one.role for one in options.roles if one.group in (groups or ())]
    assert roles == ([role] if role else [])


def test_a_person_who_was_removed_sees_no_more_of_a_stream(service: Service, database: Database) -> None:
    service.sign_in()
    headers = [(b"cookie", f"staff={service.client.cookies['staff']}".encode())]
    scope = {"type": "http", "method": "GET", "scheme": "http", "headers": headers, "query_string": b"", "path": "/"}
    request = Request({**scope, "app": service.client.app})  # type: ignore[attr-defined]
    caller = access.authenticate_cookie(request, service.client.cookies["staff"])
    assert access.may_still_receive_response(request, caller)
    service.id.people["ada"] = ["readers"]
    service.let_pass(41)
    assert not access.may_still_receive_response(request, caller)  # with other rights the stream begins anew
    caller = access.authenticate_cookie(request, service.client.cookies["staff"])
    assert access.may_still_receive_response(request, caller)
    service.id.people["ada"] = []
    service.let_pass(41)
    assert not access.may_still_receive_response(request, caller)


def test_the_settings_and_addresses_of_the_guide_are_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "single-sign-on.md").read_text(encoding="utf-8")
    settings = dict(re.findall(r"^    (PLUMBLINE_[A-Z_]+)=(.+)$", guide, re.MULTILINE))
    assert "PLUMBLINE_OIDC_ROLES" in settings
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    options = make_identity_provider_options(Settings.load())
    assert options is not None
    assert [(role.group, role.role, role.campaign, role.team) for role in options.roles] == [
        ("mt-admins", "admin", None, None),
        ("mt-managers", "manager", None, None),
        ("readers", "viewer", "ted-ende", None),
        ("bonn", "coordinator", "ted-ende", "bonn"),
    ]
    paths = {getattr(route, "path", None) for route in sign_in.router.routes}
    named = {urlsplit(one).path for one in re.findall(r"`(https://[^`]+/oidc/[^`]+)`", guide)}
    assert len(named) == 2
    assert named <= paths
