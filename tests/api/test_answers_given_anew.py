"""An answer that was set aside and given anew, after its task was reopened, is an answer wherever it goes."""

from __future__ import annotations

import json

import httpx

from app.storage.db import Database
from tests.api.rehearsed import Rehearsed, ok
from tests.api.round_trip import written
from tests.collecting import Collecting, collect


def judge(client: httpx.Client, live: Collecting, score: float) -> None:
    """Lease the only task, score both items and hand it in."""
    rater = live.auth("r1")
    assert client.post(f"/v1/campaigns/{live.key}/lease", headers=rater).json()["task"] is not None
    for item in (1, 2):
        said = {"protocol": "da", "score": score + item}
        told = client.put(f"/v1/tasks/{live.tasks[0]}/judgments/{item}/1", json=said, headers=rater)
        assert told.status_code == 200, told.text
    assert client.post(f"/v1/tasks/{live.tasks[0]}/submit", headers=rater).status_code == 200


PLAN = {"plans: plan/items has the one in force": 1}


def void(admin: httpx.Client, live: Collecting, **which: object) -> None:
    """Set some aside."""
    body = {"filter": which, "reason": "misread the guidelines"}
    assert admin.post(f"/v1/campaigns/{live.key}/judgments/void", json=body).json()["judgments"] > 0


def test_every_copy_has_the_answer_that_was_given_anew(
    admin: httpx.Client, anonymous: httpx.Client, database: Database
) -> None:
    live = collect(database, documents=1, segments=1, raters=("r1",))
    base = f"/v1/campaigns/{live.key}"
    judge(anonymous, live, 10)
    void(admin, live, rater="r1")
    files, lost = written(database, live.key, "jsonl")
    assert len(voids(files["file"])) == 2
    assert lost == PLAN

    assert admin.post(f"{base}/tasks/{live.tasks[0]}/reopen", json={"reason": "again"}).status_code == 200
    judge(anonymous, live, 50)
    files, lost = written(database, live.key, "jsonl")
    assert voids(files["file"]) == []
    assert lost == {**PLAN, "that an answer was set aside before it was given anew": 2}
    assert admin.post("/v1/campaigns", json={"key": "again", "protocol": "da"}).status_code == 201
    read = admin.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=files["file"])
    assert read.status_code == 200, read.text
    scores = [one["score"] for one in admin.get("/v1/campaigns/again/judgments").json()["items"] if not one["void"]]
    assert sorted(scores) == [11, 12, 51, 52]

    void(admin, live, system="sysA")  # both times, and this time nothing is given anew
    files, lost = written(database, live.key, "jsonl")
    assert len(voids(files["file"])) == 1
    assert lost == {**PLAN, "that an answer was set aside before it was given anew": 1}


def test_a_simulated_rater_says_again_what_was_set_aside(admin: httpx.Client, database: Database) -> None:
    live = Rehearsed(admin, database, "again", "esa")
    live.set_up()
    live.open({})
    live.judge("r1")
    before = len(list(live.judgments()))
    (task, *_) = live.tasks(state="handed_in")
    told = {"filter": {"task": task}, "reason": "misread"}
    n = ok(admin.post(f"{live.path}/judgments/void", json=told))["judgments"]
    ok(admin.post(f"{live.path}/tasks/{task}/reopen", json={"reason": "again"}))

    live.judge("r1")

    assert task in live.tasks(state="handed_in")
    said = [one for one in live.judgments(task=task) if one["void"] is None]
    assert len({(one["item"], one["segment"]) for one in said}) == len(said) > 0
    assert before + len(said) <= len(list(live.judgments()))
    assert n >= len(said)


def voids(file: bytes) -> list[dict[str, object]]:
    """The lines that set something aside."""
    return [one for one in map(json.loads, file.splitlines()) if one["type"] == "void"]
