"""Reports on conditions: rejected tasks and raters who did part of their work count where that is asked for."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from app.storage.db import Database
from tests.collecting import Collecting, collect

REJECTED, UNFINISHED = "task rejected by quality control", "rater with unfinished work"
OF_A_TASK = 4
"""Judgments: two outputs of two segments."""


def do_tasks(client: httpx.Client, live: Collecting, rater: str, n: int, *, hand_in: bool = True) -> None:
    for _ in range(n):
        task = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater)).json()["task"]["task"]
        body = [
            {"item": i, "segment": s, "payload": {"protocol": "da", "score": 10 * i + s}}
            for i in (1, 2)
            for s in (1, 2)
        ]
        stored = client.post(f"/v1/tasks/{task}/judgments", json=body, headers=live.auth(rater))
        assert stored.status_code == 200, stored.text
        if hand_in:
            assert client.post(f"/v1/tasks/{task}/submit", headers=live.auth(rater)).status_code == 200


@pytest.fixture
def live(anonymous: httpx.Client, database: Database) -> Collecting:
    """Six documents in turn: r1 does both of theirs, the second is rejected; r2 one; r3 both, one not handed in."""
    live = collect(database, documents=6, raters=("r1", "r2", "r3"), pooled=False)
    do_tasks(anonymous, live, "r1", 2)
    do_tasks(anonymous, live, "r2", 1)
    do_tasks(anonymous, live, "r3", 1)
    do_tasks(anonymous, live, "r3", 1, hand_in=False)
    with psycopg.connect(database.url) as db:
        db.execute(
            """UPDATE items SET accepted = false WHERE task_id = (
                   SELECT max(t.id) FROM tasks t JOIN raters r ON r.id = t.rater_id WHERE r.key = 'r1')"""
        )
    return live


PATHS = pytest.mark.parametrize("path", ["/v1/campaigns/{0}/reports/arms", "/v1/comparisons/ui?campaigns={0}"])


def ask(client: httpx.Client, path: str, key: str, **query: str) -> Any:
    """The report of a campaign."""
    address, _, given = path.format(key).partition("?")
    answer = client.get(address, params=dict(pair.split("=") for pair in given.split("&") if pair) | query)
    assert answer.status_code == 200, answer.text
    return answer.json()


@PATHS
def test_rejected_tasks_and_complete_raters_are_chosen_in_the_query(
    admin: httpx.Client, live: Collecting, path: str
) -> None:
    hashes = set()

    def asked(**query: str) -> tuple[Any, ...]:
        view = ask(admin, path, live.key, **query)
        hashes.add(view["data_hash"])
        assert (view["rejected"], view["raters"]) == (query.get("rejected") == "true", query.get("raters", "all"))
        (arm,) = view["arms"]
        return arm["n_raters"], arm["judgments"], {one["reason"]: one["n"] for one in view["dropped"]}

    assert asked() == (3, 4 * OF_A_TASK, {REJECTED: OF_A_TASK})
    assert asked(rejected="true") == (3, 5 * OF_A_TASK, {})
    # r2 has a task that waits, r3 holds one that is judged and not handed in.
    assert asked(raters="complete") == (1, OF_A_TASK, {REJECTED: OF_A_TASK, UNFINISHED: 3 * OF_A_TASK})
    assert asked(raters="complete", rejected="true") == (1, 2 * OF_A_TASK, {UNFINISHED: 3 * OF_A_TASK})
    assert len(hashes) == 4  # of the rows that count, each time others


@pytest.mark.parametrize(
    "path", [one if "arms" in one else pytest.param(one, marks=pytest.mark.soak) for one in PATHS.args[1]]
)
def test_who_is_complete_is_asked_anew_once_a_task_is_given_to_another(
    admin: httpx.Client, live: Collecting, ask_rows: Any, path: str
) -> None:
    query = {"raters": "complete", "rejected": "true"}
    before = ask(admin, path, live.key, **query)
    assert ask(admin, path, live.key, **query) == before
    ((task,),) = ask_rows(
        "SELECT public_id FROM tasks t JOIN raters r ON r.id = t.rater_id WHERE r.key = 'r2' AND t.state = 'free'"
    )
    moved = admin.post(f"/v1/campaigns/{live.key}/tasks/{task}/reassign", json={"rater": "r1", "reason": "r2 is ill"})
    assert moved.status_code == 200, moved.text
    after = ask(admin, path, live.key, **query)
    assert [view["arms"][0]["judgments"] for view in (before, after)] == [2 * OF_A_TASK, OF_A_TASK]
    assert before["data_hash"] != after["data_hash"]


def test_where_nobody_finished_the_reports_say_that_nothing_counts(
    anonymous: httpx.Client, admin: httpx.Client, database: Database
) -> None:
    live = collect(database, key="begun", documents=2, raters=("r1",), pooled=False)
    do_tasks(anonymous, live, "r1", 1)
    for path in ("/v1/campaigns/begun/reports/arms", "/v1/comparisons/ui"):
        given = {"raters": "complete"} | ({"campaigns": "begun"} if path.endswith("ui") else {})
        answer = admin.get(path, params=given)
        assert answer.status_code == 200, answer.text
        assert answer.json()["warnings"]
        for shape in (".csv", ".md", ".svg"):
            assert admin.get(f"{path}{shape}", params=given).status_code == 200
