"""A flush waits for other raters where they are about to come, and only there."""

from __future__ import annotations

import asyncio
import time

import pytest

from app.storage.recorder import answer_recorder, flush_delay
from app.storage.recorder.answer_recorder import SHARING, AnswerRecorder
from app.storage.recorder.flush_delay import ENOUGH, ENOUGH_DURING_FLUSH, RECENT, RecentAnswerSenders
from app.storage.recorder.judgments import AnswerOutcome
from tests.storage.recorder.test_answer_recorder import Desk, desk  # noqa: F401  (a fixture)


class Clock:
    """Time that goes on when told so."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


def dense_after(
    monkeypatch: pytest.MonkeyPatch, gap: float, raters: int, n: int = 100, *, flush_seconds: float = 0.0
) -> bool:
    """Whether a flush waits after some arrivals of some raters in turn, each a gap after the one before."""
    clock = Clock()
    monkeypatch.setattr(flush_delay, "time", clock)
    recent = RecentAnswerSenders(0.02)
    recent.flush_seconds = flush_seconds
    for at in range(n):
        clock.now += gap
        recent.record(f"r{at % raters}")
    return recent.expects_more_soon


def test_many_raters_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dense_after(monkeypatch, 0.005, raters=1000)
    assert dense_after(monkeypatch, 0.019, raters=1000)


def test_nobody_waits_where_few_come(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not dense_after(monkeypatch, 0.03, raters=1000), "seldom"
    assert not dense_after(monkeypatch, 0.001, raters=1), "a program"
    assert not dense_after(monkeypatch, 0.001, raters=RECENT - 1), "programs that each wait for their answer"
    assert not dense_after(monkeypatch, 0.001, raters=1000, n=RECENT - 1), "nothing is known yet"


def test_nobody_waits_where_a_flush_is_filled_while_the_one_before_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    gap = 0.005
    for during, waits in ((ENOUGH_DURING_FLUSH - 0.5, True), (ENOUGH_DURING_FLUSH + 0.5, False)):
        assert dense_after(monkeypatch, gap, raters=1000, flush_seconds=gap * during) is waits


def test_the_recorder_notes_how_long_a_flush_took(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    made: list[RecentAnswerSenders] = []

    class Noted(RecentAnswerSenders):
        def __init__(self, wait: float) -> None:
            super().__init__(wait)
            made.append(self)

    monkeypatch.setattr(answer_recorder, "RecentAnswerSenders", Noted)
    begun = time.monotonic()
    desk.run(lambda it: it.record_answers(desk.write_target, desk.answers[:1], actor="r", all_or_nothing=False))
    (recent,) = made
    assert 0 < recent.flush_seconds < time.monotonic() - begun


def test_who_waits_for_their_answer_are_never_fewer_than_enough() -> None:
    """Else a flush would wait for raters who wait for it."""
    assert ENOUGH < RECENT


def test_answers_of_many_raters_share_commits_while_one_rater_has_their_own(desk: Desk) -> None:  # noqa: F811
    async def send(recorder: AnswerRecorder, actors: list[str]) -> float:
        """Answers, each a few milliseconds after the one before; how many a flush had."""
        flushes, members = recorder.flushes, recorder.members
        sent = []
        for actor, answer in zip(actors, desk.answers, strict=False):
            sent.append(
                asyncio.ensure_future(
                    recorder.record_answers(desk.write_target, [answer], actor=actor, all_or_nothing=False)
                )
            )
            await asyncio.sleep(SHARING / 10)
        await asyncio.gather(*sent)
        assert recorder.members - members == len(sent)
        return (recorder.members - members) / (recorder.flushes - flushes)

    async def work(recorder: AnswerRecorder) -> tuple[float, float]:
        await recorder.record_answers(
            desk.write_target, desk.answers[:1], actor="r", all_or_nothing=False
        )  # the first plans the statement
        return await send(recorder, ["r"] * 60), await send(recorder, [f"r{n}" for n in range(60)])

    alone, many = desk.run(work)
    assert many >= 3 > alone


def test_what_waits_for_others_is_written_at_the_end(desk: Desk) -> None:  # noqa: F811
    async def work(recorder: AnswerRecorder) -> asyncio.Future[list[AnswerOutcome]]:
        for n in range(RECENT):
            await recorder.record_answers(desk.write_target, [desk.answers[n]], actor=f"r{n}", all_or_nothing=False)
        late = asyncio.ensure_future(
            recorder.record_answers(desk.write_target, [desk.answers[RECENT]], actor="late", all_or_nothing=False)
        )
        await asyncio.sleep(0)
        return late

    assert [one.revision for one in desk.run(work).result()] == [1]
