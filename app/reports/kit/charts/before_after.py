"""Language pairs before and after calibration: the score of each system, and which systems change places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences

ROW, PLOT, FIGURES = 21.0, 330.0, 130.0
MOST, LONGEST_NAME = 60, 34
TICKS = 5
CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class BeforeAfterRow:
    """One line: its position before and after, with an interval and a text on the right."""

    name: str
    before: float | None
    after: float | None
    interval: tuple[float, float] | None
    text: str
    note: str | None = None


def _declare_before_after(title: str, subtitle: str, rows: Sequence[BeforeAfterRow], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    marks = [RowChartMark(row.name, row.before, series="before") for row in rows]
    marks += [RowChartMark(row.name, row.after, row.interval, row.text, "after") for row in rows]
    return RowChart(title, subtitle, marks)


@attach_chart_declaration(_declare_before_after)
def plot_before_after(title: str, subtitle: str, rows: Sequence[BeforeAfterRow], notes: Sequence[str]) -> bytes:
    """Draw per row a hollow mark for before joined to a filled one with its interval for after, as SVG."""
    shown = rows[:MOST]
    names = [canvas.shorten_in_middle(row.name, LONGEST_NAME) for row in shown]
    left = MARGIN + max((len(name) for name in names), default=8) * CHARACTER + 14
    width = left + PLOT + FIGURES + MARGIN
    sentences = [text_formatting.make_sentence(text.rstrip(".")) for text in notes]
    if len(rows) > MOST:
        sentences.append(f"The first {MOST} of {len(rows)}; the table lists all.")
    lines = wrap_sentences(sentences, width)
    top = HEAD + 14
    bottom = top + max(1, len(shown)) * ROW
    low, high = _range(shown)
    with draw_chart(title, width, bottom + 40, lines) as surface:
        surface.add_heading(title, subtitle)
        _axis(surface, (low, high), left, top, bottom)
        for i, (row, name) in enumerate(zip(shown, names, strict=True)):
            y = top + (i + 0.5) * ROW
            surface.add_text(left - 10, y, name, ha="right")
            _row(surface, row, (low, high), left, y)
        if not shown:
            surface.add_text(MARGIN, top + 10, "nothing to draw", color=QUIET)
    return surface.svg


def _range(rows: Sequence[BeforeAfterRow]) -> tuple[float, float]:
    values = [v for row in rows for v in (row.before, row.after, *(row.interval or ())) if v is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    # Values that differ only by rounding errors are drawn at one position.
    pad = 0.05 * (high - low) if high - low > CLOSE * max(1.0, abs(low), abs(high)) else 0.5
    return low - pad, high + pad


def _x(value: float, ends: tuple[float, float], left: float) -> float:
    return left + (value - ends[0]) / (ends[1] - ends[0]) * PLOT


def _axis(surface: DrawingSurface, ends: tuple[float, float], left: float, top: float, bottom: float) -> None:
    step = _step((ends[1] - ends[0]) / TICKS)
    for i in range(ceil(ends[0] / step), floor(ends[1] / step) + 1):
        x = _x(i * step, ends, left)
        surface.add_line((x, x), (top, bottom), color=FAINT, thick=0.6)
        surface.add_text(x, bottom + 10, f"{i * step:.6g}", ha="center", size=7.5, color=QUIET)


def _step(least: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the first that is at least this."""
    decade = 10.0 ** floor(log10(least))
    return next(round(n * decade, 12) for n in (1, 2, 5, 10) if n * decade >= least * (1 - 1e-9))


def _row(surface: DrawingSurface, row: BeforeAfterRow, ends: tuple[float, float], left: float, y: float) -> None:
    if row.before is not None and row.after is not None:
        surface.add_line(
            (_x(row.before, ends, left), _x(row.after, ends, left)), (y, y), color=ORANGE, thick=0.9, dashed=True
        )
    if row.before is not None:
        surface.add_line((_x(row.before, ends, left),), (y,), color=ORANGE, marker="o", hollow=True)
    if row.interval is not None:
        surface.add_line([_x(end, ends, left) for end in row.interval], (y, y), color=BLUE, thick=1.8)
    if row.after is not None:
        surface.add_line((_x(row.after, ends, left),), (y,), color=BLUE, marker="D")
    if row.note is not None:
        surface.add_text(left + 6, y, canvas.shorten_in_middle(row.note, 60), size=7.5, color=QUIET)
    surface.add_text(left + PLOT + 12, y, row.text, size=8, color=INK)
