"""A chart with one bar per rater."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, draw_chart, wrap_sentences

ROW, PLOT, ROOM = 16.0, 280.0, 120.0
LONGEST_NAME = 26


def _declare_bars(title: str, subtitle: str, bars: Sequence[tuple[str, float, str]], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    marks = [RowChartMark(name, value, text=text, bar=True, to={"rater": name}) for name, value, text in bars]
    return RowChart(title, subtitle, marks)


@attach_chart_declaration(_declare_bars)
def plot_rater_bars(title: str, subtitle: str, bars: Sequence[tuple[str, float, str]], notes: Sequence[str]) -> bytes:
    """Draw for each bar the rater, its length and the text beside it, as SVG. subtitle: what the bars are."""
    names = [canvas.shorten_in_middle(name, LONGEST_NAME) for name, _, _ in bars]
    left, top = MARGIN + max(map(len, names), default=8) * CHARACTER + 12, HEAD + 10
    width = left + PLOT + ROOM + MARGIN
    bottom = top + max(1, len(bars)) * ROW
    caption_lines = wrap_sentences(notes, width)
    most = max((value for _, value, _ in bars), default=0.0) or 1.0
    with draw_chart(title, width, bottom + 20, caption_lines) as surface:
        surface.add_heading(title, subtitle)
        surface.add_line((left, left), (top, bottom), color=FAINT, thick=0.8)
        for i, (name, (_, value, text)) in enumerate(zip(names, bars, strict=True)):
            y = top + (i + 0.5) * ROW
            long = value / most * PLOT
            surface.add_text(left - 8, y, name, ha="right", color=INK)
            surface.add_box(left, y - 4.5, long, 9, fill=BLUE)
            surface.add_text(left + long + 6, y, text, size=8, color=QUIET)
    return surface.svg
