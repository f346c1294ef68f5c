"""Who gets which task, what happens when a lease runs out, and what managers can do about it."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import psycopg
import pytest

from app.storage import seals
from app.storage.db import Database
from tests.api.direct import anonymous as anonymous  # a fixture
from tests.collecting import Collecting, collect
from tests.spine import Spine

Ask = Callable[..., None]
EXPIRE = "UPDATE tasks SET leased_until = now() - interval '1 second' WHERE state = 'leased'"


@pytest.fixture
def live(database: Database) -> Collecting:
    return collect(database)


def lease(client: httpx.Client, live: Collecting, rater: str = "r1") -> dict[str, object]:
    answer = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater))
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def task_of(client: httpx.Client, live: Collecting, rater: str = "r1") -> str:
    task = lease(client, live, rater)["task"]
    assert isinstance(task, dict)
    return str(task["task"])


def judge(client: httpx.Client, live: Collecting, task: str, rater: str, score: float = 50) -> httpx.Response:
    body = {"protocol": "da", "score": score}
    return client.put(f"/v1/tasks/{task}/judgments/1/1", json=body, headers=live.auth(rater))


def hand_in(client: httpx.Client, live: Collecting, task: str, rater: str, items: int = 2) -> None:
    sent = [
        {"item": i, "segment": s, "payload": {"protocol": "da", "score": 10 * i}}
        for i in range(1, items + 1)
        for s in (1, 2)
    ]
    assert client.post(f"/v1/tasks/{task}/judgments", json=sent, headers=live.auth(rater)).status_code == 200
    assert client.post(f"/v1/tasks/{task}/submit", headers=live.auth(rater)).status_code == 200


def test_a_rater_has_one_task_at_a_time_and_others_have_others(anonymous: httpx.Client, live: Collecting) -> None:
    first = task_of(anonymous, live)
    assert task_of(anonymous, live) == first
    assert task_of(anonymous, live, "r2") != first
    assert lease(anonymous, live, "r2")["task"] is not None


def test_nobody_is_given_two_ratings_of_one_stretch_by_any_account(anonymous: httpx.Client, database: Database) -> None:
    live = collect(
        database, key="twice", documents=1, ratings=3, raters=("a", "b", "c"), persons={"a": "ann", "b": "ann"}
    )
    hand_in(anonymous, live, task_of(anonymous, live, "a"), "a")
    assert lease(anonymous, live, "a") == {"task": None, "why": "finished", "retry_after": None}
    assert lease(anonymous, live, "b")["why"] == "finished"
    assert lease(anonymous, live, "c")["task"] is not None


def test_of_two_ratings_dealt_to_accounts_of_one_person_the_first_to_be_begun_is_done(
    anonymous: httpx.Client, database: Database, ask: Ask
) -> None:
    live = collect(database, key="linked", documents=3, ratings=2, raters=("a", "b"), pooled=False)
    done = [task_of(anonymous, live, "a")]
    ask("INSERT INTO people (key) VALUES ('ann')")
    ask("UPDATE raters SET person_id = (SELECT id FROM people WHERE key = 'ann')")
    hand_in(anonymous, live, done[0], "a")
    for _ in range(2):  # b was dealt a second rating of the first document, too, and passes it over
        done.append(task_of(anonymous, live, "b"))
        hand_in(anonymous, live, done[-1], "b")

    assert len({task[:-16] for task in done}) == 3  # each of another document
    for rater in ("a", "b"):
        assert lease(anonymous, live, rater) == {"task": None, "why": "finished", "retry_after": None}


def test_what_a_rater_lost_does_not_come_back_once_another_account_of_theirs_has_a_rating_of_it(
    anonymous: httpx.Client, database: Database, ask: Ask
) -> None:
    persons = {"a": "ann", "b": "ann"}
    live = collect(database, key="lost", documents=1, ratings=2, raters=("a", "b", "c"), persons=persons)
    first = task_of(anonymous, live, "a")
    ask(EXPIRE)  # nothing was judged, so another account may take the other rating
    ask("UPDATE tasks SET queue = 9000000 WHERE public_id = '" + first + "'")
    other = task_of(anonymous, live, "b")
    assert other != first
    hand_in(anonymous, live, other, "b")

    assert lease(anonymous, live, "a")["why"] == "finished"
    assert task_of(anonymous, live, "c") == first


@pytest.mark.parametrize("chain", [1, 2])
def test_what_one_account_of_a_person_began_and_lost_is_not_given_to_another_of_theirs(
    anonymous: httpx.Client, database: Database, ask: Ask, chain: int
) -> None:
    live = collect(
        database, key="begun", documents=1, raters=("a", "b", "c"), persons={"a": "ann", "b": "ann"}, chain=chain
    )
    first = task_of(anonymous, live, "a")
    assert judge(anonymous, live, first, "a").status_code == 200
    ask(EXPIRE)

    assert lease(anonymous, live, "b")["task"] is None, "the same person would judge the same stretch twice"
    assert task_of(anonymous, live, "a") == first, "whose work is still there"
    ask(EXPIRE)
    assert lease(anonymous, live, "c")["task"] is not None, "somebody else may have it"


@pytest.mark.parametrize("chained", [True, False])
def test_a_task_is_not_given_to_whom_another_part_of_its_chain_is_closed(
    anonymous: httpx.Client, database: Database, ask: Ask, chained: bool
) -> None:
    persons = {"a": "ann", "b": "ann"}
    live = collect(database, key="parts", documents=2, ratings=2, raters=("a", "b", "c"), persons=persons)
    of = """SELECT i.task_id FROM items i JOIN groups g ON g.id = i.group_id
            JOIN documents d ON d.id = i.document_id WHERE g.nth = {} AND d.key IN ({})"""
    for document, rater in (("doc1", "c"), ("doc2", "b")):
        done = f"state = 'handed_in', handed_in_at = now(), rater_id = (SELECT id FROM raters WHERE key = '{rater}')"
        ask(f"UPDATE tasks SET {done} WHERE id IN ({of.format(1, repr(document))})")
    if chained:
        ask("UPDATE tasks SET chain = 77 WHERE id IN (" + of.format(2, "'doc1', 'doc2'") + ")")

    assert (lease(anonymous, live, "a")["task"] is None) is chained, "ann rated the second document already"


def test_what_a_rater_lost_comes_back_to_them_while_nobody_has_it(
    anonymous: httpx.Client, database: Database, ask: Ask
) -> None:
    live = collect(database, key="lost", documents=2, ratings=2, raters=("a", "b"))
    first = task_of(anonymous, live, "a")
    ask(EXPIRE)
    ask("UPDATE tasks SET queue = 9000000 WHERE public_id = '" + first + "'")

    assert task_of(anonymous, live, "a") == first


def test_all_tasks_of_a_chain_go_to_one_rater(anonymous: httpx.Client, database: Database) -> None:
    live = collect(database, key="chained", documents=2, systems=("A", "B", "C", "D"), chain=2)
    first = task_of(anonymous, live, "r1")
    other = task_of(anonymous, live, "r2")
    hand_in(anonymous, live, first, "r1")
    second = task_of(anonymous, live, "r1")
    assert first[:-8] == second[:-8] != other[:-8]  # the names of one group differ in the last part only


def test_a_task_that_was_dealt_waits_for_its_rater(anonymous: httpx.Client, database: Database, ask: Ask) -> None:
    live = collect(database, key="dealt", documents=1, pooled=False)
    assert lease(anonymous, live, "r2")["why"] == "nothing_planned"
    mine = task_of(anonymous, live, "r1")
    ask(EXPIRE)
    assert lease(anonymous, live, "r2")["why"] == "nothing_planned"
    assert task_of(anonymous, live, "r1") == mine


def test_why_there_is_no_task(anonymous: httpx.Client, database: Database, ask: Ask) -> None:
    live = collect(database, key="why", documents=1)
    assert lease(anonymous, live, "r1")["task"] is not None
    waiting = lease(anonymous, live, "r2")
    assert waiting["why"] == "wait"
    assert 5 <= int(str(waiting["retry_after"])) <= 300
    for change, why in (
        ("UPDATE enrolments SET capacity = 1", "finished"),
        ("UPDATE campaigns SET state = 'paused' WHERE key = 'why'", "paused"),
        ("UPDATE campaigns SET state = 'closed' WHERE key = 'why'", "finished"),
        ("UPDATE enrolments SET state = 'left'", "not_enrolled"),
    ):
        ask(change)
        found = lease(anonymous, live, "r2")["why"]
        assert found == why or (why == "finished" and found == "wait"), (change, found)


def test_capacity_counts_what_was_taken(anonymous: httpx.Client, database: Database, ask: Ask) -> None:
    live = collect(database, key="room", documents=3)
    ask("UPDATE enrolments SET capacity = 3 WHERE rater_id = (SELECT min(id) FROM raters WHERE key = 'r1')")
    hand_in(anonymous, live, task_of(anonymous, live), "r1")
    assert lease(anonymous, live)["why"] == "capacity"  # 2 of 3 items are taken, and each task has 2


def test_consent_comes_before_the_first_task(anonymous: httpx.Client, live: Collecting, ask: Ask) -> None:
    ask(
        """INSERT INTO guidelines (campaign_id, kind, version, texts, actor)
           SELECT id, 'consent', 1, '{"en": "Agreed?"}', 'test' FROM campaigns WHERE key = 'live'"""
    )
    assert lease(anonymous, live)["why"] == "consent"


def test_a_heartbeat_extends_the_lease_and_counts_each_event_once(
    anonymous: httpx.Client, live: Collecting, ask: Ask, database: Database
) -> None:
    task = task_of(anonymous, live)
    ask("UPDATE tasks SET leased_until = now() + interval '1 minute' WHERE state = 'leased'")
    event = {"session": "s", "seq": 0, "kind": "focus", "at_ms": 1, "item": 1, "segment": 1}
    for _ in range(2):
        alive = anonymous.post(f"/v1/tasks/{task}/heartbeat", json={"events": [event]}, headers=live.auth("r1"))
        assert alive.status_code == 200, alive.text
    with psycopg.connect(database.url) as db:
        left = "SELECT leased_until > now() + interval '1 hour' FROM tasks WHERE state = 'leased'"
        assert db.execute(left).fetchone() == (True,)
        assert db.execute("SELECT count(*) FROM activity").fetchone() == (1,)


@pytest.mark.parametrize(
    ("where", "loc"),
    [({"item": 3}, "item"), ({"item": 3, "segment": 1}, "item"), ({"item": 2, "segment": 3}, "segment")],
)
def test_an_event_of_what_the_task_does_not_have_is_refused_with_its_place_and_nothing_is_noted(
    anonymous: httpx.Client, live: Collecting, database: Database, where: dict[str, int], loc: str
) -> None:
    task = task_of(anonymous, live)
    good = {"session": "s", "seq": 0, "kind": "focus", "at_ms": 1, "item": 2, "segment": 2}
    body = {"events": [good, {**good, "seq": 1, "segment": None, **where}]}

    refused = anonymous.post(f"/v1/tasks/{task}/heartbeat", json=body, headers=live.auth("r1"))

    assert refused.status_code == 422, refused.text
    assert [error["loc"] for error in refused.json()["errors"]] == [["body", "events", 1, loc]]
    with psycopg.connect(database.url) as db:
        assert db.execute("SELECT count(*) FROM activity").fetchone() == (0,)


def test_late_work_renews_the_lease_while_nobody_else_has_the_task(
    anonymous: httpx.Client, live: Collecting, ask: Ask
) -> None:
    task = task_of(anonymous, live)
    ask(EXPIRE)
    late = judge(anonymous, live, task, "r1")
    assert late.status_code == 200
    assert late.json()["kept"] is None
    assert late.json()["leased_until"] is not None
    ask(EXPIRE)
    lease(anonymous, live, "r2")  # lets go of what ran out, and takes another
    ask("UPDATE tasks SET state = 'free', rater_id = NULL, leased_until = NULL WHERE public_id = '" + task + "'")
    again = judge(anonymous, live, task, "r1", 60)
    assert (again.status_code, again.json()["revision"]) == (200, 2)
    assert anonymous.get(f"/v1/tasks/{task}", headers=live.auth("r1")).json()["state"] == "leased"


def test_late_work_is_surplus_once_somebody_else_has_the_task(
    anonymous: httpx.Client, database: Database, ask: Ask
) -> None:
    live = collect(database, key="late", documents=1)
    task = task_of(anonymous, live, "r1")
    ask(EXPIRE)
    assert task_of(anonymous, live, "r2") == task  # nothing was done in it, so it goes on as it is
    late = judge(anonymous, live, task, "r1")
    assert (late.status_code, late.json()["kept"]) == (200, "surplus")
    hand_in(anonymous, live, task, "r2")
    assert judge(anonymous, live, task, "r1", 3).json()["kept"] == "surplus"
    gone = anonymous.post(f"/v1/tasks/{task}/submit", headers=live.auth("r1"))
    assert (gone.status_code, gone.json()["type"]) == (409, "urn:plumbline:problem:task-lost")
    beat = anonymous.post(f"/v1/tasks/{task}/heartbeat", json={}, headers=live.auth("r1"))
    assert beat.json() == {"leased_until": None, "kept": "surplus"}


def test_what_was_written_while_somebody_else_had_the_task_is_asked_again_when_it_comes_back(
    anonymous: httpx.Client, database: Database, ask: Ask
) -> None:
    live = collect(database, key="back", documents=1)
    task = task_of(anonymous, live, "r1")
    ask(EXPIRE)
    assert task_of(anonymous, live, "r2") == task
    assert judge(anonymous, live, task, "r1").json()["kept"] == "surplus"
    ask(EXPIRE)  # r2 did nothing
    again = lease(anonymous, live, "r1")["task"]
    assert isinstance(again, dict)
    assert len(again["missing"]) == 4
    hand_in(anonymous, live, again["task"], "r1")
    ranking = Spine(database.url, database).rank("back", "wmt-da", sd0="zero", moments="ratings")
    assert ranking["n_ratings"] == 4


def test_a_task_that_was_begun_is_judged_again_whole_and_no_ranking_counts_the_first_half(
    anonymous: httpx.Client, database: Database, ask: Ask
) -> None:
    live = collect(database, key="begun", documents=1)
    first = task_of(anonymous, live, "r1")
    assert judge(anonymous, live, first, "r1", 99).status_code == 200
    ask(EXPIRE)
    copy = lease(anonymous, live, "r2")["task"]
    assert isinstance(copy, dict)
    assert copy["task"] != first
    assert len(copy["missing"]) == 4
    hand_in(anonymous, live, str(copy["task"]), "r2")
    late = judge(anonymous, live, first, "r1", 98)
    assert late.json()["kept"] == "surplus"
    ranking = Spine(database.url, database).rank("begun", "wmt-da", sd0="zero", moments="ratings")
    assert ranking["n_ratings"] == 4
    with psycopg.connect(database.url) as db:
        assert db.execute("SELECT count(*) FROM judgments").fetchone() == (6,)


def test_giving_back_leads_to_another_task(anonymous: httpx.Client, live: Collecting) -> None:
    first = task_of(anonymous, live)
    assert anonymous.post(f"/v1/tasks/{first}/release", headers=live.auth("r1")).status_code == 204
    second = task_of(anonymous, live)
    assert second != first
    assert anonymous.post(f"/v1/tasks/{second}/release", headers=live.auth("r1")).status_code == 204
    assert task_of(anonymous, live) in {first, second}


def test_a_manager_sees_whose_the_texts_are_and_moves_and_reopens_tasks(
    admin: httpx.Client, live: Collecting, secret: Callable[..., str]
) -> None:
    staff = {"Authorization": f"Bearer {secret()}"}
    base = f"/v1/campaigns/{live.key}/tasks"
    task = task_of(admin, live, "r1")
    listed = admin.get(base, params={"state": "leased"}, headers=staff).json()["items"]
    assert [one["task"] for one in listed] == [task]
    assert listed[0]["items"][0]["systems"] == ["sysA"]
    assert listed[0]["items"][0]["role"] == "rating"
    pages = admin.get(base, params={"limit": 1}, headers=staff).json()
    rest = admin.get(base, params={"cursor": pages["next"]}, headers=staff).json()["items"]
    assert len(rest) == 1
    judge(admin, live, task, "r1")
    moved = admin.post(f"{base}/{task}/reassign", json={"rater": "r2", "reason": "ill"}, headers=staff)
    assert moved.status_code == 200, moved.text
    assert moved.json()["task"] != task  # r1 had begun it
    assert judge(admin, live, task, "r1", 3).json()["kept"] == "surplus"
    theirs = task_of(admin, live, "r2")
    assert theirs == moved.json()["task"]
    hand_in(admin, live, theirs, "r2")
    done = admin.post(f"{base}/{theirs}/reassign", json={"rater": "r1", "reason": "x"}, headers=staff)
    assert (done.status_code, done.json()["type"]) == (409, "urn:plumbline:problem:handed-in-already")
    opened = admin.post(f"{base}/{theirs}/reopen", json={"reason": "new guidelines"}, headers=staff)
    assert opened.json()["state"] == "free"
    assert task_of(admin, live, "r2") == theirs
    assert judge(admin, live, theirs, "r2", 77).json()["revision"] == 2


def test_flags_are_answered_and_judgments_set_aside_with_a_reason(
    admin: httpx.Client, live: Collecting, secret: Callable[..., str], database: Database
) -> None:
    staff = {"Authorization": f"Bearer {secret()}"}
    base = f"/v1/campaigns/{live.key}"
    task = task_of(admin, live, "r1")
    said = {"reason": "bad_source", "item": 1, "segment": 2, "note": "breaks off"}
    key = {"Idempotency-Key": "once"}
    made = [admin.post(f"/v1/tasks/{task}/flags", json=said, headers={**live.auth("r1"), **key}) for _ in range(2)]
    assert [one.status_code for one in made] == [201, 201]
    assert admin.post(f"/v1/tasks/{task}/flags", json={**said, "item": 9}, headers=live.auth("r1")).status_code == 404
    listed = admin.get(f"{base}/flags", params={"answered": False}, headers=staff).json()["items"]
    assert [(one["rater"], one["systems"], one["note"]) for one in listed] == [("r1", ["sysA"], "breaks off")]
    answered = admin.post(f"{base}/flags/{listed[0]['flag']}/answer", json={"answer": "left out"}, headers=staff)
    assert answered.json()["answer"] == "left out"
    assert not admin.get(f"{base}/flags", params={"answered": False}, headers=staff).json()["items"]
    name = listed[0]["flag"]
    again = admin.patch(f"{base}/flags", json={"flags": [name], "answer": None, "assignee": "Ada"}, headers=staff)
    assert again.json()["before"] == [{"flag": name, "answer": "left out", "assignee": None}]
    (opened,) = admin.get(f"{base}/flags", params={"answered": False, "q": "ada breaks"}, headers=staff).json()["items"]
    assert (opened["answer"], opened["answered_by"], opened["assignee"]) == (None, None, "Ada")
    for body, place in (
        ({"flags": [name, name]}, ["body", "flags", "1"]),
        ({"flags": ["f_x"]}, ["body", "flags", "0"]),
    ):
        refused = admin.patch(f"{base}/flags", json={**body, "answer": "so"}, headers=staff)
        assert (refused.status_code, [str(part) for part in refused.json()["errors"][0]["loc"]]) == (422, place)
    assert admin.patch(f"{base}/flags", json={"flags": [name]}, headers=staff).status_code == 422
    back = admin.patch(f"{base}/flags", json={"flags": [name], "answer": "left out"}, headers=staff)
    assert back.json()["before"] == [{"flag": name, "answer": None, "assignee": "Ada"}]
    undo = {"flags": [name], "answer": None, "expected": {"answer": "so", "assignee": "Ada"}}
    refused = admin.patch(f"{base}/flags", json=undo, headers=staff)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:plumbline:problem:flags-changed-meanwhile")
    assert refused.json()["errors"] == [{"loc": ["body", "flags", 0], "msg": f"{name!r} was changed meanwhile"}]
    assert admin.get(f"{base}/flags", headers=staff).json()["items"][0]["answer"] == "left out"
    assert admin.patch(f"{base}/flags", json={"flags": [name], "expected": {}}, headers=staff).status_code == 422
    undone = admin.patch(f"{base}/flags", json={**undo, "expected": {"answer": "left out"}}, headers=staff)
    assert undone.json()["before"] == [{"flag": name, "answer": "left out", "assignee": "Ada"}]
    (opened,) = admin.get(f"{base}/flags", params={"answered": False}, headers=staff).json()["items"]
    assert (opened["answered_by"], opened["answered_at"]) == (None, None)

    hand_in(admin, live, task, "r1")
    everything = admin.get(f"{base}/judgments", params={"format": "ndjson"}, headers=staff)
    lines = [json.loads(line) for line in everything.text.splitlines()]
    assert [one["score"] for one in lines] == [10, 10, 20, 20]
    assert lines[0]["systems"] == ["sysA"]
    nothing = admin.post(f"{base}/judgments/void", json={"filter": {}, "reason": "x"}, headers=staff)
    assert nothing.status_code == 422
    wrong_text = {"filter": {"system": "sysA"}, "reason": "wrong text"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seals, "MOST_ROWS", 1)
        refused = admin.post(f"{base}/judgments/void", json=wrong_text, headers=staff)
        assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["body", "filter"])
        patch.setattr(seals, "MOST_ROWS", 2)
        aside = admin.post(f"{base}/judgments/void", json=wrong_text, headers=staff)
    assert aside.json()["judgments"] == 2
    kept = admin.get(f"{base}/judgments", params={"limit": 3}, headers=staff).json()
    assert [one["void"] for one in kept["items"]] == ["wrong text", "wrong text", None]
    assert len(admin.get(f"{base}/judgments", params={"cursor": kept["next"]}, headers=staff).json()["items"]) == 1
    admin.post(f"{base}/tasks/{task}/reopen", json={"reason": "say it again"}, headers=staff)
    hand_in(admin, live, task, "r1")
    again = admin.get(f"{base}/judgments", params={"format": "ndjson"}, headers=staff).text.splitlines()
    revisions = [(one["revision"], one["void"]) for one in map(json.loads, again)]
    assert sorted(revisions, key=str) == [
        (1, "wrong text"),
        (1, "wrong text"),
        (1, None),
        (1, None),
        (2, None),
        (2, None),
    ]


def test_judgments_set_aside_under_a_key_are_told_the_same_again(admin: httpx.Client, database: Database) -> None:
    live = collect(database)
    task = task_of(admin, live, "r1")
    hand_in(admin, live, task, "r1")
    body = {"filter": {"rater": "r1"}, "reason": "did not read the texts"}

    def void(**headers: str) -> httpx.Response:
        return admin.post(f"/v1/campaigns/{live.key}/judgments/void", json=body, headers=headers)

    first, again = void(**{"Idempotency-Key": "once"}), void(**{"Idempotency-Key": "once"})
    assert first.json()["judgments"] == 4
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")
    assert void().json() == {"judgments": 0, "data_version": first.json()["data_version"]}
