"""What is read by a process of its own: the records, notes and refusals are those of reading it here."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from app import formats
from app.domain.errors import AppError
from app.formats.base import InputFile, ReadContext, ReaderLimits, ReadLog
from app.services.data import imports
from app.services.data.isolated import dispatch as isolated_reading
from app.services.data.parallel.dispatch import ReaderLost
from app.storage import embedded
from tests.services.data.test_chunked_imports import da, mqm, said
from tests.services.data.test_imports import judgment, lines, study, void
from tests.services.data.test_split_imports import SPLIT, interleaved
from tests.spine import Spine, fresh, opened

PIECE = {"sourceText": "One.", "targetText": "Eins.", "itemType": "TGT", "isCompleteDocument": False, "mqm": []}
BATCHES = json.dumps(
    [
        {
            "items": [{**PIECE, "documentID": "d1", "targetID": f"wmt23.{system}", "itemID": 7} for system in "AB"],
            "task": {"sourceLanguage": "eng", "targetLanguage": "deu"},
        }
    ]
).encode()
BAD = lines(*study(), void()) + b"{]\n" + lines(judgment(score=101))[:-1] + b"\n[1\n" + b'{"type": "x"}\n'
CASES: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "lines": ("jsonl", lines(*study(), void()), {}),
    "packed": ("wmt-da", gzip.compress(da()), {}),
    "pieces": ("appraise", BATCHES, {"options": {"protocol": "esa"}}),
    "split": ("mqm-tsv", interleaved(), SPLIT),
    "a note": ("mqm-tsv", mqm(), {"options": {"human": "nobody"}}),
    "bad lines": ("jsonl", BAD, {}),
    "bad lines left out": ("jsonl", BAD, {"skip_bad_lines": True}),
    "too many bad lines": ("jsonl", lines(*[judgment(score=101)] * 60) + b"{]\n" * 60, {}),
    "cut": ("wmt-da", gzip.compress(da())[:-9], {}),
    "nothing": ("jsonl", lines(), {}),
}
PLAIN = ("lines", "packed", "nothing")
"""What others of them hold, too: lines beside bad ones, a packed file up to where it is cut, no record."""
Started = list["subprocess.Popen[bytes]"]


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


@pytest.fixture(scope="module")
def untouched(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    """For tests that store nothing."""
    with fresh(postgres, migrated_template) as found:
        yield found


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Every file is worth a process; the list grows by those that are started."""
    found: Started = []
    start = subprocess.Popen

    def counted(*given: Any, **how: Any) -> subprocess.Popen[bytes]:
        found.append(start(*given, **how))
        return found[-1]

    monkeypatch.setattr(isolated_reading, "FROM", 0)
    monkeypatch.setattr(isolated_reading.subprocess, "Popen", counted)
    return found


def take(spine: Spine, format: str, data: bytes, *, campaign: str = "c", **how: Any) -> dict[str, Any]:
    """Import as a process that has others to answer does."""
    kept: dict[str, Any] = {"options": {}, "dry_run": False, "skip_bad_lines": False, "actor": "test", **how}
    files = [InputFile("file", lambda: io.BytesIO(data))]
    with spine.database.transaction() as session:
        return imports.run_import_in_transaction(
            session, campaign, format=format, files=files, isolate_large_files=True, **kept
        )


def refused(spine: Spine, format: str, data: bytes, **how: Any) -> object:
    """What becomes of an import: the report, or what is raised."""
    try:
        return take(spine, format, data, dry_run=True, **how)
    except AppError as error:
        return type(error), error.detail, error.places


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=pytest.mark.soak) if name in PLAIN else name for name in CASES]
)
def test_the_report_and_every_refusal_are_as_if_it_were_read_here(
    untouched: Spine, case: str, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    format, data, how = CASES[case]
    beside = refused(untouched, format, data, **how)
    assert [process.poll() is not None for process in started] == [True]
    monkeypatch.setattr(isolated_reading, "FROM", 1 << 40)
    assert refused(untouched, format, data, **how) == beside
    assert len(started) == 1


def test_what_is_stored_is_read_by_another_process(
    spine: Spine, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    spine.take("here", "wmt-da", da())

    def here(*_: object) -> NoReturn:
        raise AssertionError("it was read by the process that answers")

    read_here = dataclasses.replace(formats.get_format("wmt-da"), read=here, spread=None)
    monkeypatch.setattr(formats, "ALL", {**formats.ALL, "wmt-da": read_here})
    take(spine, "wmt-da", da(), campaign="there")
    assert len(started) == 1
    assert said(spine, "there") == said(spine, "here")
    with spine.database.transaction() as session:  # the files of an import that was announced, too
        announced = imports.create_import(session, "there", format="wmt-da", options={}).public_id
        imports.add_import_file(session, "there", announced, "f", iter([da()]))
    imports.commit_import(spine.database, "there", announced, dry_run=False, skip_bad_lines=False, actor="test")
    assert len(started) == 2
    with pytest.raises(AssertionError, match="that answers"):  # the negative control
        spine.take("there", "wmt-da", da())


@pytest.mark.parametrize(("size", "worthwhile"), [(0, False), (-1, False), (1, True)])
def test_what_is_as_large_as_a_body_may_be_is_read_here(size: int, worthwhile: bool) -> None:
    for data in (bytes(isolated_reading.FROM - 1 + size), gzip.compress(os.urandom(isolated_reading.FROM - 1 + size))):
        file = InputFile("f", lambda data=data: io.BytesIO(data))  # type: ignore[misc]  (mypy infers no default)
        assert (
            isolated_reading.is_isolation_worthwhile(formats.get_format("jsonl"), [file], ReaderLimits()) is worthwhile
        )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_reader_that_is_killed_or_stopped_leaves_nothing(
    spine: Spine, started: Started, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_reading, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(isolated_reading, "STOPPED_FOR", 0.2)

    def opening() -> io.BytesIO:
        os.kill(started[-1].pid, how)
        return io.BytesIO(da())

    before = spine.counts()
    monkeypatch.setattr(isolated_reading, "is_isolation_worthwhile", lambda *_: True)
    with spine.database.transaction() as session, pytest.raises(ReaderLost):
        imports.run_import_in_transaction(
            session, "c", format="wmt-da", files=[InputFile("f", opening)], options={}, dry_run=False,
            skip_bad_lines=False, actor="test", isolate_large_files=True,
        )  # fmt: skip
    assert spine.counts() == before
    assert started[-1].poll() is not None


def test_a_reader_ends_with_whoever_stops_reading(started: Started) -> None:
    found = formats.get_format("wmt-da")
    context = ReadContext({}, ReaderLimits())
    read = isolated_reading.read_records_isolated(found, [InputFile("f", lambda: io.BytesIO(da()))], context, ReadLog())
    next(read)
    assert started[-1].poll() is None
    read.close()  # type: ignore[attr-defined]  (a generator)
    assert started[-1].poll() is not None
