"""Delimited files of texts under a column map become test sets."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from app.domain.errors import Invalid
from app.formats.base import CampaignRow, DocumentRecord, OutputRow, SegmentRow, SystemRecord
from tests.formats.conftest import Found, Read

WIDE = {
    "rows": "texts",
    "delimiter": ",",
    "quoting": True,
    "columns": {"document": "doc", "source": "en", "domain": "what"},
    "references": {"refA": "human"},
    "outputs": {"MT 1": "mt1", "B": "b"},
    "constants": {"source_language": "en", "target_language": "de"},
}
BODY = b'doc,en,what,human,mt1,b\nd1,One.,news,Eins.,"1, one",\nd1,Two.,news,Zwei.,2,II\n'


def table(read: Read, columns: dict[str, Any], body: bytes, **how: Any) -> Found:
    return read("table", {"map.json": json.dumps(columns).encode(), "t.csv": body}, map="map.json", **how)


def test_columns_are_sources_references_and_outputs(read: Read) -> None:
    found = table(read, WIDE, BODY)

    assert [(r.key, r.domain) for r in found.of(DocumentRecord)] == [("d1", "news")]
    assert [(r.position, r.source, r.references) for r in found.of(SegmentRow)] == [
        (1, "One.", {"refA": "Eins."}),
        (2, "Two.", {"refA": "Zwei."}),
    ]
    assert [r.text for r in found.of(OutputRow)] == ["1, one", "", "2", "II"]
    assert [r.name for r in found.of(SystemRecord)] == ["MT 1"]
    assert found.of(CampaignRow)[0].target_language == "de"


def test_a_column_may_say_what_to_heed_in_judging(read: Read) -> None:
    columns = {"rows": "texts", "columns": {"document": "d", "source": "s", "instructions": "i"}, "outputs": {"A": "a"}}

    found = table(read, columns, b"d\ts\ti\ta\nd1\tOne.\tBe formal.\tEins.\nd1\tTwo.\t\tZwei.\n")

    assert [r.meta for r in found.of(SegmentRow)] == [{"instructions": "Be formal."}, None]


def test_a_row_may_be_one_systems_output(read: Read) -> None:
    columns = {
        "rows": "texts",
        "columns": {"document": "d", "position": "n", "system": "s", "target": "t"},
        "first_position": 0,
    }

    found = table(read, columns, b"d\tn\ts\tt\nd1\t0\tA\tx\nd1\t1\tA\ty\nd1\t0\tB\tz\n")

    assert [(r.system, r.position, r.text) for r in found.of(OutputRow)] == [
        ("A", 1, "x"),
        ("A", 2, "y"),
        ("B", 1, "z"),
    ]
    assert not found.of(SegmentRow)


@pytest.mark.parametrize("layout", ["columns", "rows"])
def test_rows_that_have_nothing_to_do_with_each_other_are_documents_of_their_own(read: Read, layout: str) -> None:
    if layout == "columns":
        columns = {"rows": "texts", "each_row": True, "columns": {"source": "s"}, "outputs": {"A": "a", "B": "b"}}
        body = b"s\ta\tb\nOne.\tx\ty\nTwo.\tv\tw\n"
    else:
        columns = {"rows": "texts", "each_row": True, "columns": {"source": "s", "system": "m", "target": "t"}}
        body = b"s\tm\tt\nOne.\tA\tx\nOne.\tB\ty\nTwo.\tA\tv\nTwo.\tB\tw\n"

    found = table(read, columns, body)

    assert [(r.key, r.position) for r in found.of(DocumentRecord)] == [("text-1", 1), ("text-2", 2)]
    assert {(r.document, r.position, r.source) for r in found.of(SegmentRow)} == {
        ("text-1", 1, "One."),
        ("text-2", 1, "Two."),
    }
    assert [(r.document, r.position, r.text) for r in found.of(OutputRow)] == [
        ("text-1", 1, "x"),
        ("text-1", 1, "y"),
        ("text-2", 1, "v"),
        ("text-2", 1, "w"),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [(b"d1,One.\n", "2 columns"), (b",One.,x,y,z,w,v\n", "7 columns"), (b'd1,"One.,x,y,z,w\n', "not closed")],
)
def test_a_bad_row_is_named_by_file_and_line(read: Read, line: bytes, reason: str) -> None:
    with pytest.raises(Invalid) as raised:
        table(read, WIDE, BODY + line)
    skipped = table(read, WIDE, BODY + line, skip=True)

    assert raised.value.places[0].loc == ("t.csv", 4)
    assert reason in raised.value.places[0].msg
    assert len(skipped.of(SegmentRow)) == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"columns": {"document": "doc", "system": "mt1"}}, "go together"),
        ({"columns": {"document": "doc"}, "outputs": {}, "references": {}}, "must be there"),
        ({"rows": "judgments", "protocol": "da"}, "are for rows that are texts|must be there"),
        ({"protocol": "nothing"}, "must be one of"),
        ({"each_row": True}, "name the document of each row already"),
    ],
)
def test_a_map_that_says_too_little_is_refused(read: Read, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        table(read, WIDE | changes, BODY)


def test_a_missing_column_is_named(read: Read) -> None:
    with pytest.raises(Invalid, match="lacks b"):
        table(read, WIDE, b"doc,en,what,human,mt1\n")


CELL = st.text(st.characters(exclude_characters="\0\n\r", exclude_categories=("Cs",)), max_size=6)


@given(rows=st.lists(st.tuples(st.sampled_from(["d1", "d2"]), CELL, CELL, CELL), min_size=1, max_size=8))
def test_any_cells_come_through_but_for_white_space_at_their_ends(
    read: Read, rows: list[tuple[str, str, str, str]]
) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([["doc", "en", "what", "human", "mt1", "b"], *([d, s, "", r, o, o] for d, s, r, o in rows)])

    found = table(read, WIDE, out.getvalue().encode())

    assert [(r.document, r.source) for r in found.of(SegmentRow)] == [(d, s.strip()) for d, s, _, _ in rows]
    assert [r.text for r in found.of(OutputRow) if r.system == "B"] == [o.strip() for *_, o in rows]


def workbook(*rows: tuple[object, ...], more: bool = False) -> bytes:
    """The rows as the first sheet of a workbook."""
    book = Workbook()
    sheet = book.worksheets[0]
    for row in rows:
        sheet.append(row)
    if more:
        book.create_sheet("notes").append(("not", "read"))
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def sheet(read: Read, body: bytes, name: str = "t.xlsx", **how: Any) -> Found:
    columns = {**WIDE, "delimiter": "\t", "quoting": False}
    return read("table", {"map.json": json.dumps(columns).encode(), name: body}, map="map.json", **how)


def test_a_workbook_is_read_as_the_same_table_would_be(read: Read) -> None:
    rows = [tuple(one) for one in csv.reader(io.StringIO(BODY.decode()))]
    typed = [rows[0], (*rows[1][:5], None), (), (*rows[2][:4], 2.0, rows[2][5]), (None, " ")]

    from_book, from_text = sheet(read, workbook(*typed, more=True), "T.XLSX"), table(read, WIDE, BODY)

    for kind in (CampaignRow, DocumentRecord, SegmentRow, OutputRow, SystemRecord):
        found, expected = ([replace(one, at=None) for one in some.of(kind)] for some in (from_book, from_text))
        assert found == expected
    assert len(from_book.of(OutputRow)) == 4


def test_a_sheet_that_was_made_text_already_is_read_as_text_under_the_workbooks_name(read: Read) -> None:
    """So the page sends the sheet that it has shown."""
    assert (
        len(read("table", {"map.json": json.dumps(WIDE).encode(), "t.xlsx": BODY}, map="map.json").of(OutputRow)) == 4
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_quotation_marks_in_a_cell_stay_in_its_text(read: Read, end: str) -> None:
    cells = [["doc", "en", "what", "human", "mt1", "b"], ["d", f'A "dog"{end}{end}barked, once.', *"abcd"], [*"dxabcd"]]
    typed = io.StringIO()
    csv.writer(typed, lineterminator=end).writerows(cells)

    for found in (sheet(read, workbook(*cells)), table(read, WIDE, typed.getvalue().encode())):
        assert [one.source for one in found.of(SegmentRow)] == ['A "dog"\n\nbarked, once.', "x"]
        assert not found.log.bad


def test_a_row_of_several_lines_is_named_by_its_first_line(read: Read) -> None:
    rows = b'd1,"One\ntwo\nthree",news\nd1,One.,news,x,y,z\n\nd2,"a"b,news,x,y,z\nd2,"Two",news,x,y,z\n\n'

    found = table(read, WIDE, BODY + rows, skip=True)

    assert [place.loc[1] for place in found.log.bad] == [4, 8, 9]
    assert [one.source for one in found.of(SegmentRow)] == ["One.", "Two.", "One.", "Two"]
    assert found.log.repaired["empty line at the end"] == 1


def test_a_quote_that_nothing_closes_loses_its_own_line_alone(read: Read) -> None:
    sources = b'"Open', b"Good.", b'"Quoted."', b'"Open', b"Last."
    more = b"".join(b"d2,%s,news,x,y,z\n" % source for source in sources)

    found = table(read, WIDE, BODY + more, skip=True)

    assert [place.loc[1] for place in found.log.bad] == [4, 7]
    assert [one.source for one in found.of(SegmentRow)] == ["One.", "Two.", "Good.", "Quoted.", "Last."]


def test_what_is_no_workbook_or_lacks_a_column_is_refused_by_name(read: Read) -> None:
    for body, said in (
        (b"PK\x03\x04doc,en\n", "no spreadsheet"),
        (b"doc\ten\n", "the header lacks b, human, mt1, what"),
        (workbook(("doc", "en")), "the header lacks b, human, mt1, what"),
    ):
        with pytest.raises(Invalid) as refused:
            sheet(read, body)
        told = f"{refused.value.detail} {' '.join(place.msg for place in refused.value.places)}"
        assert said in told, told
    both = {"map.json": json.dumps(WIDE).encode(), "a.xlsx": workbook(("doc",)), "b.csv": BODY}
    with pytest.raises(Invalid, match="one kind"):
        read("table", both, map="map.json")
