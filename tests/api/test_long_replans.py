"""A replan that takes long is compiled by a job while raters go on, and done by whoever asks again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.main import create_app
from app.reports.inputs.expected_time import AT_ONCE
from app.services.access import tokens
from app.services.jobs import jobs
from app.services.plans import compile_time_estimate, replanning
from app.storage import embedded
from tests.api.conftest import OPTIONS, TestClient
from tests.spine import Spine, fresh
from tests.working import drained

SYSTEMS, RATERS = ("sysA", "sysB"), ("r1", "r2", "r3")
DESIGN = {"seed": 3, "overlap": None, "task": {"max_segments": 2}}
ENROLLED = """
UPDATE enrolments e SET state = '{}' FROM campaigns c WHERE c.id = e.campaign_id AND c.key = '{}' RETURNING e.state"""
IN_FORCE = """
SELECT (t.meta ->> 'number')::int, t.plan, t.state, r.key, i.key, d.key, i.surplus_from IS NULL
FROM tasks t JOIN campaigns c ON c.id = t.campaign_id JOIN items i ON i.task_id = t.id
JOIN documents d ON d.id = i.document_id LEFT JOIN raters r ON r.id = t.rater_id WHERE c.key = '{}' ORDER BY 1, 2, 5"""


@dataclass(frozen=True)
class Live:
    """An open campaign: six documents, two systems, three raters, each group of two items two tasks."""

    spine: Spine
    client: httpx.Client
    key: str

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        answer = self.client.request(method, f"/v1/campaigns/{self.key}{path}", json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def replan(self, *, dry_run: bool = False, **body: Any) -> httpx.Response:
        """What is answered to a replan, without waiting."""
        return self.client.post(
            f"/v1/campaigns/{self.key}/plan/replan",
            params={"dry_run": str(dry_run).lower()},
            json={"reason": "r3 left", **body},
            headers={"Prefer": "wait=0"},
        )

    def later(self, **asked: Any) -> str:
        """Where the job is that compiles it."""
        answer = self.replan(**asked)
        assert answer.status_code == 202, answer.text
        return answer.headers["Location"]

    def compiled(self, **asked: Any) -> str:
        """Where the job is that has compiled it."""
        place = self.later(**asked)
        drained(self.spine.database)
        assert self.client.get(place).json()["state"] == "done"
        return place

    def rater(self, key: str) -> dict[str, str]:
        with self.spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="rater", campaign=self.key, rater=key).secret
        return {"Authorization": f"Bearer {secret}"}

    def begin(self, rater: str) -> Any:
        """The task that a rater has now."""
        return self.send("POST", "/lease", headers=self.rater(rater))["task"]

    def hand_in(self, rater: str) -> None:
        headers, task = self.rater(rater), self.begin(rater)
        for item in task["items"]:
            for segment in item["segments"]:
                path = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{segment['segment']}"
                body = {"protocol": "da", "score": 70}
                assert self.client.put(path, json=body, headers=headers).is_success
        assert self.client.post(f"/v1/tasks/{task['task']}/submit", headers=headers).is_success

    def leave(self, rater: str) -> None:
        path = f"/v1/campaigns/{self.key}/raters/{rater}"
        seen = self.client.get(path).headers["ETag"]
        self.send("PUT", f"/raters/{rater}", {"state": "left"}, headers={"If-Match": seen})

    def in_force(self) -> list[tuple[Any, ...]]:
        """Tasks and their items."""
        return self.spine.ask(IN_FORCE.format(self.key))


@pytest.fixture(scope="module")
def shared(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[tuple[Spine, httpx.Client]]:
    with fresh(postgres, migrated_template) as spine:
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="manager").secret
        with TestClient(create_app(spine.database, OPTIONS), raise_server_exceptions=False) as client:
            client.headers["Authorization"] = f"Bearer {secret}"
            yield spine, client


@pytest.fixture
def live(shared: tuple[Spine, httpx.Client], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Live:
    found = _opened(Live(*shared, key=request.node.name[5:60]))
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", 0.0)
    return found


def _opened(live: Live) -> Live:
    made = {"key": live.key, "protocol": "da", "target_language": "de"}
    assert live.client.post("/v1/campaigns", json=made).status_code == 201
    for system in SYSTEMS:
        live.send("PUT", f"/systems/{system}", {})
    for d in range(1, 7):
        _document(live, d)
    for rater in RATERS:
        live.send("PUT", f"/raters/{rater}", {})
    live.send("POST", "/plan", DESIGN)
    live.send("POST", "/open")
    return live


def _document(live: Live, d: int) -> None:
    segments = [{"source": f"Source {d} {n} is here."} for n in (1, 2)]
    live.send("PUT", f"/documents/d{d}", {"position": d, "segments": segments})
    for system in SYSTEMS:
        live.send("PUT", f"/systems/{system}/outputs/d{d}", {"segments": [f"{system} says {d} {n}." for n in (1, 2)]})


def test_a_replan_of_a_job_is_the_one_that_is_compiled_at_once(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.begin("r1")
    live.hand_in("r2")
    live.hand_in("r3")
    live.begin("r3")
    live.leave("r3")
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", AT_ONCE)
    seen = live.replan(dry_run=True)
    assert (seen.status_code, seen.json()["change"]["counts"]["redone"]) == (200, 1)
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", 0.0)

    before = live.in_force()
    place = live.compiled(dry_run=True)
    assert live.in_force() == before, "a worker compiles, and does nothing to the campaign"
    assert (live.client.get(place).json()["kind"], live.client.get(place).json()["total"]) == ("replan", 1)
    assert live.client.get(f"{place}/report").content == seen.content
    assert live.replan(dry_run=True).content == seen.content

    live.hand_in("r1")  # what they have already: it stays with them in any case
    renewed = live.replan(reason="they left")
    assert renewed.status_code == 201
    told, expected = renewed.json(), seen.json()
    assert (told["version"], told["hash"], told["seed"]) == (2, expected["hash"], expected["seed"])
    assert told["change"] == {**expected["change"], "reason": "they left"}
    assert {name: told["report"][name] for name in ("raters", "total", "balance")} == {
        name: expected["report"][name] for name in ("raters", "total", "balance")
    }
    stays = {row[0] for row in live.in_force() if row[2] == "handed_in"}
    assert len(stays) == 3, "r1's, r2's and r3's"
    assert all(row[3] != "r3" or row[2] in ("handed_in", "withdrawn") for row in live.in_force())


def test_a_replan_of_a_job_leaves_the_rows_that_one_made_at_once_leaves(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.hand_in("r1")
    live.leave("r3")
    live.compiled()
    assert live.replan().status_code == 201
    monkeypatch.setattr(compile_time_estimate, "AT_ONCE", AT_ONCE)
    twin = _opened(Live(live.spine, live.client, "twin"))
    twin.hand_in("r1")
    twin.leave("r3")
    assert twin.replan().status_code == 201
    assert twin.in_force() == live.in_force()


def test_raters_who_begin_tasks_ask_another_question_and_the_third_time_everybody_waits(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.leave("r3")
    first = live.compiled()
    assert live.begin("r1")
    assert live.compiled() != first
    assert live.begin("r2")
    assert live.replan(dry_run=True).status_code == 202, "to be looked at it can wait for another job"
    done: list[str] = []
    for name in ("block_judging", "compile_replan"):
        monkeypatch.setattr(replanning, name, _noting(done, name, getattr(replanning, name)))
    assert live.replan().status_code == 201, "compiled in the request, as no job was fast enough twice"
    assert done[:2] == ["block_judging", "compile_replan"]
    assert {row[3] for row in live.in_force() if row[2] == "leased"} == {"r1", "r2"}


def test_jobs_that_were_only_to_be_looked_at_do_not_count_as_too_late(live: Live) -> None:
    live.leave("r3")
    live.compiled(dry_run=True)
    assert live.begin("r1")
    live.compiled(dry_run=True)
    assert live.begin("r2")
    assert live.replan().status_code == 202, "raters are not kept waiting for a plan that nobody asked for yet"


def _noting(done: list[str], name: str, does: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*given: Any) -> Any:
        done.append(name)
        return does(*given)

    return noted


def test_what_is_bought_and_who_judges_are_part_of_the_question(live: Live) -> None:
    before = live.compiled(documents=[])
    _document(live, 7)
    assert live.replan(documents=["d8"]).json()["errors"][0]["loc"] == ["body", "documents", 0]
    with_it = live.later(documents=["d7"])
    without = live.later(documents=[])
    assert len({before, with_it, without}) == 3
    live.send("PUT", "/raters/r9", {})
    drained(live.spine.database)
    assert live.client.get(with_it).json()["error"]["title"] == jobs.JobInputsChanged.title()
    live.compiled(documents=["d7"])
    assert live.replan(documents=["d7"]).json()["change"]["counts"]["new"] == 1


def test_a_job_that_finds_nobody_to_judge_is_begun_again_once_they_are_back(live: Live) -> None:
    place = live.later()
    live.spine.ask(ENROLLED.format("paused", live.key))
    drained(live.spine.database)
    assert live.client.get(place).json()["error"]["title"] == jobs.JobInputsChanged.title()
    assert live.replan().status_code == 409
    live.spine.ask(ENROLLED.format("active", live.key))
    assert live.compiled() == place, "the question is the one of before"
    assert live.replan().status_code == 201


def test_where_nobody_is_left_a_replan_is_refused_and_nothing_is_stored(live: Live) -> None:
    for rater in RATERS:
        live.leave(rater)
    assert live.replan().status_code == 409
    assert live.send("GET", "/plan")["version"] == 1
