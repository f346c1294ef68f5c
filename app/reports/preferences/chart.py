"""Preferences as bars: how often each system of a pair won, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import RowChart, RowChartMark, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import (
    CHARACTER,
    HEAD,
    MARGIN,
    DrawingSurface,
    draw_chart,
    wrap_notes_as_sentences,
)

ROW, BARS = 20.0, 320.0
NARROWEST = 560.0
LONGEST_NAME = 28
MOST = 120


@dataclass(frozen=True, slots=True)
class PreferenceBar:
    """One pair; `better` won at least as often as the other."""

    better: str
    worse: str
    wins: int
    ties: int
    losses: int
    significant: bool


def _declare_preferences(title: str, pairs: Sequence[PreferenceBar], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    marks = [
        RowChartMark(
            f"{pair.better} – {pair.worse}",
            count / (pair.wins + pair.ties + pair.losses),
            text=f"{count:,}",
            series=name,
        )
        for pair in pairs
        for name, count in (("wins", pair.wins), ("ties", pair.ties), ("losses", pair.losses))
    ]
    return RowChart(title, "share of the comparisons", marks)


@attach_chart_declaration(_declare_preferences)
def plot_preference_bars(title: str, pairs: Sequence[PreferenceBar], notes: Sequence[str]) -> bytes:
    """Draw one row per pair, at most MOST: wins from the left, losses from the right, ties between; as SVG."""
    shown = pairs[:MOST]
    name = max((len(_name(n)) for pair in shown for n in (pair.better, pair.worse)), default=8) * CHARACTER
    left = MARGIN + name + 12
    width = max(NARROWEST, left + BARS + 12 + name + MARGIN)
    more = [f"{len(pairs) - MOST:,} more pairs are not drawn"] if len(pairs) > MOST else []
    sentences = wrap_notes_as_sentences((*more, *notes), width)
    top = HEAD + 10
    bottom = top + max(1, len(shown)) * ROW
    with draw_chart(title, width, bottom + 16, sentences) as surface:
        surface.add_heading(title, "Wins (left, filled), ties, losses (right, hatched); bold: significant")
        for i, pair in enumerate(shown):
            _row(surface, pair, left, top + i * ROW)
        if not shown:
            surface.add_text(left, top + ROW / 2, "no pair to compare", color=QUIET)
    return surface.svg


def _row(surface: DrawingSurface, pair: PreferenceBar, left: float, y: float) -> None:
    middle, n = y + ROW / 2, pair.wins + pair.ties + pair.losses
    won, lost = BARS * pair.wins / n, BARS * pair.losses / n
    surface.add_text(left - 8, middle, _name(pair.better), ha="right", bold=pair.significant)
    surface.add_box(left, y + 3, BARS, ROW - 6, fill=BAND)
    surface.add_box(left, y + 3, won, ROW - 6, fill=BLUE)
    if lost:
        surface.add_box(left + BARS - lost, y + 3, lost, ROW - 6, fill=GROUND, edge=ORANGE, hatch="////")
    if won > 24:
        surface.add_text(left + 5, middle, f"{pair.wins:,}", color=GROUND, size=8)
    if BARS - won - lost > 24:
        surface.add_text(left + won + (BARS - won - lost) / 2, middle, f"{pair.ties:,}", ha="center", color=INK, size=8)
    surface.add_text(left + BARS + 8, middle, _name(pair.worse))


def _name(system: str) -> str:
    return canvas.shorten_in_middle(system, LONGEST_NAME)
