"""Guidelines and consent: every version is kept, and nobody judges before agreeing to the latest text."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from app.services.people import raters
from app.storage.db import Database

Secrets = Callable[..., str]
Ask = Callable[[], str | None]


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    admin.put("/v1/campaigns/c/raters/r1", json={})
    return admin


@pytest.fixture
def rater(manager: httpx.Client, secret: Secrets) -> dict[str, str]:
    return bearer(secret("rater", campaign="c", rater="r1"))


@pytest.fixture
def blocked(database: Database) -> Ask:
    def ask() -> str | None:
        with database.transaction() as session:
            campaign_id = raters.campaigns.load_campaign(session, "c").id
            return raters.find_rater_block_reason(
                session, campaign_id, raters.raters.load_rater(session, campaign_id, "r1").id
            )

    return ask


@pytest.mark.parametrize("kind", ["guidelines", "consent"])
def test_other_texts_are_a_new_version_and_every_version_stays(
    manager: httpx.Client, rater: dict[str, str], kind: str
) -> None:
    url = f"/v1/campaigns/c/{kind}"
    assert manager.get(url).status_code == 404
    assert manager.put(url, json={"en": "one"}).json()["version"] == 1
    assert manager.put(url, json={"en": "one"}).json()["version"] == 1
    assert manager.put(url, json={"en": "two", "de": "zwei"}).json()["version"] == 2
    assert manager.get(url, headers=rater).json()["texts"] == {"en": "two", "de": "zwei"}
    assert manager.get(url, params={"version": 1}).json()["texts"] == {"en": "one"}
    assert manager.get(url, params={"version": 3}).status_code == 404
    for bad in ({}, {"en": ""}, {"not a language": "x"}):
        assert manager.put(url, json=bad).status_code == 422


def test_who_has_not_agreed_to_the_latest_text_gets_no_task(
    manager: httpx.Client, rater: dict[str, str], blocked: Ask
) -> None:
    assert blocked() is None
    manager.put("/v1/campaigns/c/consent", json={"en": "one"})
    assert blocked() == "consent"
    asked = manager.get("/v1/me/consent", headers=rater).json()
    assert (asked["asked"]["texts"], asked["given"], asked["outstanding"]) == ({"en": "one"}, None, True)
    given = manager.post("/v1/me/consent", json={"version": 1, "language": "en"}, headers=rater)
    assert (given.status_code, blocked()) == (200, None)
    again = manager.post("/v1/me/consent", json={"version": 1, "language": "en"}, headers=rater)
    assert again.json() == given.json()

    manager.put("/v1/campaigns/c/consent", json={"en": "two"})
    assert blocked() == "consent"
    assert manager.post("/v1/me/consent", json={"version": 1, "language": "en"}, headers=rater).status_code == 409
    assert manager.post("/v1/me/consent", json={"version": 2, "language": "fr"}, headers=rater).status_code == 422
    assert blocked() == "consent"
    assert manager.post("/v1/me/consent", json={"version": 2, "language": "en"}, headers=rater).status_code == 200
    assert blocked() is None
    log = [row["action"] for row in manager.get("/v1/audit", params={"campaign": "c"}).json()["items"]]
    assert log.count("consent given") == 2
    assert log.count("consent put") == 2


def test_consent_is_given_through_a_front_end_for_the_rater_it_names(
    manager: httpx.Client, secret: Secrets, blocked: Ask
) -> None:
    manager.put("/v1/campaigns/c/raters/r2", json={})
    manager.put("/v1/campaigns/c/consent", json={"en": "one"})
    through = bearer(secret("frontend", campaign="c"))
    body = {"version": 1, "language": "en"}
    assert manager.post("/v1/me/consent", json=body, headers={**through, "Plumbline-Rater": "r2"}).status_code == 200
    assert blocked() == "consent"
    assert manager.post("/v1/me/consent", json=body, headers={**through, "Plumbline-Rater": "r1"}).status_code == 200
    assert blocked() is None


def test_where_nothing_is_asked_there_is_nothing_to_agree_to(manager: httpx.Client, rater: dict[str, str]) -> None:
    assert manager.get("/v1/me/consent", headers=rater).json() == {"asked": None, "given": None, "outstanding": False}
    assert manager.post("/v1/me/consent", json={"version": 1, "language": "en"}, headers=rater).status_code == 404


def test_a_raters_cookie_agrees_only_from_our_own_page(manager: httpx.Client, secret: Secrets) -> None:
    manager.put("/v1/campaigns/c/consent", json={"en": "one"})
    del manager.headers["Authorization"]
    csrf = manager.post("/v1/session", json={"token": secret("rater", campaign="c", rater="r1")}).json()["csrf"]
    body = {"version": 1, "language": "en"}
    assert manager.post("/v1/me/consent", json=body).status_code == 403
    assert manager.post("/v1/me/consent", json=body, headers={"X-CSRF-Token": csrf}).status_code == 403
    proven = {"X-CSRF-Token": csrf, "Sec-Fetch-Site": "same-origin"}
    assert manager.post("/v1/me/consent", json=body, headers=proven).status_code == 200
