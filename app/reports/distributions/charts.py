"""Histograms of raters' scores on the same units, one below the other on one axis."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.distributions.view import RaterScoreSpread, ScoreDistributionsView, SystemScoreSpread, make_caption
from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences

HEIGHT, GAP, PLOT, FIGURES = 34.0, 8.0, 360.0, 130.0
MOST = 60
LONGEST_NAME = 26


def plot_rater_histograms(view: ScoreDistributionsView) -> bytes:
    """Draw one histogram per rater, of units that another rater also rated."""
    return _histograms(view, view.raters, [one.rater for one in view.raters], "rater")


def plot_system_histograms(view: ScoreDistributionsView) -> bytes:
    """Draw one histogram per system, of all its ratings."""
    return _histograms(view, view.systems, [one.system for one in view.systems], "system")


def _declare_histograms(
    view: ScoreDistributionsView, lines: Sequence[RaterScoreSpread | SystemScoreSpread], keys: list[str], what: str
) -> CurveChart:
    panels = [
        CurvePanel(
            f"{key}: mean {text_formatting.format_number(line.mean, 2)}, n {line.n:,}",
            [Curve(key, [ChartPoint(name, share) for name, share in zip(view.bins, line.shares, strict=True)])],
            to={what: key},
        )
        for line, key in zip(lines[:MOST], keys[:MOST], strict=True)
    ]
    return CurveChart(f"Scores by {what}", "score", "share", panels, look="bars")


@attach_chart_declaration(_declare_histograms)
def _histograms(
    view: ScoreDistributionsView, lines: Sequence[RaterScoreSpread | SystemScoreSpread], keys: list[str], what: str
) -> bytes:
    shown, names = lines[:MOST], [canvas.shorten_in_middle(key, LONGEST_NAME) for key in keys[:MOST]]
    left = MARGIN + max((len(name) for name in names), default=8) * CHARACTER + 12
    top = HEAD + 10
    bottom = top + max(1, len(shown)) * (HEIGHT + GAP)
    width = left + PLOT + FIGURES + MARGIN
    notes = [make_caption(view), *(text_formatting.make_sentence(w) for w in view.warnings)]
    if len(lines) > MOST:
        notes.append(f"The first {MOST} of {len(lines)}; the table lists all.")
    caption_lines = wrap_sentences(notes, width)
    campaign = next(iter(view.campaigns))
    with draw_chart(f"Scores by {what} in {campaign}", width, bottom + 34, caption_lines) as surface:
        surface.add_heading(
            f"Scores by {what} in {campaign}", "Share of the ratings in each bin, all on the same scale"
        )
        highest = max((share for one in shown for share in one.shares), default=1.0) or 1.0
        for i, (line, name) in enumerate(zip(shown, names, strict=True)):
            y = top + i * (HEIGHT + GAP)
            surface.add_text(left - 8, y + HEIGHT - 6, name, ha="right", size=8)
            _bars(surface, line.shares, highest, (left, y + HEIGHT), BLUE if what == "rater" else ORANGE)
            text = f"mean {text_formatting.format_number(line.mean, 2)}, n {line.n:,}"
            surface.add_text(left + PLOT + 10, y + HEIGHT - 6, text, size=8, color=QUIET)
        if not shown:
            surface.add_text(MARGIN, top + 10, "nothing to draw", color=QUIET)
        _labels(surface, view.bins, left, bottom + 6, discrete=view.discrete)
    return surface.svg


def _bars(surface: DrawingSurface, shares: list[float], highest: float, at: tuple[float, float], color: str) -> None:
    x, y = at
    wide = PLOT / max(len(shares), 1)
    surface.add_line((x, x + PLOT), (y, y), color=FAINT, thick=0.8)
    for i, share in enumerate(shares):
        tall = share / highest * HEIGHT
        if tall > 0:
            surface.add_box(x + i * wide + 0.5, y - tall, wide - 1, tall, fill=color)


def _labels(surface: DrawingSurface, bins: list[str], left: float, y: float, *, discrete: bool) -> None:
    """Label the middle of each bin if a bin is a single score, else the start of every fifth bin."""
    wide = PLOT / max(len(bins), 1)
    for i, label in enumerate(bins):
        if discrete:
            surface.add_text(left + (i + 0.5) * wide, y, label, ha="center", size=7.5, color=QUIET)
        elif i % 5 == 0:
            surface.add_text(left + i * wide, y, label.split(" to ")[0], ha="center", size=7.5, color=INK)
    if not discrete and bins:
        end = bins[-1].split(" to ")[-1]
        surface.add_text(left + PLOT, y, end, ha="right" if " " in end else "center", size=7.5, color=INK)
