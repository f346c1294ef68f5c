"""Raters who come, die and sleep past their leases: nothing is doubly assigned, nothing lost, everything done."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import httpx
import psycopg
import pytest

from app.storage.db import Database
from app.storage.leases import leases
from app.storage.recorder.answer_recorder import AnswerRecorder
from tests.collecting import Collecting, collect
from tests.load.server import serving
from tests.patience import patient
from tests.working import LIMIT

SEED = 20261120
RATINGS = 2
CHAIN = 2
DEADLINE = 150.0  # seconds
# A lease is as short here as no campaign may set it, so that many run out.
SHORTEN = (
    """CREATE FUNCTION shorten() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.leased_until = least(NEW.leased_until, clock_timestamp() + interval '3 seconds'); RETURN NEW; END $$""",
    "CREATE TRIGGER shorten BEFORE UPDATE ON tasks FOR EACH ROW WHEN (NEW.state = 'leased') EXECUTE FUNCTION shorten()",
)


@dataclass(frozen=True)
class Service:
    """A database, and where it is served."""

    url: str
    origin: str


@pytest.fixture
def run(database_url: str) -> Iterator[Service]:
    with psycopg.connect(database_url) as db:
        for statement in SHORTEN:
            db.execute(statement)
    with serving(database_url) as served:
        yield Service(database_url, served.url)


class Rater(threading.Thread):
    """Takes tasks until there are none; now and then dies in the middle of one, or sleeps past the lease."""

    def __init__(self, run: Service, live: Collecting, name: str, seed: int, until: float) -> None:
        super().__init__()
        self.rater, self.until, self.live = name, until, live
        self.draw = random.Random(seed)
        self.web = httpx.Client(base_url=run.origin, headers=live.auth(name), timeout=LIMIT, trust_env=False)
        self.acked: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self) -> None:
        with self.web:
            while time.monotonic() < self.until:
                found = self._post(f"/v1/campaigns/{self.live.key}/lease")
                if found.status_code != 200:
                    time.sleep(0.1)
                elif found.json()["task"] is not None:
                    self._work(found.json()["task"])
                elif found.json()["why"] == "finished":
                    return
                else:
                    time.sleep(0.2)

    def _work(self, task: dict[str, object]) -> None:
        fate = self.draw.random()
        url, missing = f"/v1/tasks/{task['task']}", task["missing"]
        assert isinstance(missing, list)
        for n, one in enumerate(missing):
            if fate < 0.15 and n == len(missing) // 2:
                return  # as if the browser had died; the next lease may find the task again
            if fate > 0.85 and n == len(missing) // 2:
                time.sleep(4)
            body = {"protocol": "da", "score": float(n)}
            answer = self.web.put(f"{url}/judgments/{one['item']}/{one['segment']}", json=body)
            if answer.status_code == 200:
                self.acked["surplus" if "kept" in answer.json() else "counted"] += 1
            elif answer.status_code != 503:
                self.wrong.append(f"{answer.status_code} {answer.text}")
        done = self._post(f"{url}/submit")
        if done.status_code not in (200, 409, 503):
            self.wrong.append(f"{done.status_code} {done.text}")

    def _post(self, url: str) -> httpx.Response:
        return self.web.post(url)


def finished(run: Service, raters: int, documents: int) -> tuple[Collecting, list[Rater]]:
    """A campaign in which every two accounts are one person, worked on until all raters have nothing to do."""
    names = [f"r{n:02d}" for n in range(raters)]
    database = Database(run.url, size=1, role="plumbline_app")
    live = collect(
        database,
        raters=names,
        persons={name: f"p{n // 2:02d}" for n, name in enumerate(names)},
        documents=documents,
        ratings=RATINGS,
        chain=CHAIN,
        systems=("A", "B", "C", "D"),
    )
    database.close()
    until = time.monotonic() + DEADLINE
    threads = [Rater(run, live, name, SEED + n, until) for n, name in enumerate(names)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE + 30)
        assert not thread.is_alive()
    return live, threads


def ask(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as db:
        return db.execute(query.encode()).fetchall()


BY_PERSON = """
SELECT g.unit, r.person_id, count(DISTINCT g.nth) FROM tasks t JOIN items i ON i.task_id = t.id
JOIN groups g ON g.id = i.group_id JOIN raters r ON r.id = t.rater_id WHERE t.state <> 'withdrawn'
GROUP BY 1, 2 HAVING count(DISTINCT g.nth) > 1"""
OVER_CHAIN = """
SELECT chain, count(DISTINCT rater_id) FROM tasks WHERE state = 'handed_in' GROUP BY 1
HAVING count(DISTINCT rater_id) > 1"""
COUNTED = """
SELECT count(*) = count(DISTINCT (j.item_id, j.segment_id)) FROM judgments j JOIN items i ON i.id = j.item_id
WHERE NOT j.surplus AND i.surplus_from IS NULL AND j.revision = 1"""


@pytest.mark.parametrize(("raters", "documents"), [(8, 4), pytest.param(32, 30, marks=pytest.mark.soak)])
def test_everything_is_done_once_whoever_dies_or_sleeps(run: Service, raters: int, documents: int) -> None:
    _, threads = finished(run, raters, documents)
    assert [wrong for thread in threads for wrong in thread.wrong] == []
    n_tasks = documents * RATINGS * CHAIN
    assert ask(run.url, "SELECT state, count(*) FROM tasks WHERE state <> 'withdrawn' GROUP BY 1") == [
        ("handed_in", n_tasks)
    ]
    assert ask(run.url, BY_PERSON) == []
    assert ask(run.url, OVER_CHAIN) == []
    assert ask(run.url, COUNTED) == [(True,)]
    (stored,) = ask(run.url, "SELECT count(*) FROM judgments")
    assert stored[0] >= n_tasks * 4
    acked = sum(sum(thread.acked.values()) for thread in threads)
    assert stored[0] <= acked  # a repeated answer is acknowledged again and stored once
    (leases,) = ask(run.url, "SELECT count(*) FROM leases WHERE ended_how = 'expired'")
    assert leases[0] > 0, "no lease ran out, so nothing was tried"


def test_a_lease_that_takes_what_it_found_without_looking_again_is_caught(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: neither the campaign's lock nor a last look at the task."""
    monkeypatch.setattr(leases, "LOCK_LEASING", "SELECT pg_sleep(0)")
    monkeypatch.setattr(
        leases,
        "TAKE",
        leases.TAKE.replace(" AND state = 'free'", "")
        .replace("AND coalesce", "AND NOT coalesce")
        .replace("= %(rater)s, true)", "= -1, false)"),
    )
    database = Database(database_url, size=1, role="plumbline_app")
    live = collect(database, raters=[f"r{n}" for n in range(8)], documents=8, key="careless")
    database.close()
    rows = ask(database_url, "SELECT k.rater_id, k.id FROM tokens k WHERE k.role = 'rater' ORDER BY k.id")

    async def together() -> list[object]:
        recorder = AnswerRecorder(database_url, role="plumbline_app", size=8)
        await recorder.open()
        async with (
            AsyncExitStack() as eight
        ):  # connected before anybody asks: else one connection may serve them in turn
            for _ in range(8):
                await eight.enter_async_context(recorder.open_reading_connection())
        asking = [
            leases.LeaseRequest(live.id, int(str(rater)), int(str(token)), timedelta(hours=1), "test")
            for rater, token in rows
        ]
        found = await asyncio.gather(
            *(recorder.run_transaction(partial(leases.lease_held_or_next_task, request=one)) for one in asking)
        )
        await recorder.close()
        return [one.task_id for one in found if isinstance(one, leases.Lease)]

    with patient():
        took = asyncio.run(together())
    assert max(Counter(took).values()) > 1
