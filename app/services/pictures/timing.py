"""Raters' times or revisions as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, QUIET
from app.reports.kit.charts.sheet import CHARACTER, HEAD, LINE, MARGIN, Sheet, wrapped
from app.stats.timing.timing import in_clock

if TYPE_CHECKING:
    from app.services.timing_report import RevisionsView, TimingView

ROW, PLOT, ROOM = 16.0, 280.0, 120.0
LONGEST_NAME = 26


def rater_bars(view: TimingView | RevisionsView) -> bytes:
    """One bar a rater as SVG: mean seconds of a judgment, or the share of answers whose score changed."""
    title, below, bars = _bars(view)
    names = [canvas.shortened(name, LONGEST_NAME) for name, _, _ in bars]
    left, top = MARGIN + max(map(len, names), default=8) * CHARACTER + 12, HEAD + 10
    width = left + PLOT + ROOM + MARGIN
    bottom = top + max(1, len(bars)) * ROW
    told = wrapped([f"Data version {view.data_version}.", *(f"{w[0].upper()}{w[1:]}." for w in view.warnings)], width)
    most = max((value for _, value, _ in bars), default=0.0) or 1.0
    with canvas.drawing():
        canvas.prepare()
        sheet = Sheet(width, bottom + 20 + len(told) * LINE + MARGIN)
        sheet.heading(title, below)
        sheet.line((left, left), (top, bottom), color=FAINT, thick=0.8)
        for i, (name, (_, value, text)) in enumerate(zip(names, bars, strict=True)):
            y = top + (i + 0.5) * ROW
            long = value / most * PLOT
            sheet.text(left - 8, y, name, ha="right", color=INK)
            sheet.box(left, y - 4.5, long, 9, fill=BLUE)
            sheet.text(left + long + 6, y, text, size=8, color=QUIET)
        sheet.caption(told, bottom + 20)
        return canvas.to_svg(sheet.figure, title=title)


def _bars(view: TimingView | RevisionsView) -> tuple[str, str, Sequence[tuple[str, float, str]]]:
    """Title, what the bars are, and (rater, length, text) of each."""
    from app.services.timing_report import TimingView

    if isinstance(view, TimingView):
        timed = [(one.rater, one.times.mean, one.n) for one in view.raters if one.times]
        bars = [(rater, mean, f"{in_clock(mean)} ({n:,})") for rater, mean, n in timed]
        return f"Time of a judgment in {view.campaign}", "Trimmed mean by rater (judgments with a time)", bars
    rates = [(one.rater, one.revisions.segment_rate or 0.0, one.revisions.segments) for one in view.raters]
    shares = [(rater, rate, f"{100 * rate:.1f} % of {n:,}") for rater, rate, n in rates]
    return f"Revised answers in {view.campaign}", "Share of answers whose score changed", shares
