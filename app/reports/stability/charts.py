"""Charts of stability: SRP against documents and against significant pairs, one line per design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Literal

from app.reports.kit import text_formatting
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import HEAD, LINE, MARGIN, DrawingSurface, draw_chart, wrap_sentences
from app.reports.stability.view import StabilityCurveView, StabilityPointView, StabilityView, StudyDesignView

Picture = Literal["documents", "power"]
GROUPINGS = {"psxs": "pSxS", "system_balanced": "System-balanced", "none": "No grouping"}
NORMALIZED = {
    "none": "no normalization",
    "mean": "mean",
    "center": "centred",
    "error": "error",
    "error_rate": "error rate",
    "z": "z-score",
}
LOOKS = ((BLUE, "o"), (ORANGE, "s"), ("#1a7f5a", "^"), ("#7b3f8c", "D"), ("#6b5b00", "v"), ("#00707a", "P"))
MOST_TOGETHER = len(LOOKS)
WIDE, WIDEST, HIGH, LEFT, BELOW, GAP, ACROSS = 250.0, 500.0, 170.0, 44.0, 44.0, 26.0, 3
VACUOUS = "vacuous"


def _declare_stability(view: StabilityView, picture: Picture = "documents") -> CurveChart:
    panels = _panels(view.curves)
    frame = _Frame.of([curve for panel in panels for _, curve in panel.curves], picture)
    drawn = [
        CurvePanel(
            panel.title,
            [
                Curve(name, [_declare_point(point, frame.x(point)) for point in curve.points])
                for name, curve in panel.curves
            ],
        )
        for panel in panels
    ]
    return CurveChart(_subject(picture), frame.name, "Stable Ranking Probability", drawn, top=1.0)


def _declare_point(point: StabilityPointView, x: float) -> ChartPoint:
    error = point.mc_error or 0.0
    pairs = f"{text_formatting.format_number(point.mean_significant_pairs, 1)} significant pairs"
    return ChartPoint(x, point.srp, point.srp - error, min(1.0, point.srp + error), pairs)


@attach_chart_declaration(_declare_stability)
def plot_stability_curves(view: StabilityView, picture: Picture = "documents") -> bytes:
    """Draw one line per design as SVG: SRP against documents, or against the mean of significant pairs (`power`).

    Bars are one Monte-Carlo standard error; points at which most studies find nothing are hollow and off the line. Up
    to six designs share a panel; more designs get one panel per assignment, with a line per normalization. The names
    include how many pairs the studies find significant, because SRP is never shown alone.
    """
    panels = _panels(view.curves)
    columns = min(ACROSS, len(panels))
    rows, wide = ceil(len(panels) / columns), WIDEST if len(panels) == 1 else WIDE
    names = list(dict.fromkeys(name for panel in panels for name, _ in panel.curves))
    width = max(560.0, MARGIN * 2 + columns * (LEFT + wide) + (columns - 1) * GAP)
    top = HEAD + 12 + LINE * 1.4 * len(names) + 8
    bottom = top + rows * (HIGH + BELOW + 20)
    frame = _Frame.of([curve for panel in panels for _, curve in panel.curves], picture)
    caption_lines = wrap_sentences(_sentences(view), width)
    title = f"Stability of the ranking of {view.campaign}"
    with draw_chart(title, width, bottom + 6, caption_lines) as surface:
        surface.add_heading(title, _subject(picture))
        looks = {name: LOOKS[i % len(LOOKS)] for i, name in enumerate(names)}
        _legend(surface, looks)
        for n, panel in enumerate(panels):
            left = MARGIN + LEFT + (n % columns) * (wide + LEFT + GAP)
            place = _PanelPlace(left, top + (n // columns) * (HIGH + BELOW + 20) + 16, wide)
            _panel(surface, panel, frame, place, looks)
    return surface.svg


def describe_design(design: StudyDesignView) -> str:
    """Describe a design in words."""
    return f"{_assignment(design)}, {NORMALIZED[design.normalize]}"


def _assignment(design: StudyDesignView) -> str:
    balance = "" if design.work_entropy is None else f", entropy {design.work_entropy:g}"
    each = "" if design.ratings_per_item == 1 else f", {design.ratings_per_item} ratings per item"
    return f"{GROUPINGS[design.grouping]}{balance}{each}"


@dataclass(frozen=True, slots=True)
class _Panel:
    """Curves with their names in the legend."""

    title: str
    curves: tuple[tuple[str, StabilityCurveView], ...]


def _panels(curves: Sequence[StabilityCurveView]) -> list[_Panel]:
    drawn = [curve for curve in curves if curve.points]
    if len(drawn) <= MOST_TOGETHER:
        return [
            _Panel("", tuple((f"{describe_design(c.design)}; {_describe_significant_pairs([c])}", c) for c in drawn))
        ]
    curves_by_assignment: dict[str, list[tuple[str, StabilityCurveView]]] = {}
    for curve in drawn:
        curves_by_assignment.setdefault(_assignment(curve.design), []).append(
            (NORMALIZED[curve.design.normalize], curve)
        )
    return [
        _Panel(f"{title}; {_describe_significant_pairs([curve for _, curve in inside])}", tuple(inside))
        for title, inside in curves_by_assignment.items()
    ]


def _describe_significant_pairs(curves: Sequence[StabilityCurveView]) -> str:
    """Describe how many pairs the studies of some curves find significant, from the lowest point to the highest."""
    means = [point.mean_significant_pairs for curve in curves for point in curve.points]
    low, high = (text_formatting.format_number(value, 0) for value in (min(means), max(means)))
    return f"{low} significant pairs" if low == high else f"{low}–{high} significant pairs"


@dataclass(frozen=True, slots=True)
class _Frame:
    """The range of the axes of all panels. x: gives a point's x value."""

    x: Callable[[StabilityPointView], float]
    low: float
    high: float
    floor: float
    name: str

    @classmethod
    def of(cls, curves: Sequence[StabilityCurveView], picture: Picture) -> _Frame:
        points = [point for curve in curves for point in curve.points]
        lowest = min((point.srp - (point.mc_error or 0.0) for point in points), default=0.0)
        of_power = picture == "power"
        x = _pairs if of_power else _documents
        largest = max((x(point) for point in points), default=1.0) or 1.0
        step = _step(largest)
        name = "mean significant pairs per study" if of_power else "documents"
        return cls(x, 0.0, ceil(largest / step) * step, max(0.0, floor(lowest * 20 - 0.2) / 20), name)

    def ticks(self) -> list[float]:
        """The ticks along x."""
        step = _step(self.high)
        return [step * i for i in range(int(self.high / step + 1e-9) + 1)]

    def levels(self) -> list[float]:
        """The ticks along y."""
        step = 0.05 if self.floor >= 0.75 else 0.1 if self.floor >= 0.4 else 0.2
        levels = [round(1.0 - step * i, 2) for i in range(int((1.0 - self.floor) / step + 1e-9) + 1)]
        return levels[::-1]


def _documents(point: StabilityPointView) -> float:
    return float(point.documents)


def _pairs(point: StabilityPointView) -> float:
    return point.mean_significant_pairs


def _step(largest: float) -> float:
    """Return a round step that gives at most six parts.

    >>> _step(30), _step(180), _step(4.0)
    (5.0, 50.0, 1.0)
    """
    for step in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0):
        if largest / step <= 6:
            return step
    return largest / 5


@dataclass(frozen=True, slots=True)
class _PanelPlace:
    """The position of a panel, in points."""

    left: float
    top: float
    wide: float


def _legend(surface: DrawingSurface, looks: dict[str, tuple[str, str]]) -> None:
    for i, (name, (color, marker)) in enumerate(looks.items()):
        y = HEAD + 12 + i * LINE * 1.4
        surface.add_line((MARGIN, MARGIN + 14, MARGIN + 28), (y, y, y), color=color, thick=1.6)
        surface.add_line((MARGIN + 14,), (y,), color=color, marker=marker)
        surface.add_text(MARGIN + 36, y, name, size=8.5)


def _panel(
    surface: DrawingSurface, panel: _Panel, frame: _Frame, at: _PanelPlace, looks: dict[str, tuple[str, str]]
) -> None:
    def across(value: float) -> float:
        return at.left + (value - frame.low) / (frame.high - frame.low) * at.wide

    def up(value: float) -> float:
        return at.top + (1.0 - value) / (1.0 - frame.floor) * HIGH

    _axes(surface, panel.title, frame, at)
    for name, curve in panel.curves:
        color, marker = looks[name]
        informative = [point for point in curve.points if not is_vacuous_point(point)]
        surface.add_line(
            [across(frame.x(p)) for p in informative], [up(p.srp) for p in informative], color=color, thick=1.4
        )
        for point in curve.points:
            x, error = across(frame.x(point)), point.mc_error or 0.0
            ends = (up(min(1.0, point.srp + error)), up(max(frame.floor, point.srp - error)))
            surface.add_line((x, x), ends, color=color, thick=0.9)
            surface.add_line((x,), (up(point.srp),), color=color, marker=marker, hollow=is_vacuous_point(point))


def _axes(surface: DrawingSurface, title: str, frame: _Frame, at: _PanelPlace) -> None:
    bottom, right = at.top + HIGH, at.left + at.wide
    surface.add_text(at.left, at.top - 12, title, size=9, bold=True)
    for level in frame.levels():
        y = at.top + (1.0 - level) / (1.0 - frame.floor) * HIGH
        surface.add_line((at.left, right), (y, y), color=FAINT, thick=0.5)
        surface.add_text(at.left - 6, y, f"{level:.2f}", ha="right", size=7.5, color=QUIET)
    for tick in frame.ticks():
        x = at.left + (tick - frame.low) / (frame.high - frame.low) * at.wide
        surface.add_line((x, x), (bottom, bottom + 4), color=QUIET, thick=0.8)
        surface.add_text(x, bottom + 12, f"{tick:g}", ha="center", size=7.5, color=QUIET)
    surface.add_line((at.left, right), (bottom, bottom), color=INK, thick=0.8)
    surface.add_text((at.left + right) / 2, bottom + 26, frame.name, ha="center", size=8, color=QUIET)


def is_vacuous_point(point: StabilityPointView) -> bool:
    """Whether most studies of a point find nothing."""
    return any(text.startswith(VACUOUS) for text in point.warnings)


def _subject(picture: Picture) -> str:
    if picture == "power":
        return "Stable Ranking Probability against significant pairs per study; up and right is better"
    return "Stable Ranking Probability by number of documents"


def _sentences(view: StabilityView) -> list[str]:
    request = view.request
    drawn = (
        f"{request.studies:,} simulated studies per point, "
        f"{request.studies_per_document_set:,} for each draw of documents"
    )
    tested = f"p ≤ {request.alpha:g} by {request.permutations:,} permutations"
    marks = "bars: one Monte-Carlo standard error; hollow: most studies find no significant pair"
    data = f"{view.documents_available} multiply-rated documents, data version {view.data_version}, seed {view.seed}"
    sentences = [f"{drawn}, {tested}; {marks}. {data}.", *map(text_formatting.make_sentence, view.warnings)]
    return [*sentences, *dict.fromkeys(f"{_assignment(c.design)}: {c.why}." for c in view.curves if c.why)]
