"""A plan that takes long is compiled by a job, and frozen by whoever asks again; a small one needs no worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.design.plan import Plan
from app.domain.errors import Invalid, Place
from app.main import create_app
from app.reports.inputs.expected_time import AT_ONCE
from app.services.access import tokens
from app.services.jobs import jobs
from app.services.plans import compile_time_estimate, plans
from app.storage import embedded
from tests.api.conftest import OPTIONS, TestClient
from tests.services.data.test_imports import MQM
from tests.spine import Spine, fresh
from tests.working import drained, draining

LIVE = "/v1/campaigns/live"
PLAN = f"{LIVE}/plan"
DESIGN = {"seed": 5, "controls": {"bad_reference": {"rate": 0.2}, "repeat": {"rate": 0.1, "min_distance": 1}}}
DEALT = """
SELECT (t.meta ->> 'number')::int, r.key, t.state, t.queue, t.chain, t.bucket, t.words, t.segments, t.presentation,
       i.key, d.key, i.first_segment, i.last_segment, i.role, i.variant, i.propensity, s.key,
       (SELECT count(*) FROM items o WHERE o.id = i.of_item_id)
FROM tasks t JOIN items i ON i.task_id = t.id JOIN documents d ON d.id = i.document_id
LEFT JOIN raters r ON r.id = t.rater_id
LEFT JOIN credits c ON c.item_id = i.id LEFT JOIN systems s ON s.id = c.system_id
ORDER BY 1, i.position, s.key"""
ENROLLED = """
UPDATE enrolments e SET state = '{}' FROM campaigns c WHERE c.id = e.campaign_id AND c.key = 'live' RETURNING e.state"""
DEGRADED = "SELECT name, text, how FROM variants WHERE kind = 'degraded' ORDER BY output_id, name"


@dataclass(frozen=True)
class World:
    """A draft with six documents, three systems and three raters, beside a small campaign with judgments."""

    spine: Spine
    client: httpx.Client
    manager: dict[str, str]
    viewer: dict[str, str]

    def get(
        self, path: str, who: str = "manager", headers: dict[str, str] | None = None, **query: Any
    ) -> httpx.Response:
        return self.client.get(path, params=query, headers={**getattr(self, who), **(headers or {})})

    def put(self, path: str, body: Any) -> None:
        answer = self.client.put(path, json=body, headers=self.manager)
        assert answer.is_success, answer.text

    def change(self, settings: dict[str, Any]) -> None:
        seen = {"If-Match": self.get(LIVE).headers["ETag"]}
        answer = self.client.patch(LIVE, json={"settings": settings}, headers={**self.manager, **seen})
        assert answer.is_success, answer.text

    def plan(self, design: Any, *, wait: int = 0, key: str = "", who: str = "manager", **query: str) -> httpx.Response:
        """What is answered to a design."""
        once = {"Idempotency-Key": key} if key else {}
        headers = {**getattr(self, who), "Prefer": f"wait={wait}", **once}
        return self.client.post(PLAN, json=design, params=query, headers=headers)

    def later(self, design: Any, **query: str) -> str:
        """Where the job is that compiles a design."""
        answer = self.plan(design, **query)
        assert answer.status_code == 202, answer.text
        assert (answer.json()["job"] in answer.headers["Location"], answer.headers["Retry-After"]) == (True, "2")
        return answer.headers["Location"]

    def versions(self) -> list[int]:
        """Of the plans that are frozen."""
        return [one["version"] for one in self.get(f"{LIVE}/plans", limit=200).json()["items"]]


@pytest.fixture(scope="module")
def shared(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("mqm", "mqm-tsv", MQM.encode())
        with spine.database.transaction() as session:
            given = [tokens.issue_token(session, role=role).secret for role in ("manager", "viewer")]
        callers = [{"Authorization": f"Bearer {secret}"} for secret in given]
        with TestClient(create_app(spine.database, OPTIONS), raise_server_exceptions=False) as client:
            world = World(spine, client, *callers)
            _fill(world)
            yield world


def _fill(world: World) -> None:
    made = {"key": "live", "protocol": "esa", "target_language": "de"}
    assert world.client.post("/v1/campaigns", json=made, headers=world.manager).status_code == 201
    for d in range(1, 7):
        world.put(
            f"{LIVE}/documents/d{d}", {"position": d, "segments": [{"source": f"Source {d} {n}."} for n in (1, 2)]}
        )
    for system in ("sysA", "sysB", "sysC"):
        world.put(f"{LIVE}/systems/{system}", {})
        for d in range(1, 7):
            texts = [f"{system} says {d} {n} with some more words." for n in (1, 2)]
            world.put(f"{LIVE}/systems/{system}/outputs/d{d}", {"segments": texts})
    for rater in ("r1", "r2", "r3"):
        world.put(f"{LIVE}/raters/{rater}", {})


@pytest.fixture
def world(shared: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Where every plan is expected to take long to compile."""
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", 0.0)
    return shared


def test_a_plan_of_a_job_is_the_one_that_is_compiled_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", AT_ONCE)
    seen = world.plan(DESIGN, dry_run="true")
    assert seen.status_code == 200, "a small plan needs no worker"
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", 0.0)

    place = world.later(DESIGN, dry_run="true")
    assert world.later(DESIGN) == place, "frozen or looked at, it is the same plan"
    told = world.get(place).json()
    assert (told["kind"], told["campaigns"], told["state"]) == ("plan", {"live": told["campaigns"]["live"]}, "queued")
    assert world.get(f"{place}/report").status_code == 202
    drained(world.spine.database)
    done = world.get(place).json()
    assert (done["state"], done["done"], done["total"], world.versions()) == ("done", 1, 1, [])

    by_job = world.get(f"{place}/report")
    assert (by_job.status_code, by_job.content) == (200, seen.content)
    assert world.get(f"{place}/report", headers={"If-None-Match": by_job.headers["ETag"]}).status_code == 304
    assert world.get(f"{place}/report", picture="loads").json()["errors"][0]["loc"] == ["query", "picture"]
    assert world.plan(DESIGN, dry_run="true").content == seen.content
    frozen = world.plan(DESIGN)
    assert (frozen.status_code, frozen.headers["Location"]) == (201, f"{PLAN}s/1")
    dealt, degraded = world.spine.ask(DEALT), world.spine.ask(DEGRADED)
    assert degraded

    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", AT_ONCE)
    at_once = world.plan(DESIGN)
    assert at_once.status_code == 201
    assert (dealt, degraded) == (world.spine.ask(DEALT), world.spine.ask(DEGRADED))
    same = ("hash", "seed", "design", "report", "change", "method_version", "actor", "stale")
    assert {name: frozen.json()[name] for name in same} == {name: at_once.json()[name] for name in same}
    packed = world.spine.ask("SELECT compiled, report::text FROM plans ORDER BY version")
    assert packed[0] == packed[1]


def test_a_seed_that_is_drawn_is_that_of_the_job_until_its_plan_is_frozen(world: World) -> None:
    place = world.later({"overlap": None})
    assert world.later({"overlap": None}, dry_run="true") == place
    drained(world.spine.database)
    seeds = [world.plan({"overlap": None}, dry_run="true").json()["seed"] for _ in range(2)]
    frozen = world.plan({"overlap": None}).json()
    assert (frozen["seed"], frozen["design"]["seed"]) == (seeds[0], seeds[1])
    assert world.get(f"{place}/report").json()["seed"] == frozen["seed"]
    again = world.later({"overlap": None})
    assert again != place
    drained(world.spine.database)
    assert world.get(f"{again}/report").json()["seed"] != frozen["seed"]


def test_a_job_leaves_nothing_under_an_idempotency_key_and_its_plan_is_frozen_once(world: World) -> None:
    design, before = {"seed": 11}, world.versions()
    first = world.plan(design, key="plan-11")
    second = world.plan(design, key="plan-11")
    assert (first.status_code, second.headers["Location"]) == (202, first.headers["Location"])
    drained(world.spine.database)
    frozen, replayed = (world.plan(design, key="plan-11") for _ in range(2))
    assert (frozen.status_code, "Idempotent-Replayed" in frozen.headers) == (201, False)
    assert (replayed.status_code, replayed.headers["Idempotent-Replayed"]) == (201, "true")
    assert frozen.content == replayed.content
    assert len(world.versions()) == len(before) + 1


def test_who_waits_long_enough_is_answered_with_the_plan(world: World) -> None:
    with draining(world.spine.database):
        seen = world.plan({"seed": 12}, wait=30, dry_run="true")
        frozen = world.plan({"seed": 13}, wait=30, key="plan-13")
    assert (seen.status_code, frozen.status_code) == (200, 201)
    assert (seen.json()["seed"], frozen.json()["seed"]) == (12, 13)
    assert frozen.json()["actor"].startswith("token:")


def test_a_campaign_that_was_changed_never_gets_the_plan_of_before(world: World) -> None:
    design = {"seed": 14}
    changes: dict[str, Any] = {
        "a document": lambda: world.put(f"{LIVE}/documents/d7", {"position": 7, "segments": [{"source": "New."}]}),
        "a text": lambda: world.put(f"{LIVE}/systems/sysA/outputs/d7", {"segments": ["It is new."]}),
        "a capacity": lambda: world.put(f"{LIVE}/raters/r4", {"capacity": 500}),
        "a setting": lambda: world.change({"seconds_per_word": 2.5}),
    }
    known = set()
    for what, change in changes.items():
        known.add(place := world.later(design))
        drained(world.spine.database)
        assert world.plan(design, dry_run="true").status_code == 200, what
        change()
        assert world.later(design) not in known, what
        assert world.get(f"{place}/report").status_code == 200, "what was compiled can still be looked at"


def test_a_job_whose_campaign_was_changed_before_it_began_says_so(world: World) -> None:
    place = world.later({"seed": 15})
    world.put(f"{LIVE}/raters/r5", {})
    drained(world.spine.database)
    assert world.get(place).json()["error"]["title"] == jobs.JobInputsChanged.title()
    assert world.get(f"{place}/report").status_code == 409
    assert world.later({"seed": 15}) != place


def test_a_job_that_finds_nobody_to_judge_is_begun_again_once_they_are_back(world: World) -> None:
    place = world.later({"seed": 21})
    world.spine.ask(ENROLLED.format("paused"))
    drained(world.spine.database)
    assert world.get(place).json()["error"]["title"] == jobs.JobInputsChanged.title()
    assert world.plan({"seed": 21}).status_code == 409
    world.spine.ask(ENROLLED.format("active"))
    assert world.later({"seed": 21}) == place, "the question is the one of before"
    drained(world.spine.database)
    assert world.plan({"seed": 21}, dry_run="true").status_code == 200


def test_a_design_that_is_not_valid_is_refused_at_once_and_one_that_cannot_be_met_through_the_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_jobs, before = "SELECT count(*) FROM jobs", world.versions()
    made = world.spine.ask(n_jobs)
    assert world.plan({"ratings_per_item": 0}).json()["errors"][0]["loc"] == ["body", "ratings_per_item"]
    assert world.plan({"seed": 1}, pilot="nobody").status_code == 404
    assert world.spine.ask(n_jobs) == made

    cannot = {"seed": 1, "ratings_per_item": 9}
    place = world.later(cannot)
    drained(world.spine.database)
    later, waited, of_job = world.plan(cannot), world.plan(cannot, wait=5), world.get(f"{place}/report")
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", AT_ONCE)
    at_once = world.plan(cannot)
    told = [(one.status_code, one.json()["detail"], one.json()["errors"]) for one in (at_once, later, waited, of_job)]
    assert (at_once.status_code, at_once.json()["errors"][0]["loc"]) == (422, ["body", "ratings_per_item"])
    assert told == [told[0]] * 4
    assert world.versions() == before


def test_a_drawn_seed_that_cannot_be_met_is_drawn_anew_when_it_is_asked_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, real = [], plans.compile_plan_with_seed

    def unlucky_once(wanted: plans.PlanRequest, seed: int) -> Plan:
        drawn.append(seed)
        if len(drawn) == 1:
            raise Invalid("out of reach", places=(Place(("body", "balance"), "reachable: 0.9 to 1"),))
        return real(wanted, seed)

    monkeypatch.setattr(plans, "compile_plan_with_seed", unlucky_once)
    design = {"overlap": {"share": 0.5, "ratings_per_item": 2}}
    place = world.later(design)
    drained(world.spine.database)
    refused = world.get(f"{place}/report")
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["body", "balance"])
    assert "to draw again" in refused.json()["title"]
    assert world.later(design) == place
    drained(world.spine.database)
    made = world.plan(design)
    assert (made.status_code, made.json()["seed"]) == (201, drawn[1])
    assert drawn[0] != drawn[1]


def test_a_pilot_is_part_of_the_question_and_one_that_tells_nothing_is_refused(world: World) -> None:
    place = world.later({"seed": 16}, pilot="mqm")
    assert world.get(place).json()["campaigns"].keys() == {"live", "mqm"}
    assert world.later({"seed": 16}) != place
    drained(world.spine.database)
    refused = world.plan({"seed": 16}, pilot="mqm")
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["query", "pilot"])


def test_who_only_views_neither_asks_for_a_plan_nor_sees_one(world: World) -> None:
    assert world.plan({"seed": 17}, who="viewer").status_code == 403
    place = world.later({"seed": 17})
    drained(world.spine.database)
    assert [world.get(path, "viewer").status_code for path in (place, f"{place}/report")] == [403, 403]
    listed = {one["kind"] for one in world.get(f"{LIVE}/jobs", "viewer").json()["items"]}
    assert "plan" not in listed


def test_a_cancelled_job_is_begun_again_when_its_plan_is_asked_for_again(world: World) -> None:
    place = world.later({"seed": 18})
    assert world.client.delete(place, headers=world.manager).json()["state"] == "cancelled"
    assert drained(world.spine.database) == 0
    assert world.get(f"{place}/report").status_code == 409
    assert world.later({"seed": 18}) == place
    drained(world.spine.database)
    assert world.plan({"seed": 18}).status_code == 201


def test_an_open_campaign_gets_no_plan_though_one_was_compiled_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.later({"seed": 19})
    drained(world.spine.database)
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", AT_ONCE)
    assert world.plan({"seed": 20}).status_code == 201
    assert world.client.post(f"{LIVE}/open", headers=world.manager).is_success
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", 0.0)
    before = world.versions()
    assert [world.plan({"seed": 19}, dry_run=dry).status_code for dry in ("true", "false")] == [409, 409]
    assert world.versions() == before
