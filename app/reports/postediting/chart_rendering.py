"""Drawings of post-edits: rates with intervals, stacked shares, and a curve over the number of references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, FAINT, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
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

ROW, BARS, NUMBERS = 22.0, 360.0, 60.0
NARROWEST = 560.0
LONGEST_NAME = 28
MOST = 60
HEIGHT, STEP = 240.0, 46.0


@dataclass(frozen=True, slots=True)
class RateDotRow:
    """One system. rates: value and interval of each series, None if missing."""

    name: str
    rates: Sequence[tuple[float, tuple[float, float] | None] | None]


@dataclass(frozen=True, slots=True)
class StackedBar:
    """A row of shares that sum to one: first filled, then hatched, the rest empty."""

    name: str
    first: float
    second: float
    note: str


@dataclass(frozen=True, slots=True)
class TERBarAndLinePoint:
    """One position of a curve. bar: the reference alone; line: all references up to it."""

    name: str
    bar: float
    line: float
    strong: bool


def _declare_edit_rates(title: str, subtitle: str, rows: Sequence[RateDotRow], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    names = ("first series", "second series", "third series")
    marks = [
        RowChartMark(row.name, rate[0], rate[1], series=name)
        for row in rows
        for name, rate in zip(names, row.rates, strict=False)
        if rate is not None
    ]
    return RowChart(title, subtitle, marks)


@attach_chart_declaration(_declare_edit_rates)
def plot_rate_dots(title: str, subtitle: str, rows: Sequence[RateDotRow], notes: Sequence[str]) -> bytes:
    """Draw one row per system and one marker per series, with intervals as lines, as SVG."""
    left = MARGIN + max((len(_name(row.name)) for row in rows), default=8) * CHARACTER + 12
    width = max(NARROWEST, left + BARS + NUMBERS + MARGIN)
    top, bottom = HEAD + 22, HEAD + 22 + max(1, len(rows)) * ROW
    sentences = wrap_notes_as_sentences(notes, width)
    with draw_chart(title, width, bottom + 22, sentences) as surface:
        surface.add_heading(title, subtitle)
        if not any(rate for row in rows for rate in row.rates):
            surface.add_text(MARGIN, top + 8, "there is no rate to draw", color=QUIET)
        else:
            _dots(surface, rows, left, top, bottom)
    return surface.svg


def _dots(surface: DrawingSurface, rows: Sequence[RateDotRow], left: float, top: float, bottom: float) -> None:
    ends = [end for row in rows for rate in row.rates if rate for end in (rate[0], *(rate[1] or ()))]
    most = max(*ends, 1.0)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + share * BARS
        surface.add_line((x, x), (top, bottom), color=FAINT, thick=0.7)
        surface.add_text(x, top - 9, text_formatting.format_number(share * most, 0), ha="center", size=7.5, color=QUIET)
    looks = ((BLUE, "o", False), (ORANGE, "D", True), (QUIET, "s", False))
    for n, row in enumerate(rows):
        y = top + (n + 0.5) * ROW
        surface.add_text(left - 8, y, _name(row.name), ha="right")
        for rate, (color, marker, hollow), shift in zip(row.rates, looks, (-5.0, 0.0, 5.0), strict=False):
            if rate is None:
                continue
            if rate[1] is not None:
                surface.add_line(
                    [left + end / most * BARS for end in rate[1]], (y + shift,) * 2, color=color, thick=1.3
                )
            x = left + rate[0] / most * BARS
            surface.add_line((x, x), (y + shift,) * 2, color=color, marker=marker, hollow=hollow)


def _declare_shares(title: str, subtitle: str, rows: Sequence[StackedBar], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    marks = [
        RowChartMark(row.name, share, text=row.note, series=series)
        for row in rows
        for series, share in (("first", row.first), ("second", row.second))
    ]
    return RowChart(title, subtitle, marks)


@attach_chart_declaration(_declare_shares)
def plot_stacked_bars(title: str, subtitle: str, rows: Sequence[StackedBar], notes: Sequence[str]) -> bytes:
    """Draw one row per bar: a filled share, a hatched share, and the rest, as SVG."""
    shown = rows[:MOST]
    left = MARGIN + max((len(_name(row.name)) for row in shown), default=8) * CHARACTER + 12
    width = max(NARROWEST, left + BARS + 150 + MARGIN)
    top = HEAD + 10
    bottom = top + max(1, len(shown)) * ROW
    more = [f"{len(rows) - MOST:,} more rows are not drawn"] if len(rows) > MOST else []
    sentences = wrap_notes_as_sentences([*more, *notes], width)
    with draw_chart(title, width, bottom + 16, sentences) as surface:
        surface.add_heading(title, subtitle)
        if not shown:
            surface.add_text(MARGIN, top + 8, "there is nothing to compare", color=QUIET)
        for n, row in enumerate(shown):
            y = top + n * ROW
            surface.add_text(left - 8, y + ROW / 2, _name(row.name), ha="right")
            surface.add_box(left, y + 4, BARS, ROW - 8, fill=BAND)
            surface.add_box(left, y + 4, BARS * row.first, ROW - 8, fill=BLUE)
            if row.second:
                at, wide = left + BARS * row.first, BARS * row.second
                surface.add_box(at, y + 4, wide, ROW - 8, fill=GROUND, edge=ORANGE, hatch="////")
            surface.add_text(left + BARS + 8, y + ROW / 2, row.note, size=8, color=QUIET)
    return surface.svg


def _declare_references(
    title: str,
    subtitle: str,
    bars: Sequence[TERBarAndLinePoint],
    notes: Sequence[str],  # noqa: ARG001
) -> CurveChart:
    alone = Curve("this reference alone", [ChartPoint(bar.name, bar.bar) for bar in bars])
    together = Curve("all up to it", [ChartPoint(bar.name, bar.line) for bar in bars])
    return CurveChart(title, subtitle, "", [CurvePanel("", [alone, together])], top=0.0)


@attach_chart_declaration(_declare_references)
def plot_ter_by_reference_count(
    title: str, subtitle: str, bars: Sequence[TERBarAndLinePoint], notes: Sequence[str]
) -> bytes:
    """Draw bars for each reference alone, and a line for all references up to it, as SVG."""
    left = MARGIN + 44
    width = max(NARROWEST, left + len(bars) * STEP + MARGIN)
    bottom = HEAD + 20 + HEIGHT
    sentences = wrap_notes_as_sentences(notes, width)
    with draw_chart(title, width, bottom + 40, sentences) as surface:
        surface.add_heading(title, subtitle)
        if bars:
            _steps(surface, bars, left, bottom)
        else:
            surface.add_text(MARGIN, HEAD + 20, "there is no curve to draw", color=QUIET)
    return surface.svg


def _steps(surface: DrawingSurface, bars: Sequence[TERBarAndLinePoint], left: float, bottom: float) -> None:
    most = max(1.0, *(value for step in bars for value in (step.bar, step.line)))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - share * HEIGHT
        surface.add_line((left, left + len(bars) * STEP), (y, y), color=FAINT, thick=0.7)
        surface.add_text(left - 6, y, text_formatting.format_number(share * most, 0), ha="right", size=7.5, color=QUIET)
    xs = [left + (n + 0.5) * STEP for n in range(len(bars))]
    for x, step in zip(xs, bars, strict=True):
        height = step.bar / most * HEIGHT
        fill, edge = (ORANGE, None) if step.strong else (BAND, QUIET)
        surface.add_box(x - 13, bottom - height, 26, height, fill=fill, edge=edge)
        surface.add_text(x, bottom + 12, step.name, ha="center", size=7.5, color=INK if step.strong else QUIET)
        at = bottom - step.line / most * HEIGHT
        surface.add_box(x - 12, at - 16, 24, 11, fill=GROUND)
        surface.add_text(x, at - 10, text_formatting.format_number(step.line, 1), ha="center", size=7.5, color=BLUE)
    ys = [bottom - step.line / most * HEIGHT for step in bars]
    surface.axes.plot(xs, ys, color=BLUE, linewidth=1.6, marker="o", markersize=4.5, zorder=4)


def _name(text: str) -> str:
    return canvas.shorten_in_middle(text, LONGEST_NAME)
