"""Lists about raters, and what was decided of them: searched, filtered, sorted, and read page by page."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.storage import invitations, webhooks
from app.web.pagination import make_cursor

HERE = "/v1/campaigns/c"
TEAMS = "rater,team\nr1,bonn\nr2,ulm\nr3,bonn\n"
OF = "(SELECT campaign_id, id FROM raters WHERE key = '{}') r"


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    assert admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"}).status_code == 201
    assert admin.post(f"{HERE}/raters/import", json={"table": TEAMS, "new_teams": True}).status_code == 201
    return admin


def everything(client: httpx.Client, path: str, key: str, **query: Any) -> list[Any]:
    """What a list has, by pages of one row each."""
    seen, cursor = [], None
    while True:
        page = client.get(path, params={**query, "limit": 1, **({"cursor": cursor} if cursor else {})})
        assert page.status_code == 200, page.text
        seen += [one[key] for one in page.json()["items"]]
        cursor = page.json()["next"]
        if cursor is None:
            return seen


def test_results_of_a_test_are_searched_filtered_and_sorted(manager: httpx.Client, ask: Callable[..., None]) -> None:
    item = {"source": "One.", "choices": ["yes", "no"], "choice": "yes"}
    assert manager.put(f"{HERE}/qualification", json={"items": [item], "pass_mark": 0.8}).status_code == 200
    for rater, n, share, passed in (("r1", 1, 0.5, False), ("r1", 2, 0.9, True), ("r2", 1, 0.7, False)):
        ask(
            "INSERT INTO qualification_attempts (campaign_id, rater_id, n, version, answers, share, passed, actor) "
            f"SELECT r.*, {n}, 1, '[]', {share}, {passed}, 'test' FROM {OF.format(rater)}"
        )
    path = f"{HERE}/qualification/results"
    for query, raters in (
        ({}, ["r1", "r2", "r3"]),
        ({"sort": "-rater"}, ["r3", "r2", "r1"]),
        ({"sort": "best"}, ["r3", "r2", "r1"]),
        ({"sort": "-attempts"}, ["r1", "r2", "r3"]),
        ({"sort": "at"}, ["r2", "r3", "r1"]),
        ({"sort": "-team"}, ["r2", "r3", "r1"]),
        ({"passed": True}, ["r1"]),
        ({"passed": False, "q": "BONN"}, ["r3"]),
    ):
        assert everything(manager, path, "rater", **query) == raters, query
    page = manager.get(path, params={"sort": "best", "limit": 1}).json()
    other = manager.get(path, params={"sort": "at", "cursor": page["next"], "limit": 1})
    assert other.status_code in {200, 422}  # a place of another order is none, and never an error of ours


@pytest.mark.parametrize("sort", ["team", "attempts", "at"])
@pytest.mark.parametrize(
    "place",
    ["[" * 2900, "1" * 2900, "[1, 2]", '[["x"], "r1"]', json.dumps(["\ud800", "r1"]), json.dumps(["\0", "r1"])],
)
def test_an_invented_place_is_refused(manager: httpx.Client, sort: str, place: str) -> None:
    cursor = make_cursor(urlsafe_b64encode(place.encode()).decode().rstrip("="))
    answer = manager.get(f"{HERE}/qualification/results", params={"sort": sort, "cursor": cursor})
    assert answer.status_code == 422, answer.text


def test_results_of_a_tutorial_are_searched_filtered_and_sorted(
    manager: httpx.Client, ask: Callable[..., None]
) -> None:
    for rater, answers in (("r2", (True, True)), ("r3", (True, False, False))):
        for n, right in enumerate(answers, 1):
            ask(
                'INSERT INTO tutorial_answers (campaign_id, rater_id, document, position, payload, "right") '
                f"SELECT r.*, 'd', {n}, '{{}}', {right} FROM {OF.format(rater)}"
            )
    path = f"{HERE}/tutorial/results"
    for query, raters in (
        ({"sort": "-answered"}, ["r3", "r2", "r1"]),
        ({"sort": "right"}, ["r1", "r3", "r2"]),
        ({"answered": False}, ["r1"]),
        ({"answered": True, "q": "bonn"}, ["r3"]),
    ):
        assert everything(manager, path, "rater", **query) == raters, query


def test_results_of_attention_checks_are_searched_filtered_and_sorted(
    manager: httpx.Client, ask: Callable[..., None]
) -> None:
    n = 0
    for rater, outcomes in (("r2", ("passed", "passed")), ("r3", ("failed", "passed", "untested"))):
        for outcome in outcomes:
            n += 1
            ask(
                "INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, handed_in_at, meta) "
                f"SELECT r.campaign_id, 't_{n}', 'attention~{n}', r.id, 'handed_in', now(), "
                f"""'{{"attention": {{"try": 1, "result": {{"outcome": "{outcome}"}}}}}}' FROM {OF.format(rater)}"""
            )
    path = f"{HERE}/attention-checks/results"
    for query, raters in (
        ({}, ["r1", "r2", "r3"]),
        ({"sort": "-checks"}, ["r3", "r2", "r1"]),
        ({"sort": "passed"}, ["r1", "r3", "r2"]),
        ({"sort": "-failed"}, ["r3", "r2", "r1"]),
        ({"sort": "-team"}, ["r2", "r3", "r1"]),
        ({"state": "none"}, ["r1"]),
        ({"state": "passed"}, ["r2"]),
        ({"state": "failed", "q": "BONN"}, ["r3"]),
    ):
        assert everything(manager, path, "rater", **query) == raters, query
    ask("""UPDATE tasks SET meta = '{"attention": {"try": 1, "result": {"outcome": "untested"}}}'""")
    assert everything(manager, path, "rater", state="passed") == []


def test_answers_to_questions_are_searched_and_filtered(manager: httpx.Client, ask: Callable[..., None]) -> None:
    for rater, moment, n, text in (
        ("r1", "before", 1, "Sorbian"),
        ("r1", "before", 2, "Czech"),
        ("r3", "after", 1, "x"),
    ):
        ask(
            "INSERT INTO questionnaire_answers (campaign_id, rater_id, moment, n, answers) "
            f"SELECT r.*, '{moment}', {n}, '{{\"language\": \"{text}\"}}' FROM {OF.format(rater)}"
        )
    path = f"{HERE}/questionnaires/answers"
    for query, raters in (
        ({}, ["r1", "r2", "r3"]),
        ({"answered": True, "sort": "-rater"}, ["r3", "r1"]),
        ({"answered": False}, ["r2"]),
        ({"q": "czech r1"}, ["r1"]),
        ({"q": "sorbian"}, []),  # was answered anew
        ({"q": "language"}, []),  # is asked, and not answered
        ({"q": '"'}, []),
    ):
        assert everything(manager, path, "rater", **query) == raters, query
    ask(
        "UPDATE questionnaire_answers SET answers = jsonb_build_object("
        "'a', jsonb_build_array('one', E'say \"so\\\\no\"'), 'b', 7.5, 'c', true) WHERE moment = 'after'"
    )
    for q in ("ONE", '"so\\no"', "7.5", "true"):
        assert everything(manager, path, "rater", q=q) == ["r3"], q


def test_invitations_and_codes_are_searched_filtered_and_sorted(
    manager: httpx.Client, ask: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [
        manager.post(f"{HERE}/invitations", json={"count": n, "platform": "prolific" if n == 2 else None}).json()
        for n in (1, 2, 3)
    ]
    assert manager.delete(f"{HERE}/invitations/{made[0]['invitation']}").status_code == 204
    for query, seats in (
        ({"sort": "made"}, [1, 2, 3]),
        ({"sort": "-made"}, [3, 2, 1]),
        ({"live": False}, [1]),
        ({"live": True, "sort": "-made"}, [3, 2]),
        ({"q": "PROLIFIC"}, [2]),
    ):
        assert everything(manager, f"{HERE}/invitations", "count", **query) == seats, query
    ask(
        "INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, meta, handed_in_at, completion_code) "
        f"SELECT r.campaign_id, 't_' || n, 'k' || n, r.id, 'handed_in', '{{}}', now(), 'C' || n "
        f"FROM {OF.format('r1')}, generate_series(1, 5) n"
    )
    monkeypatch.setattr(invitations, "LOOKED_AT", 2)
    assert everything(manager, f"{HERE}/completions", "code", q="c4") == ["C4"]
    assert everything(manager, f"{HERE}/completions", "code", q="R1") == [f"C{n}" for n in range(1, 6)]


def test_exclusions_are_searched_filtered_and_read_from_the_newest_on(manager: httpx.Client) -> None:
    for rater, reason in (("r1", "too fast"), ("r2", "a test account"), ("r3", "too slow")):
        assert manager.post(f"{HERE}/exclusions", json={"rater": rater, "reason": reason}).status_code == 201
    second = manager.get(f"{HERE}/exclusions", params={"q": "r2"}).json()["items"][0]["exclusion"]
    assert manager.delete(f"{HERE}/exclusions/{second}", params={"reason": "no test"}).status_code == 200
    for query, keys in (
        ({}, ["r1", "r2", "r3"]),
        ({"sort": "-made"}, ["r3", "r2", "r1"]),
        ({"standing": True, "sort": "-made"}, ["r3", "r1"]),
        ({"standing": False}, ["r2"]),
        ({"what": "system"}, []),
        ({"what": "rater", "q": "TOO fast"}, ["r1"]),
    ):
        assert everything(manager, f"{HERE}/exclusions", "key", **query) == keys, query


def test_deliveries_and_messages_are_filtered(
    manager: httpx.Client, ask: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = manager.post(f"{HERE}/webhooks", json={"url": "https://hooks.example.org/"}).json()["webhook"]
    ask(
        "INSERT INTO webhook_deliveries (campaign_id, webhook_id, n, kind, attempt, status, milliseconds) "
        "SELECT campaign_id, id, n, CASE WHEN n = 3 THEN 'job.done' ELSE 'task.handed_in' END, 1, "
        f"(ARRAY[200, 500, 204, NULL, 299])[n], 5 FROM webhooks, generate_series(1, 5) n WHERE public_id = '{hook}'"
    )
    monkeypatch.setattr(webhooks, "LOOKED_AT", 2)
    path = f"{HERE}/webhooks/{hook}/deliveries"
    for query, events in (
        ({}, [5, 4, 3, 2, 1]),
        ({"taken": True}, [5, 3, 1]),
        ({"taken": False}, [4, 2]),
        ({"kind": "job.done", "taken": True}, [3]),
    ):
        assert everything(manager, path, "event", **query) == events, query
    for text in ("one", "two", "three"):
        manager.post(f"{HERE}/messages", json={"raters": ["r1"], "text": text})
    ask("UPDATE rater_messages SET read_at = now() WHERE text = 'two'")
    for query, texts in (({}, ["three", "two", "one"]), ({"read": True}, ["two"]), ({"read": False}, ["three", "one"])):
        assert everything(manager, f"{HERE}/raters/r1/messages", "text", **query) == texts, query
