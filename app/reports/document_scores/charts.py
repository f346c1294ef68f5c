"""Document scores against the mean of their segments, and the correlation by length."""

from __future__ import annotations

from app.reports.document_scores.view import DocumentScoresView, make_caption
from app.reports.kit import text_formatting
from app.reports.kit.charts.canvas import BLUE, FAINT, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences

SIDE, LEFT, GAP = 300.0, 56.0, 70.0


def _declare_documents(view: DocumentScoresView) -> CurveChart:
    points = [ChartPoint(mean, score) for mean, score in view.points]
    return CurveChart(
        f"Document scores in {next(iter(view.campaigns))}",
        "mean of the segment scores",
        "document score",
        [CurvePanel("", [Curve("documents", points)])],
        look="dots",
    )


@attach_chart_declaration(_declare_documents)
def plot_score_scatter(view: DocumentScoresView) -> bytes:
    """Draw one dot per document, system and rater; on the dashed line both scores are equal."""
    width = LEFT + SIDE + GAP + SIDE + MARGIN
    bottom = HEAD + 16 + SIDE
    caption_lines = wrap_sentences(
        [make_caption(view), *(text_formatting.make_sentence(w) for w in view.warnings)], width
    )
    campaign = next(iter(view.campaigns))
    with draw_chart(f"Document scores in {campaign}", width, bottom + 50, caption_lines) as surface:
        surface.add_heading(f"Document scores in {campaign}", "Left: documents; right: Pearson's correlation by length")
        if view.points:
            _dots(surface, view, bottom)
            _by_length(surface, view, bottom)
        else:
            surface.add_text(MARGIN, HEAD + 20, "no document has both kinds of score", color=QUIET)
    return surface.svg


def _dots(surface: DrawingSurface, view: DocumentScoresView, bottom: float) -> None:
    values = [value for point in view.points for value in point]
    low, high = min(values), max(values)
    pad = 0.04 * (high - low) or 1.0
    low, high = low - pad, high + pad

    def at(x: float, y: float) -> tuple[float, float]:
        return LEFT + (x - low) / (high - low) * SIDE, bottom - (y - low) / (high - low) * SIDE

    surface.add_box(LEFT, bottom - SIDE, SIDE, SIDE, edge=FAINT)
    surface.add_line((LEFT, LEFT + SIDE), (bottom, bottom - SIDE), color=QUIET, thick=0.8, dashed=True)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        value = low + pad + share * (high - low - 2 * pad)
        x, y = at(value, value)
        surface.add_text(x, bottom + 10, text_formatting.format_number(value, 0), ha="center", size=7.5, color=QUIET)
        surface.add_text(LEFT - 6, y, text_formatting.format_number(value, 0), ha="right", size=7.5, color=QUIET)
    xs, ys = zip(*(at(*point) for point in view.points), strict=True)
    surface.axes.scatter(xs, ys, s=7, color=BLUE, alpha=0.35, linewidths=0, zorder=3)
    surface.add_text(LEFT + SIDE / 2, bottom + 26, "mean of the segment scores", ha="center", size=8, color=QUIET)
    surface.add_text(14, bottom - SIDE / 2, "document score", size=8, color=QUIET, vertical=True)


def _by_length(surface: DrawingSurface, view: DocumentScoresView, bottom: float) -> None:
    by_length = [one for one in view.correlations if one.documents not in {"short", "long"} and one.part == "mean"]
    left, wide = LEFT + SIDE + GAP, SIDE / max(len(by_length), 1)
    for tenths in range(0, 11, 2):
        y = bottom - tenths / 10 * SIDE
        surface.add_line((left, left + SIDE), (y, y), color=FAINT, thick=0.8)
        surface.add_text(left - 6, y, text_formatting.format_number(tenths / 10, 1), ha="right", size=7.5, color=QUIET)
    for i, correlation in enumerate(by_length):
        x = left + (i + 0.5) * wide
        surface.add_text(x, bottom + 10, correlation.documents, ha="center", size=7.5, color=QUIET)
        surface.add_text(x, bottom + 22, f"n {correlation.n:,}", ha="center", size=7, color=QUIET)
        color = ORANGE if correlation.documents == "all" else BLUE
        if correlation.interval is not None:
            ends = [bottom - max(v, 0.0) * SIDE for v in correlation.interval]
            surface.add_line((x, x), ends, color=color, thick=1.4)
        if correlation.pearson is not None:
            y = bottom - max(correlation.pearson, 0.0) * SIDE
            surface.add_line((x, x), (y, y), color=color, marker="o")
            surface.add_text(x + 7, y, text_formatting.format_number(correlation.pearson, 2), size=7.5, color=INK)
    surface.add_text(left + SIDE / 2, bottom + 36, "segments of the document", ha="center", size=8, color=QUIET)
