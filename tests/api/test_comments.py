"""Comments of raters on outputs and screens: kept beside judgments, shown to managers, exported, erased."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from app.storage.db import Database
from tests.collecting import Collecting, collect

SECRET = "I grew up in that village"
BOTH = {"output_comments": True, "screen_comments": True}


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database, protocol="da", columns=2, settings=BOTH)


def lease(client: httpx.Client, live: Collecting, rater: str = "r1") -> Any:
    return client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater)).json()["task"]


def write(client: httpx.Client, live: Collecting, task: str, place: str, text: str, rater: str = "r1") -> Any:
    return client.put(f"/v1/tasks/{task}/comments/{place}", json={"text": text}, headers=live.auth(rater))


def judge(client: httpx.Client, live: Collecting, task: Any, rater: str = "r1") -> None:
    for item in task["items"]:
        for segment in item["segments"]:
            path = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{segment['segment']}"
            assert client.put(path, json={"protocol": "da", "score": 7}, headers=live.auth(rater)).status_code == 200


def test_a_comment_takes_the_place_of_an_earlier_one_and_an_empty_one_removes_it(anonymous, live):
    task = lease(anonymous, live)
    assert task["comments"] == {"output": True, "screen": True, "own": []}
    said = [("1/1", "odd"), ("1/1", "odd"), ("1/1", " odd name "), ("screens/1", "hard"), ("2/1", "x"), ("2/1", " ")]
    answers = [write(anonymous, live, task["task"], *one) for one in said]
    assert [one.json()["revision"] for one in answers] == [1, 1, 2, 1, 1, 0]
    assert lease(anonymous, live)["comments"]["own"] == [
        {"item": 1, "segment": 1, "screen": None, "text": "odd name"},
        {"item": None, "segment": None, "screen": 1, "text": "hard"},
    ]


def test_comments_are_refused_where_none_is_asked_and_after_the_hand_in(anonymous, live, database):
    task = lease(anonymous, live)
    refused = [write(anonymous, live, task["task"], place, "x").status_code for place in ("9/1", "1/9", "screens/9")]
    assert refused == [404, 404, 404]
    assert write(anonymous, live, task["task"], "1", "x").status_code == 404
    assert write(anonymous, live, task["task"], "1/1", "x", "r2").status_code == 404
    assert write(anonymous, live, task["task"], "1/1", "x" * 4001).status_code == 422
    judge(anonymous, live, task)
    assert anonymous.post(f"/v1/tasks/{task['task']}/submit", headers=live.auth("r1")).status_code == 200
    assert write(anonymous, live, task["task"], "1/1", "late").status_code == 409
    silent = collect(database, key="silent", protocol="da", settings={"output_comments": True})
    other = lease(anonymous, silent)
    assert other["comments"] == {"output": True, "screen": False, "own": []}
    assert write(anonymous, silent, other["task"], "screens/1", "x").status_code == 404
    plain = collect(database, key="plain", protocol="da")
    assert "comments" not in lease(anonymous, plain)


def test_managers_read_comments_with_the_judgments_and_filter_by_them(admin, live):
    task = lease(admin, live)
    judge(admin, live, task)
    write(admin, live, task["task"], "1/1", "odd")
    address = f"/v1/campaigns/{live.key}/judgments"
    rows = admin.get(address, params={"commented": True}).json()["items"]
    assert [(one["item"], one["segment"], one["comment"]) for one in rows] == [(1, 1, "odd")]
    write(admin, live, task["task"], "screens/1", "=hard")
    every = admin.get(address, params={"task": task["task"]}).json()["items"]
    on_screen = [one for one in every if one["screen_comment"] == "=hard"]
    assert {one["item"] for one in on_screen} == set(task["screens"][0]["items"])
    left = len(admin.get(address, params={"commented": False}).json()["items"])
    assert left == len(admin.get(address).json()["items"]) - len(on_screen)
    table = admin.get(address, params={"format": "csv", "commented": True}).text
    assert "'=hard" in table
    assert table.splitlines()[0].endswith(",comment,screen_comment")


def test_comments_go_with_the_judgments_into_our_formats_and_back(admin, live):
    task = lease(admin, live)
    judge(admin, live, task)
    write(admin, live, task["task"], "1/1", "odd")
    write(admin, live, task["task"], "screens/1", "hard")
    lines = admin.get(f"/v1/campaigns/{live.key}/exports/jsonl").text
    said = [one["meta"] for one in map(json.loads, lines.splitlines()) if "hard" in str(one.get("meta"))]
    assert {"textfield": "odd", "comment": "hard"} in said
    table = admin.get(f"/v1/campaigns/{live.key}/exports/csv").text.splitlines()
    assert table[0].endswith(",comment,screen_comment")
    assert [one for one in table if one.endswith(",odd,hard")]
    admin.post("/v1/campaigns", json={"key": "again", "protocol": "da"})
    read = admin.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=lines.encode())
    assert read.status_code == 200, read.text
    rows = admin.get("/v1/campaigns/again/judgments", params={"commented": True}).json()["items"]
    assert ("odd", "hard") in {(one["comment"], one["screen_comment"]) for one in rows}
    other = lease(admin, live, "r2")["task"]
    assert write(admin, live, other, "1/1", "nothing judged", "r2").status_code == 200
    losses = admin.get(f"/v1/campaigns/{live.key}/exports/jsonl/losses").json()["losses"]
    assert losses["comments on what was not judged"] == 1


def test_comments_are_told_to_the_rater_and_erased_with_them(admin, live, dump):
    task = lease(admin, live)
    judge(admin, live, task)
    write(admin, live, task["task"], "1/1", SECRET)
    write(admin, live, task["task"], "screens/1", SECRET)
    mine = admin.get("/v1/me/export", headers=live.auth("r1")).text
    assert mine.count(SECRET) == 2
    assert SECRET in dump()
    assert admin.delete(f"/v1/raters/r1?campaign={live.key}").status_code == 200
    assert SECRET not in dump()


def test_comments_that_came_by_an_import_are_erased_with_the_person(admin, live, dump):
    task = lease(admin, live)
    judge(admin, live, task)
    write(admin, live, task["task"], "1/1", SECRET)
    write(admin, live, task["task"], "screens/1", f"{SECRET}!")
    lines = admin.get(f"/v1/campaigns/{live.key}/exports/jsonl").content
    admin.post("/v1/campaigns", json={"key": "again", "protocol": "da"})
    for _ in range(2):  # once more, which adds nothing
        read = admin.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=lines)
        assert read.status_code == 200, read.text
    assert admin.get("/v1/campaigns/again/exports/jsonl").text.count(SECRET) == lines.decode().count(SECRET) > 2
    for campaign in (live.key, "again"):
        assert admin.delete(f"/v1/raters/r1?campaign={campaign}").status_code == 200
    assert SECRET not in dump()


def test_comments_on_whole_documents_lie_where_others_lie_also_after_an_import(admin, database, ask_rows, dump):
    live = collect(database, protocol="da_document", settings=BOTH)
    task = lease(admin, live)
    for item in task["items"]:
        path = f"/v1/tasks/{task['task']}/judgments/{item['item']}"
        answered = admin.put(path, json={"protocol": "da_document", "score": 7}, headers=live.auth("r1"))
        assert answered.status_code == 200, answered.text
    refused = write(admin, live, task["task"], "1/1", SECRET)
    assert (refused.status_code, "comment on the item" in refused.text) == (404, True)
    assert [write(admin, live, task["task"], "1", text).json()["revision"] for text in ("odd", SECRET)] == [1, 2]
    mine = {"item": 1, "segment": None, "screen": None, "text": SECRET}
    assert lease(admin, live)["comments"]["own"] == [mine]
    losses = admin.get(f"/v1/campaigns/{live.key}/exports/jsonl/losses").json()["losses"]
    assert [one for one in losses if "comment" in one] == []
    lines = admin.get(f"/v1/campaigns/{live.key}/exports/jsonl").content
    assert SECRET in admin.get(f"/v1/campaigns/{live.key}/exports/csv").text
    admin.post("/v1/campaigns", json={"key": "again", "protocol": "da_document"})
    for _ in range(2):
        read = admin.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=lines)
        assert read.status_code == 200, read.text
    assert ask_rows("SELECT id FROM judgments WHERE meta::text LIKE '%village%'") == []
    for campaign in (live.key, "again"):
        rows = admin.get(f"/v1/campaigns/{campaign}/judgments", params={"commented": True}).json()["items"]
        assert [(one["segment"], one["comment"]) for one in rows] == [(None, SECRET)]
        assert admin.delete(f"/v1/raters/r1?campaign={campaign}").status_code == 200
    assert SECRET not in dump()


def test_comments_that_stand_in_sealed_rows_are_told_nobody_once_the_person_is_erased(admin, live, ask, dump):
    task = lease(admin, live)
    judge(admin, live, task)
    ask("ALTER TABLE judgments DISABLE TRIGGER USER")
    ask(f"""UPDATE judgments SET meta = '{{"textfield": "{SECRET}", "comment": "{SECRET}", "n": 1}}'""")
    ask("ALTER TABLE judgments ENABLE TRIGGER USER")
    at = f"/v1/campaigns/{live.key}"
    assert SECRET in admin.get(f"{at}/exports/jsonl").text
    assert SECRET in admin.get(f"{at}/judgments").text
    assert admin.delete(f"/v1/raters/r1?campaign={live.key}").status_code == 200
    exported = admin.get(f"{at}/exports/jsonl").text
    assert SECRET not in exported
    assert '"n":1' in exported
    assert SECRET not in admin.get(f"{at}/judgments").text
