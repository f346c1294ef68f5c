"""One of a person's two accounts lost a task: what comes late to it counts only while the other has nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.storage.db import Database
from tests.collecting import Collecting, collect
from tests.spine import Spine

Ask = Callable[..., None]
Rows = Callable[[str], list[tuple[Any, ...]]]
EXPIRE = "UPDATE tasks SET leased_until = now() - interval '1 second' WHERE state = 'leased'"
LAST = "UPDATE tasks SET queue = 9000000 WHERE public_id = '{}'"
WHO_COUNTS = """
SELECT DISTINCT r.key FROM judgments j JOIN items i ON i.id = j.item_id JOIN raters r ON r.id = j.rater_id
WHERE NOT j.surplus AND i.surplus_from IS NULL ORDER BY 1"""
RATINGS = """
SELECT count(*) FROM tasks t WHERE t.state = 'leased' OR EXISTS (
    SELECT FROM items i JOIN judgments j ON j.item_id = i.id
    WHERE i.task_id = t.id AND i.surplus_from IS NULL AND NOT j.surplus)"""
EVERYTHING = [{"item": i, "segment": s, "payload": {"protocol": "da", "score": 7}} for i in (1, 2) for s in (1, 2)]


def lease(client: httpx.Client, live: Collecting, rater: str) -> dict[str, Any]:
    found: dict[str, Any] = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater)).json()
    return found


def task_of(client: httpx.Client, live: Collecting, rater: str) -> str:
    return str(lease(client, live, rater)["task"]["task"])


def judge(client: httpx.Client, live: Collecting, task: str, rater: str, score: float = 50) -> dict[str, Any]:
    body = {"protocol": "da", "score": score}
    answer = client.put(f"/v1/tasks/{task}/judgments/1/1", json=body, headers=live.auth(rater))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def hand_in(client: httpx.Client, live: Collecting, task: str, rater: str) -> httpx.Response:
    sent = client.post(f"/v1/tasks/{task}/judgments", json=EVERYTHING, headers=live.auth(rater))
    assert sent.status_code == 200, sent.text
    return client.post(f"/v1/tasks/{task}/submit", headers=live.auth(rater))


@pytest.fixture
def lost(database: Database, anonymous: httpx.Client, ask: Ask) -> tuple[Any, ...]:
    """The time of Ann's account `a` ran out on one rating of a document, and her account `b` was given the other."""
    persons = {"a": "ann", "b": "ann"}
    live = collect(database, key="ann", documents=1, ratings=2, raters=("a", "b", "c"), persons=persons)
    first = task_of(anonymous, live, "a")
    ask(LAST.format(first), EXPIRE)
    second = task_of(anonymous, live, "b")
    assert second != first
    return live, first, second


def test_a_late_answer_is_surplus_once_another_account_of_the_person_has_a_rating_of_the_stretch(
    anonymous: httpx.Client, lost: tuple[Any, ...], database: Database, ask_rows: Rows
) -> None:
    live, first, second = lost
    assert judge(anonymous, live, first, "a")["kept"] == "surplus"
    assert judge(anonymous, live, first, "a", 60)["kept"] == "surplus"
    assert anonymous.get(f"/v1/tasks/{first}", headers=live.auth("a")).json()["state"] == "surplus"
    refused = hand_in(anonymous, live, first, "a")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:plumbline:problem:task-lost")
    assert hand_in(anonymous, live, second, "b").status_code == 200
    assert ask_rows(WHO_COUNTS) == [("b",)]

    again = lease(anonymous, live, "c")["task"]
    assert len(again["missing"]) == 4, "it goes on as an empty copy, for somebody else"
    assert hand_in(anonymous, live, again["task"], "c").status_code == 200
    assert ask_rows(WHO_COUNTS) == [("b",), ("c",)]
    ranking = Spine(database.url, database).rank("ann", "wmt-da", sd0="zero", moments="ratings")
    assert ranking["n_ratings"] == 2 * 4


def test_late_answers_count_while_no_other_account_of_the_person_has_anything(
    anonymous: httpx.Client, lost: tuple[Any, ...], ask: Ask, ask_rows: Rows
) -> None:
    """The control: b gave theirs back, so nothing stands against a's."""
    live, first, second = lost
    assert anonymous.post(f"/v1/tasks/{second}/release", headers=live.auth("b")).status_code == 204
    assert judge(anonymous, live, first, "a")["kept"] is None
    assert ask_rows(WHO_COUNTS) == [("a",)]
    lease(anonymous, live, "b")
    assert ask_rows(RATINGS) == [(1,)], "b may have neither of the two, or takes over the one that was given back"


def test_what_another_account_has_of_other_stretches_stands_against_nothing(
    anonymous: httpx.Client, database: Database, ask: Ask, ask_rows: Rows
) -> None:
    live = collect(database, key="two", documents=2, raters=("a", "b"), persons={"a": "ann", "b": "ann"})
    first = task_of(anonymous, live, "a")
    ask(EXPIRE, LAST.format(first))
    assert task_of(anonymous, live, "b") != first
    late = judge(anonymous, live, first, "a")
    assert late["kept"] is None
    assert late["leased_until"] is not None, "the lease is renewed"


def test_a_task_that_was_dealt_stays_with_whom_it_was_dealt_to(
    anonymous: httpx.Client, database: Database, ask: Ask, ask_rows: Rows
) -> None:
    live = collect(database, key="dealt", documents=1, ratings=2, raters=("a", "b"), pooled=False)
    first, second = task_of(anonymous, live, "a"), task_of(anonymous, live, "b")
    ask(EXPIRE, "UPDATE tasks SET state = 'free', leased_until = NULL WHERE public_id = '" + first + "'")
    ask("UPDATE leases SET ended_at = now(), ended_how = 'expired' WHERE rater_id = (SELECT min(id) FROM raters)")
    ask("INSERT INTO people (key) VALUES ('ann')", "UPDATE raters SET person_id = (SELECT max(id) FROM people)")

    assert judge(anonymous, live, first, "a")["kept"] == "surplus"
    dealt = "SELECT r.key, t.state, t.pooled FROM tasks t JOIN raters r ON r.id = t.rater_id WHERE t.key LIKE '%again%'"
    assert ask_rows(dealt) == [("a", "free", False)]
    assert hand_in(anonymous, live, second, "b").status_code == 200


def test_a_comparison_that_comes_late_is_surplus_too(
    anonymous: httpx.Client, database: Database, ask: Ask, ask_rows: Rows
) -> None:
    live = collect(
        database,
        key="more",
        documents=1,
        ratings=2,
        raters=("a", "b"),
        persons={"a": "ann", "b": "ann"},
        columns=2,
        options={"preference": "ranking"},
        presentation="side_by_side",
    )
    first = task_of(anonymous, live, "a")
    screen, said = f"/v1/tasks/{first}/judgments/screens/1", {"protocol": "da", "preference": [[1], [2]]}
    assert anonymous.put(screen, json=said, headers=live.auth("a")).json()["kept"] is None
    ask(EXPIRE, LAST.format(first))
    assert task_of(anonymous, live, "b") != first

    late = anonymous.put(screen, json={**said, "preference": [[2], [1]]}, headers=live.auth("a"))

    assert (late.status_code, late.json()["kept"]) == (200, "surplus")
    assert ask_rows("SELECT revision, surplus FROM screen_judgments ORDER BY 1") == [(1, False), (2, True)]
