"""Errors put with outputs are shown without a further word, are told where they are not there, and have ids."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import psycopg
import pytest

from app.services.access import tokens
from app.services.plans import plan_prefills
from app.storage.db import Database
from tests.api.direct import anonymous as anonymous  # a fixture

AGAIN, ESA = "/v1/campaigns/again", "/v1/campaigns/esa"
SPAN = {"start": 0, "end": 4, "severity": "minor", "category": "Fluency/Grammar"}
TWO = [SPAN, {**SPAN, "start": 5, "end": 9}]
DESIGN = {"seed": 5, "overlap": None}


def _ok(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def _made(client: httpx.Client, protocol: str, path: str, prefill: list[Any] | None, **more: Any) -> httpx.Client:
    key = path.rpartition("/")[2]
    _ok(client.post("/v1/campaigns", json={"key": key, "protocol": protocol, "target_language": "de", **more}), 201)
    _ok(client.put(f"{path}/documents/d1", json={"segments": [{"source": "One two."}, {"source": "Three four."}]}))
    _ok(client.put(f"{path}/systems/A", json={}))
    body: dict[str, Any] = {"segments": ["Eins zwei.", "Drei vier."]}
    _ok(client.put(f"{path}/systems/A/outputs/d1", json=body | ({"prefill": prefill} if prefill else {})))
    _ok(client.put(f"{path}/raters/r1", json={}))
    return client


def _leased(client: httpx.Client, database: Database, path: str, rater: str = "r1") -> tuple[Any, dict[str, str]]:
    """The task that the rater is given, and what to send as who they are."""
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="rater", campaign=path.rpartition("/")[2], rater=rater).secret
    mine = {"Authorization": f"Bearer {secret}"}
    return _ok(client.post(f"{path}/lease", headers=mine))["task"], mine


def _shown(task: Any) -> list[Any]:
    return [segment["prefill"] for item in task["items"] for segment in item["segments"]]


def test_re_annotation_shows_what_was_put_and_every_error_must_be_accounted_for(
    admin: httpx.Client, database: Database
) -> None:
    _made(admin, "mqm_reannotation", AGAIN, [TWO, None])
    _ok(admin.post(f"{AGAIN}/plan", json=DESIGN), 201)
    _ok(admin.post(f"{AGAIN}/open"))
    task, mine = _leased(admin, database, AGAIN)

    first, second = _shown(task)
    assert [one["prefill"] for one in first] == ["p1", "p2"]
    assert second == []
    where, new = f"/v1/tasks/{task['task']}/judgments/1/1", {**mine, "If-Match": '"0"'}
    silent = admin.put(where, headers=new, json={"protocol": "mqm_reannotation", "errors": [], "deleted": []})
    faults = [one["msg"] for one in _ok(silent, 422)["errors"]]
    assert faults == [f"{name} was shown and is neither kept nor deleted" for name in ("p1", "p2")]
    said = {"protocol": "mqm_reannotation", "errors": [first[0]], "deleted": ["p2"]}
    assert _ok(admin.put(where, headers=new, json=said))["score"] == 1.0


def test_re_annotation_without_errors_to_show_cannot_be_planned(admin: httpx.Client) -> None:
    _made(admin, "mqm_reannotation", AGAIN, None, settings={"prefill": None})
    for params in ({}, {"dry_run": "true"}):
        refused = _ok(admin.post(f"{AGAIN}/plan", json=DESIGN, params=params), 409)
        assert "no output has any" in refused["detail"]


@pytest.mark.parametrize(
    ("settings", "design", "shown"),
    [
        ({}, {}, [["p1", "p2"], []]),
        ({"prefill": "default"}, {}, [["p1", "p2"], []]),
        ({"prefill": None}, {}, [None, None]),
        ({}, {"arms": [{"name": "bare"}, {"name": "bare too"}]}, [None, None]),
    ],
)
def test_errors_put_with_outputs_are_shown_unless_the_setting_or_the_arm_says_otherwise(
    admin: httpx.Client, database: Database, settings: Any, design: Any, shown: Any
) -> None:
    _made(admin, "esa", ESA, [TWO, None], settings=settings)
    _ok(admin.post(f"{ESA}/plan", json={**DESIGN, **design}), 201)
    _ok(admin.post(f"{ESA}/open"))
    found = _shown(_leased(admin, database, ESA)[0])
    assert [one and [span["prefill"] for span in one] for one in found] == shown


@pytest.mark.parametrize("prefill", [[TWO, None], None])
def test_a_name_that_no_output_has_is_refused_where_it_stands(admin: httpx.Client, prefill: Any) -> None:
    _made(admin, "esa", ESA, prefill, settings={"prefill": "auto"})
    refused = _ok(admin.post(f"{ESA}/plan", json=DESIGN), 422)
    assert [one["loc"] for one in refused["errors"]] == [["campaign", "settings", "prefill"]]
    arms = [{"name": "bare"}, {"name": "helped", "prefill": "auto"}]
    refused = _ok(admin.post(f"{ESA}/plan", json={**DESIGN, "arms": arms}), 422)
    assert [one["loc"] for one in refused["errors"]] == [["body", "arms", 1, "prefill"]]
    assert "no output has errors named auto" in refused["errors"][0]["msg"]


def test_a_protocol_that_shows_no_errors_takes_no_arm_that_does(admin: httpx.Client) -> None:
    _made(admin, "da", ESA, [TWO, None])
    arms = [{"name": "bare"}, {"name": "helped", "prefill": "default"}]
    refused = _ok(admin.post(f"{ESA}/plan", json={**DESIGN, "arms": arms}), 422)
    assert "does not support prefilled errors" in refused["errors"][0]["msg"]


def test_errors_that_come_after_the_plan_ask_for_another(admin: httpx.Client) -> None:
    _made(admin, "esa", ESA, None)
    _ok(admin.post(f"{ESA}/plan", json=DESIGN), 201)
    assert _ok(admin.get(f"{ESA}/plan"))["stale"] == []
    line = {"type": "output", "document": "d1", "position": 1, "system": "A", "text": "Eins zwei.", "prefill": TWO}
    lines = [{"type": "plumbline", "version": 1}, line]
    content = "\n".join(map(json.dumps, lines)).encode()
    binary = {"Content-Type": "application/octet-stream"}
    _ok(admin.post(f"{ESA}/imports", params={"format": "jsonl"}, content=content, headers=binary))

    said = "prefilled errors: default instead of none"
    assert _ok(admin.get(f"{ESA}/plan"))["stale"] == [said]
    assert said in _ok(admin.post(f"{ESA}/open"), 409)["detail"]
    _ok(admin.post(f"{ESA}/plan", json=DESIGN), 201)
    _ok(admin.post(f"{ESA}/open"))


def test_errors_without_an_id_or_with_another_s_get_one_of_their_own_and_keep_it(admin: httpx.Client) -> None:
    named = [{**SPAN, "prefill": "x"}, {**SPAN, "prefill": "x"}, {**SPAN, "prefill": ""}, SPAN]
    _made(admin, "esa", ESA, [named, None])
    there = _ok(admin.get(f"{ESA}/systems/A/outputs/d1"))["segments"][0]["prefill"]
    assert [one["prefill"] for one in there] == ["x", "p1", "p2", "p3"]
    body = {"segments": ["Eins zwei.", "Drei vier."], "prefill": [named, None]}
    before = _ok(admin.get(ESA))["data_version"]
    _ok(admin.put(f"{ESA}/systems/A/outputs/d1", json=body))
    assert _ok(admin.get(ESA))["data_version"] == before


HELPED = {"arms": [{"name": "bare"}, {"name": "helped", "prefill": "default"}], "cross": "raters"}
MOVED = {**SPAN, "start": 6, "end": 9}
OWN = {"start": 0, "end": 3, "severity": "minor"}
"""What a rater of ESA marks has no category; an error of MQM that is shown may have one."""


def _judge(client: httpx.Client, task: Any, mine: dict[str, str], answers: dict[int, list[Any]]) -> None:
    for segment, errors in answers.items():
        body = {"protocol": "esa", "errors": errors, "score": 70}
        where = f"/v1/tasks/{task['task']}/judgments/1/{segment}"
        _ok(client.put(where, headers={**mine, "If-Match": '"0"'}, json=body))


@pytest.mark.parametrize("arms", [True, False])
def test_the_report_of_arms_counts_what_became_of_the_errors_shown_by_arm_and_rater(
    admin: httpx.Client, database: Database, arms: bool
) -> None:
    _made(admin, "esa", ESA, [[*TWO, MOVED], None], settings={} if arms else {"prefill": "default"})
    _ok(admin.put(f"{ESA}/raters/r2", json={}))
    _ok(admin.post(f"{ESA}/plan", json={**DESIGN, "ratings_per_item": 2, **(HELPED if arms else {})}), 201)
    _ok(admin.post(f"{ESA}/open"))
    helped = []
    for rater in ("r1", "r2"):
        task, mine = _leased(admin, database, ESA, rater)
        ready = _shown(task)[0]
        if not ready:
            _judge(admin, task, mine, {1: [OWN], 2: []})
            continue
        helped.append(rater)
        kept, changed, _ = ready  # the third is taken out
        _judge(admin, task, mine, {1: [kept], 2: [OWN]})
        where = f"/v1/tasks/{task['task']}/judgments/1/1"
        better = {"protocol": "esa", "errors": [kept, {**changed, "severity": "major"}], "score": 60}
        _ok(admin.put(where, headers={**mine, "If-Match": '"1"'}, json=better))

    found = _ok(admin.get(f"{ESA}/reports/arms"))["prefill"]

    assert len(helped) == (1 if arms else 2)
    counts = {"judgments": 2, "shown": 3, "kept": 1, "changed": 1, "removed": 1, "added": 1}
    assert {(one["arm"], one["rater"]) for one in found} == {
        ("helped" if arms else "document", rater) for rater in (None, *helped)
    }
    for one in found:
        times = len(helped) if one["rater"] is None else 1
        assert {name: one[name] for name in counts} == {name: times * n for name, n in counts.items()}
        shares = [one[f"{fate}_share"] for fate in ("kept", "changed", "removed", "added")]
        assert shares == pytest.approx([1 / 3] * 4)
    told = admin.get(f"{ESA}/reports/arms.csv").text.splitlines()
    name = "helped" if arms else "document"
    assert sum(line.startswith((f"kept,{name},", f"added,{name},")) for line in told) == 2 * len(found)
    told = admin.get(f"{ESA}/reports/arms.md").text
    assert "Prefilled errors" in told
    assert re.findall(r"\d \(33.*?\)", told)[:4] == [f"{len(helped)} (33.3 %)"] * 4


def test_where_nothing_was_shown_ready_made_the_report_counts_nothing_of_it(
    admin: httpx.Client, database: Database
) -> None:
    _made(admin, "esa", ESA, None)
    _ok(admin.post(f"{ESA}/plan", json=DESIGN), 201)
    _ok(admin.post(f"{ESA}/open"))
    task, mine = _leased(admin, database, ESA)
    _judge(admin, task, mine, {1: [OWN], 2: []})
    assert _ok(admin.get(f"{ESA}/reports/arms"))["prefill"] == []
    assert "Prefilled errors" not in admin.get(f"{ESA}/reports/arms.md").text


@pytest.mark.parametrize(("settings", "shown"), [({}, {None}), ({"prefill": "default"}, {None, "default"})])
def test_a_replan_goes_on_as_tasks_began_unless_the_setting_says_otherwise(
    admin: httpx.Client, database: Database, ask_rows: Any, settings: Any, shown: Any
) -> None:
    _made(admin, "esa", ESA, None)
    _ok(admin.post(f"{ESA}/plan", json=DESIGN), 201)
    _ok(admin.post(f"{ESA}/open"))
    task, mine = _leased(admin, database, ESA)
    _judge(admin, task, mine, {1: [OWN], 2: []})
    _ok(admin.post(f"/v1/tasks/{task['task']}/submit", headers=mine))
    _ok(admin.put(f"{ESA}/systems/B", json={}))
    body = {"segments": ["Eins und zwei.", "Drei und vier."], "prefill": [TWO, None]}
    _ok(admin.put(f"{ESA}/systems/B/outputs/d1", json=body))
    seen = {"If-Match": admin.get(ESA).headers["ETag"]}
    _ok(admin.patch(ESA, json={"settings": settings}, headers=seen))
    _ok(admin.post(f"{ESA}/plan/replan", json={"reason": "late"}), 201)
    assert {row[0] for row in ask_rows("SELECT prefill FROM items")} == shown
    assert ask_rows("SELECT count(*) FROM items") == [(2,)]


@pytest.mark.parametrize(
    ("protocol", "settings", "design"),
    [
        ("esa", {}, {"arms": [{"name": "bare"}, {"name": "helped", "prefill": "ai"}]}),
        ("esa", {"prefill": "ai"}, {}),
        ("da", {"prefill": "default"}, {}),
        ("mqm_reannotation", {}, {}),
    ],
    ids=["an arm", "the setting", "a protocol that shows none", "a protocol that needs some"],
)
def test_what_was_opened_when_no_name_was_asked_about_can_be_replanned(
    admin: httpx.Client, monkeypatch: pytest.MonkeyPatch, protocol: str, settings: Any, design: Any
) -> None:
    _made(admin, protocol, ESA, None, settings=settings)
    with monkeypatch.context() as before:
        before.setattr(plan_prefills, "check_prefills_exist", lambda *_: None)
        _ok(admin.post(f"{ESA}/plan", json={**DESIGN, **design}), 201)
    _ok(admin.post(f"{ESA}/open"))
    for reason in ("ill", "ill again"):
        _ok(admin.post(f"{ESA}/plan/replan", json={"reason": reason}), 201)


def test_a_name_that_a_setting_gains_in_the_middle_is_refused_where_no_output_has_it(admin: httpx.Client) -> None:
    _made(admin, "esa", ESA, [TWO, None])
    _ok(admin.post(f"{ESA}/plan", json=DESIGN), 201)
    _ok(admin.post(f"{ESA}/open"))
    seen = {"If-Match": admin.get(ESA).headers["ETag"]}
    _ok(admin.patch(ESA, json={"settings": {"prefill": "auto"}}, headers=seen))
    refused = _ok(admin.post(f"{ESA}/plan/replan", json={"reason": "ill"}), 422)
    assert [one["loc"] for one in refused["errors"]] == [["campaign", "settings", "prefill"]]
    assert "no output has errors named auto" in refused["errors"][0]["msg"]


def _without_ids(database: Database) -> None:
    """Errors as they were stored before each got an id."""
    with psycopg.connect(database.url) as db:
        db.execute(
            "UPDATE variants SET spans = (SELECT jsonb_agg(one - 'prefill') FROM jsonb_array_elements(spans) one)"
        )


def test_errors_stored_without_ids_are_put_again_without_a_change_where_a_task_shows_them(
    admin: httpx.Client, database: Database
) -> None:
    _made(admin, "esa", ESA, [TWO, None])
    _ok(admin.post(f"{ESA}/plan", json=DESIGN), 201)
    _ok(admin.post(f"{ESA}/open"))
    _without_ids(database)
    before, where = _ok(admin.get(ESA))["data_version"], f"{ESA}/systems/A/outputs/d1"
    body = {"segments": ["Eins zwei.", "Drei vier."], "prefill": [TWO, None]}
    _ok(admin.put(where, json=body))
    assert _ok(admin.get(ESA))["data_version"] == before
    _ok(admin.put(where, json=body | {"prefill": [[*TWO, MOVED], None]}), 409)


def test_errors_stored_without_ids_count_as_kept_where_an_answer_says_the_same(
    admin: httpx.Client, database: Database
) -> None:
    kept, changed, removed = ({**OWN, "end": end} for end in (1, 2, 3))
    _made(admin, "esa", ESA, [[kept, changed, removed], None])
    _ok(admin.post(f"{ESA}/plan", json=DESIGN), 201)
    _ok(admin.post(f"{ESA}/open"))
    task, mine = _leased(admin, database, ESA)
    _judge(admin, task, mine, {1: [kept, {**changed, "severity": "major"}], 2: [OWN]})
    _without_ids(database)
    (every, _) = _ok(admin.get(f"{ESA}/reports/arms"))["prefill"]
    counts = {"shown": 3, "kept": 1, "changed": 0, "removed": 2, "added": 2}
    assert {name: every[name] for name in counts} == counts
