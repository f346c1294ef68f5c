"""Progress over HTTP: what is counted, whom it is shown to, and when it is the same as before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from app.storage.db import Database
from tests.collecting import Collecting, collect

Secret = Callable[..., str]


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database, documents=4, raters=("r1", "r2", "r3"))


def judge(client: httpx.Client, live: Collecting, rater: str, *, most: int = 100, submit: bool = True) -> str:
    """A rater leases a task and judges some of it; its name."""
    leased = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater)).json()["task"]
    places = [(item["item"], s["segment"]) for item in leased["items"] for s in item["segments"]]
    for n, (item, segment) in enumerate(places[:most]):
        url = f"/v1/tasks/{leased['task']}/judgments/{item}/{segment}"
        stored = client.put(url, json={"protocol": "da", "score": 10.0 + n}, headers=live.auth(rater))
        assert stored.status_code == 200, stored.text
    if submit:
        done = client.post(f"/v1/tasks/{leased['task']}/submit", headers=live.auth(rater))
        assert done.status_code == 200, done.text
    return str(leased["task"])


def asked(client: httpx.Client, live: Collecting, token: str, **headers: str) -> httpx.Response:
    given = {"Authorization": f"Bearer {token}", **headers}
    return client.get(f"/v1/campaigns/{live.key}/progress", headers=given)


def progress(client: httpx.Client, live: Collecting, token: str) -> dict[str, Any]:
    answer = asked(client, live, token)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def by(found: Mapping[str, Any], what: str, key: str) -> dict[str, dict[str, Any]]:
    return {one[key]: one for one in found[what]}


def plan_with(url: str, live: Collecting, entropy: float) -> None:
    with psycopg.connect(url) as db:
        db.execute(
            """INSERT INTO plans (campaign_id, version, seed, hash, method_version, data_version, actor, report)
               VALUES (%s, 2, 1, sha256(''), '1', 1, 'test',
                       jsonb_build_object('balance', jsonb_build_object('normalized_entropy', %s::float8)))""",
            (live.id, entropy),
        )
        db.execute(
            "INSERT INTO bucket_raters SELECT campaign_id, 2, 1, rater_id FROM enrolments WHERE campaign_id = %s",
            (live.id,),
        )


def test_what_is_done_is_counted_by_state_rater_system_bucket_and_group(
    anonymous: httpx.Client, live: Collecting, secret: Secret
) -> None:
    judge(anonymous, live, "r1")
    judge(anonymous, live, "r2", most=3, submit=False)
    found = progress(anonymous, live, secret("manager"))
    states = by(found, "states", "state")
    assert {name: (one["tasks"], one["items"], one["judgments"]) for name, one in states.items()} == {
        "free": (2, 4, 0),
        "leased": (1, 2, 3),
        "handed_in": (1, 2, 4),
    }
    assert found["total"] == {"tasks": 4, "items": 8, "segments": 8, "words": 80, "judgments": 7}
    assert found["share"] == 0.25
    raters = by(found, "raters", "rater")
    assert [(raters[r]["judgments"], raters[r]["items"], raters[r]["tasks_handed_in"]) for r in ("r1", "r2", "r3")] == [
        (4, 2, 1),
        (3, 2, 0),
        (0, 0, 0),
    ]
    assert raters["r1"]["judgments_last_day"] == 4
    systems = by(found, "systems", "system")
    assert [(systems[s]["items"], systems[s]["items_begun"], systems[s]["items_handed_in"]) for s in systems] == [
        (4, 2, 1),
        (4, 2, 1),
    ]
    assert found["groups"] == {"finished": 1, "half_done": 1, "untouched": 2}
    assert found["buckets"] == [{"bucket": 1, "tasks": 4, "handed_in": 1, "judgments": 7, "least": 2, "most": 2}]
    assert found["leases"]["held"] == 1
    assert found["pace"]["judgments_last_day"] == 7


def test_an_answer_that_is_revised_counts_once(anonymous: httpx.Client, live: Collecting, secret: Secret) -> None:
    task = judge(anonymous, live, "r1", most=1, submit=False)
    again = anonymous.put(
        f"/v1/tasks/{task}/judgments/1/1", json={"protocol": "da", "score": 77}, headers=live.auth("r1")
    )
    assert again.json()["revision"] == 2
    assert progress(anonymous, live, secret("manager"))["total"]["judgments"] == 1


def test_work_that_is_less_balanced_than_planned_is_warned_of(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    """One of three raters did all, two did nothing: 0; two did half each: log 2 / log 3."""
    plan_with(database_url, live, 1.0)
    judge(anonymous, live, "r1")
    found = progress(anonymous, live, secret("manager"))
    assert found["balance"] == {"normalized_entropy": 0.0, "planned": 1.0, "raters": 3, "least": 0, "most": 2}
    assert found["warnings"] == [
        (
            "the work done so far is less balanced than planned: normalized entropy 0.000, planned 1.000; remind "
            "raters who have done little, or replan"
        )
    ]
    with psycopg.connect(database_url) as db:
        db.execute("UPDATE campaigns SET state = 'closed' WHERE key = %s", [live.key])
    [closed] = progress(anonymous, live, secret("manager"))["warnings"]
    assert closed.endswith("planned 1.000; open the campaign again to finish it")
    with psycopg.connect(database_url) as db:
        db.execute("UPDATE campaigns SET state = 'open' WHERE key = %s", [live.key])
    judge(anonymous, live, "r2")
    assert progress(anonymous, live, secret("manager"))["balance"]["normalized_entropy"] == pytest.approx(0.630930)
    judge(anonymous, live, "r3")
    assert not progress(anonymous, live, secret("manager"))["warnings"]


def test_the_end_is_forecast_from_the_gaps_between_hand_ins(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    """Two raters took a day for a task each; two tasks are left to whoever is free: a day from the last hand-in."""
    assert progress(anonymous, live, secret("manager"))["forecast"] is None
    judge(anonymous, live, "r1")
    judge(anonymous, live, "r2")
    with psycopg.connect(database_url) as db:
        db.execute("UPDATE leases SET leased_at = now() - interval '1 day'")
    found = progress(anonymous, live, secret("manager"))
    at, median = (
        datetime.fromisoformat(found[name] if name == "at" else found["forecast"][name]) for name in ("at", "median")
    )
    assert found["forecast"]["level"] == 0.8
    assert abs(median - at - timedelta(days=1)) < timedelta(minutes=10)
    assert by(found, "raters", "rater")["r1"]["pace"] == pytest.approx(1.0, rel=0.01)


def test_a_lease_that_ran_out_is_named(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    task = judge(anonymous, live, "r1", most=0, submit=False)
    with psycopg.connect(database_url) as db:
        db.execute("UPDATE tasks SET leased_until = now() - interval '1 minute' WHERE state = 'leased'")
    found = progress(anonymous, live, secret("manager"))
    assert [(one["task"], one["rater"]) for one in found["leases"]["expired"]] == [(task, "r1")]
    assert by(found, "raters", "rater")["r1"]["lease_expired"]


def test_the_same_progress_is_304_and_every_change_is_not(
    anonymous: httpx.Client, live: Collecting, secret: Secret
) -> None:
    token = secret("manager")
    for change in (
        lambda: anonymous.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth("r1")),
        lambda: judge(anonymous, live, "r1", most=1, submit=False),
        lambda: judge(anonymous, live, "r1"),
        lambda: anonymous.post(
            f"/v1/tasks/{live.tasks[0]}/flags", json={"reason": "technical"}, headers=live.auth("r1")
        ),
    ):
        for _ in range(3):  # a minute may end between two looks, and progress shows it
            tag = asked(anonymous, live, token).headers["etag"]
            again = asked(anonymous, live, token, **{"If-None-Match": tag})
            if again.status_code == 304:
                break
        assert again.status_code == 304
        change()
        after = asked(anonymous, live, token, **{"If-None-Match": tag})
        assert after.status_code == 200
        assert after.headers["etag"] != tag


def test_viewers_see_no_raters_and_coordinators_their_team_without_systems(
    anonymous: httpx.Client, live: Collecting, secret: Secret
) -> None:
    admin = {"Authorization": f"Bearer {secret()}", "If-Match": "*"}
    assert anonymous.put(f"/v1/campaigns/{live.key}/teams/bonn", json={"name": "B"}, headers=admin).status_code == 200
    moved = anonymous.put(f"/v1/campaigns/{live.key}/raters/r1", json={"team": "bonn"}, headers=admin)
    assert moved.status_code == 200
    judge(anonymous, live, "r1")
    judge(anonymous, live, "r2")
    judge(anonymous, live, "r3", most=0, submit=False)

    viewer = asked(anonymous, live, secret("viewer"))
    assert viewer.json()["raters"] is None
    assert viewer.json()["total"]["judgments"] == 8
    assert not any(f'"{name}"' in viewer.text for name in ("r1", "r2", "r3"))

    coordinator = asked(anonymous, live, secret("coordinator", campaign=live.key, team="bonn"))
    told = coordinator.json()
    assert [one["rater"] for one in told["raters"]] == ["r1"]
    assert (told["systems"], told["buckets"], told["groups"], told["balance"]) == (None, None, None, None)
    assert (told["total"]["judgments"], told["leases"]["held"]) == (4, 0)
    assert not any(name in coordinator.text for name in ("sysA", "sysB"))
    assert '"r2"' not in coordinator.text


def test_a_campaign_without_tasks_has_a_progress_too(anonymous: httpx.Client, secret: Secret) -> None:
    admin = {"Authorization": f"Bearer {secret()}"}
    assert anonymous.post("/v1/campaigns", json={"key": "new", "protocol": "da"}, headers=admin).status_code == 201
    found = anonymous.get("/v1/campaigns/new/progress", headers=admin)
    assert found.status_code == 200, found.text
    told = found.json()
    assert (told["total"]["tasks"], told["share"], told["forecast"], told["groups"]) == (0, None, None, None)
