"""Counts that are kept from look to look say what counts made anew say, whatever happened in between."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import text

from app.services.tasks import progress, progress_cache, progress_jobs
from app.services.tasks.progress_cache import ProgressCountCache
from app.services.tasks.progress_view import Progress, ProgressVisibility
from app.storage import campaigns
from app.storage import progress as stored
from app.storage.db import Database
from tests.collecting import Collecting, collect
from tests.working import drained

ALL = ProgressVisibility(raters=True, systems=True, team=None)
EVENTS = 20


@dataclass
class Walk:
    """A campaign where things happen at random, and who watches it."""

    client: httpx.Client
    live: Collecting
    database: Database
    manager: dict[str, str]
    draw: random.Random
    keeper: ProgressCountCache
    later: timedelta = timedelta()

    def look(self, keeper: ProgressCountCache, *, key: str = "live") -> Progress:
        with self.database.transaction(snapshot=True) as session:
            seen = progress.load_progress_fingerprint(session, key, ALL)
            return progress.make_campaign_progress(session, replace(seen, at=seen.at + self.later), ALL, keeper)

    def look_twice(self, keeper: ProgressCountCache | None = None) -> tuple[Progress, Progress]:
        """Look with kept and with new counts at one moment: progress shows the minute, which may end between looks."""
        with self.database.transaction(snapshot=True) as session:
            seen = progress.load_progress_fingerprint(session, "live", ALL)
            seen = replace(seen, at=seen.at + self.later)
            kept = progress.make_campaign_progress(session, seen, ALL, keeper or self.keeper)
            return kept, progress.make_campaign_progress(session, seen, ALL, ProgressCountCache())

    def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        return self.client.post(f"/v1/campaigns/{self.live.key}{path}", json=body, headers=headers or self.manager)

    def tasks(self, *states: str) -> list[dict[str, Any]]:
        found = self.client.get(f"/v1/campaigns/{self.live.key}/tasks?limit=200", headers=self.manager).json()["items"]
        return [one for one in found if one["state"] in states]

    def answer(self) -> None:
        """Some answers of a rater, further ones or the same again with another score; now and then the task ends."""
        rater = self.draw.choice(sorted(self.live.secrets))
        headers = self.live.auth(rater)
        task = self.post("/lease", {}, **headers).json()["task"]
        if task is None:
            return
        places = [(item["item"], one["segment"]) for item in task["items"] for one in item["segments"]]
        some = self.draw.sample(places, self.draw.randint(1, len(places)))
        for item, segment in some if self.draw.random() < 0.5 else places:
            body = {"protocol": "da", "score": self.draw.randint(0, 100)}
            url = f"/v1/tasks/{task['task']}/judgments/{item}/{segment}"
            assert self.client.put(url, json=body, headers=headers).status_code in {200, 409}
        if self.draw.random() < 0.5:
            self.client.post(f"/v1/tasks/{task['task']}/submit", headers=headers)

    def reopen(self) -> None:
        for task in self.draw.sample(self.tasks("handed_in"), 1) if self.tasks("handed_in") else []:
            assert self.post(f"/tasks/{task['task']}/reopen", {"reason": "again"}).status_code == 200

    def reassign(self) -> None:
        """What was begun is surplus then, and another task goes on."""
        for task in self.draw.sample(self.tasks("leased", "free"), 1) if self.tasks("leased", "free") else []:
            rater = self.draw.choice(sorted(self.live.secrets))
            answer = self.post(f"/tasks/{task['task']}/reassign", {"rater": rater, "reason": "ill"})
            assert answer.status_code in {200, 409}, answer.text

    def set_aside(self) -> None:
        rater = self.draw.choice(sorted(self.live.secrets))
        answer = self.post("/judgments/void", {"filter": {"rater": rater}, "reason": "asleep"})
        assert answer.status_code in {200, 409, 422}, answer.text

    def wait(self) -> None:
        self.later += timedelta(minutes=self.draw.choice([1, 90, 700]))


def make_walk(
    client: httpx.Client, database: Database, secret: Callable[..., str], seed: int, keeper: ProgressCountCache
) -> Walk:
    live = collect(database, documents=6, raters=("r1", "r2", "r3"), chain=2)
    manager = {"Authorization": f"Bearer {secret('manager')}"}
    return Walk(client, live, database, manager, random.Random(seed), keeper)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3))])
def test_kept_counts_are_those_made_anew_whatever_happens(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str], seed: int
) -> None:
    walk = make_walk(anonymous, database, secret, seed, ProgressCountCache())
    events = [walk.answer] * 5 + [walk.reopen, walk.reassign, walk.set_aside, walk.wait]
    for _ in range(EVENTS):
        walk.draw.choice(events)()
        if walk.draw.random() < 0.7:
            kept, anew = walk.look_twice()
            assert kept == anew
    assert walk.look(walk.keeper).total.judgments > 0
    assert walk.keeper.counted_anew < EVENTS / 2


def test_answers_hand_ins_and_reopened_tasks_are_added_to_what_was_counted(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str]
) -> None:
    walk = make_walk(anonymous, database, secret, 4, ProgressCountCache())
    before = walk.look(walk.keeper)
    for event in [*[walk.answer] * 6, walk.reopen, walk.answer, walk.wait, walk.answer]:
        event()
        kept, anew = walk.look_twice()
        assert kept == anew
    assert walk.keeper.counted_anew == 1
    after = walk.look(walk.keeper)
    assert before.total.judgments == 0 < after.total.judgments
    assert after.groups is not None
    assert after.groups.half_done + after.groups.finished > 0


def test_a_look_from_an_older_snapshot_is_counted_by_itself(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str]
) -> None:
    walk = make_walk(anonymous, database, secret, 5, ProgressCountCache())
    with database.transaction(snapshot=True) as session:
        seen = progress.load_progress_fingerprint(session, "live", ALL)
        while walk.look(walk.keeper).total.judgments == 0:
            walk.answer()
        assert progress.make_campaign_progress(session, seen, ALL, walk.keeper).total.judgments == 0
    kept, anew = walk.look_twice()
    assert kept == anew
    assert walk.keeper.counted_anew == 2, "the newer counts stay"


def test_an_error_leaves_nothing_half_counted(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = make_walk(anonymous, database, secret, 6, ProgressCountCache())
    walk.look(walk.keeper)
    walk.answer()
    with monkeypatch.context() as broken:
        broken.setattr(progress_cache, "_move_tasks", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            walk.look(walk.keeper)
    kept, anew = walk.look_twice()
    assert kept == anew
    assert walk.keeper.counted_anew == 2


@pytest.mark.parametrize(("most", "anew"), [(24, 2), (23, 4)], ids=["both are kept", "one is kept"])
def test_a_process_keeps_the_campaigns_that_were_looked_at_last(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str], most: int, anew: int
) -> None:
    walk = make_walk(anonymous, database, secret, 7, ProgressCountCache(most))
    collect(database, key="other", documents=6, chain=2)
    for _ in range(2):
        for key in ("live", "other"):
            walk.look(walk.keeper, key=key)
    assert walk.keeper.counted_anew == anew


IMPORTED = """
WITH t AS (
    INSERT INTO tasks (campaign_id, public_id, key, rater_id, state)
    SELECT %(c)s, 't_' || repeat('e', 32), 'elsewhere', min(id), 'imported' FROM raters WHERE campaign_id = %(c)s
    RETURNING id, rater_id),
i AS (
    INSERT INTO items (campaign_id, task_id, key, position, document_id, role)
    SELECT %(c)s, t.id, 'i', 1, (SELECT min(id) FROM documents WHERE campaign_id = %(c)s), 0 FROM t RETURNING id)
INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, version)
SELECT %(c)s, i.id, (SELECT min(id) FROM segments WHERE campaign_id = %(c)s), t.rater_id, 1, '{}', 1 FROM t, i"""


@pytest.fixture
def imported_walk(anonymous: httpx.Client, database: Database, database_url: str, secret: Callable[..., str]) -> Walk:
    """A campaign with a task that came with its answer."""
    walk = make_walk(anonymous, database, secret, 8, ProgressCountCache())
    with psycopg.connect(database_url) as db:
        db.execute(IMPORTED, {"c": walk.live.id})
    return walk


def test_what_came_with_its_answers_is_sized_once_until_data_come(
    imported_walk: Walk, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = imported_walk
    sized: list[int] = []
    of_all = stored.load_imported_task_sizes

    def counted(*given: Any, **how: Any) -> Any:
        sized.append(1)
        return of_all(*given, **how)

    monkeypatch.setattr(stored, "load_imported_task_sizes", counted)
    for _ in range(3):
        walk.answer()
        state = next(one for one in walk.look(walk.keeper).states if one.state == "imported")
        assert (state.tasks, state.segments, state.judgments, state.words > 0) == (1, 1, 1, True)
    assert len(sized) == 1
    kept, anew = walk.look_twice()
    assert kept == anew
    with database.transaction() as session:
        campaigns.take_next_data_version(session, walk.live.id, actor="test", what="texts")
    kept, anew = walk.look_twice()
    assert kept == anew
    assert (len(sized), walk.keeper.counted_anew) == (4, 2), "texts may have changed"


def test_a_large_campaign_is_counted_by_a_worker_and_each_process_starts_from_its_counts(
    imported_walk: Walk, anonymous: httpx.Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = imported_walk
    progress_path, jobs_path = (f"/v1/campaigns/live/{name}" for name in ("progress", "jobs"))

    def asked(path: str = progress_path) -> httpx.Response:
        return anonymous.get(path, headers=walk.manager)

    monkeypatch.setattr(progress_jobs, "MOST_COUNTED", 0)
    for path in (progress_path, f"{progress_path}/stream", progress_path):
        refused = asked(path)
        assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (503, "not-counted"), refused.text
        assert "no worker is running" in refused.json()["detail"]
    (job,) = asked(jobs_path).json()["items"]
    assert (job["kind"], job["state"]) == ("progress", "queued")
    drained(database)
    assert asked().status_code == asked(f"{progress_path}/stream").status_code == 200
    total = asked().json()["total"]
    assert asked(f"/v1/jobs/{job['job']}/report").json() == {"tasks": total["tasks"], "judgments": 1}
    for event in [*[walk.answer] * 6, walk.reopen, walk.answer, walk.wait, walk.answer]:
        event()
        started = ProgressCountCache(find_stored=progress_jobs.find_or_request_progress_counts)
        kept, anew = walk.look_twice(started)
        assert kept == anew
        assert started.counted_anew == 0
        assert asked().json()["total"]["judgments"] == kept.total.judgments
    assert len(asked(jobs_path).json()["items"]) == 1
    before = asked().json()
    with database.transaction() as session:
        campaigns.take_next_data_version(session, walk.live.id, actor="test", what="texts")
    for _ in range(2):
        old = asked().json()
        assert (old["total"], before["warnings"]) == (before["total"], old["warnings"][1:]), (
            "not only answers came since"
        )
        assert f"as of data version {before['data_version']}" in old["warnings"][0]
    assert len(asked(jobs_path).json()["items"]) == 2
    drained(database)
    new = asked().json()
    assert (new["total"], new["warnings"]) == (before["total"], before["warnings"])
    monkeypatch.setattr(progress_jobs, "STEP", 1)
    walk.answer()
    while asked().json()["total"] == new["total"]:
        walk.answer()
    with progress_jobs.request_missing_progress_counts(database):
        kept, anew = walk.look_twice(ProgressCountCache(find_stored=progress_jobs.find_or_request_progress_counts))
    assert kept == anew, "what came since is added"
    assert len(asked(jobs_path).json()["items"]) == 3, "and counted again, so that it is not added at every start"


def test_a_count_that_was_cancelled_is_not_restarted_by_the_next_look(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = make_walk(anonymous, database, secret, 4, ProgressCountCache())
    monkeypatch.setattr(progress_jobs, "MOST_COUNTED", -1)
    path = "/v1/campaigns/live/progress"
    assert anonymous.get(path, headers=walk.manager).status_code == 503
    (job,) = anonymous.get("/v1/campaigns/live/jobs", headers=walk.manager).json()["items"]
    assert anonymous.delete(f"/v1/jobs/{job['job']}", headers=walk.manager).status_code == 200
    failed = {"type": "Invalid", "kind": "invalid", "title": "t", "detail": "d", "errors": [], "again": False}
    with database.transaction() as session:
        keys = {"error": json.dumps(failed)}
        session.execute(text("UPDATE jobs SET state = 'failed', error = CAST(:error AS jsonb)"), keys)
    monkeypatch.setattr(progress_jobs, "NOT_AGAIN", timedelta(days=-1))
    refused = anonymous.get(path, headers=walk.manager)
    assert (refused.status_code, "cancelled or failed" in refused.text) == (503, True), "it would fail again"
    with database.transaction() as session:
        session.execute(text("UPDATE jobs SET state = 'cancelled', error = NULL"))
    for again, state in ((timedelta(minutes=10), "cancelled"), (timedelta(), "queued")):
        monkeypatch.setattr(progress_jobs, "NOT_AGAIN", again)
        assert ("cancelled or failed" in anonymous.get(path, headers=walk.manager).text) is (state == "cancelled")
        assert anonymous.get(f"/v1/jobs/{job['job']}", headers=walk.manager).json()["state"] == state


def test_an_earlier_look_does_not_cost_a_process_its_counts(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign that has grown too large to be counted by a process, though it keeps counts."""
    walk = make_walk(
        anonymous, database, secret, 4, ProgressCountCache(find_stored=progress_jobs.find_or_request_progress_counts)
    )
    with database.transaction(snapshot=True) as session:
        earlier = progress.load_progress_fingerprint(session, "live", ALL)
        while not walk.look(walk.keeper).total.judgments:
            walk.answer()
        monkeypatch.setattr(progress_jobs, "MOST_COUNTED", -1)
        for seen in (earlier, replace(earlier, at=earlier.at - timedelta(minutes=1))):
            with pytest.raises(progress_jobs._CountsMissing):
                progress.make_campaign_progress(session, seen, ALL, walk.keeper)
    kept, anew = walk.look_twice()
    assert kept == anew


@pytest.mark.parametrize(("more", "status"), [(0, 200), (-1, 503)], ids=["as many as a process counts", "one more"])
def test_a_process_counts_a_campaign_up_to_a_number_of_judgments(
    anonymous: httpx.Client,
    database: Database,
    secret: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    more: int,
    status: int,
) -> None:
    walk = make_walk(anonymous, database, secret, 4, ProgressCountCache())
    while not (n := walk.look(walk.keeper).total.judgments):
        walk.answer()
    monkeypatch.setattr(progress_jobs, "MOST_COUNTED", n + more)
    assert anonymous.get("/v1/campaigns/live/progress", headers=walk.manager).status_code == status


def test_tasks_are_read_again_only_where_they_have_changed(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = make_walk(anonymous, database, secret, 9, ProgressCountCache())
    walk.post("/lease", {}, **walk.live.auth(min(walk.live.secrets)))
    read: list[int] = []
    of_all = stored.load_tasks_not_withdrawn

    def counted(*given: Any) -> Any:
        read.append(1)
        return of_all(*given)

    monkeypatch.setattr(stored, "load_tasks_not_withdrawn", counted)
    for _ in range(3):
        walk.look(walk.keeper)
    assert len(read) == 1
    with database.transaction() as session:
        session.execute(text("UPDATE tasks SET leased_until = '2020-01-01' WHERE state = 'leased'"))
    assert walk.look(walk.keeper).leases.n_expired == 1
    assert len(read) == 1, "how long a lease goes on is read apart"
    with database.transaction() as session:
        session.execute(text("UPDATE tasks SET lease = lease + 1 WHERE id = (SELECT max(id) FROM tasks)"))
        session.execute(text("UPDATE tasks SET lease = lease + 2 WHERE id = (SELECT min(id) FROM tasks)"))
    walk.look(walk.keeper)
    assert len(read) == 2
    kept, anew = walk.look_twice()
    assert kept == anew


def test_leases_are_read_once_of_a_rater_who_has_begun(
    anonymous: httpx.Client, database: Database, secret: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign has as many leases as tasks; to look through them took longer than all the rest."""
    walk = make_walk(anonymous, database, secret, 8, ProgressCountCache())
    asked: list[int] = []
    load = stored.load_first_lease_time_by_rater

    def count(session: Any, campaign_id: int, raters: Any) -> Any:
        asked.append(len(raters))
        return load(session, campaign_id, raters)

    monkeypatch.setattr(stored, "load_first_lease_time_by_rater", count)
    walk.look(walk.keeper)
    for _ in range(20):
        walk.answer()
    walk.look(walk.keeper)
    walk.look(walk.keeper)
    assert asked == [3, 3], "the third look asks of nobody, for all have begun"
