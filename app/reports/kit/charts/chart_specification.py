"""What a chart shows, apart from how it is drawn: the browser draws the same values that matplotlib draws here.

A function that draws SVG declares with `attach_chart_declaration` what its arguments mean. Under `collect_chart_values`
it returns this declaration as JSON instead of a picture, so a report declares each chart once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from functools import wraps
from typing import Any, Literal, ParamSpec

from pydantic_core import from_json, to_json

Drawn = ParamSpec("Drawn")
Target = Mapping[str, str]
"""What a mark is about: `system`, `other` (the second of a pair), `rater` or `document`, each by its key."""
MarkedThing = Literal["system", "rater", "document", ""]

ROW_HEIGHT, AXIS_ROOM, PANEL_HEIGHT, HISTOGRAM_HEIGHT = 24, 64, 300, 120
"""In pixels; pages reserve this space before the chart is drawn."""
CELL_HEIGHT, SLIM_CELL_HEIGHT, FEW_ROWS, LONGEST_LABEL = 28, 15, 30, 18

_as_declaration: ContextVar[bool] = ContextVar("as_declaration", default=False)


@dataclass(frozen=True, slots=True)
class RowChartMark:
    """A value on the line of its row. text: additional information. bar: draw a bar from 0."""

    row: str
    value: float | None
    interval: tuple[float, float] | None = None
    text: str = ""
    series: str = ""
    bar: bool = False
    to: Target = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowChart:
    """Rows from the top, with marks along one axis. lines: values at which a line is drawn."""

    title: str
    axis: str
    marks: Sequence[RowChartMark]
    lines: Sequence[float] = ()
    form: Literal["rows"] = "rows"

    @property
    def panel_heights(self) -> list[int]:
        """The height of each panel, in pixels."""
        return [len({mark.row for mark in self.marks}) * ROW_HEIGHT + AXIS_ROOM]

    @property
    def legend_names(self) -> list[str]:
        """The names in the legend."""
        return list(dict.fromkeys(mark.series for mark in self.marks if mark.series))


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A point; `x` is a number, or the label of a position."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of one series."""

    series: str
    points: Sequence[ChartPoint]


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """One pair of axes."""

    title: str
    curves: Sequence[Curve]
    to: Target = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Series over an axis, in one or more panels. line: a marked height. top: the axis reaches at least this height."""

    title: str
    x: str
    y: str
    panels: Sequence[CurvePanel]
    look: Literal["line", "dots", "bars", "ranks"] = "line"
    line: float | None = None
    top: float | None = None
    form: Literal["curves"] = "curves"

    @property
    def panel_heights(self) -> list[int]:
        """The height of each panel, in pixels."""
        if self.look == "ranks":
            ranks = {point.y for panel in self.panels for curve in panel.curves for point in curve.points}
            return [len(ranks) * ROW_HEIGHT + AXIS_ROOM] * len(self.panels)
        return [HISTOGRAM_HEIGHT if self.look == "bars" else PANEL_HEIGHT] * len(self.panels)

    @property
    def legend_names(self) -> list[str]:
        """The names in the legend."""
        names = list(dict.fromkeys(curve.series for panel in self.panels for curve in panel.curves))
        return names if len(names) > 1 and self.look != "bars" else []


@dataclass(frozen=True, slots=True)
class ChartCell:
    """A cell by the numbers of its row and column.

    share: 0 to 1 of the darkest shade; negative values use the other hue.
    """

    row: int
    column: int
    share: float
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class CellChart:
    """Rows against columns. of_rows, of_columns: what these are, if a cell links to their judgments."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[ChartCell]
    of_rows: MarkedThing = ""
    of_columns: MarkedThing = ""
    row_keys: Sequence[str] = ()
    column_keys: Sequence[str] = ()
    form: Literal["cells"] = "cells"

    @property
    def panel_heights(self) -> list[int]:
        """The height of the panel, in pixels."""
        cell = CELL_HEIGHT if len(self.rows) <= FEW_ROWS else SLIM_CELL_HEIGHT
        labels = min(LONGEST_LABEL, max(map(len, self.columns), default=0)) * 7 + 24
        return [len(self.rows) * cell + labels]

    @property
    def legend_names(self) -> list[str]:
        """The names in the legend: none, because cells have no series."""
        return []


ChartDeclaration = RowChart | CurveChart | CellChart


def attach_chart_declaration(
    declare: Callable[Drawn, ChartDeclaration],
) -> Callable[[Callable[Drawn, bytes]], Callable[Drawn, bytes]]:
    """Return a decorator that attaches to a drawing function what its arguments declare."""

    def decorate(draw: Callable[Drawn, bytes]) -> Callable[Drawn, bytes]:
        @wraps(draw)
        def drawn_or_declared(*args: Drawn.args, **kwargs: Drawn.kwargs) -> bytes:
            if not _as_declaration.get():
                return draw(*args, **kwargs)
            chart = declare(*args, **kwargs)
            shown = {**asdict(chart), "heights": chart.panel_heights, "series": chart.legend_names}
            return to_json(shown, inf_nan_mode="null")

        return drawn_or_declared

    return decorate


def collect_chart_values(draw: Callable[[], bytes]) -> dict[str, Any] | None:
    """Return what a chart shows as plain values; None if it declares nothing, or shows nothing."""
    token = _as_declaration.set(True)
    try:
        made = draw()
    finally:
        _as_declaration.reset(token)
    shown = from_json(made) if made.startswith(b"{") else {}
    return shown if any(shown.get(name) for name in ("marks", "cells", "panels")) else None
