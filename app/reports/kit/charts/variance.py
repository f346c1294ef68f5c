"""Variance components: bars of variance, raters' severities with intervals, and a map of raters by systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    CellChart,
    ChartCell,
    RowChart,
    RowChartMark,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import (
    CHARACTER,
    HEAD,
    MARGIN,
    DrawingSurface,
    draw_chart,
    wrap_notes_as_sentences,
)

ROW, BARS, FIGURES, CELL = 18.0, 300.0, 130.0, 34.0
NARROWEST, LONGEST, MOST_ROWS, MOST_COLUMNS = 560.0, 28, 80, 40
LOWER = ("#ffffff", "#dbe9f6", "#b0d2e9", "#75b3d8", "#0b5fa5")
UPPER = ("#ffffff", "#fbe6cf", "#f3c796", "#e39a4f", "#b35806")

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class VarianceBar:
    """One component. share: of the variance of a single rating."""

    name: str
    variance: float
    share: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class RaterSeverityMark:
    """The severity of one rater."""

    name: str
    value: float
    interval: Interval


def _declare_variance(title: str, bars: Sequence[VarianceBar], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    marks = [RowChartMark(bar.name, bar.variance, bar.interval, text=f"{bar.share:.1%}", bar=True) for bar in bars]
    return RowChart(title, "variance, in squares of the unit", marks)


@attach_chart_declaration(_declare_variance)
def plot_variance_bars(title: str, bars: Sequence[VarianceBar], notes: Sequence[str]) -> bytes:
    """Draw one bar per component, with its interval as a line, as SVG."""
    left = MARGIN + max((len(bar.name) for bar in bars), default=8) * CHARACTER + 12
    width = max(NARROWEST, left + BARS + FIGURES + MARGIN)
    most = max([bar.variance for bar in bars] + [bar.interval[1] for bar in bars if bar.interval], default=0.0) or 1.0
    with _draw_rows(title, width, len(bars), notes) as surface:
        surface.add_heading(title, "Variance by source, in squares of the unit; lines are 95 % intervals")
        for i, bar in enumerate(bars):
            y = HEAD + 12 + i * ROW
            surface.add_text(left - 8, y + ROW / 2, bar.name, ha="right")
            surface.add_box(left, y + 3, BARS, ROW - 6, fill=BAND)
            surface.add_box(left, y + 3, BARS * bar.variance / most, ROW - 6, fill=BLUE)
            if bar.interval is not None:
                low, high = (left + BARS * value / most for value in bar.interval)
                surface.add_box(low, y + ROW / 2 - 2, high - low, 4, fill=ORANGE, edge=canvas.GROUND, thick=0.8)
            places = text_formatting.choose_decimals([most / 10])
            label = f"{text_formatting.format_number(bar.variance, places)} · {bar.share:.1%}"
            surface.add_text(left + BARS + 8, y + ROW / 2, label, size=8, color=QUIET)
    return surface.svg


def _declare_intervals(title: str, subtitle: str, marks: Sequence[RaterSeverityMark], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    rows = [RowChartMark(mark.name, mark.value, mark.interval, to={"rater": mark.name}) for mark in marks]
    return RowChart(title, subtitle, rows, lines=[0.0])


@attach_chart_declaration(_declare_intervals)
def plot_caterpillar(title: str, subtitle: str, marks: Sequence[RaterSeverityMark], notes: Sequence[str]) -> bytes:
    """Draw one line per rater with the 95 % interval, lowest first, as SVG; of many raters, only the ends are drawn."""
    shown, more = _choose_extreme_raters(marks)
    left = MARGIN + max((len(_name(mark.name)) for mark in shown), default=8) * CHARACTER + 12
    width = max(NARROWEST, left + BARS + FIGURES + MARGIN)
    reach = max((abs(end) for mark in shown for end in mark.interval), default=0.0) or 1.0
    middle = left + BARS / 2
    with _draw_rows(title, width, len(shown), [*more, *notes]) as surface:
        surface.add_heading(title, f"{subtitle}; 95 % intervals")
        surface.add_line((middle, middle), (HEAD + 10, HEAD + 14 + len(shown) * ROW), color=FAINT)
        for i, mark in enumerate(shown):
            y = HEAD + 12 + (i + 0.5) * ROW
            excludes_zero = mark.interval[0] > 0 or mark.interval[1] < 0
            colour = INK if not excludes_zero else ORANGE if mark.value > 0 else BLUE
            surface.add_text(left - 8, y, _name(mark.name), ha="right")
            surface.add_line(
                [middle + BARS / 2 * end / reach for end in mark.interval], (y, y), color=colour, thick=1.4
            )
            surface.add_line(
                [middle + BARS / 2 * mark.value / reach], [y], color=colour, marker="o", hollow=not excludes_zero
            )
            label = text_formatting.format_number(mark.value, text_formatting.choose_decimals([reach]))
            surface.add_text(left + BARS + 8, y, label, size=8, color=QUIET)
    return surface.svg


def _declare_rater_by_system(
    title: str,
    subtitle: str,  # noqa: ARG001  (as the picture takes it)
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], float],
    notes: Sequence[str],  # noqa: ARG001
) -> CellChart:
    most = max((abs(value) for value in cells.values()), default=0.0) or 1.0
    places = text_formatting.choose_decimals([10 * most])
    drawn = [
        ChartCell(i, j, cells[row, column] / most, text_formatting.format_number(cells[row, column], places))
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
        if (row, column) in cells
    ]
    return CellChart(title, rows, columns, drawn, of_rows="rater", of_columns="system")


@attach_chart_declaration(_declare_rater_by_system)
def plot_rater_system_heat_map(
    title: str,
    subtitle: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], float],
    notes: Sequence[str],
) -> bytes:
    """Draw raters by systems: blue below 0, orange above, with the figure in each cell, as SVG."""
    some, others = list(rows[:MOST_ROWS]), list(columns[:MOST_COLUMNS])
    cut = len(rows) > MOST_ROWS or len(columns) > MOST_COLUMNS
    left = MARGIN + max((len(_name(row)) for row in some), default=8) * CHARACTER + 12
    above = max((len(_name(column)) for column in others), default=4) * CHARACTER * 0.9 + 12
    width = max(NARROWEST, left + len(others) * CELL + MARGIN)
    most = max((abs(value) for value in cells.values()), default=0.0) or 1.0
    places = text_formatting.choose_decimals([10 * most])
    note = [f"The first {MOST_ROWS} raters and {MOST_COLUMNS} systems are drawn."] if cut else []
    with _draw_rows(title, width, len(some), [*note, *notes], above) as surface:
        surface.add_heading(title, f"{subtitle}, beyond severity")
        for j, column in enumerate(others):
            surface.add_text(left + (j + 0.6) * CELL, HEAD + above, _name(column), ha="center", size=8, vertical=True)
        for i, row in enumerate(some):
            y = HEAD + above + 12 + i * ROW
            surface.add_text(left - 8, y + ROW / 2, _name(row), ha="right")
            for j, column in enumerate(others):
                value = cells.get((row, column))
                if value is not None:
                    _cell(surface, left + j * CELL, y, value / most, text_formatting.format_number(value, places))
    return surface.svg


def _cell(surface: DrawingSurface, x: float, y: float, part: float, text: str) -> None:
    shades = UPPER if part > 0 else LOWER
    shade = min(len(shades) - 1, round(abs(part) * (len(shades) - 1)))
    surface.add_box(x, y, CELL, ROW, fill=shades[shade], edge=FAINT, thick=0.5)
    ink = canvas.GROUND if shade == len(shades) - 1 else INK
    surface.add_text(x + CELL / 2, y + ROW / 2, text, ha="center", size=7.5, color=ink)


def _draw_rows(
    title: str, width: float, rows: int, notes: Sequence[str], above: float = 0.0
) -> AbstractContextManager[DrawingSurface]:
    """Draw a chart with this number of rows."""
    bottom = HEAD + 12 + above + max(1, rows) * ROW + 18
    return draw_chart(title, width, bottom, wrap_notes_as_sentences(notes, width))


def _choose_extreme_raters(marks: Sequence[RaterSeverityMark]) -> tuple[list[RaterSeverityMark], list[str]]:
    if len(marks) <= MOST_ROWS:
        return list(marks), []
    half = MOST_ROWS // 2
    return [*marks[:half], *marks[-half:]], [f"The {half} lowest and the {half} highest of {len(marks):,} are drawn."]


def _name(text: str) -> str:
    return canvas.shorten_in_middle(text, LONGEST)


def _declare_replication(
    title: str,
    subtitle: str,
    rows: Sequence[tuple[str, float, float]],
    notes: Sequence[str],  # noqa: ARG001
) -> RowChart:
    marks = [RowChartMark(name, same, series="same direction") for name, same, _ in rows]
    marks += [RowChartMark(name, again, series="significant") for name, _, again in rows]
    return RowChart(title, subtitle, marks)


@attach_chart_declaration(_declare_replication)
def plot_replication_bars(
    title: str, subtitle: str, rows: Sequence[tuple[str, float, float]], notes: Sequence[str]
) -> bytes:
    """Draw two bars per row, from 0 to 1: same direction again (pale), significant again (dark); as SVG."""
    shown = list(rows[:MOST_ROWS])
    more = [f"The first {MOST_ROWS} of {len(rows):,} pairs are drawn."] if len(rows) > MOST_ROWS else []
    left = MARGIN + max((len(canvas.shorten_in_middle(row[0], 44)) for row in shown), default=8) * CHARACTER + 12
    width = max(NARROWEST, left + BARS + FIGURES + MARGIN)
    with _draw_rows(title, width, len(shown), [*more, *notes]) as surface:
        surface.add_heading(title, f"{subtitle}: significant (dark), same direction (pale)")
        for i, (name, same, again) in enumerate(shown):
            y = HEAD + 12 + i * ROW
            surface.add_text(left - 8, y + ROW / 2, canvas.shorten_in_middle(name, 44), ha="right")
            surface.add_box(left, y + 3, BARS, ROW - 6, fill=BAND)
            surface.add_box(left, y + 3, BARS * same, ROW - 6, fill=LOWER[2])
            surface.add_box(left, y + 6, BARS * again, ROW - 12, fill=BLUE)
            label = f"{text_formatting.format_number(again, 2)} · {text_formatting.format_number(same, 2)}"
            surface.add_text(left + BARS + 8, y + ROW / 2, label, size=8, color=QUIET)
    return surface.svg
