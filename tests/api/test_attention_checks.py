"""Attention checks among a rater's tasks: drawn, blind, warned of or not, and credited to nobody."""

from __future__ import annotations

import json
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.direct import anonymous as anonymous  # a fixture
from tests.api.test_data_seals import purge
from tests.collecting import Collecting, collect

ALWAYS = {"rate": 1.0}
LOUD = {"rate": 1.0, "loud": True, "repeats": 1}
CODES = {"code_pass": "GOOD", "code_fail": "NOCODE", "code_checks": [], "code_attention": 1.0}
NOTE = {
    "columns": ["Der Hund bellte.", "Die Katze bellte."],
    "rules": [
        {"measure": "score", "least": 70, "warning": {"en": "Nothing is wrong there."}},
        {"column": 1, "above": 2},
    ],
}


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    """Raters send their own credentials with each request."""
    return admin


def put_check(manager: httpx.Client, live: Collecting, key: str = "secret-check", note: Any = NOTE) -> httpx.Response:
    segments = [{"source": "The dog barked.", "meta": {"attention": note}}]
    return manager.put(f"/v1/campaigns/{live.key}/documents/{key}", json={"kind": "attention", "segments": segments})


def lease(client: httpx.Client, live: Collecting, rater: str = "r1") -> Any:
    return client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater)).json()


def judge(client: httpx.Client, live: Collecting, task: Any, *scores: int, rater: str = "r1") -> None:
    body = [
        {"item": item["item"], "segment": n, "payload": {"protocol": "da", "score": scores[item["item"] - 1]}}
        for item in task["items"]
        for n in range(1, len(item["segments"]) + 1)
    ]
    stored = client.post(f"/v1/tasks/{task['task']}/judgments", json=body, headers=live.auth(rater))
    assert stored.status_code == 200, stored.text


def submit(client: httpx.Client, live: Collecting, task: Any, rater: str = "r1") -> dict[str, Any]:
    done = client.post(f"/v1/tasks/{task['task']}/submit", headers=live.auth(rater))
    assert done.status_code == 200, done.text
    return dict(done.json())


def do(client: httpx.Client, live: Collecting, *scores: int, rater: str = "r1") -> dict[str, Any]:
    task = lease(client, live, rater)["task"]
    judge(client, live, task, *scores, rater=rater)
    return submit(client, live, task, rater)


def is_check(task: Any) -> bool:
    return bool(task["items"][0]["segments"][0]["text"] == "Der Hund bellte.")


def results(manager: httpx.Client, live: Collecting) -> dict[str, tuple[int, int, int, int]]:
    rows = manager.get(f"/v1/campaigns/{live.key}/attention-checks/results").json()["items"]
    return {row["rater"]: (row["checks"], row["passed"], row["failed"], row["tries"]) for row in rows}


def fetch(url: str, query: str) -> list[Any]:
    with psycopg.connect(url) as db:
        return db.execute(query.encode()).fetchall()


def test_a_check_comes_in_the_place_of_a_task_looks_like_one_and_tells_nothing(manager, database):
    live = collect(database, documents=3, segments=1, settings={"attention": ALWAYS, "quality": CODES})
    assert put_check(manager, live).status_code == 200
    task = lease(manager, live)["task"]
    assert is_check(task)
    assert [len(item["segments"]) for item in task["items"]] == [1, 1]
    assert task["items"][0]["segments"][0]["references"] is None
    answer = manager.get(f"/v1/tasks/{task['task']}", headers=live.auth("r1"))
    forms = manager.get(f"/v1/tasks/{task['task']}/forms", headers=live.auth("r1"))
    for told in (answer.text, forms.text):
        assert "secret" not in told
        assert "attention" not in told
        assert "Nothing is wrong" not in told
    judge(manager, live, task, 10, 90)
    assert submit(manager, live, task) == {"completion_code": "NOCODE"} == submit(manager, live, task)
    ordinary = lease(manager, live)["task"]
    assert not is_check(ordinary)
    assert ordinary.keys() == task.keys()
    assert ordinary["items"][0].keys() == task["items"][0].keys()
    assert (ordinary["words"], ordinary["presentation"]) == (task["words"], task["presentation"])
    judge(manager, live, ordinary, 10, 90)
    submit(manager, live, ordinary)
    codes = manager.get(f"/v1/campaigns/{live.key}/completions").json()["items"]
    assert [(one["task"], one["attention_check"]) for one in codes] == [
        (ordinary["task"], False),
        (task["task"], True),
    ]
    own = manager.get("/v1/me/completions", headers=live.auth("r1")).json()["items"]
    assert len(own) == 2
    assert own[0].keys() == own[1].keys() == {"task", "code", "redirect"}
    assert results(manager, live) == {"r1": (1, 0, 1, 1), "r2": (0, 0, 0, 0)}
    assert "attention" not in manager.get("/v1/me/export", headers=live.auth("r1")).text


def test_a_check_counts_for_nothing_that_is_told_of_systems(manager, database):
    live = collect(database, documents=2, segments=1, settings={"attention": ALWAYS})
    at = f"/v1/campaigns/{live.key}"
    before = manager.get(f"{at}/progress").json()
    put_check(manager, live)
    do(manager, live, 90, 10)
    task = lease(manager, live)["task"]
    judge(manager, live, task, 60, 40)
    progress = manager.get(f"{at}/progress").json()
    assert progress["total"]["tasks"] == before["total"]["tasks"] == 2
    assert progress["total"]["judgments"] == 2
    assert sum(one["judgments"] for one in progress["systems"]) == 2
    ranked = manager.get(f"{at}/ranking?normalize=none").json()
    assert sorted(one["score"] for one in ranked["systems"]) == [40.0, 60.0]
    exported = manager.get(f"{at}/exports/jsonl")
    assert exported.status_code == 200
    assert "Der Hund bellte" in exported.text  # the document is the manager's, and comes with the campaign
    assert exported.text.count('"type":"judgment"') == 2
    rows = manager.get(f"{at}/judgments").json()["items"]
    assert sorted((row["role"], row["systems"]) for row in rows) == [
        ("attention", []),
        ("attention", []),
        ("rating", ["sysA"]),
        ("rating", ["sysB"]),
    ]
    listed = [one for one in manager.get(f"{at}/tasks").json()["items"] if one["plan"] is None]
    assert [one["items"][0]["role"] for one in listed] == ["attention"]
    moved = manager.post(f"{at}/tasks/{listed[0]['task']}/reopen", json={"reason": "again"})
    assert (moved.status_code, moved.json()["type"].rsplit(":", 1)[-1]) == (409, "attention-check-bound")


def test_a_loud_check_warns_comes_again_once_and_its_first_try_counts(manager, database):
    live = collect(database, documents=2, segments=1, settings={"attention": LOUD, "quality": CODES})
    put_check(manager, live)
    first = lease(manager, live)["task"]
    judge(manager, live, first, 60, 10)
    warned = submit(manager, live, first)
    assert warned["warning"] == {"texts": [{"en": "Nothing is wrong there."}], "again": True}
    assert submit(manager, live, first) == warned
    again = lease(manager, live)["task"]
    assert is_check(again)
    assert again["task"] != first["task"]
    judge(manager, live, again, 60, 70)
    assert submit(manager, live, again)["warning"]["again"] is False
    assert not is_check(lease(manager, live)["task"])
    assert results(manager, live)["r1"] == (1, 0, 1, 2)
    rows = manager.get(f"/v1/campaigns/{live.key}/attention-checks/results?sort=-failed").json()["items"]
    assert [(row["rater"], row["verdict"]) for row in rows] == [("r1", "fail"), ("r2", None)]
    verdict = manager.get(f"/v1/campaigns/{live.key}/raters/r1/verdict").json()
    assert verdict == {"verdict": "fail", "rules": [{"rule": "attention", "outcome": "fail"}]}


def test_a_check_is_met_once_stays_its_raters_and_a_draw_is_the_same_however_often_one_asks(manager, database):
    live = collect(database, documents=4, segments=1, settings={"attention": ALWAYS, "quality": CODES})
    put_check(manager, live)
    task = lease(manager, live)["task"]
    assert lease(manager, live)["task"]["task"] == task["task"]
    with psycopg.connect(database.url) as db:
        db.execute("UPDATE tasks SET leased_until = now() - interval '1 hour' WHERE state = 'leased'")
    other = lease(manager, live, "r2")["task"]
    assert is_check(other)
    assert other["task"] != task["task"]
    assert lease(manager, live)["task"]["task"] == task["task"]
    judge(manager, live, task, 90, 10)
    assert submit(manager, live, task) == {"completion_code": "GOOD"}
    assert [is_check(lease(manager, live)["task"])] == [False]
    do(manager, live, 50, 50)
    assert not is_check(lease(manager, live)["task"]), "there is no other check"
    put_check(manager, live, "another-check")
    do(manager, live, 50, 50)
    assert is_check(lease(manager, live)["task"])


@pytest.mark.parametrize("pooled", [True, False])
def test_a_check_that_was_given_back_comes_again_when_a_task_would(manager, database, pooled):
    key = ("checked", "plain")
    checked = collect(database, key=key[0], documents=4, segments=1, pooled=pooled, settings={"attention": ALWAYS})
    plain = collect(database, key=key[1], documents=4, segments=1, pooled=pooled)
    put_check(manager, checked)
    again = {}
    for live in (checked, plain):
        given_back = lease(manager, live)["task"]["task"]
        assert manager.post(f"/v1/tasks/{given_back}/release", headers=live.auth("r1")).status_code == 204
        order = []
        while (task := lease(manager, live)["task"]) is not None:
            order.append(task["task"])
            judge(manager, live, task, 90, 10)
            submit(manager, live, task)
        again[live.key] = "last" if order[-1] == given_back else "next" if order[0] == given_back else "else"
    assert set(again.values()) == ({"last"} if pooled else {"next"})


def test_a_hand_in_of_a_check_reaches_no_milestone_and_is_no_work_done(manager, database, database_url):
    live = collect(database, documents=2, segments=1, settings={"attention": ALWAYS})
    at = f"/v1/campaigns/{live.key}"
    for n in range(2):
        put_check(manager, live, f"check-{n}")
    assert manager.post(f"{at}/webhooks", json={"url": "https://hooks.example.org/"}).status_code == 201
    held = lease(manager, live, "r2")["task"]
    for _ in range(4):
        do(manager, live, 90, 10)
    judge(manager, live, held, 90, 10, rater="r2")
    submit(manager, live, held, "r2")
    events = fetch(database_url, "SELECT kind, data ->> 'percent' FROM webhook_events ORDER BY n")
    assert [percent for kind, percent in events if kind == "campaign.milestone"] == ["25", "50", "75"]
    assert [kind for kind, _ in events].count("campaign.done") == 1
    assert [day["judgments"] for day in manager.get(f"{at}/progress/days").json()["days"]] == [4]
    counted = [line for line in manager.get("/v1/metrics").text.splitlines() if "campaign_tasks{" in line]
    assert counted == [f'plumbline_campaign_tasks{{campaign="{live.key}",state="handed_in"}} 2.0']


def test_an_imported_task_counts_whatever_its_meta_says(manager, database, database_url):
    live = collect(database, documents=1, segments=1)
    at = f"/v1/campaigns/{live.key}/progress"
    before = manager.get(at).json()["total"]["tasks"]
    with psycopg.connect(database_url) as db:
        db.execute(
            """INSERT INTO tasks (campaign_id, public_id, key, state, meta)
               VALUES (%s, 't_imported', 'imported', 'imported', '{"attention": {"passed": true}}')""",
            (live.id,),
        )
    assert manager.get(at).json()["total"]["tasks"] == before + 1


def test_a_check_in_hand_becomes_no_other_document(manager, database):
    live = collect(database, documents=1, segments=1, settings={"attention": ALWAYS})
    put_check(manager, live)
    lease(manager, live)
    segments = [{"source": "The dog barked.", "meta": {"attention": NOTE}}]
    for kind in ("test", "tutorial"):
        changed = manager.put(
            f"/v1/campaigns/{live.key}/documents/secret-check", json={"kind": kind, "segments": segments}
        )
        assert (changed.status_code, changed.json()["type"].rsplit(":", 1)[-1]) == (409, "text-shown")


def test_no_check_comes_where_there_is_no_task_no_rate_or_no_check(manager, database):
    none = collect(database, key="none", documents=0, settings={"attention": ALWAYS})
    put_check(manager, none)
    assert lease(manager, none)["task"] is None
    never = collect(database, key="never", documents=1, settings={"attention": {"rate": 0.0}})
    put_check(manager, never)
    assert not is_check(lease(manager, never)["task"])
    without = collect(database, key="without", documents=1, settings={"attention": ALWAYS})
    assert not is_check(lease(manager, without)["task"])


def test_a_check_shows_its_texts_side_by_side_or_one_after_another_as_tasks_do(manager, database):
    live = collect(
        database, key="beside", documents=1, columns=2, presentation="side_by_side", settings={"attention": ALWAYS}
    )
    put_check(manager, live)
    assert [one["items"] for one in lease(manager, live)["task"]["screens"]] == [[1, 2]]
    single = collect(database, key="single", documents=1, presentation="segment", settings={"attention": ALWAYS})
    put_check(manager, single)
    task = lease(manager, single)["task"]
    assert [one["items"] for one in task["screens"]] == [[1], [2]]
    do(manager, single, 90, 10)
    assert results(manager, single)["r1"] == (1, 1, 0, 1)


def test_the_purge_of_a_rater_takes_what_came_of_their_checks(manager, database, database_url):
    live = collect(database, documents=2, segments=1, settings={"attention": LOUD})
    put_check(manager, live)
    do(manager, live, 10, 10)
    kept = "SELECT meta #> '{attention,result}' IS NOT NULL FROM tasks WHERE plan IS NULL AND state = 'handed_in'"
    assert fetch(database_url, kept) == [(True,)]
    assert manager.delete("/v1/raters/r1").status_code == 200
    assert purge(database, live.key) > 0
    assert fetch(database_url, kept) == [(False,)]


def test_exports_count_what_checks_hold_and_comparisons_leave_their_screens_out(manager, database):
    settings = {"attention": ALWAYS, "output_comments": True, "screen_comments": True}
    live = collect(
        database,
        documents=2,
        columns=2,
        segments=1,
        presentation="side_by_side",
        options={"preference": "best"},
        settings=settings,
    )
    at = f"/v1/campaigns/{live.key}"
    put_check(manager, live)
    for check in (True, False):
        task = lease(manager, live)["task"]
        assert is_check(task) is check
        judge(manager, live, task, 90, 10)
        here = f"/v1/tasks/{task['task']}"
        answer = {"protocol": "da", "preference": [[1], [2]]}
        compared = manager.put(f"{here}/judgments/screens/1", json=answer, headers=live.auth("r1"))
        assert compared.status_code == 200, compared.text
        for place in ("1/1", "screens/1"):
            said = manager.put(f"{here}/comments/{place}", json={"text": "hm"}, headers=live.auth("r1"))
            assert said.status_code == 200, said.text
        submit(manager, live, task)
    losses = manager.get(f"{at}/exports/jsonl/losses").json()["losses"]
    assert losses.pop("answers to attention checks") == 2 + 1
    assert losses.pop("comments on attention checks") == 2
    assert not {name for name in losses if "compar" in name or "comment" in name}, losses
    report = manager.get(f"{at}/reports/preferences").json()
    assert (report["n_screens"], report["dropped"]) == (1, [])


def test_an_erasure_without_purge_ends_a_check_in_hand_and_keeps_what_came_of_others(manager, database, database_url):
    live = collect(database, documents=3, segments=1, settings={"attention": LOUD})
    put_check(manager, live)
    do(manager, live, 10, 10)
    held = lease(manager, live)["task"]  # the same check once more
    assert is_check(held)
    judge(manager, live, held, 90, 10)
    assert manager.delete("/v1/raters/r1").status_code == 200
    assert results(manager, live) == {"r2": (0, 0, 0, 0)}
    checks = "SELECT state, meta #>> '{attention,result,outcome}' FROM tasks WHERE plan IS NULL ORDER BY id"
    assert fetch(database_url, checks) == [("handed_in", "failed"), ("withdrawn", None)]
    assert lease(manager, live).get("task") is None
    seen = []
    while (task := lease(manager, live, "r2")["task"]) is not None:
        seen.append(task["task"])
        judge(manager, live, task, 90, 10, rater="r2")
        submit(manager, live, task, "r2")
    assert held["task"] not in seen
    assert len(seen) == 1 + 3
    assert results(manager, live) == {"r2": (1, 1, 0, 1)}


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"rate": 1.5}, ["rate"]),
        ({"rate": 0.1, "speed": 1}, ["speed"]),
        ({"rate": 0.1, "repeats": 1}, ["repeats"]),
        ({"rate": 0.1, "loud": True, "repeats": 9}, ["repeats"]),
    ],
)
def test_settings_that_cannot_be_are_refused_by_their_place(admin, settings, place):
    refused = admin.post("/v1/campaigns", json={"key": "c", "protocol": "da", "settings": {"attention": settings}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["loc"] == ["settings", "attention", *place]


MARK = {"start": 0, "end": 3, "severity": "minor"}


@pytest.mark.parametrize(
    ("note", "place"),
    [
        ({"text": "Der Hund."}, []),
        ({"columns": ["a", "b"], "text": "c", "rules": []}, ["columns"]),
        ({"rules": [{"measure": "score", "least": 1}]}, ["text"]),
        ({"text": "a", "rules": [{"marks": "a"}]}, ["rules", 0, "marks"]),
        ({"text": "a", "payload": {"protocol": "da", "score": 101}, "tolerance": {"score": 1}}, ["payload", "score"]),
        ({"text": "a", "payload": {"protocol": "da", "score": 9}, "tolerance": {"score": -1}}, ["tolerance", "score"]),
        ({"text": "a", "retry": True}, ["retry"]),
        ({**NOTE, "prefill": [[MARK], []]}, ["prefill"]),
    ],
)
def test_a_check_that_knows_no_possible_answer_is_refused_by_its_place(manager, database, note, place):
    refused = put_check(manager, collect(database), note=note)
    assert refused.status_code == 422
    where = ["body", "segments", 0, "meta", "attention", *place] if place else ["body", "segments"]
    assert refused.json()["errors"][0]["loc"] == where


OF_ESA = {"columns": ["Der Hund bellte.", "Die Katze bellte."], "rules": [{"column": 2, "marks": "Katze"}]}


@pytest.mark.parametrize(
    ("prefill", "place"),
    [
        ([[MARK]], ["prefill"]),
        ([[], [MARK, {**MARK, "end": 99}]], ["prefill", 1, 1, "end"]),
        ([[{**MARK, "side": "source", "end": 16}], []], ["prefill", 0, 0, "end"]),
        ([[], [{**MARK, "severity": "odd"}]], ["prefill", 1, 0, "severity"]),
    ],
)
def test_errors_marked_in_advance_that_do_not_fit_a_check_are_refused(manager, database, prefill, place):
    refused = put_check(manager, collect(database, protocol="esa"), note={**OF_ESA, "prefill": prefill})
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["loc"] == ["body", "segments", 0, "meta", "attention", *place]


def test_a_check_shows_errors_marked_in_advance_where_tasks_do(manager, database, database_url):
    live = collect(database, protocol="esa", documents=2, segments=1, settings={"attention": ALWAYS})
    assert put_check(manager, live, note={**OF_ESA, "prefill": [[], [MARK]]}).status_code == 200
    with psycopg.connect(database_url) as db:
        db.execute("UPDATE items SET prefill = 'default' WHERE campaign_id = %s", (live.id,))
    task = lease(manager, live)["task"]
    first, second = (item["segments"][0] for item in task["items"])
    assert is_check(task)
    assert first["prefill"] == []
    (shown,) = second["prefill"]
    assert (shown["start"], shown["end"], shown["severity"]) == (0, 3, "minor")
    assert shown["prefill"]
    answers = [
        {"item": 1, "segment": 1, "payload": {"protocol": "esa", "errors": [], "score": 90}},
        {"item": 2, "segment": 1, "payload": {"protocol": "esa", "errors": [shown], "score": 40}},
    ]
    judged = manager.post(f"/v1/tasks/{task['task']}/judgments", json=answers, headers=live.auth("r1"))
    assert judged.status_code == 200, judged.text
    submit(manager, live, task)
    assert results(manager, live)["r1"] == (1, 0, 1, 1)
    other = lease(manager, live, "r2")["task"]
    with psycopg.connect(database_url) as db:
        db.execute("UPDATE items SET prefill = NULL WHERE campaign_id = %s", (live.id,))
    plain = manager.get(f"/v1/tasks/{other['task']}", headers=live.auth("r2")).json()
    assert [item["segments"][0]["prefill"] for item in plain["items"]] == [None, None]


def import_lines(manager: httpx.Client, live: Collecting, *lines: Any) -> httpx.Response:
    at = f"/v1/campaigns/{live.key}/imports"
    announced = manager.post(at, json={"format": "jsonl"})
    one = f"{at}/{announced.json()['import']}"
    head = {"type": "plumbline", "version": 1}
    body = "".join(json.dumps(line) + "\n" for line in (head, *lines))
    assert manager.put(f"{one}/files/checks.jsonl", content=body).status_code in {200, 201}
    return manager.post(f"{one}/commit")


@pytest.mark.parametrize("kind", ["attention", "tutorial"])
def test_known_answers_that_an_import_brings_are_checked_like_those_put(manager, database, database_url, kind):
    live = collect(database)
    document = {"type": "document", "key": "known", "name": "known", "kind": kind}
    segment = {"type": "segment", "document": "known", "position": 1, "source": "The dog barked."}
    bad = {"text": "Der Hund.", "rules": [{"measure": "score", "least": 101}]}
    refused = import_lines(manager, live, document, {**segment, "meta": {kind: bad}})
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["loc"] == ["checks.jsonl", 3, "meta", kind, "rules", 0, "least"]
    assert not fetch(database_url, "SELECT FROM documents WHERE key = 'known'")
    good = {**bad, "rules": [{"measure": "score", "least": 100}]}
    stored = import_lines(manager, live, document, {**segment, "meta": {kind: good}})
    assert stored.status_code == 200, stored.text
    if kind == "attention":
        unknown = import_lines(manager, live, {**document, "key": "none"}, {**segment, "document": "none"})
        assert unknown.json()["errors"][0]["loc"] == ["checks.jsonl", 3]


def test_the_export_of_known_answers_that_do_not_fit_the_protocol_is_imported_and_counted(manager, database_url):
    at = "/v1/campaigns/c"
    manager.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    note = {"text": "Der Hund.", "payload": {"protocol": "da", "score": 90}, "tolerance": {"score": 10}}
    for kind in ("tutorial", "attention"):
        segments = [{"source": "The dog.", "meta": {kind: note}}]
        put = manager.put(f"{at}/documents/known-{kind}", json={"kind": kind, "segments": segments})
        assert put.status_code == 200, put.text
    assert b"unfit" not in manager.get(f"{at}/exports/jsonl").content
    with psycopg.connect(database_url) as db:  # as an earlier version may have stored it, which checked no imports
        db.execute("UPDATE campaigns SET protocol = 'esa' WHERE key = 'c'")
    exported = manager.get(f"{at}/exports/jsonl").content
    assert exported.count(b'"known_answers":"unfit"') == 2
    manager.post("/v1/campaigns", json={"key": "again", "protocol": "esa"})
    read = manager.post("/v1/campaigns/again/imports", params={"format": "jsonl"}, content=exported)
    assert read.status_code == 200, read.text
    assert read.json()["notes"] == {
        "documents whose known answers do not fit the protocol: kept, and held against nobody": 2
    }
    again = manager.get("/v1/campaigns/again/exports/jsonl").content
    assert again.splitlines()[2:-1] == exported.splitlines()[2:-1]  # all but the campaign's own line, and the seals
    manager.post("/v1/campaigns", json={"key": "strict", "protocol": "esa"})
    by_hand = [line for line in exported.splitlines(keepends=True)[1:-1] if b'"type":"campaign"' not in line]
    header = b'{"type":"plumbline","version":1}\n'
    unmarked = header + b"".join(by_hand).replace(b'"known_answers":"unfit",', b"")
    refused = manager.post("/v1/campaigns/strict/imports", params={"format": "jsonl"}, content=unmarked)
    assert (refused.status_code, "payload" in refused.json()["errors"][0]["loc"]) == (422, True), refused.text
    shapeless = header + b"".join(by_hand).replace(b'"text":"Der Hund."', b'"text":"Der Hund.","prefill":[[7]]')
    refused = manager.post("/v1/campaigns/strict/imports", params={"format": "jsonl"}, content=shapeless)
    assert (refused.status_code, "prefill" in refused.json()["errors"][0]["loc"]) == (422, True), refused.text
