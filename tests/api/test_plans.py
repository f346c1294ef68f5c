"""Plans over HTTP: compiled, looked at, frozen; what raters then lease is what the plan says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from app.services.access import tokens
from app.storage.db import Database
from app.storage.embedded import EmbeddedServer
from tests.api.conftest import template_asked_for, template_by_admin
from tests.api.direct import anonymous as anonymous  # a fixture

LIVE = "/v1/campaigns/live"
SYSTEMS = ("sysA", "sysB", "sysC")
RATERS = ("r1", "r2", "r3")


@pytest.fixture(scope="session")
def draft_template(postgres: EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The name of a database with the draft of `ready`."""
    with template_by_admin(postgres, migrated_template, lambda admin, _: draft(admin)) as name:
        yield name


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_template: str) -> str:
    """Who asks for the draft has it in the database from the start."""
    return template_asked_for(request, migrated_template, {"ready": "draft_template"})


@pytest.fixture
def ready(admin: httpx.Client) -> httpx.Client:
    """A draft with six documents of two or three segments, three systems and three raters."""
    return admin


def draft(admin: httpx.Client) -> None:
    made = admin.post("/v1/campaigns", json={"key": "live", "protocol": "esa", "target_language": "de"})
    assert made.status_code == 201, made.text
    for d in range(1, 7):
        segments = [{"source": f"Source {d} {n} is here."} for n in range(1, 3 + d % 2)]
        _ok(admin.put(f"{LIVE}/documents/d{d}", json={"position": d, "segments": segments}))
    for system in SYSTEMS:
        _ok(admin.put(f"{LIVE}/systems/{system}", json={}))
        for d in range(1, 7):
            texts = [f"{system} says {d} {n} with some more words." for n in range(1, 3 + d % 2)]
            _ok(admin.put(f"{LIVE}/systems/{system}/outputs/d{d}", json={"segments": texts}))
    for rater in RATERS:
        answer = admin.put(f"{LIVE}/raters/{rater}", json={})
        assert answer.status_code in {200, 201}, answer.text


def _ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def _plan(client: httpx.Client, design: dict[str, Any], status: int = 201, **params: str) -> Any:
    answer = client.post(f"{LIVE}/plan", json=design, params=params)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_plan_names_attention_checks_that_no_task_looks_like(ready: httpx.Client) -> None:
    rule = {"column": 2, "marks": "schlief"}
    for n in (2, 3):
        note = {"columns": ["Die Katze schlief."] * n, "rules": [rule]}
        segments = [{"source": "The dog barked.", "meta": {"attention": note}}]
        _ok(ready.put(f"{LIVE}/documents/check-{n}", json={"kind": "attention", "segments": segments}))

    def named(**design: Any) -> list[str]:
        notes = _plan(ready, {"seed": 1, **design}, status=200, dry_run="true")["report"]["notes"]
        return [note for note in notes if "attention checks" in note]

    (note,) = named(grouping="psxs", task={"columns": 2, "max_segments": 6})
    assert "check-3 (3); a screen shows 1 to 2" in note
    assert "check-2" not in note
    assert named(grouping="psxs", task={"columns": 3, "max_segments": 6}) != [note]


def test_a_dry_run_shows_the_plan_and_stores_nothing(ready: httpx.Client) -> None:
    before = ready.get(LIVE).json()

    seen = _plan(ready, {"seed": 5}, 200, dry_run="true")

    assert seen["plan"] is None
    assert seen["report"]["total"]["items"] >= 18
    assert ready.get(LIVE).json() == before
    assert ready.get(f"{LIVE}/plan").status_code == 404


def test_a_frozen_plan_is_the_one_that_was_looked_at(ready: httpx.Client) -> None:
    seen = _plan(ready, {"seed": 5}, 200, dry_run="true")

    frozen = _plan(ready, {"seed": 5})

    assert frozen["hash"] == seen["hash"]
    assert (frozen["version"], ready.get(LIVE).json()["state"]) == (1, "planned")
    assert ready.get(f"{LIVE}/plan").json() == frozen
    assert _plan(ready, {"seed": 6})["hash"] != frozen["hash"]
    assert [one["version"] for one in ready.get(f"{LIVE}/plans").json()["items"]] == [1, 2]


@pytest.mark.parametrize("design", [{}, {"structure": "sr_plus_dc", "overlap": None}])
def test_the_design_that_a_plan_shows_gives_the_same_plan_though_its_seed_was_drawn(
    ready: httpx.Client, design: dict[str, Any]
) -> None:
    drawn = _plan(ready, design)

    again = _plan(ready, drawn["design"])

    assert drawn["design"]["seed"] == drawn["seed"]
    assert (again["hash"], again["design"]) == (drawn["hash"], drawn["design"])


def test_the_report_says_what_is_asked_of_whom_and_what_it_can_prove(ready: httpx.Client) -> None:
    report = _plan(ready, {"seed": 5, "overlap": None})["report"]

    assert sum(load["items"] for load in report["raters"]) == 18
    assert {load["groups"] for load in report["raters"]} == {2}
    assert report["balance"]["normalized_entropy"] == 1.0
    assert report["forecast"]["detectable"] > 0
    assert report["srp"]["method"] == "forecast"
    assert report["pairs"]["judgments_of_the_least_compared"] == 6


def test_a_presentation_that_settings_had_before_they_were_checked_is_none(
    ready: httpx.Client, ask: Callable[..., None]
) -> None:
    ask("""UPDATE campaigns SET settings = settings || '{"presentation": []}'""")
    assert _plan(ready, {"seed": 5})["version"] == 1
    assert {one["presentation"] for one in ready.get(f"{LIVE}/tasks").json()["items"]} == {"document"}


def test_the_plan_has_a_picture_that_names_raters_and_systems(ready: httpx.Client) -> None:
    _plan(ready, {"seed": 5})

    drawn = ready.get(f"{LIVE}/plan.svg")

    assert drawn.headers["content-type"] == "image/svg+xml"
    for name in (*SYSTEMS, *RATERS, "Plan of live", "Version 1"):
        assert name in drawn.text


def test_tasks_show_what_the_plan_says_and_a_new_plan_replaces_them(
    ready: httpx.Client, database_url: str, ask_rows: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    _plan(ready, {"seed": 5, "overlap": None, "controls": {"bad_reference": {"rate": 0.2, "method": "word_mixing"}}})
    roles = Counter(row[0] for row in ask_rows("SELECT role FROM items"))
    assert roles[0] == 18
    assert roles[3] >= 3
    degraded = ask_rows(
        "SELECT v.text, o.text FROM variants v JOIN outputs o ON o.id = v.output_id WHERE v.kind = 'degraded'"
    )
    assert degraded
    assert all(changed != text for changed, text in degraded)

    _plan(ready, {"seed": 5, "overlap": None})
    assert Counter(row[0] for row in ask_rows("SELECT role FROM items")) == {0: 18}
    assert ask_rows("SELECT count(*) FROM variants") == [(0,)]


def test_controls_are_shown_with_ready_made_errors_like_everything_else(
    ready: httpx.Client, database: Database
) -> None:
    span = {"start": 0, "end": 4, "severity": "minor"}
    texts = [f"sysA says 1 {n} with some more words." for n in (1, 2, 3)]
    body = {"segments": texts, "prefill": [[span], [], None]}
    _ok(ready.put(f"{LIVE}/systems/sysA/outputs/d1", json=body))
    arms = [{"name": "with", "prefill": "default"}, {"name": "too", "prefill": "default"}]
    controls = {"bad_reference": {"rate": 0.2, "method": "word_mixing"}, "repeat": {"rate": 0.1, "min_distance": 0}}
    _plan(ready, {"seed": 5, "overlap": None, "arms": arms, "controls": controls})
    _ok(ready.post(f"{LIVE}/open"))

    with database.transaction() as session:
        secret = tokens.issue_token(session, role="rater", campaign="live", rater="r1").secret
    task = _ok(ready.post(f"{LIVE}/lease", headers={"Authorization": f"Bearer {secret}"}))["task"]

    shown = [segment["prefill"] for item in task["items"] for segment in item["segments"]]
    assert all(isinstance(one, list) for one in shown)


def test_an_open_campaign_hands_out_the_plan_and_ranks_what_comes_back(ready: httpx.Client, database: Database) -> None:
    _plan(ready, {"seed": 5, "overlap": None, "task": {"max_segments": 9}})
    _ok(ready.post(f"{LIVE}/open"))

    judged = [_judge_all(ready, database, rater) for rater in RATERS]

    assert sum(judged) == 6 * 3 * 2 + 3 * 3
    ranking = _ok(ready.get(f"{LIVE}/ranking", params={"normalize": "none"}))
    assert [one["system"] for one in ranking["systems"]] == list(SYSTEMS)
    assert [one["n_ratings"] for one in ranking["systems"]] == [15, 15, 15]
    _ok(ready.post(f"{LIVE}/close"))


def test_seats_of_an_invitation_are_planned_for_and_taken_by_whoever_comes(admin: httpx.Client, ready: None) -> None:
    for rater in RATERS:
        seen = admin.get(f"{LIVE}/raters/{rater}").headers["ETag"]
        changed = admin.put(f"{LIVE}/raters/{rater}", json={"state": "left"}, headers={"If-Match": seen})
        assert changed.status_code == 200, changed.text
    invited = admin.post(f"{LIVE}/invitations", json={"count": 2, "platform": "prolific"})
    assert invited.status_code == 201, invited.text
    report = _plan(admin, {"seed": 5, "overlap": None, "task": {"max_segments": 9}})["report"]
    assert [load["seat"] for load in report["raters"]] == [True, True]
    _ok(admin.post(f"{LIVE}/open"))

    public_id, secret = invited.json()["invitation"], invited.json()["link"].partition("#")[2]
    judged = 0
    for external_id in ("w1", "w2"):
        body = {"secret": secret[-43:], "external_id": external_id, "want": "token"}
        claimed = admin.post(f"/v1/invitations/{public_id}/claim", json=body)
        assert claimed.status_code in {200, 201}, claimed.text
        judged += _judge_as(admin, {"Authorization": f"Bearer {claimed.json()['token']}"}, most=2)
    assert judged > 0


def _judge_all(client: httpx.Client, database: Database, rater: str) -> int:
    """Judge a rater's tasks, better systems higher; how many segments."""
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="rater", campaign="live", rater=rater).secret
    return _judge_as(client, {"Authorization": f"Bearer {secret}"})


def _judge_as(client: httpx.Client, headers: dict[str, str], most: int = 1000) -> int:
    judged = 0
    for _ in range(most):
        task = _ok(client.post(f"{LIVE}/lease", headers=headers))["task"]
        if task is None:
            break
        for item in task["items"]:
            for segment in item["segments"]:
                score = {"A": 90, "B": 70, "C": 50}[segment["text"][3]]
                payload = {"protocol": "esa", "errors": [], "score": score}
                path = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{segment['segment']}"
                _ok(client.put(path, json=payload, headers=headers))
                judged += 1
        _ok(client.post(f"/v1/tasks/{task['task']}/submit", headers=headers))
    return judged


@pytest.mark.parametrize(
    ("design", "loc"),
    [
        ({"grouping": "pairs"}, ["body", "grouping"]),
        ({"structure": "sr_dc", "grouping": "psxs"}, ["body", "grouping"]),
        ({"balance": {"entropy": 2}}, ["body", "balance"]),
        ({"unknown": 1}, ["body", "unknown"]),
        ({"ratings_per_item": 0}, ["body", "ratings_per_item"]),
        ({"systems": ["nobody"]}, ["body", "systems"]),
        ({"buckets": {"raters_per_bucket": 99}}, ["body", "buckets", "raters_per_bucket"]),
        ({"balance": {"entropy": 0.1}}, ["body", "balance"]),
        ({"ratings_per_item": 4}, ["body", "ratings_per_item"]),
    ],
)
def test_a_design_that_is_not_valid_is_refused_with_its_place(
    ready: httpx.Client, design: dict[str, Any], loc: list[str]
) -> None:
    refused = _plan(ready, design, 422)

    assert loc in [error["loc"] for error in refused["errors"]]
    assert ready.get(f"{LIVE}/plans").json()["items"] == []


def test_a_plan_that_cannot_be_met_says_why(ready: httpx.Client) -> None:
    refused = _plan(ready, {"ratings_per_item": 4, "seed": 1}, 422)

    assert "4" in refused["detail"]


def test_nothing_to_judge_and_nobody_who_judges_are_conflicts(admin: httpx.Client) -> None:
    assert admin.post("/v1/campaigns", json={"key": "live", "protocol": "da"}).status_code == 201

    assert "nothing to judge" in _plan(admin, {"seed": 1}, 409)["title"]
    _ok(admin.put(f"{LIVE}/documents/d", json={"segments": [{"source": "x"}]}))
    _ok(admin.put(f"{LIVE}/systems/s", json={}))
    _ok(admin.put(f"{LIVE}/systems/s/outputs/d", json={"segments": ["y"]}))
    assert "no raters" in _plan(admin, {"seed": 1}, 409)["title"]


def test_an_open_campaign_takes_no_plan(ready: httpx.Client) -> None:
    _plan(ready, {"seed": 5})
    _ok(ready.post(f"{LIVE}/open"))

    assert "open" in _plan(ready, {"seed": 5}, 409)["detail"]
