from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

Secrets = Callable[..., str]
Serving = Callable[..., AbstractContextManager[httpx.Client]]
SAME = {"Sec-Fetch-Site": "same-origin"}


def sign_in(client: httpx.Client, secret: str) -> str:
    answer = client.post("/v1/session", json={"token": secret})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["csrf"])


def test_a_token_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(
    anonymous: httpx.Client, secret: Secrets
) -> None:
    answer = anonymous.post("/v1/session", json={"token": secret()})
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("staff=")
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"))
    value = cookie.partition("=")[2].partition(";")[0]
    assert value not in answer.text
    assert anonymous.get("/v1/me").json()["role"] == "admin"


def test_over_https_the_cookie_is_bound_to_the_host(
    make_app: Callable[..., FastAPI], serving: Serving, secret: Secrets
) -> None:
    with serving(make_app(public_url="https://plumbline.example.org")) as client:
        cookie = client.post("/v1/session", json={"token": secret()}).headers["Set-Cookie"]
        assert cookie.startswith("__Host-staff=")
        assert "Secure" in cookie
        assert "Domain" not in cookie
        value = cookie.partition("=")[2].partition(";")[0]
        assert client.get("/v1/me", headers={"Cookie": f"staff={value}"}).status_code == 401
        assert client.get("/v1/me", headers={"Cookie": f"__Host-staff={value}"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        (SAME, 403),
        ({"X-CSRF-Token": "CSRF"}, 403),
        ({**SAME, "X-CSRF-Token": "0" * 64}, 403),
        ({"Sec-Fetch-Site": "cross-site", "X-CSRF-Token": "CSRF"}, 403),
        ({"Sec-Fetch-Site": "same-site", "X-CSRF-Token": "CSRF"}, 403),
        ({"Origin": "https://evil.example", "X-CSRF-Token": "CSRF"}, 403),
        ({"Origin": "null", "X-CSRF-Token": "CSRF"}, 403),
        ({"Origin": "http://testserver", "X-CSRF-Token": "CSRF"}, 201),
        ({**SAME, "X-CSRF-Token": "CSRF"}, 201),
        ({**SAME, "Origin": "https://evil.example", "X-CSRF-Token": "CSRF"}, 403),
    ],
)
def test_a_cookie_changes_things_only_from_our_own_page(
    anonymous: httpx.Client, secret: Secrets, headers: dict[str, str], status: int
) -> None:
    csrf = sign_in(anonymous, secret())
    sent = {name: csrf if value == "CSRF" else value for name, value in headers.items()}
    answer = anonymous.post("/v1/campaigns", json={"key": "k", "protocol": "da"}, headers=sent)
    assert answer.status_code == status, answer.text


def test_signing_in_from_another_site_is_refused(anonymous: httpx.Client, secret: Secrets) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert anonymous.post("/v1/session", json={"token": secret()}, headers=headers).status_code == 403


def test_signing_out_ends_the_session_but_not_the_token(anonymous: httpx.Client, secret: Secrets) -> None:
    token = secret()
    csrf = sign_in(anonymous, token)
    kept = anonymous.cookies["staff"]
    assert anonymous.get("/v1/session").json()["csrf"] == csrf
    assert anonymous.delete("/v1/session", headers={**SAME, "X-CSRF-Token": csrf}).status_code == 204
    assert "staff" not in anonymous.cookies
    assert anonymous.get("/v1/me", headers={"Cookie": f"staff={kept}"}).status_code == 401
    assert anonymous.get("/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_a_session_ends_with_its_token(anonymous: httpx.Client, secret: Secrets) -> None:
    sign_in(anonymous, secret("viewer"))
    assert anonymous.get("/v1/me").status_code == 200
    prefix = anonymous.get("/v1/me").json()["prefix"]
    other = {"Authorization": f"Bearer {secret()}"}
    assert anonymous.delete(f"/v1/tokens/{prefix}", headers=other).status_code == 204
    assert anonymous.get("/v1/me").status_code == 401


def test_a_session_ends_in_time(make_app: Callable[..., FastAPI], serving: Serving, secret: Secrets) -> None:
    with serving(make_app(session_lifetime=timedelta(seconds=-1))) as client:
        cookie = client.post("/v1/session", json={"token": secret()}).headers["Set-Cookie"]
        assert client.get("/v1/me", headers={"Cookie": cookie.partition(";")[0]}).status_code == 401
