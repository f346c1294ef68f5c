"""Penalty points of systems as bars, with the acceptable number of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import (
    CHARACTER,
    HEAD,
    MARGIN,
    DrawingSurface,
    draw_chart,
    wrap_notes_as_sentences,
)

PLOT, ROW, FIGURES, LONGEST = 300.0, 18.0, 230.0, 28


@dataclass(frozen=True, slots=True)
class PenaltyRow:
    """One system: its points, the text beside the bar, and whether it failed."""

    name: str
    value: float
    text: str
    failed: bool


def _declare_penalties(
    title: str,
    subtitle: str,
    rows: Sequence[PenaltyRow],
    acceptable: float | None,
    notes: Sequence[str],  # noqa: ARG001  (as the picture takes it)
) -> RowChart:
    marks = [
        RowChartMark(row.name, row.value, text=row.text, bar=True, series="fails" if row.failed else "passes")
        for row in rows
    ]
    return RowChart(title, subtitle, marks, lines=[] if acceptable is None else [acceptable])


@attach_chart_declaration(_declare_penalties)
def plot_penalty_bars(
    title: str, subtitle: str, rows: Sequence[PenaltyRow], acceptable: float | None, notes: Sequence[str]
) -> bytes:
    """Draw one bar per system, hollow if it failed, and a line at the acceptable points if they are known, as SVG."""
    names = [canvas.shorten_in_middle(row.name, LONGEST) for row in rows]
    left, top = MARGIN + max(map(len, names), default=8) * CHARACTER + 10, HEAD + 14
    width, bottom = left + PLOT + FIGURES + MARGIN, top + max(1, len(rows)) * ROW
    sentences = wrap_notes_as_sentences(notes, width)
    most = max([acceptable or 0.0, *(row.value for row in rows)]) or 1.0
    with draw_chart(title, width, bottom + 40, sentences) as surface:
        surface.add_heading(title, f"{subtitle}; fewer are better" + ("; hollow: fails" if acceptable else ""))
        reach = most
        if rows:
            reach = _axis(surface, left, top, bottom, most, acceptable)
        else:
            surface.add_text(MARGIN, top + 8, "nothing is judged yet", color=QUIET)
        for i, (row, name) in enumerate(zip(rows, names, strict=True)):
            y = top + (i + 0.5) * ROW
            color = ORANGE if row.failed else BLUE
            surface.add_text(left - 8, y, name, ha="right")
            fill, long = GROUND if row.failed else color, row.value / reach * PLOT
            surface.add_box(left, y - 4.5, max(long, 1.0), 9, fill=fill, edge=color, thick=1.3)
            surface.add_text(left + PLOT + 12, y, row.text, size=8, color=INK)
    return surface.svg


def _axis(
    surface: DrawingSurface, left: float, top: float, bottom: float, most: float, acceptable: float | None
) -> float:
    """Draw the axis from 0 to `most` or slightly more, and return its end."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(nbins=5).tick_values(0.0, most)
    reach = float(ticks[-1])
    for tick in map(float, ticks):
        x = left + tick / reach * PLOT
        surface.add_line((x, x), (top - 2, bottom), color=FAINT if tick else INK, thick=0.8)
        surface.add_text(x, bottom + 10, f"{tick:g}", ha="center", size=7.5, color=QUIET)
    if acceptable is not None:
        x = left + acceptable / reach * PLOT
        # Lines are drawn below boxes, and this one must be visible on a bar.
        surface.add_box(x - 0.75, top - 4, 1.5, bottom - top + 6, fill=INK)
        surface.add_text(x, bottom + 24, f"acceptable: {acceptable:g}", ha="center", size=7.5, color=INK)
    return reach
