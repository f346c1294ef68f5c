"""Messages to raters: who sends them, who reads them, and what is left when a rater is forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

RATERS = "/v1/campaigns/c/raters"
SEND = "/v1/campaigns/c/messages"
Secrets = Callable[..., str]


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    assert admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"}).status_code == 201
    table = "rater,team\nr1,bonn\nr2,bonn\nr3,ulm\n"
    assert admin.post(f"{RATERS}/import", json={"table": table, "new_teams": True}).status_code == 201
    return admin


def signed(client: httpx.Client, rater: str) -> dict[str, str]:
    link = client.post(f"{RATERS}/{rater}/link").json()["link"]
    return {"Authorization": f"Bearer {link.partition('#token=')[2]}"}


def own(client: httpx.Client, who: dict[str, str]) -> list[tuple[str, bool]]:
    items = client.get("/v1/me/messages", headers=who).json()["items"]
    return [(one["text"], one["read_at"] is not None) for one in items]


def test_a_message_stays_until_its_rater_has_read_it(manager: httpx.Client) -> None:
    r1, r3 = signed(manager, "r1"), signed(manager, "r3")
    assert manager.post(SEND, json={"raters": ["r1", "r2"], "text": " Read slowly. "}).json() == {"sent": 2}
    manager.post(SEND, json={"raters": ["r1"], "text": "Thank you."})
    assert own(manager, r1) == [("Thank you.", False), ("Read slowly.", False)]
    assert own(manager, r3) == []
    first = manager.get("/v1/me/messages", headers=r1).json()["items"][1]["id"]
    for _ in range(2):
        assert manager.post(f"/v1/me/messages/{first}/read", headers=r1).status_code == 204
    assert manager.post(f"/v1/me/messages/{first}/read", headers=r3).status_code == 404
    assert own(manager, r1) == [("Thank you.", False), ("Read slowly.", True)]
    seen = manager.get(f"{RATERS}/r1/messages").json()["items"]
    assert [(one["text"], one["read_at"] is None) for one in seen] == [("Thank you.", True), ("Read slowly.", False)]
    exported = json.loads(manager.get("/v1/me/export", headers=r1).text)
    assert [one["text"] for one in exported["messages"]] == ["Read slowly.", "Thank you."]


def test_a_coordinator_writes_to_its_team_and_nobody_gets_a_message_if_one_cannot(
    manager: httpx.Client, secret: Secrets
) -> None:
    bonn = {"Authorization": f"Bearer {secret('coordinator', campaign='c', team='bonn')}"}
    assert manager.post(SEND, json={"raters": ["r1"], "text": "Hello"}, headers=bonn).status_code == 201
    refused = manager.post(SEND, json={"raters": ["r2", "r3", "x"], "text": "Hello"}, headers=bonn)
    assert [one["loc"] for one in refused.json()["errors"]] == [["body", "raters", 1], ["body", "raters", 2]]
    assert manager.get(f"{RATERS}/r3/messages", headers=bonn).status_code == 404
    assert manager.get(f"{RATERS}/r2/messages", headers=bonn).json()["items"] == []


def test_erasing_a_rater_deletes_what_was_written_to_them(manager: httpx.Client) -> None:
    manager.post(SEND, json={"raters": ["r1", "r2"], "text": "Dear Ada"})
    assert manager.delete("/v1/raters/r1").status_code < 300
    assert manager.get(f"{RATERS}/r1/messages").json()["items"] == []
    assert len(manager.get(f"{RATERS}/r2/messages").json()["items"]) == 1
