"""Simulated rates with their bounds, beside the nominal rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from app.reports.kit import text_formatting
from app.reports.kit.charts.canvas import BAND, BLUE, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences

ROW, SCALE, FIGURES = 18.0, 260.0, 170.0


class ChartedRate(Protocol):
    """One rate: what it counts, the nominal value, the simulated one with its bounds, and whether they agree."""

    @property
    def meaning(self) -> str: ...
    @property
    def expected(self) -> float | None: ...
    @property
    def bound(self) -> str: ...
    @property
    def rate(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def kept(self) -> bool | None: ...


def _declare_rates(title: str, groups: Mapping[str, Sequence[ChartedRate]], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    rates = [(heading, rate) for heading, rows in groups.items() for rate in rows]
    marks = [
        RowChartMark(
            f"{head}: {rate.meaning}",
            rate.rate,
            None if rate.low is None or rate.high is None else (rate.low, rate.high),
            series="rate",
        )
        for head, rate in rates
    ]
    marks += [RowChartMark(f"{head}: {rate.meaning}", rate.expected, series="nominal value") for head, rate in rates]
    return RowChart(title, "share", marks)


@attach_chart_declaration(_declare_rates)
def plot_simulated_and_nominal_rates(
    title: str, groups: Mapping[str, Sequence[ChartedRate]], notes: Sequence[str]
) -> bytes:
    """Draw a row per rate from 0 to 1, under headings, as SVG; broken promises are marked by colour and text."""
    rates = [rate for rows in groups.values() for rate in rows]
    left = MARGIN + max((len(rate.meaning) for rate in rates), default=8) * CHARACTER + 12
    width = left + SCALE + FIGURES + MARGIN
    sentences = wrap_sentences(notes, width)
    bottom = HEAD + 6 + len(rates) * ROW + len(groups) * 28
    with draw_chart(title, width, bottom + 18, sentences) as surface:
        surface.add_heading(
            title, "Simulated shares with one-sided bounds at 99 %; the vertical line is the nominal value"
        )
        y = HEAD + 6
        for heading, rows in groups.items():
            surface.add_text(MARGIN, y + 16, heading, bold=True)
            y += 28
            for rate in rows:
                _row(surface, rate, left, y)
                y += ROW
    return surface.svg


def _row(surface: DrawingSurface, rate: ChartedRate, left: float, y: float) -> None:
    middle = y + ROW / 2
    surface.add_text(left - 8, middle, rate.meaning, ha="right")
    surface.add_box(left, y + 4, SCALE, ROW - 8, fill=BAND)
    if rate.rate is None or rate.low is None or rate.high is None:
        surface.add_text(left + SCALE + 8, middle, "no rates to draw", size=8, color=QUIET)
        return
    colour = ORANGE if rate.kept is False else BLUE
    surface.add_box(left + rate.low * SCALE, middle - 1, (rate.high - rate.low) * SCALE, 2, fill=colour)
    surface.add_box(left + rate.rate * SCALE - 3, middle - 3, 6, 6, fill=colour)
    if rate.expected is not None:
        surface.add_box(left + rate.expected * SCALE - 0.6, y + 2, 1.2, ROW - 4, fill=INK)
    promised = "" if rate.expected is None else f" · {rate.bound} {rate.expected:g}"
    broken = " · not met" if rate.kept is False else ""
    figures = f"{text_formatting.format_number(rate.rate, 3)}{promised}{broken}"
    surface.add_text(left + SCALE + 8, middle, figures, size=8, color=INK if broken else QUIET)
