"""The gate's chart: the interval of one difference against 0 and the margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit import text_formatting
from app.reports.kit.charts.canvas import BAND, BLUE, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences

WIDTH, AXIS, TALL = 640.0, 150.0, 190.0


@dataclass(frozen=True, slots=True)
class GateChartContent:
    """What is drawn. margin: None if there is none. two_sided: the claim uses both ends. notes: sentences below."""

    title: str
    verdict: str
    holds: bool
    difference: float | None
    low: float | None
    high: float | None
    margin: float | None
    two_sided: bool
    notes: Sequence[str]


def _declare_gate(content: GateChartContent) -> RowChart:
    margin = content.margin or 0.0
    lines = {0.0, -margin, *([margin] if content.two_sided else [])}
    interval = None if content.low is None or content.high is None else (content.low, content.high)
    marks = [RowChartMark("difference", content.difference, interval, content.verdict)]
    return RowChart(
        content.title, "difference; the claim holds if the whole interval is beyond the line", marks, sorted(lines)
    )


@attach_chart_declaration(_declare_gate)
def plot_gate_chart(content: GateChartContent) -> bytes:
    """Draw a line from one bound to the other, with the region in which the claim holds shaded, as SVG."""
    sentences = wrap_sentences(content.notes, WIDTH)
    with draw_chart(content.title, WIDTH, TALL, sentences) as surface:
        surface.add_heading(
            content.title, f"{content.verdict}. The claim holds if the whole interval is in the shaded area"
        )
        if content.low is None or content.high is None or content.difference is None:
            surface.add_text(MARGIN, HEAD + 50, "There is no difference to show.", color=QUIET)
        else:
            _interval(surface, content, content.low, content.difference, content.high)
    return surface.svg


def _interval(surface: DrawingSurface, view: GateChartContent, low: float, middle: float, high: float) -> None:
    margin = view.margin or 0.0
    least, most = min(low, -margin, 0.0), max(high, margin if view.two_sided else 0.0, 0.0)
    room = (most - least) * 0.12 or 1.0
    least, most = least - room, most + room

    def at(value: float) -> float:
        return MARGIN + (value - least) / (most - least) * (WIDTH - 2 * MARGIN)

    end = at(margin) if view.two_sided else at(most)
    surface.add_box(at(-margin), HEAD + 14, end - at(-margin), AXIS - HEAD - 14, fill=BAND)
    surface.add_line((at(least), at(most)), (AXIS, AXIS), color=INK, thick=0.8)
    marks = {0.0: "0", **({-margin: f"−{margin:g}"} if margin else {})}
    if view.two_sided:
        marks[margin] = f"{margin:g}"
    for value, text in marks.items():
        # Lines are drawn below boxes, so anything that must be visible on the shaded region is a box, too.
        surface.add_box(at(value) - 0.5, HEAD + 14, 1.0, AXIS - HEAD - 10, fill=QUIET if value else INK)
        surface.add_text(at(value), AXIS + 14, text, ha="center", size=8, color=QUIET)
    y, colour = HEAD + 60, BLUE if view.holds else ORANGE
    surface.add_box(at(low), y - 1.2, at(high) - at(low), 2.4, fill=colour)
    for value in (low, high):
        surface.add_box(at(value) - 1.2, y - 7, 2.4, 14, fill=colour)
    surface.add_box(at(middle) - 4, y - 4, 8, 8, fill=colour if view.holds else GROUND, edge=colour, thick=1.6)
    places = text_formatting.choose_decimals([low, middle, high])
    for value, up in ((low, False), (middle, True), (high, False)):
        surface.add_text(
            at(value), y - 16 if up else y + 18, text_formatting.format_number(value, places), ha="center", size=8.5
        )
