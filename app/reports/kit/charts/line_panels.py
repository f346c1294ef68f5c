"""Conditions as curves in panels side by side: one value at each position of an axis, one curve per condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, LINE, MARGIN, DrawingSurface, wrap_sentences

WIDTH, HEIGHT, LEFT, GAP = 300.0, 190.0, 44.0, 64.0
LOOKS = (
    (BLUE, "o", False, False),
    (ORANGE, "s", False, True),
    (INK, "D", True, False),
    (QUIET, "^", True, True),
    (BLUE, "v", True, True),
    (ORANGE, "P", True, False),
)
"""Colour, marker, hollow, dashed: curves can be distinguished without colour too."""
STEPS = (1, 2, 2.5, 5, 10)
LONGEST_NAME = 30


@dataclass(frozen=True, slots=True)
class PanelSeries:
    """A curve in a panel. values: at each position of the panel's axis, None if there is none."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class LinePanel:
    """A panel. title: what the values are. places: labels of the axis, from the left."""

    title: str
    places: Sequence[str]
    curves: Sequence[PanelSeries]


def _declare_panels(
    title: str,
    subtitle: str,  # noqa: ARG001  (as the picture takes it)
    panels: Sequence[LinePanel],
    notes: Sequence[str],  # noqa: ARG001
    *,
    empty_message: str,  # noqa: ARG001
) -> CurveChart:
    return CurveChart(title, "", "", [_declare_panel(panel) for panel in panels], top=0.0)


def _declare_panel(panel: LinePanel) -> CurvePanel:
    curves = [
        Curve(
            curve.name,
            [ChartPoint(x, y) for x, y in zip(panel.places, curve.values, strict=True) if y is not None],
        )
        for curve in panel.curves
    ]
    return CurvePanel(panel.title, curves)


@attach_chart_declaration(_declare_panels)
def plot_line_panels(
    title: str, subtitle: str, panels: Sequence[LinePanel], notes: Sequence[str], *, empty_message: str
) -> bytes:
    """Draw the panels as SVG, two per row, with a legend that names the curves."""
    names = list(dict.fromkeys(curve.name for one in panels for curve in one.curves))
    rows = -(-len(panels) // 2) if names else 0
    width = MARGIN + 2 * (LEFT + WIDTH) + GAP + MARGIN
    top = HEAD + 12 + 14 * len(names[: len(LOOKS)])
    bottom = top + rows * (HEIGHT + 66)
    lines = wrap_sentences(notes, width)
    with canvas.drawing_lock():
        canvas.prepare_matplotlib()
        surface = DrawingSurface(width, bottom + 16 + len(lines) * LINE + MARGIN)
        surface.add_heading(title, subtitle)
        for i, name in enumerate(names[: len(LOOKS)]):
            _key(surface, i, name)
        for i, panel in enumerate(panels if names else ()):
            left = MARGIN + LEFT + (i % 2) * (WIDTH + LEFT + GAP)
            _panel(surface, panel, names, (left, top + 24 + (i // 2) * (HEIGHT + 66)))
        if not names:
            surface.add_text(MARGIN, HEAD + 8, empty_message, color=QUIET)
        surface.add_caption(lines, bottom + 10)
        return canvas.figure_to_svg(surface.figure, title=title)


def _key(surface: DrawingSurface, i: int, name: str) -> None:
    color, marker, hollow, dashed = LOOKS[i]
    y = HEAD + 8 + 14 * i
    surface.add_line((MARGIN, MARGIN + 24), (y, y), color=color, thick=1.4, dashed=dashed)
    surface.add_line((MARGIN + 12,), (y,), color=color, marker=marker, hollow=hollow)
    surface.add_text(MARGIN + 32, y, canvas.shorten_in_middle(name, LONGEST_NAME), size=8)


def _panel(surface: DrawingSurface, panel: LinePanel, names: Sequence[str], at: tuple[float, float]) -> None:
    left, top = at
    bottom, high = top + HEIGHT, _axis_maximum(panel)
    surface.add_text(left, top - 14, panel.title, size=8.5, bold=True)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - share * HEIGHT
        surface.add_line((left, left + WIDTH), (y, y), color=INK if share == 0 else FAINT, thick=0.8)
        surface.add_text(left - 6, y, f"{share * high:.4g}", ha="right", size=7.5, color=QUIET)
    step = WIDTH / max(len(panel.places), 1)
    every = max(1, -(-max((len(place) for place in panel.places), default=1) * CHARACTER * 0.8 // step))
    for i, place in enumerate(panel.places):
        if i % int(every) == 0:
            surface.add_text(left + (i + 0.5) * step, bottom + 12, place, ha="center", size=7.5, color=QUIET)
    for curve in panel.curves:
        look = names.index(curve.name)
        if look < len(LOOKS):
            _curve(surface, curve, LOOKS[look], (left, bottom, step, HEIGHT / high))


def _curve(
    surface: DrawingSurface,
    curve: PanelSeries,
    look: tuple[str, str, bool, bool],
    at: tuple[float, float, float, float],
) -> None:
    left, bottom, step, scale = at
    color, marker, hollow, dashed = look
    points = [(left + (i + 0.5) * step, bottom - v * scale) for i, v in enumerate(curve.values) if v is not None]
    if not points:
        return
    xs, ys = zip(*points, strict=True)
    surface.add_line(xs, ys, color=color, thick=1.4, dashed=dashed)
    for x, y in points:
        surface.add_line((x,), (y,), color=color, marker=marker, hollow=hollow)


def _axis_maximum(panel: LinePanel) -> float:
    """Return the upper end of the axis: a round number at or above every value."""
    most = max((v for curve in panel.curves for v in curve.values if v is not None), default=0.0)
    if most <= 0:
        return 1.0
    decade = 10.0 ** floor(log10(most))
    return next(float(f"{step * decade:.6g}") for step in STEPS if step * decade >= most * (1 - 1e-9))
