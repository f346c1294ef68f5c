"""Which marks are still to be held against their texts after staging: those whose text did not stand beside them."""

from __future__ import annotations

import pytest

from app import protocols
from app.formats.base import LineLocation, OutputJudgments, OutputRow, ReadLog, SegmentRow
from app.protocols.base import parse_scoring_options
from app.services.data.staging_writer import StagingWriter

AT = LineLocation("f", 1)
OUTPUT = OutputRow(AT, "A", "d", 1, "äöü €")  # 5 characters, more bytes
SOURCE = SegmentRow(AT, "d", 1, "abc")


def ends(*records, end, side="target", systems=("A",), position=1):
    """The last two columns of the staged judgment: how far its marks reach in the target and in the source."""
    protocol = protocols.get_protocol("mqm")
    stage = StagingWriter(lambda: (protocol, parse_scoring_options(protocol, {})))
    span = {"severity": "minor", "start": 0, "end": end, "side": side}
    given = [("r", "f", 2, {"protocol": "mqm", "errors": [span]})]
    log = ReadLog()
    for record in (*records, OutputJudgments("A:d", systems, "d", position, given)):
        stage.add_record(record, log)
    assert not log.bad
    ((line,),) = (tuple(blocks) for table, blocks in stage.lines.drain_blocks() if table == "staged_judgments")
    *_, target, source = line.decode().rstrip("\n").split("\t")
    return int(target), int(source)


@pytest.mark.parametrize("end", [1, 5])
def test_marks_within_the_text_beside_them_are_looked_at_once(end):
    assert ends(SOURCE, OUTPUT, end=end) == (0, 0)


def test_marks_beyond_the_text_beside_them_are_left_to_the_check():
    assert ends(SOURCE, OUTPUT, end=6) == (6, 0)
    assert ends(SOURCE, OUTPUT, end=4, side="source") == (0, 4)


def test_a_text_of_another_output_or_of_none_says_nothing():
    assert ends(SOURCE, OUTPUT, end=2, systems=("B",)) == (2, 0)
    assert ends(SOURCE, OUTPUT, end=2, systems=("A", "B")) == (2, 0)
    assert ends(SOURCE, OUTPUT, end=2, position=2) == (2, 0)
    assert ends(SOURCE, end=2) == (2, 0)
    assert ends(OUTPUT, end=2, side="source") == (0, 2)


def test_source_marks_within_their_source_are_looked_at_once():
    assert ends(SOURCE, OUTPUT, end=3, side="source") == (0, 0)
