"""The recorder: histories are what a model says, flushes are shared, and one bad answer fails nobody else's."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from psycopg.conninfo import conninfo_to_dict

from app.domain.errors import Invalid
from app.storage import embedded
from app.storage.db import Database
from app.storage.recorder.answer_recorder import AnswerRecorder
from app.storage.recorder.judgments import AnswerOutcome, CampaignWriteTarget, RaterAnswer
from tests.collecting import collect
from tests.patience import patient
from tests.working import until

T = TypeVar("T")
ROLE = "plumbline_app"


@dataclass(frozen=True)
class Desk:
    """A campaign with one leased task, and an answer at each of its addresses."""

    url: str
    write_target: CampaignWriteTarget
    answers: tuple[RaterAnswer, ...]

    def run(self, work: Callable[[AnswerRecorder], Awaitable[T]], **how: Any) -> T:
        """Some work with a recorder of its own, which waits as long as a slow machine needs."""

        async def whole() -> T:
            recorder = AnswerRecorder(self.url, role=ROLE, **how)
            await recorder.open()
            try:
                return await work(recorder)
            finally:
                await recorder.close()

        with patient():
            return asyncio.run(whole())

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as db:
            return db.execute(query.encode()).fetchall()


def desk_on(url: str, *, documents: int = 1, segments: int = 64) -> Desk:
    database = Database(url, size=2, role=ROLE)
    live = collect(database, segments=segments, documents=documents, systems=("sysA",))
    database.close()
    with psycopg.connect(url) as db:
        db.execute(
            """WITH t AS (UPDATE tasks SET state = 'leased', lease = 1, leased_until = now() + interval '1 hour',
                              rater_id = (SELECT min(id) FROM raters) WHERE id = (SELECT min(id) FROM tasks)
                          RETURNING campaign_id, id, rater_id)
               INSERT INTO leases (campaign_id, task_id, n, rater_id) SELECT campaign_id, id, 1, rater_id FROM t"""
        )
        profile = db.execute(
            "INSERT INTO profiles (campaign_id, name, digest) VALUES (%s, 'score', 'score') RETURNING id", (live.id,)
        ).fetchone()
        rows = db.execute(
            """SELECT k.id, t.rater_id, t.id, i.id, g.id FROM tasks t JOIN tokens k ON k.rater_id = t.rater_id
               JOIN items i ON i.task_id = t.id JOIN segments g ON g.document_id = i.document_id ORDER BY g.position"""
        ).fetchall()
    assert profile is not None
    answers = tuple(RaterAnswer(*row, payload=said(50), score=50.0, n_errors=-1) for row in rows)
    return Desk(url, CampaignWriteTarget(live.id, profile[0], timedelta(hours=1), 1), answers)


def said(score: float) -> str:
    return json.dumps({"protocol": "da", "score": score})


@pytest.fixture
def desk(database_url: str) -> Desk:
    return desk_on(database_url)


async def at_once(
    recorder: AnswerRecorder, desk: Desk, answers: list[RaterAnswer]
) -> list[AnswerOutcome | BaseException]:
    """What becomes of answers that come together."""

    async def one(answer: RaterAnswer) -> AnswerOutcome:
        (outcome,) = await recorder.record_answers(desk.write_target, [answer], actor="test", all_or_nothing=False)
        return outcome

    return await asyncio.gather(*map(one, answers), return_exceptions=True)


@pytest.mark.parametrize("most", [1, 64])
def test_answers_that_come_together_share_a_flush_and_a_version(desk: Desk, most: int) -> None:
    async def work(recorder: AnswerRecorder) -> tuple[list[AnswerOutcome | BaseException], int]:
        return await at_once(recorder, desk, list(desk.answers)), recorder.flushes

    outcomes, flushes = desk.run(work, most=most)
    assert {one.verdict for one in outcomes if isinstance(one, AnswerOutcome)} == {"added"}
    assert len(outcomes) == 64
    assert flushes == (64 if most == 1 else 1)
    versions = desk.ask("SELECT count(DISTINCT version), count(*) FROM judgments")
    assert versions == [(flushes, 64)]
    assert desk.ask("SELECT count(*) FROM scores") == [(64,)]


def test_one_bad_answer_of_64_fails_alone(desk: Desk) -> None:
    """A NUL passes our checks here, and only the database refuses it: the whole flush fails, then each is alone."""
    answers = list(desk.answers)
    answers[40] = replace(answers[40], payload='{"protocol": "da", "note": "\\u0000"}')

    async def work(recorder: AnswerRecorder) -> tuple[list[AnswerOutcome | BaseException], int]:
        return await at_once(recorder, desk, answers), recorder.flushes

    outcomes, flushes = desk.run(work)
    assert isinstance(outcomes[40], Invalid)
    assert sum(isinstance(one, AnswerOutcome) and one.verdict == "added" for one in outcomes) == 63
    assert flushes == 1 + 64
    assert desk.ask("SELECT count(*) FROM judgments") == [(63,)]


def test_a_recorder_that_does_not_try_again_alone_is_caught(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: one bad answer takes its neighbours with it."""
    answers = list(desk.answers)
    answers[40] = replace(answers[40], payload='{"protocol": "da", "note": "\\u0000"}')
    give_up = AnswerRecorder._flush

    async def work(recorder: AnswerRecorder) -> list[AnswerOutcome | BaseException]:
        return await at_once(recorder, desk, answers)

    async def careless(self: AnswerRecorder, lane: Any, members: list[Any]) -> Any:
        try:
            for member, outcome in zip(members, await give_up(self, lane, members), strict=True):
                member.done.set_result([outcome])
        except Invalid as error:
            for member in members:
                member.done.set_exception(error)

    monkeypatch.setattr(AnswerRecorder, "_answer", careless)
    outcomes = desk.run(work)
    assert not any(isinstance(one, AnswerOutcome) for one in outcomes)
    assert desk.ask("SELECT count(*) FROM judgments") == [(0,)]


def test_many_together_are_all_or_none(desk: Desk) -> None:
    answers = [replace(answer, seen=0) for answer in desk.answers[:10]]

    async def work(recorder: AnswerRecorder) -> list[list[AnswerOutcome]]:
        await recorder.record_answers(
            desk.write_target, [replace(answers[7], payload=said(1), score=1.0)], actor="a", all_or_nothing=False
        )
        return [await recorder.record_answers(desk.write_target, answers, actor="a", all_or_nothing=True)]

    (outcomes,) = desk.run(work)
    assert [one.verdict for one in outcomes].count("stale") == 1
    assert desk.ask("SELECT count(*) FROM judgments") == [(1,)]
    assert desk.ask("SELECT max(n) FROM versions") == [(2,)]


def test_what_waits_at_the_end_is_written(desk: Desk) -> None:
    async def whole() -> list[AnswerOutcome | BaseException]:
        recorder = AnswerRecorder(desk.url, role=ROLE, most=1)
        await recorder.open()
        under_way = asyncio.create_task(at_once(recorder, desk, list(desk.answers)))
        await asyncio.sleep(0.05)
        await recorder.close()
        return await under_way

    with patient():
        outcomes = asyncio.run(whole())
    assert all(isinstance(one, AnswerOutcome) for one in outcomes)
    assert desk.ask("SELECT count(*) FROM judgments") == [(64,)]


def test_killed_connections_are_noticed_and_nobody_is_told(desk: Desk) -> None:
    async def work(recorder: AnswerRecorder) -> list[AnswerOutcome | BaseException]:
        found = await at_once(recorder, desk, list(desk.answers[:5]))
        for n in range(5):
            desk.ask(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            answers = [replace(one, payload=said(n), score=float(n)) for one in desk.answers[:5]]
            found += await at_once(recorder, desk, answers)
        return found

    outcomes = desk.run(work)
    assert [one for one in outcomes if not isinstance(one, AnswerOutcome)] == []
    assert desk.ask("SELECT count(*) FROM judgments") == [(30,)]


# One statement, for the recorder looks once, after a second: nobody who is slow here is to come between.
ONCE_WAITED_FOR = """DO $$ BEGIN
  WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP;
  PERFORM FROM campaigns FOR NO KEY UPDATE;
END $$"""


OTHERS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend'"""


def deadlocks(desk: Desk) -> int:
    """How many there were: a connection has told of all of its own once it is gone."""
    until(lambda: desk.ask(OTHERS) == [(0,)], "the connections of the try before are gone")
    ((n,),) = desk.ask("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    return int(n)


def against_another(desk: Desk, server: embedded.EmbeddedServer) -> AnswerOutcome | BaseException:
    """What becomes of an answer while another transaction has what it needs and wants what it has."""
    ours = conninfo_to_dict(desk.url)["dbname"]

    def against(held: threading.Event) -> None:
        with psycopg.connect(server.url("admin", str(ours))) as other:
            # The recorder is the one told, as it looks after a second. Who then did not want it yet gives way later.
            other.execute("SET deadlock_timeout = '1h'; SET statement_timeout = '60s'; SET lock_timeout = '5s'")
            other.execute("SELECT FROM tasks FOR NO KEY UPDATE")
            held.set()
            with suppress(psycopg.errors.LockNotAvailable):
                other.execute(ONCE_WAITED_FOR)

    async def work(recorder: AnswerRecorder) -> list[AnswerOutcome | BaseException]:
        held = threading.Event()
        other = asyncio.get_running_loop().run_in_executor(None, against, held)
        assert await asyncio.to_thread(held.wait, 60)
        found = await at_once(recorder, desk, list(desk.answers[:1]))
        await other
        return found

    (outcome,) = desk.run(work)
    return outcome


def test_an_answer_that_stands_against_another_transaction_is_written_all_the_same(
    desk: Desk, postgres: embedded.EmbeddedServer
) -> None:
    for n in range(3):
        before = deadlocks(desk)
        outcome = against_another(replace(desk, answers=desk.answers[n:]), postgres)
        met = deadlocks(desk) - before
        print(f"\nthey met {met} times: {outcome!r}")  # noqa: T201  (a figure)
        assert isinstance(outcome, AnswerOutcome), repr(outcome)
        assert outcome.verdict == "added"
        if met:
            return
    pytest.fail("they never met")


class Histories(RuleBasedStateMachine):
    """Answers at three addresses, with and without what their sender saw, against lists in memory."""

    desk: Desk
    runner: asyncio.Runner
    recorder: AnswerRecorder

    def __init__(self) -> None:
        super().__init__()
        with psycopg.connect(self.desk.url) as db:
            db.execute("SET LOCAL plumbline.purge = 'on'")
            db.execute("TRUNCATE judgments, scores, voids")
        self.model: dict[int, list[float]] = {0: [], 1: [], 2: []}

    @rule(at=st.integers(0, 2), score=st.sampled_from([0.0, 1.0, 2.0]), seen=st.none() | st.integers(0, 4))
    def judge(self, at: int, score: float, seen: int | None) -> None:
        history = self.model[at]
        answer = replace(self.desk.answers[at], payload=said(score), score=score, seen=seen)
        (outcome,) = self.runner.run(
            self.recorder.record_answers(self.desk.write_target, [answer], actor="a", all_or_nothing=False)
        )
        if seen is not None and seen < len(history) and history[seen] == score:
            expected = ("known", seen + 1)
        elif seen is not None and seen != len(history):
            expected = ("stale", len(history))
        elif history and history[-1] == score:
            expected = ("known", len(history))
        else:
            history.append(score)
            expected = ("added", len(history))
        assert (outcome.verdict, outcome.revision) == expected

    @invariant()
    def stored(self) -> None:
        rows = self.desk.ask(
            """SELECT j.item_id, j.segment_id, array_agg((j.payload ->> 'score')::float8 ORDER BY j.revision),
                      array_agg(s.score ORDER BY j.revision), array_agg(j.revision ORDER BY j.revision)
               FROM judgments j LEFT JOIN scores s ON s.judgment_id = j.id GROUP BY 1, 2"""
        )
        found = {(row[0], row[1]): row[2:] for row in rows}
        for at, history in self.model.items():
            answer = self.desk.answers[at]
            numbers = list(range(1, len(history) + 1))
            expected = (history, history, numbers) if history else None
            assert found.get((answer.item_id, answer.segment_id)) == expected


@pytest.fixture
def histories(database_url: str) -> Iterator[type[Histories]]:
    Histories.desk = desk_on(database_url, segments=3)
    with patient(), asyncio.Runner() as runner:
        Histories.runner = runner
        Histories.recorder = AnswerRecorder(database_url, role=ROLE)
        runner.run(Histories.recorder.open())
        yield Histories
        runner.run(Histories.recorder.close())


@pytest.mark.parametrize("examples", [6, pytest.param(15, marks=pytest.mark.soak)])
def test_the_history_of_an_address_is_what_a_model_says(histories: type[Histories], examples: int) -> None:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        histories,
        settings=settings(
            max_examples=examples,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=quiet,
            database=None,
            derandomize=True,
        ),
    )


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE judgments SET payload = '{}'",
        "DELETE FROM judgments",
        "TRUNCATE judgments CASCADE",
        "UPDATE voids SET reason = 'x'",
    ],
)
def test_nobody_who_serves_changes_what_was_said(desk: Desk, change: str) -> None:
    async def work(recorder: AnswerRecorder) -> list[AnswerOutcome | BaseException]:
        return await at_once(recorder, desk, [desk.answers[0]])

    desk.run(work)
    for role in (f"SET ROLE {ROLE}", "RESET ROLE"):  # and not the owner either, but for a purge
        with psycopg.connect(desk.url) as db:
            db.execute(
                "INSERT INTO voids (campaign_id, judgment_id, reason, actor, version) "
                "SELECT campaign_id, id, 'r', 'a', version FROM judgments"
            )
            db.execute(role.encode())
            with pytest.raises(psycopg.Error, match=r"permission denied|only ever added|never|append"):
                db.execute(change.encode())


def test_work_that_outlives_the_recorder_is_answered_and_leaves_no_connection_open(desk: Desk) -> None:
    """Leases and late answers wait in no lane, so closing does not wait for them."""

    async def work(recorder: AnswerRecorder) -> int:
        begun, go = asyncio.Event(), asyncio.Event()
        held: list[psycopg.AsyncConnection[Any]] = []

        async def slow(connection: psycopg.AsyncConnection[Any]) -> int:
            held.append(connection)
            begun.set()
            await go.wait()
            row = await (await connection.execute("SELECT 1")).fetchone()
            return int(row[0]) if row else 0

        under_way = asyncio.create_task(recorder.run_transaction(slow))
        await begun.wait()
        await recorder.close()
        go.set()
        found = await under_way
        assert held[0].closed
        await recorder.open()
        return found

    assert desk.run(work) == 1
