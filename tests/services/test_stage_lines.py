"""Lines that are staged by a shorter way are those that the general one writes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from app import protocols
from app.formats._base import At, OutputRow, ReadLog
from app.protocols._base import options_of
from app.services.prefills import prefilled
from app.services.stage import Stage
from app.storage import copy_text

SPAN = {"severity": "minor", "start": 0, "end": 1, "note": 'a "quoted" \\ note\t'}


@pytest.mark.parametrize("text", ["plain", "", "tab\there", "back\\slash \\N", "line\r\nfeed", "äöü €"])
@pytest.mark.parametrize("prefill", [None, (), (SPAN,)])
def test_outputs_are_staged_as_any_row_is(text: str, prefill: tuple[Mapping[str, object], ...] | None) -> None:
    row = OutputRow(At("a\tfile", 7), "A", "d\\1", 3, text or "x", prefill, led=2)
    protocol = protocols.get("mqm")
    stage = Stage(lambda: (protocol, options_of(protocol, {})))
    stage.add(row, ReadLog())
    ((line,),) = (tuple(blocks) for table, blocks in stage.lines.take() if table == "staged_outputs")
    said = (row.at.file, row.at.line, row.system, row.document, row.position, row.text, prefilled(row), row.led)
    assert line.decode() == copy_text.line(said)


class Name(str):
    """A kind of text."""


def test_a_value_is_written_by_its_type_and_kinds_of_it_alike() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    values = (None, "a\tb", Name("a\tb"), True, False, 3, -0.5, when, {"b": 1, "a": "x\n"}, ("a", 'b"'))
    assert copy_text.line(values) == (
        '\\N\ta\\tb\ta\\tb\tt\tf\t3\t-0.5\t2026-01-02T03:04:05+00:00\t{"a":"x\\\\n","b":1}\t{"a","b\\\\""}\n'
    )
    with pytest.raises(TypeError, match="no COPY text for bytes"):
        copy_text.field(b"a")
