"""Quality control while a campaign runs: codes by verdict, what a failed check leads to, and what nobody is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import psycopg
import pytest

from app.services.campaigns.quality_settings import RaterQualitySettings
from app.services.tasks import hand_in_checks
from app.stats.ratings import RatingRole
from app.storage.db import Database
from tests.api.direct import anonymous as anonymous  # a fixture
from tests.collecting import Collecting, collect

Secret = Callable[..., str]
Score = Callable[[int, int], float]
SEGMENTS = 12


def careful(item: int, segment: int) -> float:
    """The degraded copy is the second item, and worse."""
    return 80.0 + segment if item == 1 else 20.0 + (segment * 7) % 5


def careless(item: int, segment: int) -> float:
    """As good as the original, or better."""
    return 50.0 + (segment * 3) % 10 + 2 * item


def always(item: int, segment: int) -> float:
    """The same score whatever is shown."""
    return 50.0


def with_controls(database: Database, quality: Mapping[str, Any] | None) -> Collecting:
    """Tasks of an output and its degraded copy."""
    settings = {} if quality is None else {"quality": dict(quality)}
    live = collect(database, documents=6, segments=SEGMENTS, raters=("r1", "r2"), settings=settings)
    with psycopg.connect(database.url) as db:
        db.execute("UPDATE items SET role = %s WHERE position = 2", (RatingRole.DEGRADED.value,))
        db.execute(
            """UPDATE credits c SET system_id = (SELECT min(id) FROM systems) FROM items i
               WHERE i.id = c.item_id AND i.position = 2"""
        )
    return live


def lease(client: httpx.Client, live: Collecting, rater: str) -> dict[str, Any]:
    answer = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def do_task(client: httpx.Client, live: Collecting, rater: str, score: Score) -> tuple[str, str]:
    """Lease, judge and hand in; the task and its code."""
    task = str(lease(client, live, rater)["task"]["task"])
    body = [
        {"item": i, "segment": s, "payload": {"protocol": "da", "score": score(i, s)}}
        for i in (1, 2)
        for s in range(1, SEGMENTS + 1)
    ]
    stored = client.post(f"/v1/tasks/{task}/judgments", json=body, headers=live.auth(rater))
    assert stored.status_code == 200, stored.text
    return task, submit(client, live, rater, task)


def submit(client: httpx.Client, live: Collecting, rater: str, task: str) -> str:
    done = client.post(f"/v1/tasks/{task}/submit", headers=live.auth(rater))
    assert done.status_code == 200, done.text
    assert set(done.json()) == {"completion_code"}
    return str(done.json()["completion_code"])


def acts(url: str) -> list[tuple[str, str, str]]:
    """What quality control has put on record: rater, check and act."""
    query = """SELECT what::jsonb ->> 'rater', what::jsonb ->> 'check', what::jsonb ->> 'then' FROM audit_log
               WHERE action = 'quality control' ORDER BY id"""
    with psycopg.connect(url) as db:
        return db.execute(query).fetchall()


def count(url: str, query: str) -> int:
    with psycopg.connect(url) as db:
        row = db.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def test_the_completion_code_tells_the_verdict_and_stays(anonymous: httpx.Client, database: Database) -> None:
    live = with_controls(database, {"code_pass": "GOOD-{code}", "code_fail": "NOCODE"})
    task, code = do_task(anonymous, live, "r1", careful)
    assert code.startswith("GOOD-")
    assert submit(anonymous, live, "r1", task) == code
    assert do_task(anonymous, live, "r2", careless)[1] == "NOCODE"
    assert submit(anonymous, live, "r1", task) == code


@pytest.mark.parametrize(
    ("quality", "reads"),
    [
        ({"code_pass": "GOOD", "code_fail": "NOCODE"}, [0, 1]),
        ({"actions": {"controls": "warn"}}, [0, 1]),
        ({"actions": {"controls": "warn", "drift": "warn"}}, [1, 2]),
    ],
    ids=["codes", "a warning", "a warning of drift, too"],
)
def test_only_of_who_fails_all_is_read_where_control_items_alone_decide(
    anonymous: httpx.Client,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    quality: Mapping[str, Any],
    reads: list[int],
) -> None:
    live = with_controls(database, quality)
    read, whole = [], hand_in_checks.load_ratings_with_times
    monkeypatch.setattr(hand_in_checks, "load_ratings_with_times", lambda *a, **k: read.append(1) or whole(*a, **k))
    found = []
    for rater, score in (("r1", careful), ("r2", careless)):
        do_task(anonymous, live, rater, score)
        found.append(len(read))
    assert found == reads


@pytest.mark.parametrize(
    ("rules", "right", "expected"),
    [
        ({"code_checks": ["habits"]}, None, "NOCODE"),
        ({"code_checks": ["repeats"]}, None, "GOOD"),
        ({"code_checks": [], "code_tutorial": 0.5}, False, "NOCODE"),
        ({"code_checks": [], "code_tutorial": 0.5}, True, "GOOD"),
        ({"code_checks": [], "code_tutorial": 0.5}, None, "GOOD"),
    ],
)
def test_the_manager_says_what_the_code_depends_on(anonymous, database, secret, rules, right, expected):
    live = with_controls(database, {"code_pass": "GOOD", "code_fail": "NOCODE", **rules})
    if right is not None:
        with psycopg.connect(database.url) as db:
            db.execute(
                """INSERT INTO tutorial_answers (campaign_id, rater_id, document, position, payload, "right")
                   SELECT campaign_id, id, 'tutorial', 1, '{}', %s FROM raters WHERE key = 'r1'""",
                (right,),
            )
    assert do_task(anonymous, live, "r1", always)[1] == expected
    url = f"/v1/campaigns/{live.key}/raters/r1/verdict"
    told = anonymous.get(url, headers={"Authorization": f"Bearer {secret()}"}).json()
    assert told["verdict"] == ("fail" if expected == "NOCODE" else "pass")
    outcomes = {one["rule"]: one["outcome"] for one in told["rules"]}
    assert outcomes.keys() == {*rules["code_checks"], *(["tutorial"] if "code_tutorial" in rules else [])}
    if "code_tutorial" in rules:
        assert outcomes["tutorial"] == {None: "untested", True: "pass", False: "fail"}[right]


def test_too_few_control_items_give_no_verdict_and_the_code_of_those_who_pass(
    anonymous: httpx.Client, database: Database
) -> None:
    live = with_controls(database, {"min_pairs": SEGMENTS + 1, "code_pass": "GOOD", "code_fail": "NOCODE"})
    assert do_task(anonymous, live, "r1", careless)[1] == "GOOD"


def test_a_hand_in_that_ended_before_its_code_gets_it_when_it_is_asked_for_again(
    anonymous: httpx.Client, database: Database, database_url: str
) -> None:
    live = with_controls(database, {"code_pass": "GOOD", "code_fail": "NOCODE"})
    task, _ = do_task(anonymous, live, "r1", careful)
    with psycopg.connect(database_url) as db:
        db.execute("UPDATE tasks SET completion_code = NULL")
    assert submit(anonymous, live, "r1", task) == "GOOD"


def test_a_blocked_rater_is_paused_once_and_a_manager_can_let_them_go_on(
    anonymous: httpx.Client, database: Database, database_url: str, secret: Secret
) -> None:
    live = with_controls(database, {"actions": {"controls": "block"}})
    do_task(anonymous, live, "r1", careful)
    do_task(anonymous, live, "r2", careless)
    assert acts(database_url) == [("r2", "controls", "block")]
    assert lease(anonymous, live, "r2")["why"] == "paused"
    assert lease(anonymous, live, "r1")["task"] is not None
    admin = {"Authorization": f"Bearer {secret()}", "If-Match": "*"}
    back = anonymous.put(f"/v1/campaigns/{live.key}/raters/r2", json={"state": "active"}, headers=admin)
    assert back.status_code == 200, back.text
    do_task(anonymous, live, "r2", careless)
    assert lease(anonymous, live, "r2")["task"] is not None
    assert acts(database_url) == [("r2", "controls", "block")]


def test_a_check_that_ends_tasks_holds_back_new_ones_while_it_fails(
    anonymous: httpx.Client, database: Database, database_url: str, secret: Secret
) -> None:
    live = with_controls(database, {"actions": {"controls": "end_task"}})
    do_task(anonymous, live, "r2", careless)
    told = lease(anonymous, live, "r2")
    assert (told["task"], told["why"], told["retry_after"]) == (None, "finished", None)
    admin = {"Authorization": f"Bearer {secret()}"}
    void = {"filter": {"rater": "r2"}, "reason": "trained since"}
    done = anonymous.post(f"/v1/campaigns/{live.key}/judgments/void", json=void, headers=admin)
    assert done.status_code == 200, done.text
    assert lease(anonymous, live, "r2")["task"] is not None
    assert acts(database_url) == [("r2", "controls", "end_task")]


def test_a_warning_changes_nothing_but_the_record(
    anonymous: httpx.Client, database: Database, database_url: str
) -> None:
    live = with_controls(database, {"actions": {"controls": "warn", "habits": "warn"}})
    do_task(anonymous, live, "r2", always)
    do_task(anonymous, live, "r2", always)
    assert sorted(acts(database_url)) == [("r2", "controls", "warn"), ("r2", "habits", "warn")]
    assert lease(anonymous, live, "r2")["task"] is not None


@pytest.mark.parametrize("quality", [None, {"test": "paired_t"}])
def test_a_campaign_that_asks_for_nothing_gets_nothing(
    anonymous: httpx.Client, database: Database, database_url: str, quality: dict[str, str] | None
) -> None:
    live = with_controls(database, quality)
    assert len(do_task(anonymous, live, "r2", careless)[1]) == 10
    assert not acts(database_url)


def test_nothing_automatic_leaves_out_a_rating(anonymous: httpx.Client, database: Database, database_url: str) -> None:
    live = with_controls(
        database, {"actions": {"controls": "block", "habits": "block"}, "code_pass": "A", "code_fail": "B"}
    )
    do_task(anonymous, live, "r2", careless)
    for table in ("exclusions", "voids"):
        assert count(database_url, f"SELECT count(*) FROM {table}") == 0
    assert count(database_url, "SELECT count(*) FROM judgments WHERE NOT surplus") == 2 * SEGMENTS
    assert count(database_url, "SELECT count(*) FROM items WHERE NOT accepted OR surplus_from IS NOT NULL") == 0


@pytest.mark.parametrize(
    ("quality", "where"),
    [
        ({"actions": {"controls": "dismiss"}}, ["body", "settings", "quality", "actions", "controls"]),
        ({"actions": {"mood": "warn"}}, ["body", "settings", "quality", "actions", "mood", "(name)"]),
        ({"min_pairs": 1}, ["body", "settings", "quality", "min_pairs"]),
        ({"code_pass": "C1"}, ["body", "settings", "quality", "code_fail"]),
        ({"code_pass": "a b", "code_fail": "C2"}, ["body", "settings", "quality", "code_pass"]),
        ({"code_checks": ["luck"]}, ["body", "settings", "quality", "code_checks", 0]),
        ({"code_tutorial": 80}, ["body", "settings", "quality", "code_tutorial"]),
        ({"threshold": 3}, ["body", "settings", "quality", "threshold"]),
        ([], ["body", "settings", "quality"]),
    ],
)
def test_settings_of_quality_control_are_checked_when_they_are_given(
    anonymous: httpx.Client, database: Database, secret: Secret, quality: Any, where: list[str]
) -> None:
    live = collect(database)
    admin = {"Authorization": f"Bearer {secret()}", "If-Match": "*"}
    url = f"/v1/campaigns/{live.key}"
    refused = anonymous.patch(url, json={"settings": {"quality": quality}}, headers=admin)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["loc"][-len(where) + 1 :] == where[1:]
    good = {"quality": {"actions": {"controls": "warn"}, "code_pass": "C1", "code_fail": "C2"}}
    taken = anonymous.patch(url, json={"settings": good}, headers=admin)
    assert taken.status_code == 200, taken.text


def test_a_coordinator_is_told_the_verdicts_of_its_team_and_no_more(
    anonymous: httpx.Client, database: Database, secret: Secret
) -> None:
    live = with_controls(database, None)
    admin = {"Authorization": f"Bearer {secret()}", "If-Match": "*"}
    url = f"/v1/campaigns/{live.key}"
    assert anonymous.put(f"{url}/teams/bonn", json={"name": "Bonn"}, headers=admin).status_code == 200
    assert anonymous.put(f"{url}/raters/r2", json={"team": "bonn"}, headers=admin).status_code == 200
    do_task(anonymous, live, "r1", careful)
    do_task(anonymous, live, "r2", careless)
    of_bonn = {"Authorization": f"Bearer {secret('coordinator', campaign=live.key, team='bonn')}"}
    told = anonymous.get(f"{url}/reports/quality", headers=of_bonn)
    assert told.status_code == 200, told.text
    assert told.json() == {
        "campaign": live.key,
        "data_version": told.json()["data_version"],
        "team": "bonn",
        "raters": [
            {
                "rater": "r2",
                "n_judgments": 2 * SEGMENTS,
                "verdict": "fail",
                "why": None,
                "completion": "review",
                "beyond": ["controls"],
            }
        ],
    }
    again = anonymous.get(f"{url}/reports/quality", headers={**of_bonn, "If-None-Match": told.headers["etag"]})
    assert again.status_code == 304
    assert anonymous.get(f"{url}/reports/quality.csv", headers=of_bonn).status_code == 403
    of_manager = anonymous.get(f"{url}/reports/quality", headers=admin).json()
    assert {one["rater"]: one["beyond"] for one in of_manager["raters"]}["r2"] == ["controls"]


def test_verdicts_are_asked_for_where_codes_or_actions_follow_from_them() -> None:
    codes = {"code_pass": "P", "code_fail": "F"}
    assert RaterQualitySettings(**codes).has_verdict_consequences
    assert RaterQualitySettings(actions={"controls": "warn"}).has_verdict_consequences
    assert not RaterQualitySettings().has_verdict_consequences
    assert not RaterQualitySettings(code_pass="P").has_verdict_consequences
