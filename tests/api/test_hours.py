"""Hours over HTTP: measured by the rule, adjusted, disputed and answered, each to whom it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import httpx
import psycopg
import pytest

from app.services.people import hours as hours_service
from app.storage import campaigns
from app.storage.db import Database, Session
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.collecting import Collecting, collect

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CAP = 30 + 0.8 * 2 * (6 + 9)  # two segments, six words of source and nine of the output each
Secret = Callable[..., str]


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database, raters=("r1", "r2", "r3"), persons={"r1": "ada", "r2": "ada"})


def hold(url: str, live: Collecting, rater: str, task: str, since: datetime = NOON) -> None:
    """A lease of the past."""
    with psycopg.connect(url) as db:
        db.execute(
            """INSERT INTO leases (campaign_id, task_id, n, rater_id, leased_at)
               SELECT t.campaign_id, t.id, 1 + (SELECT count(*) FROM leases l WHERE l.task_id = t.id), r.id, %s
               FROM tasks t JOIN raters r ON r.campaign_id = t.campaign_id AND r.key = %s WHERE t.public_id = %s""",
            (since, rater, task),
        )


def note(
    url: str,
    rater: str,
    task: str,
    at: Sequence[float],
    *,
    kinds: Sequence[str] | None = None,
    session: str = "s1",
    start: datetime = NOON,
    first: int = 0,
) -> None:
    """Events at some seconds after the start, which arrive with the last of them."""
    with psycopg.connect(url) as db:
        for n, second in enumerate(at):
            db.execute(
                """INSERT INTO activity (campaign_id, task_id, session, seq, rater_id, kind, at_ms, item, segment,
                                         received_at)
                   SELECT t.campaign_id, t.id, %s, %s, r.id, %s, %s, 1, 1, %s
                   FROM tasks t JOIN raters r ON r.campaign_id = t.campaign_id AND r.key = %s WHERE t.public_id = %s
                   ON CONFLICT DO NOTHING""",
                (
                    *(session, first + n, kinds[n] if kinds else "score", round(second * 1000)),
                    *(start + timedelta(seconds=at[-1]), rater, task),
                ),
            )


def hours(client: httpx.Client, live: Collecting, token: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/v1/campaigns/{live.key}/hours", params=query, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def of(found: dict[str, Any], rater: str) -> dict[str, Any]:
    return next(one for one in found["raters"] if one["rater"] == rater)


def test_hours_are_what_the_rule_counts(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    """20 s of work, a break that counts up to the words on the screen, 10 s more; a retry changes nothing."""
    hold(database_url, live, "r1", live.tasks[0])
    for _ in range(2):
        note(database_url, "r1", live.tasks[0], [0, 20, 900, 910])
    found = hours(anonymous, live, secret("manager"))
    assert (found["pause_seconds"], found["seconds_per_word"]) == (30.0, 0.8)
    assert of(found, "r1")["active_seconds"] == pytest.approx(20 + CAP + 10)
    assert of(found, "r1")["days"] == [
        {"day": "2026-11-20", "active_seconds": pytest.approx(20 + CAP + 10), "adjusted_seconds": 0}
    ]
    assert of(found, "r3")["active_seconds"] == 0
    assert found["teams"][0]["payable_seconds"] == pytest.approx(20 + CAP + 10)


def test_an_item_that_shows_a_reference_counts_the_words_of_that_reference(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    """The break counts up to the words on the screen; a document has other references, longer ones, besides."""
    with psycopg.connect(database_url) as db:
        for name, words in (("other", "ten words that stand on no screen that anybody sees"), ("shown", "two words")):
            db.execute(
                """INSERT INTO reference_texts (campaign_id, segment_id, name, text)
                   SELECT campaign_id, id, %s, %s FROM segments""",
                (name, words),
            )
        db.execute("DELETE FROM credits WHERE item_id IN (SELECT id FROM items WHERE position = 1)")
        db.execute("UPDATE items SET role = 2, reference = 'shown' WHERE position = 1")
    hold(database_url, live, "r1", live.tasks[0])
    note(database_url, "r1", live.tasks[0], [0, 900])
    cap = 30 + 0.8 * 2 * (6 + 2)  # two segments, six words of source and two of this reference each
    assert of(hours(anonymous, live, secret("manager")), "r1")["active_seconds"] == pytest.approx(cap)


def test_what_a_page_sends_by_itself_and_what_nobody_sees_does_not_count(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    hold(database_url, live, "r1", live.tasks[0])
    kinds = ["score", "hidden", "tick", "visible", "score", "tick", "tick"]
    note(database_url, "r1", live.tasks[0], [0, 10, 20, 40, 50, 80, 110], kinds=kinds)
    assert of(hours(anonymous, live, secret("manager")), "r1")["active_seconds"] == 20.0


def test_two_accounts_of_one_person_are_not_paid_twice_for_the_same_minute(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    for rater, task in (("r1", live.tasks[0]), ("r2", live.tasks[1])):
        hold(database_url, live, rater, task)
        note(database_url, rater, task, [0, 20, 40])
    hold(database_url, live, "r3", live.tasks[1])
    note(database_url, "r3", live.tasks[1], [0, 20, 40], session="s3")
    found = hours(anonymous, live, secret("manager"))
    assert [one["active_seconds"] for one in found["raters"]] == [40.0, 0.0, 40.0]
    own = anonymous.get("/v1/me/hours", headers=live.auth("r2")).json()
    assert own["hours"]["active_seconds"] == 0.0


def test_days_follow_the_place_of_payment(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    late = NOON.replace(hour=23, minute=30)
    hold(database_url, live, "r1", live.tasks[0], late)
    note(database_url, "r1", live.tasks[0], [0, 20], start=late)
    token = secret("manager")
    assert [day["day"] for day in of(hours(anonymous, live, token), "r1")["days"]] == ["2026-11-20"]
    assert [day["day"] for day in of(hours(anonymous, live, token, utc_offset=60), "r1")["days"]] == ["2026-11-21"]


def test_a_real_heartbeat_is_paid_by_the_servers_clock(
    anonymous: httpx.Client, live: Collecting, secret: Secret
) -> None:
    """Events said to span a day come a moment after the lease: next to nothing is paid."""
    task = anonymous.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth("r1")).json()["task"]["task"]
    events = [
        {"session": "s", "seq": n, "kind": "score", "at_ms": n * 60_000, "item": 1, "segment": 1} for n in range(400)
    ]
    beaten = anonymous.post(f"/v1/tasks/{task}/heartbeat", json={"events": events}, headers=live.auth("r1"))
    assert beaten.status_code == 200, beaten.text
    assert 0 < of(hours(anonymous, live, secret("manager")), "r1")["active_seconds"] < 30


def test_a_dispute_is_accepted_or_refused_and_leaves_a_trace(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str
) -> None:
    manager = {"Authorization": f"Bearer {secret('manager')}"}
    url = f"/v1/campaigns/{live.key}/hours"
    said = [
        anonymous.post("/v1/me/hours/disputes", json={"seconds": 600, "reason": why}, headers=live.auth("r1"))
        for why in ("power cut", "a call")
    ]
    assert [one.status_code for one in said] == [201, 201]
    first, second = (one.json()["id"] for one in said)
    assert of(hours(anonymous, live, secret("manager")), "r1")["open_disputes"] == 2

    given = {"rater": "r1", "seconds": 300, "reason": "half of it", "answers": first}
    accepted = anonymous.post(f"{url}/adjustments", json=given, headers=manager)
    assert accepted.status_code == 201, accepted.text
    refused = anonymous.post(f"{url}/refusals", json={"dispute": second, "reason": "no call then"}, headers=manager)
    assert refused.status_code == 201, refused.text
    for again in (
        anonymous.post(f"{url}/adjustments", json=given, headers=manager),
        anonymous.post(f"{url}/refusals", json={"dispute": second, "reason": "no"}, headers=manager),
    ):
        assert again.status_code == 409, again.text

    found = of(hours(anonymous, live, secret("manager")), "r1")
    assert (found["adjusted_seconds"], found["payable_seconds"], found["open_disputes"]) == (300, 300.0, 0)
    own = anonymous.get("/v1/me/hours", headers=live.auth("r1"))
    assert [(one["kind"], one["answers"], one["answered"]) for one in own.json()["entries"]] == [
        ("dispute", None, "adjustment"),
        ("dispute", None, "refusal"),
        ("adjustment", first, None),
        ("refusal", second, None),
    ]
    assert "token:" not in own.text
    listed = anonymous.get(f"{url}/adjustments", params={"limit": 3}, headers=manager).json()
    assert len(listed["items"]) == 3
    rest = anonymous.get(f"{url}/adjustments", params={"cursor": listed["next"]}, headers=manager).json()
    assert [one["kind"] for one in rest["items"]] == ["refusal"]
    for query, kinds in (
        ({"answered": True}, ["dispute"] * 2),
        ({"answered": False}, []),
        ({"q": "R1 no call"}, ["refusal"]),
    ):
        only = anonymous.get(f"{url}/adjustments", params=query, headers=manager).json()["items"]
        assert [one["kind"] for one in only] == kinds
    with psycopg.connect(database_url) as db:
        done = [row[0] for row in db.execute("SELECT action FROM audit_log WHERE action LIKE 'hours%' ORDER BY id")]
    assert done == ["hours dispute", "hours dispute", "hours adjustment", "hours refusal"]


def accept_at_once(client: httpx.Client, live: Collecting, token: str, n: int) -> list[int]:
    """What so many managers are answered who accept one dispute at the same time."""
    said = client.post("/v1/me/hours/disputes", json={"seconds": 60, "reason": "x"}, headers=live.auth("r1")).json()
    body = {"rater": "r1", "seconds": 60, "reason": "accepted", "answers": said["id"]}

    def accept(_: int) -> int:
        url = f"/v1/campaigns/{live.key}/hours/adjustments"
        return client.post(url, json=body, headers={"Authorization": f"Bearer {token}"}).status_code

    with ThreadPoolExecutor(n) as pool:
        return sorted(pool.map(accept, range(n)))


def test_a_dispute_is_accepted_once_by_however_many_at_the_same_time(
    anonymous: httpx.Client, live: Collecting, secret: Secret
) -> None:
    token = secret("manager")
    assert accept_at_once(anonymous, live, token, 6) == [201, *[409] * 5]
    assert of(hours(anonymous, live, token), "r1")["adjusted_seconds"] == 60


def test_disputes_that_nobody_holds_are_caught(
    anonymous: httpx.Client, live: Collecting, secret: Secret, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: two who do not hold the campaign both find the dispute open, and pay it twice."""
    both, found, get = Barrier(2, timeout=60), hours_service._to_answer, campaigns.load_campaign

    def seen_by_both(*given: Any) -> Any:
        dispute = found(*given)
        both.wait()
        return dispute

    def without_lock(session: Session, key: str, **_: bool) -> Any:
        return get(session, key)

    monkeypatch.setattr(campaigns, "load_campaign", without_lock)
    monkeypatch.setattr(hours_service, "_to_answer", seen_by_both)
    assert accept_at_once(anonymous, live, secret("manager"), 2) == [201, 201]


def test_nothing_said_about_hours_can_be_changed(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database: Database, database_url: str
) -> None:
    manager = {"Authorization": f"Bearer {secret('manager')}"}
    body = {"rater": "r1", "seconds": -60, "reason": "counted twice"}
    made = anonymous.post(f"/v1/campaigns/{live.key}/hours/adjustments", json=body, headers=manager)
    assert made.status_code == 201
    assert of(hours(anonymous, live, secret("manager")), "r1")["payable_seconds"] == 0
    for change in ("UPDATE hour_adjustments SET seconds = 0", "DELETE FROM hour_adjustments"):
        with psycopg.connect(database_url) as db, pytest.raises(psycopg.Error, match="only ever added"):
            db.execute(change)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"rater": "nobody", "seconds": 1, "reason": "x"}, ["body", "rater"]),
        ({"rater": "r2", "seconds": 1, "reason": "x", "answers": 1}, ["body", "answers"]),
    ],
)
def test_an_adjustment_names_an_enrolled_rater_and_a_dispute_of_theirs(
    anonymous: httpx.Client, live: Collecting, secret: Secret, body: dict[str, Any], where: list[str]
) -> None:
    anonymous.post("/v1/me/hours/disputes", json={"seconds": 9, "reason": "x"}, headers=live.auth("r1"))
    manager = {"Authorization": f"Bearer {secret('manager')}"}
    answer = anonymous.post(f"/v1/campaigns/{live.key}/hours/adjustments", json=body, headers=manager)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == where


def test_a_rater_cannot_fill_the_record_with_disputes(anonymous: httpx.Client, live: Collecting) -> None:
    said = [
        anonymous.post("/v1/me/hours/disputes", json={"seconds": 1, "reason": "x"}, headers=live.auth("r1"))
        for _ in range(21)
    ]
    assert [one.status_code for one in said] == [201] * 20 + [409]


def test_a_coordinator_sees_the_hours_of_its_team_only(
    anonymous: httpx.Client, live: Collecting, secret: Secret
) -> None:
    admin = {"Authorization": f"Bearer {secret()}", "If-Match": "*"}
    url = f"/v1/campaigns/{live.key}"
    for team in ("bonn", "ulm"):
        assert anonymous.put(f"{url}/teams/{team}", json={"name": team}, headers=admin).status_code == 200
    for rater, team in (("r1", "bonn"), ("r3", "ulm")):
        moved = anonymous.put(f"{url}/raters/{rater}", json={"team": team}, headers=admin)
        assert moved.status_code == 200, moved.text
    for rater in ("r1", "r3"):
        body = {"seconds": 60, "reason": f"of {rater}"}
        assert anonymous.post("/v1/me/hours/disputes", json=body, headers=live.auth(rater)).status_code == 201
    token = secret("coordinator", campaign=live.key, team="bonn")
    assert [one["rater"] for one in hours(anonymous, live, token)["raters"]] == ["r1"]
    headers = {"Authorization": f"Bearer {token}"}
    entries = anonymous.get(f"{url}/hours/adjustments", headers=headers).json()["items"]
    assert [one["reason"] for one in entries] == ["of r1"]
    assert anonymous.get(f"{url}/hours", params={"team": "ulm"}, headers=headers).status_code == 404


def test_hours_as_csv_and_on_the_command_line(
    anonymous: httpx.Client, live: Collecting, secret: Secret, database_url: str, command: Command
) -> None:
    hold(database_url, live, "r1", live.tasks[0])
    note(database_url, "r1", live.tasks[0], [0, 20])
    manager = {"Authorization": f"Bearer {secret('manager')}"}
    by_suffix = anonymous.get(f"/v1/campaigns/{live.key}/hours.csv", headers=manager)
    by_accept = anonymous.get(f"/v1/campaigns/{live.key}/hours", headers={**manager, "Accept": "text/csv"})
    assert by_suffix.content == by_accept.content
    assert by_suffix.text.splitlines() == [
        "campaign,team,rater,day,active_seconds,adjusted_seconds",
        "live,,r1,2026-11-20,20.0,0",
        "live,,r2,,0.0,0",
        "live,,r3,,0.0,0",
    ]
    shown = command(database_url, "hours", live.key)
    assert shown.returncode == 0, shown.stderr
    assert b"00:20" in shown.stdout
