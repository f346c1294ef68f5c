"""Magic links: the secret in the fragment, shown once, one at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI

Secrets = Callable[..., str]
LINK = "/v1/campaigns/c/raters/{}/link"
SAME = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    admin.put("/v1/campaigns/c/teams/bonn", json={"name": "Bonn"})
    admin.put("/v1/campaigns/c/teams/ulm", json={"name": "Ulm"})
    for key, team in {"r1": "bonn", "-r2": "bonn", "r3": "ulm", "r4": None}.items():
        assert admin.put(f"/v1/campaigns/c/raters/{key}", json={"team": team}).status_code == 200
    return admin


def token_in(link: str) -> str:
    address, _, fragment = link.partition("#token=")
    assert address == "http://testserver/"
    return fragment


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_a_link_signs_its_rater_in_by_a_cookie_of_its_own(manager: httpx.Client) -> None:
    made = manager.post(LINK.format("r1"))
    assert made.status_code == 201, made.text
    token = token_in(made.json()["link"])
    assert len(token.split("_", 2)[2]) == 43  # 256 bits
    del manager.headers["Authorization"]
    opened = manager.post("/v1/session", json={"token": token})
    cookie = opened.headers["Set-Cookie"]
    assert cookie.startswith("rater=")
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert token not in opened.text
    me = manager.get("/v1/me").json()
    assert (me["role"], me["campaign"], me["rater"]) == ("rater", "c", "r1")


def test_over_https_the_raters_cookie_is_bound_to_the_host(
    make_app: Callable[..., FastAPI],
    serving: Callable[..., AbstractContextManager[httpx.Client]],
    secret: Secrets,
    manager: httpx.Client,
) -> None:
    with serving(make_app(public_url="https://plumbline.example.org")) as client:
        link = client.post(LINK.format("r1"), headers=bearer(secret())).json()["link"]
        assert link.startswith("https://plumbline.example.org/#token=")
        cookie = client.post("/v1/session", json={"token": link.partition("#token=")[2]}).headers["Set-Cookie"]
    assert cookie.startswith("__Host-rater=")
    assert "Secure" in cookie
    assert "Domain" not in cookie


def test_a_new_link_ends_the_one_before_and_its_sessions(manager: httpx.Client) -> None:
    first = token_in(manager.post(LINK.format("r1")).json()["link"])
    manager.post("/v1/session", json={"token": first})
    cookie = {"Cookie": f"rater={manager.cookies['rater']}"}
    manager.cookies.clear()
    second = token_in(manager.post(LINK.format("r1")).json()["link"])
    del manager.headers["Authorization"]
    assert manager.get("/v1/me", headers=bearer(first)).status_code == 401
    assert manager.get("/v1/me", headers=cookie).status_code == 401
    assert manager.get("/v1/me", headers=bearer(second)).json()["rater"] == "r1"


def test_a_link_ends_in_time(manager: httpx.Client, secret: Secrets) -> None:
    ends = datetime.fromisoformat(manager.post(LINK.format("r1"), params={"days": 3}).json()["expires_at"])
    assert abs(ends - datetime.now(UTC) - timedelta(days=3)) < timedelta(minutes=1)
    gone = secret("rater", campaign="c", rater="r1", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert manager.get("/v1/me", headers=bearer(gone)).status_code == 401


def test_a_link_is_shown_once_and_kept_only_as_a_hash(
    manager: httpx.Client, dump: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"Idempotency-Key": "once"}
    with caplog.at_level("DEBUG"):
        token = token_in(manager.post(LINK.format("r1"), headers=headers).json()["link"])
        again = manager.post(LINK.format("r1"), headers=headers)
    assert again.status_code == 409
    assert manager.get("/v1/me", headers=bearer(token)).json()["rater"] == "r1"
    many = manager.post("/v1/campaigns/c/links", json={"team": "ulm"}, headers={"Idempotency-Key": "csv"})
    other = many.text.splitlines()[1].partition("#token=")[2].partition(",")[0]
    stored = dump()
    for secret in (token, other):
        rest = secret.split("_", 2)[2]
        assert rest not in stored
        assert rest.encode().hex() not in stored
        assert rest not in caplog.text


def test_a_team_gets_its_links_as_a_file_that_a_spreadsheet_does_not_run(manager: httpx.Client) -> None:
    answer = manager.post("/v1/campaigns/c/links", json={"team": "bonn"})
    assert answer.status_code == 201
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["rater"] for row in rows] == ["'-r2", "r1"]
    tokens = [token_in(row["link"]) for row in rows]
    assert [manager.get("/v1/me", headers=bearer(token)).json()["rater"] for token in tokens] == ["-r2", "r1"]
    assert len(manager.post("/v1/campaigns/c/links", json={}).text.splitlines()) == 5


def test_a_coordinator_makes_links_of_its_team_and_no_others(manager: httpx.Client, secret: Secrets) -> None:
    they = bearer(secret("coordinator", campaign="c", team="bonn"))
    assert manager.post(LINK.format("r1"), headers=they).status_code == 201
    assert manager.post(LINK.format("r3"), headers=they).status_code == 404
    assert manager.post(LINK.format("r4"), headers=they).status_code == 404
    assert manager.post("/v1/campaigns/c/links", json={"team": "ulm"}, headers=they).status_code == 404
    assert len(manager.post("/v1/campaigns/c/links", json={}, headers=they).text.splitlines()) == 3


def test_who_is_only_known_from_judgments_gets_no_link(admin: httpx.Client, populated: dict[str, str]) -> None:
    assert admin.post("/v1/campaigns/demo/raters/rater0/link").status_code == 409
    assert admin.post("/v1/campaigns/demo/raters/nobody/link").status_code == 404


def test_a_raters_token_comes_with_a_link_only(manager: httpx.Client) -> None:
    for body in ({"role": "rater", "campaign": "c"}, {"role": "rater", "campaign": "c", "rater": "r1"}):
        assert manager.post("/v1/tokens", json=body).status_code == 422


def test_staff_and_rater_are_signed_in_beside_each_other(manager: httpx.Client, secret: Secrets) -> None:
    token = token_in(manager.post(LINK.format("r1")).json()["link"])
    del manager.headers["Authorization"]
    theirs = manager.post("/v1/session", json={"token": token}).json()["csrf"]
    manager.post("/v1/session", json={"token": secret()})
    assert manager.get("/v1/me").json()["role"] == "admin"
    assert manager.get("/v1/campaigns/c/raters").status_code == 200
    assert manager.delete("/v1/session", headers={**SAME, "X-CSRF-Token": theirs}).status_code == 204
    assert set(manager.cookies) == {"staff"}
    assert manager.get("/v1/me").json()["role"] == "admin"


def test_a_raters_cookie_opens_nothing_of_staff(manager: httpx.Client) -> None:
    token = token_in(manager.post(LINK.format("r1")).json()["link"])
    del manager.headers["Authorization"]
    manager.post("/v1/session", json={"token": token})
    session = manager.cookies["rater"]
    assert manager.get("/v1/campaigns/c/raters").status_code == 401
    swapped = {"Cookie": f"staff={session}"}
    manager.cookies.clear()
    assert manager.get("/v1/campaigns/c/raters", headers=swapped).status_code == 403
    assert manager.get("/v1/campaigns/c/ranking", headers=swapped).status_code == 403
