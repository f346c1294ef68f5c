"""Judgments of a task: what an If-Match means, and what is refused without a trace."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from fastapi import FastAPI

from app.storage.db import Database
from tests.collecting import Collecting, collect
from tests.spine import row_counts

WRITTEN = ("judgments", "scores", "versions", "screen_judgments")


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database, documents=3)


@pytest.fixture
def held(anonymous: httpx.Client, live: Collecting) -> str:
    """The address of the task that r1 holds."""
    return lease(anonymous, live, "r1")


def lease(client: httpx.Client, live: Collecting, rater: str) -> str:
    answer = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater))
    assert answer.status_code == 200, answer.text
    return f"/v1/tasks/{answer.json()['task']['task']}"


def put(client: httpx.Client, live: Collecting, url: str, score: float, seen: int | None = None) -> httpx.Response:
    headers = {} if seen is None else {"If-Match": f'"{seen}"'}
    return client.put(url, json={"protocol": "da", "score": score}, headers={**live.auth("r1"), **headers})


def written(database: Database) -> dict[str, int]:
    counts = row_counts(database.url)
    return {name: counts[name] for name in WRITTEN}


def test_a_score_of_0_is_a_score(anonymous: httpx.Client, live: Collecting, held: str, database: Database) -> None:
    stored = put(anonymous, live, f"{held}/judgments/1/1", 0)
    assert (stored.status_code, stored.json()["score"], stored.headers["etag"]) == (200, 0.0, '"1"')
    task = anonymous.get(held, headers=live.auth("r1")).json()
    assert task["items"][0]["segments"][0]["judgment"]["payload"]["score"] == 0
    assert {"item": 1, "segment": 1, "screen": None, "why": "not judged"} not in task["missing"]


def test_the_same_again_changes_nothing(
    anonymous: httpx.Client, live: Collecting, held: str, database: Database
) -> None:
    url = f"{held}/judgments/1/1"
    put(anonymous, live, url, 50)
    before = written(database)
    for seen in (None, 0, 1):
        again = put(anonymous, live, url, 50, seen)
        assert (again.status_code, again.json()["revision"]) == (200, 1)
    assert written(database) == before


def test_a_late_replay_of_an_older_answer_does_not_undo_a_newer_one(
    anonymous: httpx.Client, live: Collecting, held: str, database: Database
) -> None:
    url = f"{held}/judgments/1/1"
    assert put(anonymous, live, url, 50, 0).json()["revision"] == 1
    assert put(anonymous, live, url, 60, 1).json()["revision"] == 2
    before = written(database)
    replay = put(anonymous, live, url, 50, 0)
    assert (replay.status_code, replay.json()["revision"]) == (200, 1)
    assert put(anonymous, live, url, 60, 1).json()["revision"] == 2
    assert written(database) == before
    task = anonymous.get(held, headers=live.auth("r1")).json()
    stored = {"revision": 2, "payload": {"protocol": "da", "score": 60}, "hidden": False}
    assert task["items"][0]["segments"][0]["judgment"] == stored


def test_a_stale_change_is_told_both_answers(
    anonymous: httpx.Client, live: Collecting, held: str, database: Database
) -> None:
    url = f"{held}/judgments/1/1"
    put(anonymous, live, url, 50, 0)
    put(anonymous, live, url, 60, 1)
    before = written(database)
    for seen in (0, 1, 7):
        stale = put(anonymous, live, url, 70, seen)
        assert stale.status_code == 412
        assert stale.json()["type"] == "urn:plumbline:problem:stale-judgment"
        assert stale.json()["stored"] == {"revision": 2, "payload": {"protocol": "da", "score": 60}}
        assert stale.json()["sent"]["payload"]["score"] == 70
    assert written(database) == before


def test_without_if_match_the_last_write_wins(anonymous: httpx.Client, live: Collecting, held: str) -> None:
    url = f"{held}/judgments/1/1"
    assert [put(anonymous, live, url, score).json()["revision"] for score in (1, 2, 1)] == [1, 2, 3]


def test_there_is_no_way_back_in_the_presentation_by_segment(anonymous: httpx.Client, database: Database) -> None:
    live = collect(database, key="bysegment", presentation="segment")
    url = f"{lease(anonymous, live, 'r1')}/judgments/1/1"
    assert put(anonymous, live, url, 50).status_code == 200
    assert put(anonymous, live, url, 50).status_code == 200
    again = put(anonymous, live, url, 51)
    assert (again.status_code, again.json()["type"]) == (409, "urn:plumbline:problem:judged-already")


def test_many_are_stored_together_or_not_at_all(
    anonymous: httpx.Client, live: Collecting, held: str, database: Database
) -> None:
    def many(*scores: float, if_match: int | None = None, segment: int = 1) -> httpx.Response:
        sent = [
            {"item": n, "segment": segment, "payload": {"protocol": "da", "score": score}, "if_match": if_match}
            for n, score in enumerate(scores, 1)
        ]
        return anonymous.post(f"{held}/judgments", json=sent, headers=live.auth("r1"))

    stored = many(10, 20, if_match=0)
    assert [one["revision"] for one in stored.json()["judgments"]] == [1, 1]
    before = written(database)
    assert before["versions"] == 2  # the texts, and these two
    assert many(10, 20, if_match=0).status_code == 200
    off = many(30, 101)
    assert (off.status_code, off.json()["errors"][0]["loc"]) == (422, ["body", 1, "payload", "score"])
    nowhere = many(30, 40, segment=9)
    assert (nowhere.status_code, nowhere.json()["errors"][0]["loc"]) == (422, ["body", 0, "segment"])
    no_item = many(30, 40, 50)
    assert (no_item.status_code, no_item.json()["errors"][0]["loc"]) == (422, ["body", 2, "item"])
    one = {"item": 1, "segment": 1, "payload": {"protocol": "da", "score": 30}}
    twice = anonymous.post(f"{held}/judgments", json=[one, one], headers=live.auth("r1"))
    assert (twice.status_code, twice.json()["errors"][0]["loc"]) == (422, ["body", 1])
    put(anonymous, live, f"{held}/judgments/2/1", 25, 1)
    stale = many(30, 40, if_match=1)
    assert (stale.status_code, stale.json()["errors"][0]["loc"]) == (412, ["body", 1])
    assert written(database)["judgments"] == before["judgments"] + 1


def test_bad_input_is_told_and_leaves_nothing(
    anonymous: httpx.Client, live: Collecting, held: str, database: Database, ask: Callable[..., None]
) -> None:
    other = collect(database, key="other", raters=("x1",))
    before = written(database)
    good = {"protocol": "da", "score": 50}

    def sent(url: str, body: object, status: int, headers: dict[str, str] | None = None) -> httpx.Response:
        answer = anonymous.put(url, json=body, headers=headers or live.auth("r1"))
        assert answer.status_code == status, (url, body, answer.text)
        return answer

    for place in ("3/1", "1/3", "999999999/1", "1/2147483648"):
        sent(f"{held}/judgments/{place}", good, 422 if place.endswith("8") else 404)
    sent(f"{held}/judgments/1", good, 404)  # no document score is asked
    another = sent(f"{held}/judgments/1/1", {"protocol": "sqm", "score": 3}, 422)
    assert another.json()["errors"][0]["loc"] == ["body", "protocol"]
    sent(f"{held}/judgments/1/1", {"protocol": "nobody", "score": 3}, 422)
    assert sent(f"{held}/judgments/1/1", {"protocol": "da", "score": 101}, 422).json()["errors"][0]["loc"] == [
        "body",
        "score",
    ]
    assert sent(f"{held}/judgments/1/1", {"protocol": "da"}, 422).json()["errors"][0]["loc"] == ["body", "score"]
    sent(f"{held}/judgments/1/1", good, 404, other.auth("x1"))
    sent(f"{held}/judgments/1/1", good, 404, live.auth("r2"))
    sent("/v1/tasks/t_" + "f" * 32 + "/judgments/1/1", good, 404)
    sent(f"{held}/judgments/1/1", good, 422, {**live.auth("r1"), "If-Match": "2"})
    sent(f"{held}/judgments/1/1", good, 401, {"Authorization": "Bearer plb_000000000000_" + "A" * 43})
    ask("UPDATE campaigns SET state = 'closed' WHERE key = 'live'")
    closed = sent(f"{held}/judgments/1/1", good, 409)
    assert closed.json()["type"] == "urn:plumbline:problem:campaign-closed"
    assert written(database) == before


def test_spans_are_held_against_the_text_that_is_shown(anonymous: httpx.Client, database: Database) -> None:
    live = collect(database, key="spans", protocol="esa")
    held = lease(anonymous, live, "r1")
    task = anonymous.get(held, headers=live.auth("r1")).json()
    length = len(task["items"][0]["segments"][0]["text"])
    before = written(database)

    def marked(end: int, side: str = "target") -> httpx.Response:
        error = {"side": side, "start": 0, "end": end, "severity": "minor"}
        body = {"protocol": "esa", "errors": [error], "score": 72}
        return anonymous.put(f"{held}/judgments/1/1", json=body, headers=live.auth("r1"))

    outside = marked(length + 1)
    assert (outside.status_code, outside.json()["errors"][0]["loc"]) == (422, ["body", "errors", 0, "end"])
    assert written(database) == before
    assert marked(length).status_code == 200


@pytest.mark.parametrize(
    ("ends", "holds"),
    [
        ("revoked_at = now()", False),
        ("expires_at = now() - interval '1 ms'", False),
        ("expires_at = now() + interval '1 hour'", True),
        ("revoked_at = now(), expires_at = now() + interval '1 hour'", False),
    ],
)
def test_a_token_that_ended_writes_nothing_from_that_moment_on(
    anonymous: httpx.Client,
    live: Collecting,
    held: str,
    database: Database,
    ask: Callable[..., None],
    ends: str,
    *,
    holds: bool,
) -> None:
    url = f"{held}/judgments/1/1"
    assert put(anonymous, live, url, 1).status_code == 200
    before = written(database)
    ask(f"UPDATE tokens SET {ends} WHERE role = 'rater'")
    refused = [
        put(anonymous, live, url, 2),
        anonymous.post(f"{held}/heartbeat", json={}, headers=live.auth("r1")),
        anonymous.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth("r1")),
    ]
    assert [answer.status_code == 401 for answer in refused] == [not holds] * 3
    assert (written(database) == before) is not holds


def test_documents_and_screens_are_judged_where_the_campaign_asks(
    anonymous: httpx.Client, database: Database, app: FastAPI
) -> None:
    options = {"document_score": True, "preference": "ranking"}
    live = collect(database, key="more", options=options, columns=2, presentation="side_by_side")
    held = lease(anonymous, live, "r1")
    task = anonymous.get(held, headers=live.auth("r1")).json()
    assert task["asked"] == ["segment", "document", "screen"]
    assert task["screens"][0]["items"] == [1, 2]
    assert put(anonymous, live, f"{held}/judgments/1", 70).status_code == 200
    said = {"protocol": "da", "preference": [[2], [1]]}
    screen = f"{held}/judgments/screens/1"
    first = anonymous.put(screen, json=said, headers=live.auth("r1"))
    assert (first.status_code, first.json()["revision"]) == (200, 1)
    assert anonymous.put(screen, json=said, headers=live.auth("r1")).json()["revision"] == 1
    wrong = anonymous.put(screen, json={**said, "preference": [[1]]}, headers=live.auth("r1"))
    assert (wrong.status_code, wrong.json()["errors"][0]["loc"]) == (422, ["body", "preference"])
    stale = anonymous.put(
        screen, json={**said, "preference": [[1], [2]]}, headers={**live.auth("r1"), "If-Match": '"0"'}
    )
    assert (stale.status_code, stale.json()["stored"]["revision"]) == (412, 1)
    seen = anonymous.get(held, headers=live.auth("r1")).json()
    assert seen["items"][0]["judgment"]["payload"]["score"] == 70
    assert seen["screens"][0]["judgment"]["payload"] == said


@pytest.mark.parametrize("address", ["1/1", "1"])
def test_a_header_that_is_not_valid_is_refused_as_the_document_says(
    anonymous: httpx.Client, live: Collecting, held: str, address: str
) -> None:
    headers = {**live.auth("r1"), "Plumbline-Rater": "no key"}
    answer = anonymous.put(f"{held}/judgments/{address}", json={"protocol": "da", "score": 5}, headers=headers)
    assert answer.status_code == 422
    assert ["header", "Plumbline-Rater"] in [place["loc"] for place in answer.json()["errors"]]
