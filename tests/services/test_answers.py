"""What is kept for other processes: the same after it was stored, and never more than there is room for."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from app.services import answers
from app.services.answers import Keeper, build, fingerprint, packed, unpacked
from app.services.remembered import BESIDE, LARGEST, Answer
from app.storage.recorder.cache_version import Asked
from app.storage.recorder.recorder import Recorder

HEADERS = (("etag", '"e"'), ("vary", "Accept"))
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


@pytest.mark.parametrize(
    "answer",
    [
        Answer("m", '"e"', HEADERS, "text/csv; charset=utf-8", b"a,b\r\n\n1,2"),
        Answer("m", '"e"', HEADERS, None, b""),
        Answer("m", '"é"', ()),
    ],
)
def test_an_answer_is_the_same_after_it_was_stored(answer: Answer) -> None:
    assert unpacked("m", packed(answer)) == answer


def test_another_version_of_the_program_has_another_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    module = tmp_path / "part" / "one.py"
    module.write_text("x = 1")
    seen = [fingerprint(tmp_path)]
    module.write_text("x = 2")
    seen.append(fingerprint(tmp_path))
    module.rename(tmp_path / "part" / "two.py")
    seen.append(fingerprint(tmp_path))
    assert len(set(seen)) == 3
    (tmp_path / "part" / "two.pyc").write_bytes(b"compiled")
    assert fingerprint(tmp_path) == seen[-1]
    assert build() not in seen


def test_a_program_without_sources_is_never_taken_for_another(tmp_path: Path) -> None:
    assert fingerprint(tmp_path) != fingerprint(tmp_path)


def test_another_version_of_a_package_is_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    before, found = build.__wrapped__(), list(answers.distributions())
    monkeypatch.setattr(answers, "distributions", lambda: found[1:])
    assert build.__wrapped__() != before


def asked(n: int) -> Asked:
    return Asked("prefix", "c", names=False, key=b"%d" % n)


def of(size: int) -> Answer:
    return Answer("m", '"e"', (), "text/plain", bytes(size))


def test_what_waits_is_bounded_and_of_the_same_request_only_the_latest_waits() -> None:
    async def many() -> int:
        keeper = Keeper(Recorder(NOWHERE))
        for n in range(100):
            keeper.put(asked(n), of(LARGEST))
        for _ in range(100):
            keeper.put(asked(0), of(10))
        waiting = sum(answer.size for _, answer in keeper._waiting.values())
        assert waiting == keeper._size
        await keeper.close()
        assert keeper._size == 0
        return waiting

    one = LARGEST + BESIDE
    assert answers.WAITING - 2 * one < asyncio.run(many()) <= answers.WAITING


def test_no_more_is_kept_in_a_while_than_the_table_bears_between_two_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_A_WHILE", 3 * (BESIDE + 1000))

    async def many() -> list[int]:
        keeper = Keeper(Recorder(NOWHERE))
        found = []
        for n in range(5):
            keeper.put(asked(n), of(1000))
            found.append(len(keeper._waiting))
        monkeypatch.setattr(answers, "A_WHILE", -1.0)
        keeper.put(asked(9), of(1000))
        found.append(len(keeper._waiting))
        await keeper.close()
        return found

    assert asyncio.run(many()) == [1, 2, 3, 3, 3, 4]


def test_a_service_that_stops_lets_go_of_what_waits_and_says_a_failure_once(caplog: pytest.LogCaptureFixture) -> None:
    async def stop() -> None:
        keeper = Keeper(Recorder(NOWHERE))  # not opened: nothing can be written
        for n in range(3):
            keeper.put(asked(n), of(10))
        await keeper.settle()
        keeper.put(asked(4), of(10))
        assert not keeper._waiting, "it failed just now"
        await keeper.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(stop())
    assert [one.message for one in caplog.records] == [
        "answers are not kept for other processes: The service is stopping"
    ]
