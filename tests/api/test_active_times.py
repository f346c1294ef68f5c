"""How long answers took that were given here: what the reports on time and quality make of recorded activity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from app.storage.db import Database
from tests.collecting import Collecting, collect

Secret = Callable[..., str]
SEGMENTS = 12
NOTE = """
INSERT INTO activity (campaign_id, task_id, session, seq, rater_id, kind, at_ms, item, segment, received_at)
SELECT t.campaign_id, t.id, 's', %s, t.rater_id, %s, %s, %s, %s, now() + %s::interval
FROM tasks t WHERE t.public_id = %s"""


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database, documents=6, segments=SEGMENTS, raters=("r1", "r2", "r3"))


def work(
    client: httpx.Client, live: Collecting, url: str, rater: str, seconds: float, comes: str = "-1 minute"
) -> None:
    """A task in which each answer takes so many seconds, and a break in the middle of it."""
    leased = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater)).json()["task"]["task"]
    places = [(item, segment) for item in (1, 2) for segment in range(1, SEGMENTS + 1)]
    with psycopg.connect(url) as db:
        db.execute("UPDATE leases SET leased_at = now() - interval '1 day'")
        at = 0.0
        for n, (item, segment) in enumerate(places):
            db.execute(NOTE, (2 * n, "focus", round(at * 1000), item, segment, comes, leased))
            at += seconds
            db.execute(NOTE, (2 * n + 1, "score", round(at * 1000), item, segment, comes, leased))
        db.execute(NOTE, (2 * len(places), "hidden", round(at * 1000), *places[-1], comes, leased))
    body = [
        {"item": i, "segment": s, "payload": {"protocol": "da", "score": (i * 37 + s * 11) % 100}} for i, s in places
    ]
    stored = client.post(f"/v1/tasks/{leased}/judgments", json=body, headers=live.auth(rater))
    assert stored.status_code == 200, stored.text


def report(client: httpx.Client, live: Collecting, kind: str, token: str) -> dict[str, Any]:
    answer = client.get(f"/v1/campaigns/{live.key}/reports/{kind}", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_answers_given_here_are_timed_by_what_their_page_recorded(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    work(anonymous, live, database_url, "r1", 8.0)
    work(anonymous, live, database_url, "r2", 16.0)
    found = report(anonymous, live, "timing", secret("manager"))
    assert {one["rater"]: round(one["times"]["mean"], 3) for one in found["raters"]} == {"r1": 8.0, "r2": 16.0}
    assert {one["rater"]: one["n"] for one in found["raters"]} == {"r1": 24, "r2": 24}
    assert not found["warnings"]


def test_who_is_much_faster_than_the_others_fails_the_check_of_speed(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    for rater, seconds in (("r1", 10.0), ("r2", 12.0), ("r3", 1.0)):
        work(anonymous, live, database_url, rater, seconds)
    found = report(anonymous, live, "quality", secret("manager"))
    assert {one["rater"]: "speed" in one["beyond"] for one in found["raters"]} == {"r1": False, "r2": False, "r3": True}


def test_what_arrives_after_a_data_version_does_not_change_it(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    work(anonymous, live, database_url, "r1", 8.0, comes="1 hour")
    found = report(anonymous, live, "timing", secret("manager"))
    assert not found["raters"]
    assert found["warnings"] == [
        "no judgment has start and end times, so there are no durations; import times if they are known"
    ]
