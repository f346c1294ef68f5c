"""The pairwise matrix of a ranking: p-values above the diagonal, differences below it, a frame around each cluster."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from app.reports.kit import text_formatting
from app.reports.kit.charts.canvas import BAND, FAINT, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import CellChart, ChartCell, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import (
    CHARACTER,
    HEAD,
    MARGIN,
    DrawingSurface,
    draw_chart,
    wrap_sentences,
)
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking.labels import label_system_in_chart
from app.reports.ranking.view import PairLine, RankingView

LARGEST_CELL, SMALLEST_CELL, SMALLEST_WITH_TEXT = 34.0, 9.0, 22.0
MOST_ACROSS = 1000.0  # width of the cells in points: figures fit for up to 45 systems, and readers can zoom in
NARROWEST = 560.0
LEGEND = 40.0
# From “could well be chance” to “hardly”: one hue, increasingly dark, so that colour vision is not required.
SHADES = ((1e-3, "#08306b"), (1e-2, "#2b6cb0"), (None, "#6baed6"), (0.2, "#d6e6f4"), (1.1, "#f7fafd"))
REVERSED, UNTESTED = "#f0b27a", "#ffffff"


@dataclass(frozen=True, slots=True)
class MatrixGrid:
    """The positions of the cells; lengths in points."""

    left: float
    top: float
    cell: float
    n: int

    @property
    def bottom(self) -> float:
        """The bottom of the last row."""
        return self.top + self.n * self.cell

    def cell_corner(self, row: int, column: int) -> tuple[float, float]:
        """Return the top left corner of a cell."""
        return self.left + column * self.cell, self.top + row * self.cell


def _declare_pairs(view: RankingView) -> CellChart:
    """Declare p-values above the diagonal and differences below it, as in the picture; darker for smaller p."""
    place = {line.system: i for i, line in enumerate(view.systems)}
    digits = text_formatting.choose_decimals(pair.difference for pair in view.pairs)
    cells = []
    for pair in view.pairs:
        row, column = place[pair.better], place[pair.worse]
        p_value = pair.p_value if pair.p_adjusted is None or not _is_adjusted(view) else pair.p_adjusted
        share = PAIR_SHARES[-1][1] if p_value is None else next(s for most, s in PAIR_SHARES if p_value <= most)
        difference = text_formatting.format_number(pair.difference, digits)
        told = f"p {text_formatting.format_p_value(p_value)}" if p_value is not None else "not tested"
        about = f"difference {difference}, {told}, {'significant' if pair.significant else 'not significant'}"
        figure = "–" if p_value is None else text_formatting.format_p_value(p_value)
        cells += [
            ChartCell(row, column, share, figure, about),
            ChartCell(column, row, share if pair.significant else 0.0, difference, about),
        ]
    names = [label_system_in_chart(line) for line in view.systems]
    keys = [line.system for line in view.systems]
    return CellChart(f"Pairs by {view.recipe.name}", names, names, cells, "system", "system", keys, keys)


PAIR_SHARES = ((1e-3, 1.0), (1e-2, 0.8), (0.05, 0.5), (0.2, 0.25), (1.1, 0.0))
"""The shade of a p-value up to each bound."""


@attach_chart_declaration(_declare_pairs)
def plot_pair_matrix(view: RankingView) -> bytes:
    """Draw the pairs of a ranking as a matrix, with systems by rank in rows and columns, as SVG.

    Above the diagonal is the p-value that decides (adjusted if there is an adjustment), darker for smaller values;
    below it is the difference. Significant values are also bold, so colour vision is not required.
    """
    names = [label_system_in_chart(line) for line in view.systems]
    longest = max((len(name) for name in names), default=8) * CHARACTER
    n = len(names)
    cell = min(LARGEST_CELL, max(SMALLEST_CELL, MOST_ACROSS / max(n, 1)))
    grid = MatrixGrid(left=MARGIN + 28 + longest, top=HEAD + longest * 0.94 + 8, cell=cell, n=n)
    width = max(NARROWEST, grid.left + n * cell + MARGIN)
    caption = wrap_sentences(_sentences(view), width)
    svg_title = f"Pairs of {ranking_captions.make_ranking_title(view)} by {view.recipe.name}"
    with draw_chart(svg_title, width, grid.bottom + 22 + LEGEND, caption) as surface:
        surface.add_heading(
            f"{ranking_captions.make_ranking_title(view)}: {view.recipe.name}, pairs",
            _caption_text(view, figures=cell >= SMALLEST_WITH_TEXT),
        )
        _names(surface, view, names, grid)
        _cells(surface, view, grid)
        _clusters(surface, view, grid)
        _legend(surface, view, grid)
    return surface.svg


def _caption_text(view: RankingView, *, figures: bool) -> str:
    which = "adjusted p" if _is_adjusted(view) else "p"
    if not figures:
        return (
            f"Above the diagonal {which} of the row against the column; there is no room for the figures, so "
            "see the table"
        )
    return f"Above the diagonal {which} of the row against the column, below it the difference; bold: significant"


def _is_adjusted(view: RankingView) -> bool:
    return view.recipe.adjust != "none" and any(pair.p_adjusted is not None for pair in view.pairs)


def _sentences(view: RankingView) -> list[str]:
    sentences = [ranking_captions.make_caption(view)]
    if view.warnings:
        sentences.append(f"{text_formatting.pluralize(len(view.warnings), 'warning')}: {'; '.join(view.warnings)}.")
    return sentences


def _names(surface: DrawingSurface, view: RankingView, names: list[str], grid: MatrixGrid) -> None:
    size = 9.0 if grid.cell >= 12 else 7.0
    for i, (line, name) in enumerate(zip(view.systems, names, strict=True)):
        x, y = grid.cell_corner(i, i)
        surface.add_text(
            MARGIN + 18, y + grid.cell / 2, text_formatting.format_rank(line.rank), ha="right", color=QUIET, size=size
        )
        color = ORANGE if line.kind == "human" else INK
        surface.add_text(grid.left - 6, y + grid.cell / 2, name, ha="right", size=size, color=color)
        surface.add_text(x + grid.cell / 2, grid.top - 5, name, ha="center", size=size, vertical=True, color=color)


def _cells(surface: DrawingSurface, view: RankingView, grid: MatrixGrid) -> None:
    place = {line.system: i for i, line in enumerate(view.systems)}
    digits = text_formatting.choose_decimals(pair.difference for pair in view.pairs)
    for pair in view.pairs:
        row, column = place[pair.better], place[pair.worse]
        x, y = grid.cell_corner(row, column)
        fill = _shade(pair, view)
        edge, hatch = (GROUND, None) if pair.testable else (FAINT, "////")
        surface.add_box(x, y, grid.cell, grid.cell, fill=fill, edge=edge, thick=0.6, hatch=hatch)
        u, v = grid.cell_corner(column, row)
        if grid.cell >= SMALLEST_WITH_TEXT:
            surface.add_box(u, v, grid.cell, grid.cell, fill=BAND, edge=GROUND, thick=0.6)
            _figures(surface, pair, view, (x, y), (u, v), grid.cell, digits)
    for i in range(grid.n):
        x, y = grid.cell_corner(i, i)
        surface.add_box(x, y, grid.cell, grid.cell, fill=FAINT, edge=GROUND, thick=0.6)


def _figures(
    surface: DrawingSurface,
    pair: PairLine,
    view: RankingView,
    above: tuple[float, float],
    below: tuple[float, float],
    cell: float,
    digits: int,
) -> None:
    decided = pair.significant or pair.significant_reverse
    size = 7.5 if cell >= 28 else 6.0
    half = cell / 2
    ink = GROUND if _shade(pair, view) in {SHADES[0][1], SHADES[1][1]} else INK
    if pair.testable:
        surface.add_text(
            above[0] + half, above[1] + half, _format_p(_p(pair, view)), ha="center", size=size, color=ink, bold=decided
        )
    difference = text_formatting.format_number(pair.difference, digits)
    surface.add_text(below[0] + half, below[1] + half, difference, ha="center", size=size, bold=decided, color=QUIET)


def _p(pair: PairLine, view: RankingView) -> float | None:
    return pair.p_adjusted if _is_adjusted(view) and pair.p_adjusted is not None else pair.p_value


def _format_p(p: float | None) -> str:
    """Format a p-value so that it fits a cell.

    >>> _format_p(0.0004), _format_p(0.0421), _format_p(1.0), _format_p(None)
    ('<.001', '.042', '1', '–')
    """
    if p is None:
        return "–"
    if p < 0.001:
        return "<.001"
    text = f"{p:.3f}"
    return "1" if text == "1.000" else text.lstrip("0")


def _shade(pair: PairLine, view: RankingView) -> str:
    if pair.significant_reverse:
        return REVERSED
    p = _p(pair, view)
    if not pair.testable or p is None:
        return UNTESTED
    if pair.significant:
        return next((color for bound, color in SHADES[:2] if bound is not None and p <= bound), SHADES[2][1])
    return SHADES[3][1] if p <= (SHADES[3][0] or 0) else SHADES[4][1]


def _clusters(surface: DrawingSurface, view: RankingView, grid: MatrixGrid) -> None:
    """Draw a frame around the pairs of each cluster, in the order of ranks, including human translations."""
    start = 0
    for cluster, group in groupby(view.systems, key=lambda line: line.cluster):
        n = len(list(group))
        if cluster is not None:
            x, y = grid.cell_corner(start, start)
            surface.add_box(x, y, n * grid.cell, n * grid.cell, edge=INK, thick=1.6)
        start += n


def _legend(surface: DrawingSurface, view: RankingView, grid: MatrixGrid) -> None:
    alpha = f"{view.recipe.alpha:g}"
    relation = "≤" if view.recipe.inclusive else "<"
    parts = [
        (SHADES[0][1], "p ≤ .001"),
        (SHADES[1][1], "≤ .01"),
        (SHADES[2][1], f"{relation} {alpha}, significant"),
        (SHADES[3][1], "not significant, p ≤ .2"),
        (SHADES[4][1], "p > .2"),
        (REVERSED, "significant in the other direction"),
    ]
    x, y = MARGIN, grid.bottom + 18
    for color, text in parts:
        wide = 16 + len(text) * 4.4 + 12
        if x + wide > surface.width:
            x, y = MARGIN, y + 14
        surface.add_box(x, y - 5, 10, 10, fill=color, edge=FAINT, thick=0.6)
        surface.add_text(x + 15, y, text, size=7.5, color=QUIET)
        x += wide
    if any(line.cluster is not None for line in view.systems):
        if x + 100 > surface.width:
            x, y = MARGIN, y + 14
        surface.add_box(x, y - 5, 10, 10, edge=INK, thick=1.6)
        surface.add_text(x + 15, y, "a cluster", size=7.5, color=QUIET)
