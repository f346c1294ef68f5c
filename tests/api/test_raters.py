"""Enrolment: who is in a campaign, in which team, and as which person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from app.services.people import raters
from app.storage.db import Database
from app.web.pagination import make_cursor

Secrets = Callable[..., str]
RATERS = "/v1/campaigns/c/raters"


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    for key in ("c", "d"):
        assert admin.post("/v1/campaigns", json={"key": key, "protocol": "da"}).status_code == 201
        assert admin.put(f"/v1/campaigns/{key}/teams/bonn", json={"name": "Bonn"}).status_code == 200
    return admin


def put(client: httpx.Client, key: str, body: dict[str, Any], **headers: str) -> httpx.Response:
    return client.put(f"{RATERS}/{key}", json=body, headers=headers)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_a_rater_is_enrolled_as_said_and_read_back(manager: httpx.Client) -> None:
    body = {
        "capacity": 400,
        "capacity_unit": "words",
        "team": "bonn",
        "buckets": ["b1"],
        "state": "paused",
        "languages": ["de", "zh-Hans"],
        "attributes": {"translator": True},
        "person": "p1",
        "contact": {"name": "Ada", "email": "ada@example.org", "note": "mornings"},
    }
    made = put(manager, "r1", body)
    assert made.status_code == 200, made.text
    read = manager.get(f"{RATERS}/r1")
    assert made.json() == {**read.json(), "warnings": []}
    assert {name: read.json()[name] for name in body} == body
    assert read.headers["ETag"] == '"1"'


def test_a_change_is_made_only_by_who_saw_the_latest(manager: httpx.Client) -> None:
    put(manager, "r1", {"capacity": 1})
    assert put(manager, "r1", {"capacity": 1}).headers["ETag"] == '"1"'  # the same again
    assert put(manager, "r1", {"capacity": 2}).status_code == 428
    assert put(manager, "r1", {"capacity": 2}, **{"If-Match": '"7"'}).status_code == 412
    assert put(manager, "r1", {"capacity": 2}, **{"If-Match": '"1"'}).headers["ETag"] == '"2"'
    assert put(manager, "r1", {"capacity": 3}, **{"If-Match": '"1"'}).status_code == 412
    assert manager.get(f"{RATERS}/r1").json()["capacity"] == 2


def test_of_twenty_changes_at_once_one_is_made(manager: httpx.Client) -> None:
    put(manager, "r1", {"capacity": 0})
    with ThreadPoolExecutor(20) as pool:
        changes = [pool.submit(put, manager, "r1", {"capacity": n}, **{"If-Match": '"1"'}) for n in range(1, 21)]
        statuses = Counter(change.result().status_code for change in changes)
    assert statuses == {200: 1, 412: 19}


def test_person_and_contact_stay_unless_they_are_given(manager: httpx.Client) -> None:
    put(manager, "r1", {"person": "p1", "contact": {"name": "Ada"}})
    kept = put(manager, "r1", {"capacity": 9}, **{"If-Match": "*"}).json()
    assert (kept["person"], kept["contact"]["name"]) == ("p1", "Ada")
    gone = put(manager, "r1", {"person": None, "contact": None}, **{"If-Match": "*"}).json()
    assert (gone["person"], gone["contact"], gone["capacity"]) == (None, None, None)


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"team": "ulm"}, ["body", "team"]),
        ({"capacity": -1}, ["body", "capacity"]),
        ({"state": "erased"}, ["body", "state"]),
        ({"contact": {"email": "nobody"}}, ["body", "contact", "email"]),
        ({"nickname": "x"}, ["body", "nickname"]),
        ({"person": ".."}, ["body", "person"]),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(
    manager: httpx.Client, body: dict[str, Any], loc: list[str]
) -> None:
    answer = put(manager, "r1", body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["loc"] == loc
    assert manager.get(f"{RATERS}/r1").status_code == 404


@pytest.mark.parametrize("key", ["seat~", "seat~000001", "seat~x"])
def test_nobody_is_enrolled_under_the_name_of_a_seat(manager: httpx.Client, key: str) -> None:
    alone = put(manager, key, {})
    assert (alone.status_code, alone.json()["errors"][0]["loc"]) == (422, ["path", "rater"]), alone.text
    several = manager.post(RATERS, json={"keys": ["r1", key]})
    assert (several.status_code, several.json()["errors"][0]["loc"]) == (422, ["body", "keys", 1]), several.text
    table = manager.post(f"{RATERS}/import", json={"table": f"rater\nr1\n{key}\n"})
    assert (table.status_code, "line 3" in table.text) == (422, True), table.text
    for refused in (alone, several, table):
        assert "must not begin with seat~" in refused.text
    assert manager.get(RATERS).json()["items"] == []


@pytest.mark.parametrize("key", ["seat", "seat-000001", "Seat~000001", "seats~1", "~seat~1"])
def test_a_key_that_only_looks_like_a_seat_is_a_key(manager: httpx.Client, key: str) -> None:
    assert put(manager, key, {}).status_code == 200


def test_an_account_of_an_import_that_is_named_like_a_seat_is_not_enrolled(
    admin: httpx.Client, populated: dict[str, str], database: Database
) -> None:
    with database.transaction() as session:
        session.execute(sa.text("UPDATE raters SET key = 'seat~000001' WHERE key = 'rater0'"))
    answer = admin.put("/v1/campaigns/demo/raters/seat~000001", json={})
    assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["path", "rater"]), answer.text


def test_linking_to_a_person_needs_rights_wherever_the_person_is(manager: httpx.Client, secret: Secrets) -> None:
    manager.put("/v1/campaigns/d/raters/r9", json={"person": "p1"})
    bound = bearer(secret("manager", campaign="c"))
    assert put(manager, "r1", {"person": "p2"}, **bound).status_code == 200
    assert put(manager, "r2", {"person": "p2"}, **bound).status_code == 200
    assert put(manager, "r3", {"person": "p1"}, **bound).status_code == 403
    assert manager.get(f"{RATERS}/r3").status_code == 404
    assert put(manager, "r3", {"person": "p1"}, **bearer(secret("manager"))).status_code == 200
    assert put(manager, "r4", {"person": "p1"}).status_code == 200


def test_lists_come_by_key_team_and_state(manager: httpx.Client) -> None:
    for key, body in {"a": {}, "b": {"team": "bonn"}, "c": {"team": "bonn", "state": "paused"}, "B": {}}.items():
        assert put(manager, key, body).status_code == 200

    def keys(**query: str) -> list[str]:
        return [rater["key"] for rater in manager.get(RATERS, params=query).json()["items"]]

    assert keys() == ["B", "a", "b", "c"]
    assert keys(team="bonn") == ["b", "c"]
    assert keys(state="paused") == ["c"]
    assert keys(limit="2", cursor=make_cursor("a")) == ["b", "c"]
    assert manager.get(RATERS, params={"team": "ulm"}).status_code == 404


def test_a_coordinator_sees_its_team_and_not_who_is_one_person(manager: httpx.Client, secret: Secrets) -> None:
    put(manager, "r1", {"team": "bonn", "person": "p1", "contact": {"name": "Ada"}})
    put(manager, "r2", {"person": "p1"})
    they = bearer(secret("coordinator", campaign="c", team="bonn"))
    listed = manager.get(RATERS, headers=they).json()["items"]
    assert [(rater["key"], rater["person"], rater["contact"]["name"]) for rater in listed] == [("r1", None, "Ada")]
    assert manager.get(f"{RATERS}/r2", headers=they).status_code == 404
    assert [team["key"] for team in manager.get("/v1/campaigns/c/teams", headers=they).json()["items"]] == ["bonn"]


def test_viewers_and_front_ends_do_not_see_raters(manager: httpx.Client, secret: Secrets) -> None:
    put(manager, "r1", {})
    for role in ("viewer", "frontend"):
        they = bearer(secret(role, campaign="c"))
        assert manager.get(RATERS, headers=they).status_code == 403
        assert manager.get(f"{RATERS}/r1", headers=they).status_code == 403


def test_a_rater_is_removed_from_a_draft_only_and_while_nothing_refers_to_it(
    manager: httpx.Client, ask: Callable[..., None], secret: Secrets
) -> None:
    for key in ("r1", "r2", "r3"):
        put(manager, key, {"contact": {"name": "Ada"}})
    link = secret("rater", campaign="c", rater="r1")
    assert manager.delete(f"{RATERS}/r1").status_code == 204
    assert manager.get("/v1/me", headers=bearer(link)).status_code == 401
    ask("INSERT INTO consents (campaign_id, rater_id, version) SELECT campaign_id, id, 1 FROM raters WHERE key = 'r2'")
    assert manager.delete(f"{RATERS}/r2").status_code == 409
    ask("UPDATE campaigns SET state = 'open' WHERE key = 'c'")
    assert manager.delete(f"{RATERS}/r3").status_code == 409
    assert [rater["key"] for rater in manager.get(RATERS).json()["items"]] == ["r2", "r3"]


def test_a_rater_known_from_judgments_can_be_enrolled(admin: httpx.Client, populated: dict[str, str]) -> None:
    before = admin.get("/v1/campaigns/demo").json()["data_version"]
    known = admin.get("/v1/campaigns/demo/raters/rater0").json()
    assert (known["state"], known["settings_version"]) == (None, 0)
    made = admin.put("/v1/campaigns/demo/raters/rater0", json={"attributes": {"translator": True}})
    assert (made.status_code, made.json()["state"]) == (200, "active")
    assert admin.get("/v1/campaigns/demo").json()["data_version"] == before + 1  # reports see attributes


def test_every_change_stands_in_the_audit_log_without_names(manager: httpx.Client) -> None:
    put(manager, "r1", {"contact": {"name": "Ada Lovelace"}})
    put(manager, "r1", {"contact": {"email": "ada@example.org"}}, **{"If-Match": "*"})
    manager.delete(f"{RATERS}/r1")
    log = manager.get("/v1/audit", params={"campaign": "c"})
    assert [row["action"] for row in log.json()["items"][:3]] == ["rater removed", "rater changed", "rater enrolled"]
    assert log.json()["items"][1]["what"] == {"rater": "r1", "fields": ["contact"]}
    assert "Ada" not in log.text
    assert "ada@" not in log.text


def test_who_is_paused_or_gone_or_unknown_is_blocked(manager: httpx.Client, database: Database) -> None:
    put(manager, "r1", {})
    for state, why in (("active", None), ("paused", "paused"), ("left", "left")):
        put(manager, "r1", {"state": state}, **{"If-Match": "*"})
        with database.transaction() as session:
            campaign_id = raters.campaigns.load_campaign(session, "c").id
            rater_id = raters.raters.load_rater(session, campaign_id, "r1").id
            assert raters.find_rater_block_reason(session, campaign_id, rater_id) == why
            assert raters.find_rater_block_reason(session, campaign_id, rater_id + 1) == "not_enrolled"


def test_a_front_end_sends_judgments_of_enrolled_raters_only(
    admin: httpx.Client, populated: dict[str, str], secret: Secrets
) -> None:
    url = "/v1/campaigns/demo/judgments"
    one = {"document": "news.1", "segment": 1, "system": "A", "payload": {"protocol": "mqm", "errors": []}}
    enrolled, stranger = {**one, "rater": "r1"}, {**one, "rater": "rater1"}
    through = bearer(secret("frontend", campaign="demo"))
    refused = admin.post(url, json=[enrolled, stranger], headers=through)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"] == ["body", 1, "rater"]
    assert admin.post(url, params={"declare": "true"}, json=[enrolled], headers=through).status_code == 403
    assert admin.post(url, json=[enrolled], headers=through).json()["judgments"] == 1
    assert admin.post(url, json=[stranger]).status_code == 200  # a manager speaks for all
