"""Tables as shaded maps: rows against columns, each cell shaded by its share and empty if there is no value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import FAINT, GROUND, INK, QUIET
from app.reports.kit.charts.chart_specification import CellChart, ChartCell, MarkedThing, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, LINE, MARGIN, DrawingSurface, wrap_sentences

SHADES = ("#f7fbff", "#d6e6f4", "#abd0e6", "#6aaed6", "#3787c0", "#105ba4")
DARK = 4
"""The first shade on which text is light."""
WIDE, HIGH, SLIM, LOW = 36.0, 18.0, 18.0, 12.0
"""Sizes of cells with figures, and of cells in maps that have no room for figures."""
FEW = 16
MOST_COLUMNS, MOST_ROWS = 60, 80
LONGEST_NAME = 26
LEAST_WIDTH = 520.0


@dataclass(frozen=True, slots=True)
class HeatMapCell:
    """One cell. share: of the darkest shade, 0 to 1. text: shown in the cell if there is room."""

    share: float
    text: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A map to draw.

    cells: by row, None if empty. ends: what the lightest and darkest shade stand for. of_rows, of_columns: what these
    are, if their names are keys.
    """

    title: str
    below: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[HeatMapCell | None]]
    ends: tuple[str, str]
    notes: Sequence[str]
    nothing: str
    of_rows: MarkedThing = ""
    of_columns: MarkedThing = ""


def shade_scores(
    rows: Sequence[Sequence[float | None]], *, higher_is_better: bool
) -> tuple[list[list[HeatMapCell | None]], tuple[str, str]]:
    """Return cells of scores, darker for better, and what the lightest and darkest shade stand for."""
    values = [score for row in rows for score in row if score is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    worst, best = (low, high) if higher_is_better else (high, low)
    places = text_formatting.choose_decimals(values)

    def shade(score: float | None) -> HeatMapCell | None:
        if score is None:
            return None
        share = 0.5 if best == worst else (score - worst) / (best - worst)
        return HeatMapCell(share, text_formatting.format_number(score, min(places, 2)))

    ends = (
        f"worst {text_formatting.format_number(worst, places)}",
        f"best {text_formatting.format_number(best, places)}",
    )
    return [[shade(score) for score in row] for row in rows], ends


def _declare_map(heat_map: HeatMap) -> CellChart:
    cells = [
        ChartCell(i, j, min(max(cell.share, 0.0), 1.0), cell.text)
        for i, row in enumerate(heat_map.cells)
        for j, cell in enumerate(row)
        if cell is not None
    ]
    return CellChart(heat_map.title, heat_map.rows, heat_map.columns, cells, heat_map.of_rows, heat_map.of_columns)


@attach_chart_declaration(_declare_map)
def plot_heat_map(heat_map: HeatMap) -> bytes:
    """Draw the map as SVG; of very many rows or columns, only the first are drawn, and the caption says so."""
    rows = [canvas.shorten_in_middle(name, LONGEST_NAME) for name in heat_map.rows[:MOST_ROWS]]
    columns = [canvas.shorten_in_middle(name, LONGEST_NAME) for name in heat_map.columns[:MOST_COLUMNS]]
    wide, high = (WIDE, HIGH) if len(columns) <= FEW else (SLIM, LOW)
    left = MARGIN + max(map(len, rows), default=8) * CHARACTER + 8
    top = HEAD + max(map(len, columns), default=4) * CHARACTER + 12
    bottom = top + max(1, len(rows)) * high
    width = max(left + len(columns) * wide + MARGIN, LEAST_WIDTH)
    caption_lines = wrap_sentences([*_note_truncated(heat_map), *heat_map.notes], width)
    with canvas.drawing_lock():
        canvas.prepare_matplotlib()
        surface = DrawingSurface(width, bottom + 44 + len(caption_lines) * LINE + MARGIN)
        surface.add_heading(heat_map.title, heat_map.below)
        for i, name in enumerate(columns):
            surface.add_text(left + (i + 0.5) * wide, top - 6, name, ha="center", size=7.5, vertical=True)
        for i, name in enumerate(rows):
            surface.add_text(left - 6, top + (i + 0.5) * high, name, ha="right", size=7.5)
            for j, cell in enumerate(heat_map.cells[i][: len(columns)]):
                _cell(surface, cell, (left + j * wide, top + i * high, wide, high))
        if rows:
            _legend(surface, heat_map.ends, bottom + 18)
        else:
            surface.add_text(MARGIN, HEAD + 14, heat_map.nothing, color=QUIET)
        surface.add_caption(caption_lines, bottom + 42)
        return canvas.figure_to_svg(surface.figure, title=heat_map.title)


def _note_truncated(what: HeatMap) -> list[str]:
    if len(what.rows) <= MOST_ROWS and len(what.columns) <= MOST_COLUMNS:
        return []
    return [f"The first {MOST_ROWS} rows and {MOST_COLUMNS} columns; the table has them all."]


def _cell(surface: DrawingSurface, cell: HeatMapCell | None, at: tuple[float, float, float, float]) -> None:
    x, y, wide, high = at
    shade = None if cell is None else min(int(min(max(cell.share, 0.0), 1.0) * len(SHADES)), len(SHADES) - 1)
    surface.add_box(x, y, wide, high, fill=GROUND if shade is None else SHADES[shade], edge=FAINT, thick=0.6)
    if cell is not None and shade is not None and wide == WIDE:
        ink = GROUND if shade >= DARK else INK
        surface.add_text(x + wide / 2, y + high / 2, cell.text, ha="center", size=7, color=ink)


def _legend(surface: DrawingSurface, ends: tuple[str, str], y: float) -> None:
    surface.add_text(MARGIN, y, ends[0], size=7.5, color=QUIET)
    x = MARGIN + len(ends[0]) * CHARACTER * 0.85 + 6
    for shade in SHADES:
        surface.add_box(x, y - 5, 14, 10, fill=shade, edge=FAINT, thick=0.6)
        x += 14
    surface.add_text(x + 6, y, ends[1], size=7.5, color=QUIET)
    surface.add_box(x + len(ends[1]) * CHARACTER * 0.85 + 24, y - 5, 14, 10, fill=GROUND, edge=FAINT, thick=0.6)
    surface.add_text(x + len(ends[1]) * CHARACTER * 0.85 + 44, y, "nothing there", size=7.5, color=QUIET)
