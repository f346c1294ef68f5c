"""`xlsx` out and in again: any text is shown and inert, any score comes back, and files that lie are refused."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from app import formats
from app.domain.errors import Invalid
from app.formats.base import (
    CampaignRow,
    InputFile,
    JudgmentRow,
    ReadContext,
    ReaderLimits,
    ReadLog,
    Record,
    ShownOutputRow,
)
from app.formats.xlsx import reader as _xlsx_read
from tests.formats.conftest import NOWHERE
from tests.formats.trees import book, contents

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30).map(str.strip)
SHOWN = ShownOutputRow("t_1", "t1", "r", "i1", 1, "rating", ("A",), "d", 1, "source", "text", 1)


def read(
    data: bytes, shown: list[ShownOutputRow], *, skip: bool = False, limits: ReaderLimits | None = None
) -> list[Record]:
    reader = formats.get_format("xlsx").read
    assert reader is not None
    context = ReadContext({}, limits or ReaderLimits(), "xsts", shown=lambda: shown)
    return list(reader([InputFile("sheets.xlsx", lambda: io.BytesIO(data))], context, ReadLog(skip_bad_lines=skip)))


def judged(shown: ShownOutputRow, score: int) -> JudgmentRow:
    payload = {"protocol": "xsts", "score": float(score)}
    address = shown.task_key, shown.item, shown.systems, shown.document, shown.position, str(shown.rater)
    return JudgmentRow(NOWHERE, *address, payload, role=shown.role, item_position=shown.item_position)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(TEXT, TEXT, st.integers(1, 5), st.sampled_from(["r", "=r", "s/1"])), min_size=1, max_size=6))
def test_any_text_is_shown_and_any_score_comes_back(found: list[tuple[str, str, int, str]]) -> None:
    shown = [
        replace(
            SHOWN, task=f"t_{who}", task_key=who.strip("=/"), rater=who, position=n, source=a, text=b, side_order=n % 2
        )
        for n, (a, b, _, who) in enumerate(found, 1)
    ]
    shown.sort(key=lambda row: str(row.rater))
    given = [judged(row, found[row.position - 1][2]) for row in shown]
    data = book("xlsx", contents([CampaignRow(NOWHERE, "xsts"), *given], shown))

    back = [replace(one, at=NOWHERE) for one in read(data, shown) if isinstance(one, JudgmentRow)]
    assert back == given
    cells = [c for sheet in load_workbook(io.BytesIO(data)) for row in sheet for c in row if isinstance(c.value, str)]
    assert not any(c.data_type == "f" or c.value[:1] in ("=", "+", "-", "@") for c in cells)
    written = {c.value.removeprefix("'") for c in cells}
    held = (
        text for a, b, *_ in found for text in (a, b) if text and text[0] != "'" and not set(text) & {*"\ufffe\uffff"}
    )
    assert set(held) <= written


def test_what_a_cell_cannot_hold_is_counted_and_everything_else_is_shown_as_it_is() -> None:
    joined = "می\u200cخواهم 👩\u200d🔬 soft\u00adhyphen \u200fmark"
    lost = Counter[str]()
    shown = [replace(SHOWN, source=joined, text="a\x0bb\ufffe\r"), replace(SHOWN, position=2, text="x" * 32_768)]
    data = book("xlsx", contents([CampaignRow(NOWHERE, "xsts")], shown), lost)

    sheet = load_workbook(io.BytesIO(data)).worksheets[0]
    assert (sheet["C2"].value, sheet["B2"].value) == (joined, "a b  ")
    assert sheet["B3"].value == "x" * 32_767
    assert lost == {
        "characters that a cell cannot hold: blanks instead": 3,
        "texts that are too long for a cell: cut": 1,
    }


def test_a_sheet_of_more_rows_than_are_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = [replace(SHOWN, position=n) for n in (1, 2)]
    data = book("xlsx", contents([CampaignRow(NOWHERE, "xsts"), *(judged(row, 3) for row in shown)], shown))
    assert len(read(data, shown)) == 2
    monkeypatch.setattr(_xlsx_read, "MOST_ROWS", 2)
    with pytest.raises(Invalid, match="more than 2 rows"):
        read(data, shown)


def test_what_belongs_to_nobody_or_to_another_protocol_is_counted() -> None:
    lost = Counter[str]()
    data = book("xlsx", contents([CampaignRow(NOWHERE, "xsts")], [replace(SHOWN, rater=None)]), lost)
    assert lost == {"tasks that are no rater's yet": 1}
    assert load_workbook(io.BytesIO(data)).sheetnames == ["empty"]
    book("xlsx", contents([CampaignRow(NOWHERE, "mqm")], [SHOWN]), lost)
    assert lost["tasks of mqm: not by da or xsts"] == 1


def tampered(part: str, text: str) -> bytes:
    """A workbook of ours with one part replaced."""
    data, out = book("xlsx", contents([CampaignRow(NOWHERE, "xsts")], [SHOWN])), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            after.writestr(name, text if name == part else before.read(name))
    return out.getvalue()


SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (SHEET, "not xml"),
        (SHEET, '<!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet/>'),
        (SHEET, "<worksheet>" + " " * 9_000_000 + "</worksheet>"),
        ("xl/workbook.xml", "<workbook/>"),
        ("[Content_Types].xml", ""),
    ],
)
def test_files_that_lie_are_refused(part: str, text: str) -> None:
    with pytest.raises(Invalid):
        read(tampered(part, text), [SHOWN])


def test_a_row_that_says_it_is_the_last_of_all_is_not_waited_for() -> None:
    far = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
    row = '<row r="99999999999"><c r="D99999999999"><v>3</v></c></row>'
    with pytest.raises(Invalid, match="no sheet has the columns"):
        read(tampered(SHEET, far.format(row)), [SHOWN])


def test_sheets_that_are_not_ours_are_left_out() -> None:
    found = load_workbook(io.BytesIO(book("xlsx", contents([CampaignRow(NOWHERE, "xsts")], [SHOWN]))))
    found.create_sheet("notes")["A1"] = "mine"
    found.worksheets[0]["D2"] = 4
    out = io.BytesIO()
    found.save(out)
    (one,) = read(out.getvalue(), [SHOWN])
    assert isinstance(one, JudgmentRow)
    assert one.payload == {"protocol": "xsts", "score": 4.0}
    empty = io.BytesIO()
    Workbook().save(empty)
    with pytest.raises(Invalid):
        read(empty.getvalue(), [SHOWN])
