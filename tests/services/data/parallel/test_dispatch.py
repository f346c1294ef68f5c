"""Large files are read by processes of their own: what is stored and said is what one process stores and says."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.errors import Invalid
from app.formats.base import ReaderLimits
from app.services.data import record_import
from app.services.data.parallel import dispatch
from app.services.data.parallel.dispatch import ReaderLost, ReaderProcess
from app.services.data.parallel.messages import ReaderStart
from tests.services.data.test_chunked_imports import DA_HEADER, HEADER, da, mqm, said
from tests.spine import Spine, opened
from tests.working import until

MQM = ReaderStart("mqm-tsv", ("f.tsv",), {}, ReaderLimits(), None)


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[ReaderProcess]:
    """Every file is large; the list grows by the readers that are started."""
    started: list[ReaderProcess] = []
    begin = ReaderProcess.__init__

    def counted(self: ReaderProcess, message: ReaderStart) -> None:
        begin(self, message)
        started.append(self)

    monkeypatch.setattr(dispatch, "LARGE", 1)
    monkeypatch.setattr(ReaderProcess, "__init__", counted)
    monkeypatch.setattr(record_import, "CHUNK", 4)
    return started


def without_documents() -> bytes:
    """Nine segments of no known document, three systems; one HIT for each of two raters."""
    rows = [
        f"h-{rater}\t{rater}\tces\teng\tad\th\t{system}\tr1\tSYSTEM\t{position}\t{position * 10 + len(rater)}\t1.5"
        for rater in ("r1", "r22")
        for system in "ABC"
        for position in range(1, 10)
    ]
    return "\n".join([DA_HEADER, *rows, ""]).encode()


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("mqm-tsv", mqm()),
        pytest.param("wmt-da", da(), marks=pytest.mark.soak),
        ("wmt-da", without_documents()),
    ],
    ids=["mqm-tsv", "wmt-da", "wmt-da without documents"],
)
def test_two_readers_store_and_say_what_one_process_does(
    spine: Spine, format: str, data: bytes, readers: list[ReaderProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_two = spine.take("spread", format, data)
    assert len(readers) == dispatch.READERS
    monkeypatch.setattr(dispatch, "LARGE", 1 << 40)
    alone = spine.take("whole", format, data)
    assert len(readers) == dispatch.READERS
    assert by_two == alone
    assert said(spine, "spread") == said(spine, "whole")
    assert spine.body("spread", "recommended").replace(b"spread", b"whole") == spine.body("whole", "recommended")


def test_a_name_of_a_human_translation_is_missed_where_no_reader_has_it(
    spine: Spine, readers: list[ReaderProcess]
) -> None:
    data = mqm("One\td 5\t1\t0\tr1\tsource 5\ttext\tX\tMinor\t")
    notes = spine.take("c", "mqm-tsv", data, options={"human": "One,A,Onne"})["notes"]
    assert len(readers) == dispatch.READERS
    assert notes == {
        "judgments of A, a human translation as the options say": 16,
        "judgments of One, a human translation as the options say": 1,
        "no system is called Onne, a human translation as the options say": 1,
    }


BAD = [
    "A\td 0\t0\t0\tr1\tsource\ttext\tX\tMinor\t",
    "A\td 1\t1\t0\tr1\tanother source\tA on 1 1\tX\tNo-error\t",
    "A\td 2\t1\t0\tr1\tsource 2 1\tA on 2 1\tX\tdreadful\t",
    "A\td 3\t2\t0\tr1\tsource 3 2\tA on 3 2\tX\tMinor\t{",
]


def test_bad_lines_of_all_readers_are_named_in_the_order_of_the_file(
    spine: Spine, readers: list[ReaderProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = mqm(*BAD).replace(b"\n", b"\n\n", 1)
    before = spine.counts()
    with pytest.raises(Invalid) as by_two:
        spine.take("c", "mqm-tsv", data)
    assert len(readers) == dispatch.READERS
    monkeypatch.setattr(dispatch, "LARGE", 1 << 40)
    with pytest.raises(Invalid) as alone:
        spine.take("c", "mqm-tsv", data)
    assert by_two.value.places == alone.value.places
    assert len(alone.value.places) >= 3
    assert str(by_two.value) == str(alone.value)
    assert spine.counts() == before


def test_a_cut_file_names_its_place_after_the_bad_lines_before_it(
    spine: Spine, readers: list[ReaderProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(1)
    cut = gzip.compress(
        mqm(*BAD[:1], *(f"A\tx\t{i}\t0\tr\t{draw.randbytes(40).hex()}\tt\tX\tMinor\t" for i in range(1, 400)))
    )
    cut = cut[: len(cut) // 2]
    with pytest.raises(Invalid) as by_two:
        spine.take("c", "mqm-tsv", cut)
    assert len(readers) == dispatch.READERS
    monkeypatch.setattr(dispatch, "LARGE", 1 << 40)
    with pytest.raises(Invalid) as alone:
        spine.take("c", "mqm-tsv", cut)
    assert by_two.value.places == alone.value.places
    assert "cut" in by_two.value.places[-1].msg


def test_more_than_a_hundred_bad_lines_end_the_reading(
    spine: Spine, readers: list[ReaderProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = "\n".join([HEADER, *(f"A\td {i % 7}\tnone\t0\tr1\ts\tt\tX\tMinor\t" for i in range(300)), ""]).encode()
    with pytest.raises(Invalid) as by_two:
        spine.take("c", "mqm-tsv", data)
    assert readers
    monkeypatch.setattr(dispatch, "LARGE", 1 << 40)
    with pytest.raises(Invalid) as alone:
        spine.take("c", "mqm-tsv", data)
    assert by_two.value.places == alone.value.places
    assert str(by_two.value) == str(alone.value)


def test_a_reader_that_is_killed_leaves_nothing_stored(
    spine: Spine, readers: list[ReaderProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = ReaderProcess.start_reading_records

    def killed(self: ReaderProcess, judge: object) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        start(self, judge)

    before = spine.counts()
    monkeypatch.setattr(ReaderProcess, "start_reading_records", killed)
    with pytest.raises(ReaderLost):
        spine.take("c", "mqm-tsv", mqm())
    assert spine.counts() == before
    assert all(reader._process.poll() is not None for reader in readers)
    monkeypatch.setattr(ReaderProcess, "start_reading_records", start)
    assert spine.take("c", "mqm-tsv", mqm())["stored"]["judgments"]


ORPHAN = """
import os, signal, sys
from app.formats.base import ReaderLimits
from app.services.data.parallel.dispatch import ReaderProcess
from app.services.data.parallel.messages import ReaderStart
reader = ReaderProcess(ReaderStart("mqm-tsv", ("f.tsv",), {}, ReaderLimits(), None))
print(reader._process.pid, flush=True)
sys.stdin.read()
"""


def test_a_reader_ends_with_whoever_started_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
    ) as parent:
        assert parent.stdout is not None
        reader = Path("/proc") / parent.stdout.readline().decode().strip()
        assert reader.exists()  # while its parent lives
        parent.kill()
    until(lambda: has_ended(reader), "the reader ends with whoever started it", within=10)


def has_ended(process: Path) -> bool:
    """Whether a process is gone, or only waits for its end to be noted."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
