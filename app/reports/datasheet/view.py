"""The data sheet, as it is stored and shown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.reports.datasheet.heds import SECTIONS
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import HEAD, MARGIN, draw_chart, wrap_sentences
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Cell, Table

UNKNOWN = "unknown: not stored"
WIDE, NARROW = 84, 44
ROW, LEFT, PLOT, ROOM = 20.0, 250.0, 260.0, 90.0


class HedsAnswer(BaseModel):
    """One question of HEDS 3.0. answer: null if the stored data do not give it."""

    model_config = ConfigDict(frozen=True)

    number: str
    section: str
    question: str
    answer: str | None


class ChecklistPoint(BaseModel):
    """One point of the reporting checklist."""

    model_config = ConfigDict(frozen=True)

    key: str
    point: str
    reported: Literal["yes", "no"] = Field(description="Whether the stored data suffice to report it.")
    by: str | None = Field(description="Question of the data sheet, or report, that covers it.")


class DatasheetView(ReportHeader):
    """HEDS 3.0, the checklist and a methods paragraph, filled from what is stored."""

    heds: list[HedsAnswer]
    checklist: list[ChecklistPoint]
    methods: str = Field(description="Methods paragraph for a paper.")
    answered: int
    asked: int


def make_tables(view: DatasheetView) -> Sequence[TableSection]:
    """Make a table per section, then the checklist and the methods paragraph."""
    shown = []
    for section, title in SECTIONS.items():
        lines = [row for one in view.heds if one.section == section for row in _lines(one)]
        table = Table(("No.", "Question", "Answer"), ("left", "left", "left"), tuple(lines))
        shown.append(TableSection(f"HEDS 3.0, {section}: {title}", table, frozenset()))
    points = [(one.point, one.reported, one.by or "–") for one in view.checklist]
    head = ("Point", "Reported", "By")
    shown.append(TableSection("Reporting checklist", Table(head, ("left", "left", "left"), tuple(points)), frozenset()))
    paragraph = tuple((line,) for line in textwrap.wrap(view.methods, WIDE))
    shown.append(TableSection("Methods", Table(("Methods",), ("left",), paragraph), frozenset()))
    return shown


def _lines(answer: HedsAnswer) -> list[tuple[str, str, str]]:
    """Split a question into rows that fit a page."""
    question_lines = textwrap.wrap(answer.question, NARROW)
    answer_lines = textwrap.wrap(answer.answer or UNKNOWN, WIDE)
    height = max(len(question_lines), len(answer_lines))
    question_lines, answer_lines = (
        question_lines + [""] * (height - len(question_lines)),
        answer_lines + [""] * (height - len(answer_lines)),
    )
    return [
        (answer.number if not n else "", *pair) for n, pair in enumerate(zip(question_lines, answer_lines, strict=True))
    ]


CSV = ("instrument", "number", "section", "question", "answer", "campaign")


def make_csv_rows(view: DatasheetView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per question and checklist point."""
    campaign = next(iter(view.campaigns))
    rows: list[tuple[Cell, ...]] = [
        ("HEDS 3.0", one.number, SECTIONS[one.section], one.question, one.answer, campaign) for one in view.heds
    ]
    rows += [("checklist", one.key, None, one.point, one.reported, campaign) for one in view.checklist]
    rows.append(("methods", None, None, None, view.methods, campaign))
    return CSV, rows


def make_caption(view: DatasheetView) -> str:
    """Say how much could be filled in, and from which data."""
    version = next(iter(view.campaigns.values()))
    return (
        f"{view.answered} of {view.asked} questions are answered from the stored data; whoever releases the data "
        f"has to answer the others. Data version {version}, method {view.method_version}."
    )


def _declare_completeness(view: DatasheetView) -> RowChart:
    marks = []
    for section, title in SECTIONS.items():
        questions = [one for one in view.heds if one.section == section]
        answered = sum(one.answer is not None for one in questions)
        marks.append(RowChartMark(f"{section} {title}", answered, text=f"{answered} of {len(questions)}", bar=True))
    return RowChart(f"Data sheet of {next(iter(view.campaigns))}", "questions answered from what is stored", marks)


@attach_chart_declaration(_declare_completeness)
def plot_completeness(view: DatasheetView) -> bytes:
    """Draw one bar per section: how many of its questions the stored data answer."""
    campaign = next(iter(view.campaigns))
    width, top = LEFT + PLOT + ROOM + MARGIN, HEAD + 10
    bottom = top + len(SECTIONS) * ROW
    caption_lines = wrap_sentences([make_caption(view)], width)
    most = max(sum(one.section == section for one in view.heds) for section in SECTIONS)
    with draw_chart(f"Data sheet of {campaign}", width, bottom + 18, caption_lines) as surface:
        surface.add_heading(f"Data sheet of {campaign}", "HEDS 3.0: questions answered from what is stored, of all")
        for n, (section, title) in enumerate(SECTIONS.items()):
            questions = [one for one in view.heds if one.section == section]
            answered = sum(one.answer is not None for one in questions)
            y = top + (n + 0.5) * ROW
            surface.add_text(LEFT - 8, y, canvas.shorten_in_middle(f"{section} {title}", 46), ha="right", size=8.5)
            surface.add_box(LEFT, y - 5, len(questions) / most * PLOT, 10, fill="#ffffff", edge=FAINT)
            surface.add_box(LEFT, y - 5, answered / most * PLOT, 10, fill=BLUE)
            surface.add_text(
                LEFT + len(questions) / most * PLOT + 6, y, f"{answered} of {len(questions)}", size=8, color=QUIET
            )
    return surface.svg
