"""A map of how often each system was rated on which documents."""

from __future__ import annotations

from app.reports.card.view import DataCardView, make_caption
from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import FAINT, QUIET
from app.reports.kit.charts.chart_specification import CellChart, ChartCell, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences

ROW, GRID, LONGEST, ROOM = 16.0, 520.0, 26, 84.0
SHADES = ("#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
LEVELS = ("none", "some", "once", "2–3 times", "more")


def _declare_coverage(view: DataCardView) -> CellChart:
    columns, first = [], 1
    for n in view.columns:
        columns.append(str(first) if n == 1 else f"{first}–{first + n - 1}")
        first += n
    most = max((value for line in view.map for value in line), default=0.0) or 1.0
    cells = [
        ChartCell(i, j, value / most, text_formatting.format_number(value, 1), "ratings per output, by document")
        for i, line in enumerate(view.map)
        for j, value in enumerate(line)
        if value
    ]
    return CellChart(f"Data of {next(iter(view.campaigns))}", [one.system for one in view.by_system], columns, cells)


@attach_chart_declaration(_declare_coverage)
def plot_system_document_coverage(view: DataCardView) -> bytes:
    """Draw a row per system and a column per document (or several), shaded by ratings per output, with totals."""
    names = [canvas.shorten_in_middle(one.system, LONGEST) for one in view.by_system]
    left, top = MARGIN + max(map(len, names), default=10) * CHARACTER + 10, HEAD + 12
    width = left + GRID + ROOM + MARGIN
    bottom = top + max(1, len(names)) * ROW
    caption_lines = wrap_sentences(
        [make_caption(view), *(text_formatting.make_sentence(w) for w in view.warnings)], width
    )
    campaign = next(iter(view.campaigns))
    below = f"{text_formatting.pluralize(view.ratings, 'rating')} by {text_formatting.pluralize(view.raters, 'rater')}"
    with draw_chart(f"Data of {campaign}", width, bottom + 52, caption_lines) as surface:
        surface.add_heading(f"Data of {campaign}", f"{below}: ratings per output, by system and document")
        if view.map:
            _grid(surface, view, names, left, top)
            _legend(surface, left, bottom + 30)
        else:
            surface.add_text(MARGIN, top + 8, "nothing is rated yet", color=QUIET)
    return surface.svg


def _grid(surface: DrawingSurface, view: DataCardView, names: list[str], left: float, top: float) -> None:
    wide = GRID / len(view.columns)
    surface.add_text(left + GRID + 8, top - 8, "ratings", size=7.5, color=QUIET)
    for i, (name, line, system) in enumerate(zip(names, view.map, view.by_system, strict=True)):
        y = top + i * ROW
        surface.add_text(left - 8, y + ROW / 2, name, ha="right")
        for n, value in enumerate(line):
            level = _level(value)
            if level:
                surface.add_box(left + n * wide, y + 1, wide, ROW - 2, fill=SHADES[level])
        surface.add_text(left + GRID + 8, y + ROW / 2, f"{system.ratings:,}", size=8, color=QUIET)
    bottom = top + len(names) * ROW
    surface.add_box(left, top, GRID, bottom - top, edge=FAINT, thick=0.8)
    most = max(view.columns)
    what = "one column per document" if most == 1 else f"one column per up to {most} documents"
    surface.add_text(left, bottom + 12, f"{sum(view.columns):,} documents, {what}", size=7.5, color=QUIET)


def _level(value: float) -> int:
    """Return the shade: 0 for none, 1 for less than one rating per output, 2 for one, 3 for up to three, 4 for more."""
    if value <= 0:
        return 0
    if value < 1 - 1e-9:
        return 1
    if value < 2 - 1e-9:
        return 2
    return 3 if value <= 3 + 1e-9 else 4


def _legend(surface: DrawingSurface, left: float, y: float) -> None:
    x = left
    for shade, word in zip(SHADES, LEVELS, strict=True):
        surface.add_box(x, y - 5, 12, 9, fill=shade, edge=FAINT, thick=0.6)
        surface.add_text(x + 17, y, word, size=7.5, color=QUIET)
        x += 24 + len(word) * 5.2 + 12
