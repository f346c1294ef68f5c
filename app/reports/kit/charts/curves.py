"""Probabilities and other values from 0 to 1 against an amount of work: a line per design, with intervals if known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit.charts.canvas import BLUE, FAINT, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import (
    HEAD,
    LINE,
    MARGIN,
    DrawingSurface,
    draw_chart,
    wrap_notes_as_sentences,
)

WIDE, HIGH, LEFT = 480.0, 210.0, 44.0
LOOKS = ((BLUE, "o"), (ORANGE, "s"), ("#1a7f5a", "^"), ("#7b3f8c", "D"), ("#6b5b00", "v"), ("#00707a", "P"))
MOST = len(LOOKS)


@dataclass(frozen=True, slots=True)
class LinePoint:
    """A point of a line. low and high: its interval, if known."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class LineSeries:
    """A line with its name."""

    name: str
    steps: tuple[LinePoint, ...]


def _declare_lines(
    title: str,
    subtitle: str,
    x_label: str,
    lines: Sequence[LineSeries],
    notes: Sequence[str],  # noqa: ARG001  (as the picture takes it)
    *,
    dashed_line_at: float | None = None,
    y_max: float = 1.0,
) -> CurveChart:
    curves = [Curve(line.name, [ChartPoint(p.x, p.y, p.low, p.high) for p in line.steps]) for line in lines]
    return CurveChart(title, x_label, subtitle, [CurvePanel("", curves)], line=dashed_line_at, top=y_max)


@attach_chart_declaration(_declare_lines)
def plot_line_chart(
    title: str,
    subtitle: str,
    x_label: str,
    lines: Sequence[LineSeries],
    notes: Sequence[str],
    *,
    dashed_line_at: float | None = None,
    y_max: float = 1.0,
) -> bytes:
    """Draw lines over an axis from 0, with heights from 0 to `y_max`, as SVG.

    dashed_line_at: a height drawn as a dashed line. Bars at the points are intervals. At most six lines are drawn; a
    note says so.
    """
    shown = list(lines[:MOST])
    note = [f"The first {MOST} of {len(lines)} lines are drawn."] if len(lines) > MOST else []
    width = MARGIN * 2 + LEFT + WIDE
    sentences = wrap_notes_as_sentences((*note, *notes), width)
    top = HEAD + 12 + LINE * 1.4 * len(shown) + 8
    bottom = top + HIGH
    right = max((step.x for line in shown for step in line.steps), default=1.0) or 1.0
    with draw_chart(title, width, bottom + 42, sentences) as surface:
        surface.add_heading(title, subtitle)
        _axes(surface, bottom, (right, y_max), x_label)
        if dashed_line_at is not None:
            y = bottom - HIGH * dashed_line_at / y_max
            surface.add_line((MARGIN + LEFT, MARGIN + LEFT + WIDE), (y, y), color=QUIET, thick=0.9, dashed=True)
        for n, (line, (colour, marker)) in enumerate(zip(shown, LOOKS, strict=False)):
            surface.add_line([MARGIN + 8], [HEAD + 12 + n * LINE * 1.4], color=colour, marker=marker)
            surface.add_text(MARGIN + 20, HEAD + 12 + n * LINE * 1.4, line.name, size=8.5)
            _draw(surface, line, (bottom, right, HIGH / y_max), colour, marker)
    return surface.svg


def _axes(surface: DrawingSurface, bottom: float, ends: tuple[float, float], across: str) -> None:
    right, highest = ends
    left = MARGIN + LEFT
    rise = 0.2 if highest == 1 else _step(highest)
    for nth in range(int(highest / rise * 1.0001) + 1):
        y = bottom - HIGH * nth * rise / highest
        surface.add_line((left, left + WIDE), (y, y), color=FAINT, thick=0.6)
        surface.add_text(
            left - 6, y, f"{nth * rise:.1f}" if highest == 1 else f"{nth * rise:g}", ha="right", size=8, color=QUIET
        )
    step = _step(right)
    at = 0.0
    while at <= right * 1.0001:
        x = left + WIDE * at / right
        surface.add_line((x, x), (bottom, bottom + 4), color=QUIET, thick=0.8)
        surface.add_text(x, bottom + 12, f"{at:g}", ha="center", size=8, color=QUIET)
        at += step
    surface.add_text(left + WIDE, bottom + 26, across, ha="right", size=8.5, color=QUIET)


def _step(right: float) -> float:
    """Return a round distance between ticks, which gives at most eight of them."""
    for step in (1.0, 2.0, 5.0, 10.0, 20.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0):
        if right / step <= 8:
            return step
    return right / 8


def _draw(
    surface: DrawingSurface, line: LineSeries, frame: tuple[float, float, float], colour: str, marker: str
) -> None:
    bottom, right, high = frame
    left = MARGIN + LEFT
    xs = [left + WIDE * step.x / right for step in line.steps]
    for x, step in zip(xs, line.steps, strict=True):
        if step.low is not None and step.high is not None:
            surface.add_line((x, x), (bottom - high * step.low, bottom - high * step.high), color=colour, thick=0.9)
    surface.add_line(xs, [bottom - high * step.y for step in line.steps], color=colour, thick=1.6, marker=marker)
