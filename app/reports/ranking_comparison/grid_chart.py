"""Rankings of different systems side by side: one row per system with its rank in each ranking, darker for better."""

from __future__ import annotations

from app.reports.kit import text_formatting
from app.reports.kit.charts.canvas import FAINT, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import CellChart, ChartCell, attach_chart_declaration
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences
from app.reports.ranking.labels import label_system_in_chart
from app.reports.ranking_comparison.bump_chart import list_notes_below_chart, shorten_ranking_name
from app.reports.ranking_comparison.compared_rankings import ComparedRanking, RankingsSideBySide

ROW, STEP, MEAN = 19.0, 58.0, 52.0
NARROWEST = 520.0
# From the best of a ranking to the worst: one hue, so that colour vision is not required; each cell shows the rank.
SHADES = ("#08519c", "#3182bd", "#6baed6", "#bdd7e7", "#eff3ff")
DARK = 2  # number of shades with light text


def _declare_grid(rankings: RankingsSideBySide) -> CellChart:
    cells = []
    for i, system in enumerate(rankings.systems):
        for j, column in enumerate(rankings.columns_with_ranking):
            line, relative = column.find_system_line(system), column.relative_rank(system)
            if line is not None and relative is not None:
                cluster = "" if line.cluster is None else f"cluster {line.cluster}"
                cells.append(ChartCell(i, j, 1 - relative, text_formatting.format_rank(line.rank), cluster))
    names = [label_system_in_chart(rankings.find_first_line_of_system(system)) for system in rankings.systems]
    return CellChart(
        f"Rankings of {rankings.subject}", names, [column.name for column in rankings.columns_with_ranking], cells
    )


@attach_chart_declaration(_declare_grid)
def plot_rank_grid(rankings: RankingsSideBySide) -> bytes:
    """Draw systems by mean relative rank, the best at the top, with rank and cluster in every ranking, as SVG."""
    columns = rankings.columns_with_ranking
    names = {system: label_system_in_chart(rankings.find_first_line_of_system(system)) for system in rankings.systems}
    left = MARGIN + max(map(len, names.values()), default=8) * CHARACTER + 10 + MEAN
    heads = max((len(shorten_ranking_name(column.name)) for column in columns), default=4) * CHARACTER
    top = HEAD + heads * 1.02 + 12
    width = max(NARROWEST, left + STEP * len(columns) + MARGIN)
    caption = wrap_sentences(list_notes_below_chart(rankings), width)
    bottom = top + ROW * len(rankings.systems)
    with draw_chart(f"Rankings of {rankings.subject}", width, bottom + 18, caption) as surface:
        surface.add_heading(
            rankings.subject, "Rank, and cluster in brackets; darker is better; the systems by mean relative rank"
        )
        surface.add_text(left - 8, top - 10, "mean", ha="right", size=8.0, color=QUIET)
        for i, column in enumerate(columns):
            surface.add_text(
                left + (i + 0.5) * STEP,
                top - 8,
                shorten_ranking_name(column.name),
                ha="center",
                vertical=True,
                color=QUIET,
            )
        for row, system in enumerate(rankings.systems):
            y = top + row * ROW
            color = ORANGE if rankings.find_first_line_of_system(system).kind == "human" else INK
            surface.add_text(left - MEAN, y + ROW / 2, names[system], ha="right", color=color)
            mean = f"{rankings.mean_relative_rank[system]:.2f}"
            surface.add_text(left - 8, y + ROW / 2, mean, ha="right", size=8.0, color=QUIET)
            for i, column in enumerate(columns):
                _cell(surface, column, system, left + i * STEP, y)
    return surface.svg


def _cell(surface: DrawingSurface, column: ComparedRanking, system: str, x: float, y: float) -> None:
    """Draw one rank; the cell has no frame if the ranking does not include the system."""
    line, relative = column.find_system_line(system), column.relative_rank(system)
    if line is None or relative is None:
        surface.add_text(x + STEP / 2, y + ROW / 2, "–", ha="center", size=8.0, color=FAINT)
        return
    shade = min(len(SHADES) - 1, int(relative * len(SHADES)))
    surface.add_box(x, y, STEP, ROW, fill=SHADES[shade], edge=GROUND, thick=0.8)
    cluster = "" if line.cluster is None else f" ({line.cluster})"
    ink = GROUND if shade < DARK else INK
    surface.add_text(
        x + STEP / 2,
        y + ROW / 2,
        f"{text_formatting.format_rank(line.rank)}{cluster}",
        ha="center",
        size=8.0,
        color=ink,
    )
