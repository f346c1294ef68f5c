"""Webhooks over HTTP: made with a secret that is shown once, and told what raters, managers and jobs do."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from app.services.webhooks.events import EVENT_KINDS
from app.services.webhooks.webhooks import MOST
from app.storage.db import Database
from tests.api.live_campaign import LIVE, finish, judge_task, ok, open_live, tokens_of
from tests.api.test_quality_policy import careful, careless, do_task, with_controls

HOOKS = f"{LIVE}/webhooks"
URL = "https://hooks.example.org/plumbline"


def told(url: str) -> list[tuple[str, dict[str, Any], str | None]]:
    """The outbox: kinds, data and raters, in order; the numbers have no gap."""
    query = (
        """SELECT e.n, e.kind, e.data, r.key FROM webhook_events e LEFT JOIN raters r ON r.id = e.rater_id ORDER BY n"""
    )
    with psycopg.connect(url) as db:
        rows = db.execute(query).fetchall()
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    return [(kind, data, rater) for _, kind, data, rater in rows]


def test_a_webhook_is_made_listed_and_deleted_and_its_secret_is_shown_once(admin: httpx.Client) -> None:
    ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "da"}))
    body, key = {"url": URL, "events": ["job.done", "task.handed_in"]}, {"Idempotency-Key": "k1"}
    made = admin.post(HOOKS, json=body, headers=key)
    assert made.status_code == 201, made.text
    first = made.json()
    secret = first.pop("secret")
    assert secret.startswith("whsec_")
    assert first["events"] == ["task.handed_in", "job.done"]
    assert made.headers["Location"] == f"{HOOKS}/{first['webhook']}"
    assert admin.post(HOOKS, json=body, headers=key).json().get("secret") is None
    listed = admin.get(HOOKS)
    assert listed.json() == {"items": [first], "next": None}
    assert secret not in listed.text
    assert secret not in admin.get("/v1/audit").text
    assert admin.delete(f"{HOOKS}/{first['webhook']}").status_code == 204
    assert admin.delete(f"{HOOKS}/{first['webhook']}").status_code == 404
    assert admin.get(HOOKS).json()["items"] == []
    actions = [one["action"] for one in admin.get("/v1/audit").json()["items"]]
    assert actions[:2] == ["webhook deleted", "webhook made"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"url": "http://hooks.example.org/"}, "url"),
        ({"url": "https://127.0.0.1:8000/"}, "url"),
        ({"url": "https://[::1]/"}, "url"),
        ({"url": "https://a.org/" + "x" * 1000}, "url"),
        ({"url": URL, "events": []}, "events"),
        ({"url": URL, "events": ["task.lost"]}, "events"),
        ({}, "url"),
    ],
)
def test_what_cannot_be_a_webhook_is_refused_with_its_place(
    admin: httpx.Client, body: dict[str, Any], place: str
) -> None:
    ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "da"}))
    refused = admin.post(HOOKS, json=body)
    assert refused.status_code in {400, 422}, refused.text
    assert any(place in one["loc"] for one in refused.json()["errors"])
    assert admin.get(HOOKS).json()["items"] == []


def test_a_campaign_has_no_more_webhooks_than_it_may(admin: httpx.Client) -> None:
    ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "da"}))
    for _ in range(MOST):
        assert admin.post(HOOKS, json={"url": URL}).status_code == 201
    assert admin.post(HOOKS, json={"url": URL}).status_code == 409
    assert admin.delete(f"{HOOKS}/{admin.get(HOOKS).json()['items'][0]['webhook']}").status_code == 204
    assert admin.post(HOOKS, json={"url": URL}).status_code == 201


def test_events_are_told_from_hand_in_to_the_last_task(
    admin: httpx.Client, database: Database, database_url: str
) -> None:
    open_live(admin, raters=("r1", "r2"), overlap=None)
    auth = tokens_of(database)
    assert judge_task(admin, auth("r1"))
    assert told(database_url) == []
    ok(admin.post(HOOKS, json={"url": URL}))
    finish(admin, auth, "r1", "r2")
    ok(admin.post(f"{LIVE}/close"))
    ok(admin.post(f"{LIVE}/close"))
    found = told(database_url)
    total = found[0][1]["tasks"]
    handed = [data["tasks_handed_in"] for kind, data, _ in found if kind == "task.handed_in"]
    assert handed == list(range(2, total + 1))
    assert {rater for kind, _, rater in found if kind == "task.handed_in"} == {"r1", "r2"}
    reached = {data["percent"]: data["tasks_handed_in"] for kind, data, _ in found if kind == "campaign.milestone"}
    assert reached == {p: n for p in (25, 50, 75) if (n := -(-total * p // 100)) > 1}
    assert [kind for kind, _, _ in found][-2:] == ["campaign.done", "campaign.state_changed"]
    assert found[-1][1] == {"from": "open", "to": "closed"}


def test_a_hand_in_that_is_asked_for_again_is_told_once(
    admin: httpx.Client, database: Database, database_url: str
) -> None:
    open_live(admin, raters=("r1",))
    auth = tokens_of(database)
    ok(admin.post(HOOKS, json={"url": URL}))
    task = ok(admin.post(f"{LIVE}/lease", headers=auth("r1")))["task"]["task"]
    assert admin.post(f"/v1/tasks/{task}/submit", headers=auth("r1")).status_code in {409, 422}
    assert told(database_url) == []
    judge_task(admin, auth("r1"))
    ok(admin.post(f"/v1/tasks/{task}/submit", headers=auth("r1")))
    assert [kind for kind, _, _ in told(database_url)].count("task.handed_in") == 1


def test_a_rater_who_fails_a_check_is_told_of(
    anonymous: httpx.Client, admin: httpx.Client, database: Database, database_url: str
) -> None:
    live = with_controls(database, {"actions": {"controls": "block"}})
    ok(admin.post(f"/v1/campaigns/{live.key}/webhooks", json={"url": URL, "events": ["rater.failed"]}))
    do_task(anonymous, live, "r1", careful)
    do_task(anonymous, live, "r2", careless)
    (failed,) = [(data, rater) for kind, data, rater in told(database_url) if kind == "rater.failed"]
    assert failed[1] == "r2"
    assert failed[0]["check"] == "controls"
    assert failed[0]["then"] == "block"


def test_events_are_sent_again_from_one_that_is_kept(admin: httpx.Client) -> None:
    ok(admin.post("/v1/campaigns", json={"key": "live", "protocol": "da"}))
    hook = ok(admin.post(HOOKS, json={"url": URL}))["webhook"]
    for body in ({"from": 2}, {"from": 0}):
        refused = admin.post(f"{HOOKS}/{hook}/replay", json=body)
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["loc"] == ["body", "from"]
    assert ok(admin.post(f"{HOOKS}/{hook}/replay", json={"from": 1}))["next_event"] == 1
    assert admin.post(f"{HOOKS}/{hook}/test").json() == {"event": 1}
    assert admin.post(f"{HOOKS}/{hook}/test").json() == {"event": 2}
    assert ok(admin.post(f"{HOOKS}/{hook}/replay", json={}))["next_event"] == 1
    assert admin.get(f"{HOOKS}/{hook}/deliveries").json() == {"items": [], "next": None}


def test_the_interface_names_every_event(admin: httpx.Client) -> None:
    described = admin.get("/openapi.json").json()["components"]["schemas"]["WebhookIn"]["properties"]["events"]
    assert all(f"`{kind}`" in described["description"] for kind in EVENT_KINDS)
