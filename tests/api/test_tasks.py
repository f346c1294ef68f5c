"""A rater's way through a task, over HTTP: lease, look, judge, hand in."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from app.storage.db import Database
from tests.collecting import Collecting, collect


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database)


def da(score: float) -> dict[str, object]:
    return {"protocol": "da", "score": score}


def leased(client: httpx.Client, live: Collecting, rater: str = "r1") -> dict[str, object]:
    answer = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater))
    assert answer.status_code == 200, answer.text
    task: dict[str, object] = answer.json()["task"]
    return task


def put(
    client: httpx.Client, live: Collecting, url: str, score: float, rater: str = "r1", **headers: str
) -> httpx.Response:
    return client.put(url, json=da(score), headers={**live.auth(rater), **headers})


def test_a_rater_leases_judges_and_hands_in(anonymous: httpx.Client, live: Collecting) -> None:
    task = leased(anonymous, live)
    url = f"/v1/tasks/{task['task']}"
    assert task["state"] == "leased"
    assert len(task["items"]) == 2
    assert len(task["missing"]) == 4
    early = anonymous.post(f"{url}/submit", headers=live.auth("r1"))
    assert early.status_code == 409
    assert [one["loc"] for one in early.json()["errors"]] == [
        ["items", i, "segments", s] for i in (1, 2) for s in (1, 2)
    ]
    for item in (1, 2):
        for segment in (1, 2):
            stored = put(anonymous, live, f"{url}/judgments/{item}/{segment}", 10.0 * item)
            assert stored.status_code == 200, stored.text
            assert (stored.json()["score"], stored.json()["revision"]) == (10.0 * item, 1)
    done = anonymous.post(f"{url}/submit", headers=live.auth("r1"))
    assert done.status_code == 200, done.text
    again = anonymous.post(f"{url}/submit", headers=live.auth("r1"))
    assert again.json() == done.json()
    seen = anonymous.get(url, headers=live.auth("r1")).json()
    assert (seen["state"], seen["missing"]) == ("handed_in", [])
    assert seen["items"][0]["segments"][0]["judgment"] == {"revision": 1, "payload": da(10.0), "hidden": False}
    late = put(anonymous, live, f"{url}/judgments/1/1", 99)
    assert late.status_code == 409
    assert late.json()["type"].endswith("task-handed-in")


EVERY = [(item, segment) for item in (1, 2) for segment in (1, 2)]


@pytest.mark.parametrize("left", EVERY)
def test_a_task_with_one_answer_missing_is_not_handed_in(
    anonymous: httpx.Client, live: Collecting, left: tuple[int, int]
) -> None:
    url = f"/v1/tasks/{leased(anonymous, live)['task']}"
    for item, segment in EVERY:
        if (item, segment) != left:
            assert put(anonymous, live, f"{url}/judgments/{item}/{segment}", 50).status_code == 200
    early = anonymous.post(f"{url}/submit", headers=live.auth("r1"))
    assert early.status_code == 409, early.text
    assert [one["loc"] for one in early.json()["errors"]] == [["items", left[0], "segments", left[1]]]
    assert anonymous.get(url, headers=live.auth("r1")).json()["state"] == "leased"
    assert put(anonymous, live, f"{url}/judgments/{left[0]}/{left[1]}", 50).status_code == 200
    assert anonymous.post(f"{url}/submit", headers=live.auth("r1")).status_code == 200


@pytest.mark.parametrize("state", ["open", "paused", "closed"])
def test_a_task_is_handed_in_until_its_campaign_is_closed(
    anonymous: httpx.Client, live: Collecting, ask: Callable[..., None], state: str
) -> None:
    url = f"/v1/tasks/{leased(anonymous, live)['task']}"
    for item, segment in EVERY:
        assert put(anonymous, live, f"{url}/judgments/{item}/{segment}", 50).status_code == 200
    ask(f"UPDATE campaigns SET state = '{state}' WHERE key = 'live'")
    done = anonymous.post(f"{url}/submit", headers=live.auth("r1"))
    if state == "closed":
        assert (done.status_code, done.json()["type"]) == (409, "urn:plumbline:problem:campaign-closed")
    else:
        assert done.status_code == 200, done.text
    seen = anonymous.get(url, headers=live.auth("r1")).json()["state"]
    assert seen == ("leased" if state == "closed" else "handed_in")
