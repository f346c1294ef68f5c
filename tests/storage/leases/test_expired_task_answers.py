"""One account of a person answers late, another asks for a task, both at the same moment: one of the two counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from app.storage.db import Database
from app.storage.leases import expired_task_answers, leases
from app.storage.recorder.answer_recorder import AnswerRecorder
from app.storage.recorder.judgments import CampaignWriteTarget, Connection, RaterAnswer, write_judgments
from tests.collecting import collect
from tests.patience import patient
from tests.working import LIMIT, until

ROLE = "plumbline_app"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
RAN_OUT = """
WITH t AS (UPDATE tasks SET lease = 1, queue = 9000000 WHERE id = (SELECT min(id) FROM tasks) RETURNING campaign_id, id)
INSERT INTO leases (campaign_id, task_id, n, rater_id, ended_at, ended_how)
SELECT campaign_id, id, 1, (SELECT min(id) FROM raters), now(), 'expired' FROM t"""
RATED = """
SELECT count(*) FROM tasks t WHERE t.state = 'leased' OR EXISTS (
    SELECT FROM items i JOIN judgments j ON j.item_id = i.id
    WHERE i.task_id = t.id AND i.surplus_from IS NULL AND NOT j.surplus)"""


@dataclass(frozen=True)
class Two:
    """Two accounts of one person. The first held the first of two ratings of a document, and answers it."""

    url: str
    write_target: CampaignWriteTarget
    answer: RaterAnswer
    asking: tuple[leases.LeaseRequest, leases.LeaseRequest]

    async def answers(self, connection: Connection) -> Any:
        await expired_task_answers.renew_or_hand_over_expired_task(connection, self.answer.task_id, self.asking[0])
        return await write_judgments(connection, self.write_target, [self.answer], self.asking[0].actor)

    async def leases(self, connection: Connection) -> Any:
        return await leases.lease_held_or_next_task(connection, self.asking[1])

    def rated(self) -> int:
        """How many ratings of the document the person has, or is about to give."""
        with psycopg.connect(self.url) as db:
            row = db.execute(RATED.encode()).fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture
def two(database_url: str) -> Two:
    database = Database(database_url, size=2, role=ROLE)
    live = collect(
        database, documents=1, ratings=2, systems=("sysA",), raters=("a", "b"), persons={"a": "ann", "b": "ann"}
    )
    database.close()
    with psycopg.connect(database_url) as db:
        db.execute(RAN_OUT.encode())
        profile = db.execute(
            "INSERT INTO profiles (campaign_id, name, digest) VALUES (%s, 'score', 'score') RETURNING id", (live.id,)
        ).fetchone()
        place = db.execute(
            """SELECT t.id, i.id, g.id FROM tasks t JOIN items i ON i.task_id = t.id
               JOIN segments g ON g.document_id = i.document_id ORDER BY t.id, g.position LIMIT 1"""
        ).fetchone()
        who = db.execute("SELECT k.id, r.id FROM raters r JOIN tokens k ON k.rater_id = r.id ORDER BY r.id").fetchall()
    assert profile is not None
    assert place is not None
    said = json.dumps({"protocol": "da", "score": 50})
    answer = RaterAnswer(*who[0], *place, payload=said, score=50.0, n_errors=-1, lapsed=True)
    lasts = timedelta(hours=1)
    asking = tuple(leases.LeaseRequest(live.id, rater, token, lasts, "test") for token, rater in who)
    return Two(database_url, CampaignWriteTarget(live.id, profile[0], lasts, 1), answer, (asking[0], asking[1]))


def at_once(two: Two, first: Callable[[Connection], Awaitable[Any]], second: Callable[[Connection], Any]) -> None:
    """Let the second begin when the first has done everything but commit."""

    def waits() -> bool:
        with psycopg.connect(two.url) as db:
            return db.execute(WAITING).fetchone() == (1,)

    async def both() -> None:
        recorder = AnswerRecorder(two.url, role=ROLE)
        await recorder.open()
        done, commit = asyncio.Event(), asyncio.Event()

        async def held(connection: Connection) -> Any:
            found = await first(connection)
            done.set()
            await commit.wait()
            return found

        try:
            one = asyncio.create_task(recorder.run_transaction(held))
            await asyncio.wait_for(done.wait(), LIMIT)
            other = asyncio.create_task(recorder.run_transaction(second))
            await asyncio.to_thread(until, lambda: other.done() or waits(), "it is done, or waits for the first")
            commit.set()
            await asyncio.gather(one, other)
        finally:
            await recorder.close()

    with patient():
        asyncio.run(both())


@pytest.mark.parametrize("first", ["answers", "leases"])
def test_of_a_late_answer_and_another_account_s_lease_at_the_same_moment_one_counts(two: Two, first: str) -> None:
    ways = (two.answers, two.leases)
    at_once(two, *(ways if first == "answers" else ways[::-1]))
    assert two.rated() == 1


def test_without_the_lock_one_person_has_both(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    monkeypatch.setattr(leases, "LOCK_LEASING", "SELECT 1")
    at_once(two, two.answers, two.leases)
    assert two.rated() == 2
