"""Preferences as bars: of each pair how often the one won, neither, or the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.declaration import RowChart, RowMark, declares_chart
from app.reports.kit.charts.sheet import CHARACTER, HEAD, LINE, MARGIN, ChartSheet, wrap_caption_lines

ROW, BARS = 20.0, 320.0
NARROWEST = 560.0
LONGEST_NAME = 28
MOST = 120


@dataclass(frozen=True, slots=True)
class PairBar:
    """One pair; `better` won at least as often."""

    better: str
    worse: str
    wins: int
    ties: int
    losses: int
    significant: bool


def _declare_preferences(title: str, pairs: Sequence[PairBar], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    marks = [
        RowMark(
            f"{pair.better} – {pair.worse}",
            count / (pair.wins + pair.ties + pair.losses),
            text=f"{count:,}",
            series=name,
        )
        for pair in pairs
        for name, count in (("wins", pair.wins), ("ties", pair.ties), ("losses", pair.losses))
    ]
    return RowChart(title, "share of the comparisons", marks)


@declares_chart(_declare_preferences)
def draw_preference_bars(title: str, pairs: Sequence[PairBar], notes: Sequence[str]) -> bytes:
    """One row a pair, at most MOST of them: wins from the left, losses from the right, ties between; as SVG."""
    shown = pairs[:MOST]
    name = max((len(_name(n)) for pair in shown for n in (pair.better, pair.worse)), default=8) * CHARACTER
    left = MARGIN + name + 12
    width = max(NARROWEST, left + BARS + 12 + name + MARGIN)
    more = [f"{len(pairs) - MOST:,} more pairs are not drawn"] if len(pairs) > MOST else []
    sentences = wrap_caption_lines((*more, *notes), width)
    top = HEAD + 10
    bottom = top + max(1, len(shown)) * ROW
    with canvas.drawing_lock():
        canvas.prepare_matplotlib()
        sheet = ChartSheet(width, bottom + 16 + len(sentences) * LINE + MARGIN)
        sheet.heading(title, "Wins (left, filled), ties, losses (right, hatched); bold: significant")
        for i, pair in enumerate(shown):
            _row(sheet, pair, left, top + i * ROW)
        if not shown:
            sheet.text(left, top + ROW / 2, "no pair to compare", color=QUIET)
        sheet.caption(sentences, bottom + 16)
        return canvas.figure_to_svg(sheet.figure, title=title)


def _row(sheet: ChartSheet, pair: PairBar, left: float, y: float) -> None:
    middle, n = y + ROW / 2, pair.wins + pair.ties + pair.losses
    won, lost = BARS * pair.wins / n, BARS * pair.losses / n
    sheet.text(left - 8, middle, _name(pair.better), ha="right", bold=pair.significant)
    sheet.box(left, y + 3, BARS, ROW - 6, fill=BAND)
    sheet.box(left, y + 3, won, ROW - 6, fill=BLUE)
    if lost:
        sheet.box(left + BARS - lost, y + 3, lost, ROW - 6, fill=GROUND, edge=ORANGE, hatch="////")
    if won > 24:
        sheet.text(left + 5, middle, f"{pair.wins:,}", color=GROUND, size=8)
    if BARS - won - lost > 24:
        sheet.text(left + won + (BARS - won - lost) / 2, middle, f"{pair.ties:,}", ha="center", color=INK, size=8)
    sheet.text(left + BARS + 8, middle, _name(pair.worse))


def _name(system: str) -> str:
    return canvas.shorten_in_middle(system, LONGEST_NAME)
