"""While the identity provider does not answer, or answers late: nobody gets in unasked, and no session is lost."""

from __future__ import annotations

import httpx
import pytest

from app.services.access.provider_options import IdentityProviderOptions
from app.services.access.provider_roles import parse_group_roles
from app.web.single_sign_on import cached_document, provider
from tests.identity_provider import CLIENT, SECRET, new_key
from tests.ui.signing_in import PAGE, ROLES, SAME, Service, log_out
from tests.ui.signing_in import service as service  # a fixture


def test_where_the_provider_is_silent_its_word_counts_for_a_minute_and_not_longer(service: Service) -> None:
    service.sign_in()
    service.id.status = 500
    service.let_pass(59)
    assert service.me().status_code == 200
    service.let_pass(61)
    answer = service.me()
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert answer.json()["type"].endswith("provider-silent")
    page = service.client.get("/campaigns", headers=PAGE)
    assert (page.status_code, "sign-in service does not answer" in page.text) == (503, True)
    service.id.status = None
    assert service.me().status_code == 200


def test_new_keys_that_the_provider_does_not_tell_end_no_session(service: Service) -> None:
    service.sign_in()
    service.id.keys = [new_key("two")]
    service.id.access_lasts = False
    service.let_pass(61)

    def fall_silent(asked: str) -> None:
        service.id.status = 500 if asked == "/jwks" else None

    service.id.before = fall_silent
    assert service.me().status_code == 503
    assert log_out(service, service.id.logout_token(sub="ada")).status_code == 503
    service.id.status, service.id.before = None, lambda _: None
    service.now[0] += cached_document.AGAIN
    assert service.me().status_code == 200
    assert log_out(service, service.id.logout_token(sub="ada")).status_code == 200


@pytest.mark.parametrize("path", ["/userinfo", "/jwks"])
def test_renewed_tokens_are_stored_though_the_provider_falls_silent_at_once(service: Service, path: str) -> None:
    service.sign_in()
    held = service.client.app.state.provider  # type: ignore[attr-defined]
    anew = provider.IdentityProviderClient(held.options, clock=lambda: service.now[0])
    service.client.app.state.provider = anew  # type: ignore[attr-defined]  # as after a restart, without keys
    service.id.access_lasts = False
    service.let_pass(61)
    seen: list[str] = []

    def fall_silent(asked: str) -> None:
        seen.append(asked)
        if asked == path and "/token" in seen:
            service.id.status = 500

    service.id.before = fall_silent
    assert service.me().status_code == 503
    assert seen[-1] == path
    service.id.status, service.id.access_lasts = None, False
    service.id.before = lambda _: None
    service.now[0] += cached_document.AGAIN
    assert service.me().status_code == 200  # the token that was spent is not sent again
    assert service.ask("SELECT count(*) FROM sessions") == [(1,)]


def test_a_check_that_takes_long_stays_the_only_one(service: Service) -> None:
    """A provider that answers each question late is asked about 30 seconds; a refresh token is good for one of them."""
    service.sign_in()
    service.id.access_lasts = False
    service.let_pass(50)
    asked = service.id.count("/token")
    inside: list[int] = []

    def ask_meanwhile(path: str) -> None:
        if path == "/token" and not inside:
            inside.append(0)
            service.ask("UPDATE account_sessions SET claimed_until = claimed_until - interval '30 s'")
            inside[0] = service.me().status_code

    service.id.before = ask_meanwhile
    assert service.me().status_code == 200
    assert (inside, service.id.count("/token")) == ([200], asked + 1)


def test_of_many_requests_one_asks_the_provider(service: Service) -> None:
    service.sign_in()
    service.let_pass(50)
    asked = service.id.count("/userinfo")
    inside: list[int] = []
    service.id.before = lambda path: inside.append(service.me().status_code) if path == "/userinfo" else None
    assert service.me().status_code == 200
    assert (inside, service.id.count("/userinfo")) == ([200], asked + 1)


def test_a_provider_that_is_away_is_a_page_that_says_so_and_is_not_asked_again_at_once(service: Service) -> None:
    service.id.status = 503
    for _ in range(3):
        answer = service.client.get("/oidc/sign-in", headers=PAGE)
        assert answer.status_code == 503
        assert "sign-in service does not answer" in answer.text
        assert answer.headers["Retry-After"].isdigit()
    assert service.id.requests == ["/.well-known/openid-configuration"]
    assert service.client.get("/", headers=PAGE).status_code == 200
    service.id.status = None
    service.now[0] += cached_document.AGAIN
    assert service.client.get("/oidc/sign-in").status_code == 303
    service.id.status = 503  # what is kept goes on to count
    service.now[0] += cached_document.KEPT
    assert service.client.get("/oidc/sign-in").status_code == 303


def test_nobody_waits_for_a_provider_that_just_did_not_answer() -> None:
    options = IdentityProviderOptions("http://127.0.0.1:9", CLIENT, SECRET, roles=parse_group_roles(ROLES))
    now, tried = [100.0], []

    def refuse(request: httpx.Request) -> httpx.Response:
        tried.append(request.url.path)
        raise httpx.ConnectError("refused")

    there = provider.IdentityProviderClient(options, transport=httpx.MockTransport(refuse), clock=lambda: now[0])
    for seconds, expected in ((0.0, 1), (cached_document.AGAIN - 1, 1), (1.0, 2)):
        now[0] += seconds
        with pytest.raises(provider.ProviderSilent):
            there.authorization_address(back="b", state="s", nonce="n", challenge="c")
        assert len(tried) == expected
    there.close()


def test_who_signs_out_is_signed_out_though_the_provider_is_silent(service: Service) -> None:
    service.sign_in()
    csrf = {"X-CSRF-Token": service.client.get("/v1/session").json()["csrf"]}
    kept = dict(service.client.cookies)
    service.id.status = 500
    service.let_pass(61)
    asked = len(service.id.requests)
    for lacks in (csrf, SAME, {"Sec-Fetch-Site": "cross-site", **csrf}):
        assert service.client.delete("/v1/session", headers=lacks).status_code == 403
    assert service.client.delete("/v1/session", headers={**SAME, **csrf}).status_code == 204
    assert len(service.id.requests) == asked
    assert service.ask("SELECT count(*) FROM sessions") == [(0,)]
    service.client.cookies.update(kept)
    assert service.client.delete("/v1/session", headers={**SAME, **csrf}).status_code == 401
