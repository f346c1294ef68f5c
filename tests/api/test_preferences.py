"""The report on preferences: what raters said of columns, from the screen to the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from app.storage.db import Database
from tests.collecting import Collecting, collect

REPORT = "/v1/campaigns/live/reports/preferences"
Auth = Callable[[], dict[str, str]]


@pytest.fixture
def live(database: Database) -> Collecting:
    """Four documents of two outputs side by side."""
    return collect(database, documents=4, columns=2, options={"preference": "ranking"}, presentation="side_by_side")


def compare(client: httpx.Client, live: Collecting, rater: str, *answers: list[list[int]]) -> str:
    """A rater leases a task and says of each screen which column is better."""
    task = client.post("/v1/campaigns/live/lease", headers=live.auth(rater)).json()["task"]
    for screen, preference in zip(task["screens"], answers, strict=False):
        url = f"/v1/tasks/{task['task']}/judgments/screens/{screen['screen']}"
        said = client.put(url, json={"protocol": "da", "preference": preference}, headers=live.auth(rater))
        assert said.status_code == 200, said.text
    for item in task["items"]:
        for s in item["segments"]:
            url = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{s['segment']}"
            assert client.put(url, json={"protocol": "da", "score": 50}, headers=live.auth(rater)).status_code == 200
    assert client.post(f"/v1/tasks/{task['task']}/submit", headers=live.auth(rater)).status_code == 200
    return str(task["task"])


def report(admin: httpx.Client, **query: str) -> Any:
    answer = admin.get(REPORT, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_wins_and_ties_are_counted_by_pair_as_of_a_version_and_controls_are_left_out(
    admin: httpx.Client, live: Collecting, database_url: str
) -> None:
    for answer in ([[1], [2]], [[1], [2]], [[1, 2]], [[2], [1]]):
        last = compare(admin, live, "r1", answer)

    found = report(admin)

    assert [(p["better"], p["worse"], p["wins"], p["losses"], p["ties"]) for p in found["pairs"]] == [
        ("sysA", "sysB", 2, 1, 1)
    ]
    assert found["pairs"][0]["p_value"] == 1.0
    assert [(one["system"], one["share"]) for one in found["systems"]] == [("sysA", 0.625), ("sysB", 0.375)]
    assert (found["n_screens"], found["n_raters"], found["n_documents"], found["asked"]) == (4, 1, 4, "ranking")
    assert report(admin, as_of="1")["n_screens"] == 0

    with psycopg.connect(database_url) as db:
        db.execute(
            "UPDATE items SET role = 3 WHERE position = 2 AND task_id = (SELECT id FROM tasks WHERE public_id = %s)",
            (last,),
        )
        db.execute("UPDATE campaigns SET data_version = data_version + 1 RETURNING id")
        db.execute("INSERT INTO versions SELECT id, data_version, now(), 'test', 'control' FROM campaigns")
    found = report(admin)
    assert found["dropped"] == [{"reason": "control screen", "n": 1}]
    assert (found["pairs"][0]["losses"], found["n_screens"]) == (0, 3)

    with psycopg.connect(database_url) as db:
        for _ in range(2):
            db.execute("UPDATE campaigns SET data_version = data_version + 1")
            db.execute("INSERT INTO versions SELECT id, data_version, now(), 'test', 'replan' FROM campaigns")
        db.execute(
            """UPDATE items i SET surplus_from = c.data_version - 1 FROM campaigns c
               WHERE c.id = i.campaign_id AND task_id = (SELECT min(id) FROM tasks)"""
        )
    now = report(admin)["campaigns"]["live"]
    screens = [report(admin, as_of=str(now - before))["n_screens"] for before in (2, 1, 0)]
    assert screens == [3, 2, 2], "from its version on"


def test_what_stands_excluded_counts_nowhere_and_is_not_named(admin: httpx.Client, live: Collecting) -> None:
    compare(admin, live, "r1", [[1], [2]])
    compare(admin, live, "r2", [[2], [1]])
    out = admin.post("/v1/campaigns/live/exclusions", json={"rater": "r2", "reason": "guessed"})
    assert out.status_code == 201, out.text

    found = report(admin)

    assert found["dropped"] == [{"reason": "standing exclusion of a rater", "n": 1}]
    assert [(p["wins"], p["losses"]) for p in found["pairs"]] == [(1, 0)]
    assert found["pairs"][0]["interval"] is None
    assert any("no interval" in warning for warning in found["warnings"])


def test_of_the_best_and_the_others_only_best_against_other_was_compared(
    admin: httpx.Client, database: Database
) -> None:
    three = collect(database, systems=("a", "b", "c"), columns=3, documents=1, options={"preference": "best"})
    compare(admin, three, "r1", [[2], [1, 3]])

    found = report(admin)

    assert [(p["better"], p["worse"], p["wins"], p["ties"]) for p in found["pairs"]] == [
        ("b", "a", 1, 0),
        ("b", "c", 1, 0),
    ]
    assert found["dropped"] == [{"reason": "comparison among those that are not the best", "n": 1}]
    drawn = admin.get(f"{REPORT}.svg").text
    assert all(f">{name}<" in drawn for name in "abc")


def test_a_campaign_that_asks_for_none_says_so(admin: httpx.Client, database: Database) -> None:
    collect(database)
    found = report(admin)
    assert (found["pairs"], found["asked"]) == ([], None)
    assert found["warnings"] == [
        "the campaign collects no preferences: its option `preference` is not set; set it before the first judgment"
    ]


def test_ties_throughout_prefer_nothing_in_every_shape(admin: httpx.Client, live: Collecting) -> None:
    for _ in range(4):
        compare(admin, live, "r1", [[1, 2]])

    found = report(admin)

    (pair,) = found["pairs"]
    assert (pair["wins"], pair["losses"], pair["ties"], pair["p_value"]) == (0, 0, 4, 1.0)
    assert (
        "every comparison is a tie, so no system is preferred; collect comparisons on more texts" in found["warnings"]
    )
    assert {one["share"] for one in found["systems"]} == {0.5}
    for shape in ("csv", "md", "tex", "svg"):
        answer = admin.get(f"{REPORT}.{shape}")
        assert (answer.status_code, "nan" in answer.text.lower()) == (200, False)


def test_a_comparison_sent_again_is_one_and_changes_nothing_and_another_one_needs_what_was_seen(
    admin: httpx.Client, live: Collecting, ask_rows: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    task = admin.post("/v1/campaigns/live/lease", headers=live.auth("r1")).json()["task"]
    url = f"/v1/tasks/{task['task']}/judgments/screens/{task['screens'][0]['screen']}"

    def sent(preference: list[list[int]], seen: int | None) -> tuple[int, int | None]:
        match = {} if seen is None else {"If-Match": f'"{seen}"'}
        said = admin.put(url, json={"protocol": "da", "preference": preference}, headers={**live.auth("r1"), **match})
        return said.status_code, said.json().get("revision")

    def kept() -> tuple[object, ...]:
        told = "SELECT revision, payload -> 'preference' FROM screen_judgments ORDER BY revision"
        return (*ask_rows(told), ask_rows("SELECT data_version FROM campaigns"))

    first, second = [[1], [2]], [[2], [1]]
    assert sent(first, 0) == (200, 1)
    assert sent(second, 1) == (200, 2)
    stored = kept()
    assert stored[:2] == ((1, first), (2, second))
    for seen in (None, 2, 1):
        assert sent(second, seen) == (200, 2)
    assert kept() == stored
    for answer, seen in ((second, 0), (second, 3), (first, 1), (first, 3)):
        assert sent(answer, seen)[0] == 412, (answer, seen)
    assert kept() == stored
    assert sent(first, 2) == (200, 3)
    assert [row[1] for row in kept()[:3]] == [first, second, first]


def test_preferences_go_out_with_the_judgments_and_come_in_again_equal(admin: httpx.Client, live: Collecting) -> None:
    for answer in ([[1], [2]], [[1, 2]], [[2], [1]]):
        compare(admin, live, "r1", answer)
    exported = admin.get("/v1/campaigns/live/exports/jsonl").content
    assert exported.count(b'"type":"comparison"') == 3

    made = admin.post("/v1/campaigns", json={"key": "again", "protocol": "da", "options": {"preference": "ranking"}})
    assert made.status_code == 201, made.text
    stored = admin.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=exported)

    assert stored.status_code in (200, 201), stored.text
    again = admin.get("/v1/campaigns/again/exports/jsonl").content
    assert again.splitlines()[2:-1] == exported.splitlines()[2:-1]
    told = [admin.get(f"/v1/campaigns/{key}/reports/preferences").json()["pairs"] for key in ("live", "again")]
    assert told[0] == told[1]
    assert told[0][0]["ties"] == 1


def test_a_task_of_which_only_columns_were_compared_goes_on_as_a_copy_and_comes_in_again(
    admin: httpx.Client, live: Collecting
) -> None:
    task = admin.post("/v1/campaigns/live/lease", headers=live.auth("r1")).json()["task"]
    url, body = f"/v1/tasks/{task['task']}", {"protocol": "da", "preference": [[1], [2]]}
    assert admin.put(f"{url}/judgments/screens/1", json=body, headers=live.auth("r1")).status_code == 200
    assert admin.post(f"{url}/release", headers=live.auth("r1")).status_code == 204
    taken = compare(admin, live, "r2", [[2], [1]])

    exported = admin.get("/v1/campaigns/live/exports/jsonl").content
    made = admin.post("/v1/campaigns", json={"key": "again", "protocol": "da", "options": {"preference": "ranking"}})
    assert made.status_code == 201, made.text
    stored = admin.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=exported)

    assert stored.status_code in (200, 201), stored.text
    assert exported.count(b'"type":"comparison"') == 1
    assert taken != task["task"]
