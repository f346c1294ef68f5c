"""Chart of a plan: the work of each rater, and how many items of each system each rater judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, INK, QUIET
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences

ROW, CELL, BARS, FIGURES = 16.0, 26.0, 170.0, 120.0
LONGEST_NAME, MOST_RATERS, MOST_SYSTEMS = 22, 60, 40
SHADES = ("#ffffff", "#dbe9f6", "#b0d2e9", "#75b3d8", "#3f8ec4", "#0b5fa5")


@dataclass(frozen=True, slots=True)
class RaterLoad:
    """The work that a plan gives to one rater. systems: number of items by system."""

    rater: str
    segments: int
    hours: float
    systems: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PlanChartData:
    """The data of the chart. notes: sentences below it."""

    campaign: str
    heading: str
    raters: tuple[RaterLoad, ...]
    systems: tuple[str, ...]
    notes: tuple[str, ...]


def plot_plan_chart(view: PlanChartData) -> bytes:
    """Draw bars of segments by rater, with a map of rater by system beside them, as SVG."""
    names = [canvas.shorten_in_middle(one.rater, LONGEST_NAME) for one in view.raters]
    left = MARGIN + max(map(len, names), default=6) * CHARACTER + 12
    grid = left + BARS + FIGURES
    shown = [canvas.shorten_in_middle(name, LONGEST_NAME) for name in view.systems]
    head = HEAD + max(map(len, shown), default=4) * CHARACTER * 0.9 + 14
    width = max(grid + len(shown) * CELL + MARGIN, 560.0)
    bottom = head + max(1, len(view.raters)) * ROW
    told = wrap_sentences(view.notes, width)
    with draw_chart(f"Plan of {view.campaign}", width, bottom + 22, told) as surface:
        surface.add_heading(f"Plan of {view.campaign}", view.heading)
        _bars(surface, view, names, left, head)
        _grid(surface, view, shown, grid, head)
    return surface.svg


def _bars(surface: DrawingSurface, view: PlanChartData, names: Sequence[str], left: float, top: float) -> None:
    most = max((one.segments for one in view.raters), default=0) or 1
    surface.add_text(left, top - 10, "Segments and expected hours", size=7.5, color=QUIET)
    for i, (rater, name) in enumerate(zip(view.raters, names, strict=True)):
        y = top + i * ROW
        surface.add_text(left - 8, y + ROW / 2, name, ha="right")
        surface.add_box(left, y + 3, BARS, ROW - 6, fill=BAND)
        surface.add_box(left, y + 3, BARS * rater.segments / most, ROW - 6, fill=BLUE)
        surface.add_text(left + BARS + 8, y + ROW / 2, f"{rater.segments:,} · {rater.hours:.1f} h", size=8, color=QUIET)


def _grid(surface: DrawingSurface, view: PlanChartData, systems: Sequence[str], left: float, top: float) -> None:
    """Draw the items of each system by rater; darker cells have more."""
    most = max((one.systems.get(name, 0) for one in view.raters for name in view.systems), default=0) or 1
    for j, name in enumerate(systems):
        surface.add_text(left + (j + 0.62) * CELL, top - 6, name, size=8, vertical=True, ha="center")
    for i, rater in enumerate(view.raters):
        for j, name in enumerate(view.systems):
            n = rater.systems.get(name, 0)
            shade = 0 if n == 0 else 1 + (len(SHADES) - 2) * n // most
            surface.add_box(left + j * CELL, top + i * ROW, CELL, ROW, fill=SHADES[shade], edge=canvas.FAINT, thick=0.5)
            ink = canvas.GROUND if shade >= len(SHADES) - 2 else INK
            surface.add_text(left + (j + 0.5) * CELL, top + (i + 0.5) * ROW, f"{n}", ha="center", size=7.5, color=ink)
