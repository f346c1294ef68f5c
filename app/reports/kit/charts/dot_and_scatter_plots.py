"""Correlations as dots between −1 and 1, and as scatter plots of the correlated values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
    RowChart,
    RowChartMark,
    Target,
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

ROW, WIDE = 24.0, 360.0
NARROWEST = 560.0
LONGEST_NAME = 40
SIDE, GAP, ACROSS, MOST_PANELS = 150.0, 34.0, 4, 24
MOST_ROWS = 80


@dataclass(frozen=True, slots=True)
class DotPlotRow:
    """Values of one row, with one that represents them all; None if there is none.

    whose: a label of each value, if the labels differ. to: what the row is about.
    """

    name: str
    values: Sequence[float]
    mean: float | None
    whose: Sequence[str] = ()
    to: Target = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScatterPanel:
    """One scatter plot with its correlation."""

    name: str
    r: float | None
    points: Sequence[tuple[float, float]]


def _declare_dots(
    title: str,
    subtitle: str,
    rows: Sequence[DotPlotRow],
    notes: Sequence[str],  # noqa: ARG001
    *,
    axis_limits: tuple[float, float] = (-1.0, 1.0),
) -> RowChart:
    values = [
        RowChartMark(row.name, value, series=row.whose[n] if row.whose else "each", to=row.to)
        for row in rows
        for n, value in enumerate(row.values)
    ]
    means = [RowChartMark(row.name, row.mean, series="mean", to=row.to) for row in rows if row.mean is not None]
    return RowChart(title, subtitle, [*values, *means], lines=[0.0] if axis_limits[0] < 0 else [])


@attach_chart_declaration(_declare_dots)
def plot_dot_rows(
    title: str,
    subtitle: str,
    rows: Sequence[DotPlotRow],
    notes: Sequence[str],
    *,
    axis_limits: tuple[float, float] = (-1.0, 1.0),
) -> bytes:
    """Draw one row each, with dots between the axis limits and a bar at the mean, as SVG."""
    shown = rows[:MOST_ROWS]
    left = MARGIN + max((len(_name(row.name)) for row in shown), default=8) * CHARACTER + 12
    width = max(NARROWEST, left + WIDE + 60 + MARGIN)
    top = HEAD + 24
    bottom = top + max(1, len(shown)) * ROW
    more = [f"{len(rows) - MOST_ROWS:,} more rows are not drawn"] if len(rows) > MOST_ROWS else []
    sentences = wrap_notes_as_sentences([*more, *notes], width)
    with draw_chart(title, width, bottom + 18, sentences) as surface:
        surface.add_heading(title, subtitle)
        if not any(row.values for row in shown):
            surface.add_text(MARGIN, top + 4, "nothing to draw", color=QUIET)
        else:
            _scale(surface, left, top, bottom, axis_limits)
            for n, row in enumerate(shown):
                _row(surface, row, left, top + (n + 0.5) * ROW, axis_limits)
    return surface.svg


def _scale(surface: DrawingSurface, left: float, top: float, bottom: float, ends: tuple[float, float]) -> None:
    low, high = ends
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, value = left + share * WIDE, low + share * (high - low)
        surface.add_line((x, x), (top, bottom), color=QUIET if value == 0 else FAINT, thick=0.8)
        surface.add_text(x, top - 9, text_formatting.format_number(value, 2), ha="center", size=7.5, color=QUIET)


def _row(surface: DrawingSurface, row: DotPlotRow, left: float, y: float, ends: tuple[float, float]) -> None:
    low, high = ends

    def at(value: float) -> float:
        return left + (min(max(value, low), high) - low) / (high - low) * WIDE

    surface.add_text(left - 8, y, _name(row.name), ha="right")
    xs = [at(value) for value in row.values]
    if xs:
        surface.axes.scatter(xs, [y] * len(xs), s=18, color=BLUE, alpha=0.5, linewidths=0, zorder=3)
    if row.mean is not None:
        surface.add_box(at(row.mean) - 1.5, y - 8, 3, 16, fill=ORANGE)
        surface.add_text(left + WIDE + 10, y, text_formatting.format_number(row.mean, 3), size=8)


def _declare_scatters(title: str, subtitle: str, panels: Sequence[ScatterPanel], notes: Sequence[str]) -> CurveChart:  # noqa: ARG001
    drawn = [
        CurvePanel(
            f"{panel.name}, r {text_formatting.format_number(panel.r, 2)}",
            [Curve(panel.name, [ChartPoint(x, y) for x, y in panel.points])],
        )
        for panel in panels[:MOST_PANELS]
    ]
    return CurveChart(title, subtitle, "", drawn, look="dots")


@attach_chart_declaration(_declare_scatters)
def plot_scatter_panels(title: str, subtitle: str, panels: Sequence[ScatterPanel], notes: Sequence[str]) -> bytes:
    """Draw a small scatter plot for each of at most MOST_PANELS panels, all on the same scales, as SVG."""
    shown = panels[:MOST_PANELS]
    across = max(1, min(ACROSS, len(shown)))
    width = max(NARROWEST, MARGIN + 30 + across * (SIDE + GAP) + MARGIN)
    deep = -(-max(1, len(shown)) // across)
    bottom = HEAD + 10 + deep * (SIDE + GAP + 10)
    more = [f"{len(panels) - MOST_PANELS:,} more systems are not drawn"] if len(panels) > MOST_PANELS else []
    sentences = wrap_notes_as_sentences([*more, *notes], width)
    with draw_chart(title, width, bottom + 8, sentences) as surface:
        surface.add_heading(title, subtitle)
        points = [point for panel in shown for point in panel.points]
        if not points:
            surface.add_text(MARGIN, HEAD + 20, "nothing to draw", color=QUIET)
        for n, panel in enumerate(shown if points else ()):
            x = MARGIN + 30 + (n % across) * (SIDE + GAP)
            y = HEAD + 24 + (n // across) * (SIDE + GAP + 10)
            _panel(surface, panel, (x, y), _line_ends(points))
    return surface.svg


def _line_ends(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], tuple[float, float]]:
    xs, ys = zip(*points, strict=True)
    return (min(xs), max(xs)), (min(ys), max(ys))


def _panel(
    surface: DrawingSurface,
    panel: ScatterPanel,
    corner: tuple[float, float],
    ends: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    (x, y), ((left, right), (low, high)) = corner, ends
    wide, tall = right - left or 1.0, high - low or 1.0
    surface.add_box(x, y, SIDE, SIDE, edge=FAINT)
    label = f"{canvas.shorten_in_middle(panel.name, 18)}, r {text_formatting.format_number(panel.r, 2)}"
    surface.add_text(x, y - 8, label, size=8, color=INK)
    xs = [x + 4 + (point[0] - left) / wide * (SIDE - 8) for point in panel.points]
    ys = [y + SIDE - 4 - (point[1] - low) / tall * (SIDE - 8) for point in panel.points]
    surface.axes.scatter(xs, ys, s=6, color=BLUE, alpha=0.4, linewidths=0, zorder=3)
    for value, at in ((left, x), (right, x + SIDE)):
        surface.add_text(at, y + SIDE + 9, text_formatting.format_number(value, 0), ha="center", size=7, color=QUIET)
    for value, at in ((low, y + SIDE), (high, y)):
        surface.add_text(x - 4, at, text_formatting.format_number(value, 1), ha="right", size=7, color=QUIET)


def _name(text: str) -> str:
    return canvas.shorten_in_middle(text, LONGEST_NAME)
