"""Rankings side by side as lines of ranks: which systems change places, and where clusters end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BLUE, FAINT, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import CHARACTER, HEAD, MARGIN, DrawingSurface, draw_chart, wrap_sentences
from app.reports.ranking.labels import label_system_in_chart
from app.reports.ranking.view import RankingView
from app.reports.ranking_comparison.compared_rankings import ComparedRanking, RankingsSideBySide

ROW = 19.0
NARROWEST_STEP, WIDEST_STEP, MOST_ACROSS = 62.0, 120.0, 760.0
LONGEST_NAME = 28
NARROWEST = 520.0
COLOURS = (BLUE, "#1a7f5a", "#7b3f8c", "#6b5b00", "#00707a")  # dark enough for light text


def make_bump_chart_declaration(rankings: RankingsSideBySide) -> CurveChart:
    """Declare one line per system over the rankings, with its position from the top in each."""
    curves = [
        Curve(
            label_system_in_chart(rankings.find_first_line_of_system(system)),
            [
                ChartPoint(
                    rankings.columns_with_ranking[i].name, row + 1, text=f"rank {text_formatting.format_rank(rank)}"
                )
                for i, row, rank in _places(rankings.columns_with_ranking, system)
            ],
        )
        for system in rankings.systems
    ]
    return CurveChart(f"Rankings of {rankings.subject}", "", "rank", [CurvePanel("", curves)], look="ranks")


@attach_chart_declaration(make_bump_chart_declaration)
def plot_bump_chart(rankings: RankingsSideBySide) -> bytes:
    """Draw one column per ranking, the best at the top, and one line per system, as SVG; a bar ends each cluster.

    Systems that change places have strong lines, with different colours for neighbours so that they can be followed;
    human translations are dashed and hollow. All rankings should have the same systems, because names appear only at
    the ends.
    """
    columns = rankings.columns_with_ranking
    most = max((len(column.view.systems) for column in columns if column.view), default=1)
    longest = (
        max(
            (len(label_system_in_chart(rankings.find_first_line_of_system(system))) for system in rankings.systems),
            default=8,
        )
        * CHARACTER
    )
    heads = max((len(shorten_ranking_name(column.name)) for column in columns), default=4) * CHARACTER
    step = min(WIDEST_STEP, max(NARROWEST_STEP, MOST_ACROSS / max(1, len(columns))))
    left, top = MARGIN + longest + 16, HEAD + heads * 1.02 + 12
    width = max(NARROWEST, left + step * max(0, len(columns) - 1) + 16 + longest + MARGIN)
    bottom = top + most * ROW
    caption = wrap_sentences(list_notes_below_chart(rankings), width)
    with draw_chart(f"Rankings of {rankings.subject}", width, bottom + 18, caption) as surface:
        surface.add_heading(rankings.subject, "Ranks, best at the top; bars separate clusters; bold lines change rank")
        xs = [left + i * step for i in range(len(columns))]
        for x, column in zip(xs, columns, strict=True):
            surface.add_text(x, top - 8, shorten_ranking_name(column.name), ha="center", vertical=True, color=QUIET)
            if column.view is not None:
                _cluster_ends(surface, column.view, x, top)
        for n, system in enumerate(rankings.systems):
            _system(surface, system, columns, xs, top, COLOURS[n % len(COLOURS)])
        _names(surface, columns, xs, top)
    return surface.svg


def shorten_ranking_name(text: str) -> str:
    """Shorten the name of a ranking to the space available."""
    return canvas.shorten_in_middle(text, LONGEST_NAME)


def list_notes_below_chart(rankings: RankingsSideBySide) -> list[str]:
    """Return the sentences below rankings side by side."""
    told = [f"{one.name}: {one.why}." for one in rankings.columns if one.why]
    return [*map(text_formatting.make_sentence, rankings.notes), *(f"No ranking by {text}" for text in told)]


def _places(columns: Sequence[ComparedRanking], system: str) -> list[tuple[int, int, float]]:
    """Return a system's places: index of the column, row from 0, rank."""
    places = []
    for i, column in enumerate(columns):
        for row, line in enumerate(column.view.systems if column.view else ()):
            if line.system == system:
                places.append((i, row, line.rank))
    return places


def _system(
    surface: DrawingSurface,
    system: str,
    columns: Sequence[ComparedRanking],
    xs: Sequence[float],
    top: float,
    colour: str,
) -> None:
    """Draw the line of a system, interrupted where a ranking does not include it, and its rank at every column."""
    places = _places(columns, system)
    ranks = [rank for _, _, rank in places]
    moves = len(set(ranks)) > 1
    line = columns[places[0][0]].find_system_line(system) if places else None
    human = line is not None and line.kind == "human"
    color = ORANGE if human else colour if moves else QUIET
    thick = 1.8 if moves else 0.9
    for (i, row, _), (j, next_row, _) in pairwise(places):
        ends = (top + (row + 0.5) * ROW, top + (next_row + 0.5) * ROW)
        if j == i + 1:
            surface.add_line((xs[i], xs[j]), ends, color=color, thick=thick, dashed=human)
    for i, row, rank in places:
        y = top + (row + 0.5) * ROW
        surface.add_box(xs[i] - 8, y - 6, 16, 12, fill=GROUND if human or not moves else color, edge=color, thick=0.8)
        ink = GROUND if moves and not human else INK
        surface.add_text(xs[i], y, text_formatting.format_rank(rank), ha="center", size=7.5, color=ink)


def _cluster_ends(surface: DrawingSurface, view: RankingView, x: float, top: float) -> None:
    for row, (line, following) in enumerate(pairwise(view.systems), 1):
        if line.cluster != following.cluster:
            y = top + row * ROW
            surface.add_line((x - 15, x + 15), (y, y), color=INK, thick=1.4)
    y = top + len(view.systems) * ROW
    surface.add_line((x - 15, x + 15), (y, y), color=FAINT, thick=0.8)


def _names(surface: DrawingSurface, columns: Sequence[ComparedRanking], xs: Sequence[float], top: float) -> None:
    """Write the names at both ends, in the order of the first and of the last ranking."""
    if not columns:
        return
    for column, x, ha in ((columns[0], xs[0] - 14, "right"), (columns[-1], xs[-1] + 14, "left")):
        for row, line in enumerate(column.view.systems if column.view else ()):
            color = ORANGE if line.kind == "human" else INK
            surface.add_text(x, top + (row + 0.5) * ROW, label_system_in_chart(line), ha=ha, color=color)  # type: ignore[arg-type]  # ha: of the two above
