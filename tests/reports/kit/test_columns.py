"""Columns: one list gives the table for people and the columns of the file."""

from __future__ import annotations

from typing import NamedTuple

from app.reports.kit.columns import Column, make_csv_rows_function, make_table_section
from app.reports.kit.report import ReportHeader


class Row(NamedTuple):
    system: str
    mean: float | None
    n: int
    kept: bool | None = None


class Result(ReportHeader):
    recipe: str = "recommended"


COLUMNS: list[Column[Row]] = [
    Column(heading="System", key="system", names=True),
    Column(key="kept"),
    Column(heading="Mean", key="mean", digits=2),
    Column(heading="Scores", key="n", digits=0),
    Column(heading="Twice", value=lambda row: 2 * row.n),
    Column(heading="Said", key="said", value=lambda row: row.n, text=lambda row: f"{row.n} times"),
]
ROWS = [Row("A", -0.625, 1200), Row("B", None, 0, kept=True)]


def test_people_see_what_has_a_heading() -> None:
    shown = make_table_section("Systems", COLUMNS, ROWS)
    assert shown.table.headings == ("System", "Mean", "Scores", "Twice", "Said")
    assert shown.table.alignments == ("left", "right", "right", "left", "left")
    assert shown.table.rows == (("A", "−0.62", "1,200", "2400", "1200 times"), ("B", "–", "0", "0", "0 times"))
    assert shown.names == {0}


def test_the_file_has_what_has_a_key_at_full_precision_and_its_origin_last() -> None:
    result = Result(campaigns={"ende": 3}, data_hash="sha256:0", basis="source")
    headings, rows = make_csv_rows_function(COLUMNS, lambda _: ROWS, ("recipe",))(result)
    assert headings == ("system", "kept", "mean", "n", "said", "campaign", "data_version", "recipe")
    assert rows == [
        ("A", None, -0.625, 1200, 1200, "ende", 3, "recommended"),
        ("B", True, None, 0, 0, "ende", 3, "recommended"),
    ]
