"""Whoever may not see scores makes links all the same, and learns nothing by them: they open once, and look ahead only.

A manager's link, made for the same rater, is the negative control: it shows what the others must not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.storage.db import Database
from tests.collecting import Collecting, collect
from tests.described import in_full

SCORES = {1: 71.25, 2: 83.5}  # no seconds of a time
LATER = 94.75


@pytest.fixture
def live(database: Database, ask: Callable[..., None]) -> Collecting:
    """One task of a rater of a team, half judged, compared once, with a qualification that they passed."""
    made = collect(database, raters=("r1",), documents=1, segments=3, systems=("sysA",))
    ask(
        f"INSERT INTO teams (campaign_id, key, name) VALUES ({made.id}, 'bonn', 'Bonn')",
        "UPDATE enrolments SET team_id = (SELECT id FROM teams)",
    )
    return made


@pytest.fixture
def client(anonymous: httpx.Client, live: Collecting) -> httpx.Client:
    """A client without a credential, after the rater has judged two of three segments by a link of a manager's."""
    leased = anonymous.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth("r1"))
    assert leased.status_code == 200, leased.text
    for segment, score in SCORES.items():
        judge(anonymous, live, segment, score, **live.auth("r1"))
    return anonymous


def judge(client: httpx.Client, live: Collecting, segment: int, score: float, **headers: str) -> httpx.Response:
    url = f"/v1/tasks/{live.tasks[0]}/judgments/1/{segment}"
    return client.put(url, json={"protocol": "da", "score": score}, headers=headers)


def make_link(client: httpx.Client, secret: str, path: str = "raters/r1/link") -> str:
    answer = client.post(f"/v1/campaigns/live/{path}", headers={"Authorization": f"Bearer {secret}"}, json={})
    assert answer.status_code == 201, answer.text
    return answer.text.partition("#token=")[2].partition('"')[0].partition(",")[0]


def sign_in(client: httpx.Client, token: str) -> dict[str, str]:
    """The headers of a browser that opened a link."""
    client.cookies.clear()
    opened = client.post("/v1/session", json={"token": token})
    assert opened.status_code == 201, opened.text
    cookie = {"Cookie": f"rater={client.cookies['rater']}"}
    client.cookies.clear()
    return {**cookie, "X-CSRF-Token": opened.json()["csrf"], "Sec-Fetch-Site": "same-origin"}


def seen(client: httpx.Client, live: Collecting, headers: dict[str, str]) -> dict[str, Any]:
    """All that a rater's credential can read, by address, with what a stale change is answered."""
    document = in_full(client.get("/openapi.json").json())
    paths = [route for route, operations in document["paths"].items() if "get" in operations]
    values = {"task": live.tasks[0], "campaign": live.key, "rater": "r1", "protocol": "da"}
    found = {}
    for path in paths:
        known = path.format(**{**dict.fromkeys(braces(path), "x"), **values})
        found[path] = client.get(known, headers={**headers, "Prefer": "wait=0"}).text
    found["a lease"] = client.post("/v1/campaigns/live/lease", headers=headers).text
    found["a stale answer"] = judge(client, live, 1, 1.0, **headers, **{"If-Match": '"0"'}).text
    many = [{"item": 1, "segment": 2, "payload": {"protocol": "da", "score": 2}, "if_match": 0}]
    found["stale answers"] = client.post(f"/v1/tasks/{live.tasks[0]}/judgments", json=many, headers=headers).text
    return found


def braces(path: str) -> list[str]:
    return [part.partition("}")[0] for part in path.split("{")[1:]]


def showing(found: dict[str, str], *scores: float) -> set[str]:
    return {path for path, text in found.items() if any(str(score) in text for score in scores)}


def test_a_coordinators_link_shows_no_answer_from_before_it_and_all_from_after(
    client: httpx.Client, live: Collecting, secret: Callable[..., str]
) -> None:
    control = seen(client, live, sign_in(client, make_link(client, secret("manager", campaign="live"))))
    shown_by = {"/v1/tasks/{task}", "/v1/me/export", "a lease", "a stale answer", "stale answers"}
    assert showing(control, *SCORES.values()) == shown_by

    by_coordinator = make_link(client, secret("coordinator", campaign="live", team="bonn"))
    they = sign_in(client, by_coordinator)
    found = seen(client, live, they)
    assert showing(found, *SCORES.values()) == set()
    task = client.get(f"/v1/tasks/{live.tasks[0]}", headers=they).json()
    given = [segment["judgment"] for segment in task["items"][0]["segments"]]
    assert given == [{"revision": 1, "payload": {}, "hidden": True}] * 2 + [None]
    assert [one["segment"] for one in task["missing"]] == [3]  # what was judged counts and is not asked again
    assert judge(client, live, 3, LATER, **they).status_code == 200
    assert judge(client, live, 1, LATER, **they, **{"If-Match": '"1"'}).json()["revision"] == 2
    again = seen(client, live, they)
    assert showing(again, LATER) == shown_by - {"stale answers"}
    assert showing(again, *SCORES.values()) == set()
    assert client.post(f"/v1/tasks/{live.tasks[0]}/submit", headers=they).status_code == 200


@pytest.mark.parametrize("path", ["raters/r1/link", "links"])
def test_a_coordinators_link_opens_once_and_is_no_credential_by_itself(
    client: httpx.Client, live: Collecting, secret: Callable[..., str], ask_rows: Callable[[str], list[Any]], path: str
) -> None:
    coordinator = secret("coordinator", campaign="live", team="bonn")
    link = make_link(client, coordinator, path)
    task = f"/v1/tasks/{live.tasks[0]}"
    assert client.get(task, headers={"Authorization": f"Bearer {link}"}).status_code == 401
    they = sign_in(client, link)
    assert client.get(task, headers=they).status_code == 200
    for _ in range(2):
        refused = client.post("/v1/session", json={"token": link})
        assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (401, "link-opened")
    assert client.get(task, headers=they).status_code == 200  # of who came first

    ((left,),) = ask_rows("SELECT extract(day FROM expires_at - now()) FROM sessions ORDER BY id DESC LIMIT 1")
    assert left == 89  # nothing else lets them in again, so the session lasts as long as the link
    make_link(client, coordinator)
    assert client.get(task, headers=they).status_code == 401
    usual = make_link(client, secret("manager", campaign="live"))
    for _ in range(2):
        assert client.get(task, headers=sign_in(client, usual)).status_code == 200
    assert client.get(task, headers={"Authorization": f"Bearer {usual}"}).status_code == 200


def test_of_two_who_open_a_link_at_once_one_gets_in(
    client: httpx.Client, live: Collecting, secret: Callable[..., str]
) -> None:
    link = make_link(client, secret("coordinator", campaign="live", team="bonn"))
    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(lambda _: client.post("/v1/session", json={"token": link}).status_code, range(4)))
    assert sorted(statuses) == [201, 401, 401, 401]
