"""Drawings of robustness: shares of changed rankings as bars, and ranks as lines over the factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.reports.kit import text_formatting
from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, FAINT, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    ChartPoint,
    Curve,
    CurveChart,
    CurvePanel,
    RowChart,
    RowChartMark,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import (
    CHARACTER,
    HEAD,
    MARGIN,
    Across,
    DrawingSurface,
    draw_chart,
    wrap_notes_as_sentences,
)

ROW, BARS, FIGURES, STEP = 34.0, 300.0, 190.0, 72.0
LINE_HEIGHT = 19.0
NARROWEST = 560.0
LONGEST_NAME = 32
COLOURS = (BLUE, "#1a7f5a", "#7b3f8c", "#6b5b00", "#00707a")


@dataclass(frozen=True, slots=True)
class RankingChangeBarRow:
    """All changes of one kind. n: rankings that could be compared; why: the reason if there are none."""

    name: str
    n: int
    order: int
    clusters: int
    largest_move: float
    why: str | None = None


@dataclass(frozen=True, slots=True)
class BumpChartColumn:
    """One ranking of a bump chart: systems best first, with the rank and cluster of each."""

    name: str
    systems: Sequence[str]
    ranks: Sequence[float]
    clusters: Sequence[int]


def _declare_changes(title: str, rows: Sequence[RankingChangeBarRow], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    marks = [
        RowChartMark(row.name, count / row.n, text=f"{count:,} of {row.n:,}", series=series)
        for row in rows
        if row.n
        for series, count in (("order", row.order), ("clusters", row.clusters))
    ]
    return RowChart(title, "share of rankings that differ", marks)


@attach_chart_declaration(_declare_changes)
def plot_ranking_change_bars(title: str, rows: Sequence[RankingChangeBarRow], notes: Sequence[str]) -> bytes:
    """Draw one row per kind of change: the share of rankings whose order, or whose clusters, changed; as SVG."""
    left = MARGIN + max((len(row.name) for row in rows), default=8) * CHARACTER + 12
    width = max(NARROWEST, left + BARS + FIGURES + MARGIN)
    sentences = wrap_notes_as_sentences(notes, width)
    top = HEAD + 14
    bottom = top + max(1, len(rows)) * ROW
    with draw_chart(title, width, bottom + 16, sentences) as surface:
        surface.add_heading(title, "Share of rankings that differ in order (upper bar) and in clusters (hatched bar)")
        for i, row in enumerate(rows):
            _bar(surface, row, left, top + i * ROW)
    return surface.svg


def _bar(surface: DrawingSurface, row: RankingChangeBarRow, left: float, y: float) -> None:
    surface.add_text(left - 8, y + ROW / 2, row.name, ha="right", color=INK if row.n else QUIET)
    if not row.n:
        surface.add_text(
            left, y + ROW / 2, canvas.shorten_in_middle(row.why or "no ranking to compare", 70), color=QUIET, size=8
        )
        return
    for n, colour, hatch, at in ((row.order, BLUE, None, 4), (row.clusters, ORANGE, "////", 18)):
        surface.add_box(left, y + at, BARS, 11, fill=BAND)
        fill = colour if hatch is None else GROUND
        surface.add_box(left, y + at, BARS * n / row.n, 11, fill=fill, edge=colour, hatch=hatch)
        surface.add_text(left + BARS + 8, y + at + 5.5, f"{n:,} of {row.n:,}", size=8, color=QUIET)
    if row.largest_move:
        move = f"up to {text_formatting.format_rank(row.largest_move)} rank{'' if row.largest_move == 1 else 's'}"
        surface.add_text(left + BARS + 92, y + ROW / 2, move, size=8, color=QUIET)


def _declare_ranks(title: str, subtitle: str, columns: Sequence[BumpChartColumn], notes: Sequence[str]) -> CurveChart:  # noqa: ARG001
    points: dict[str, list[ChartPoint]] = {}
    for column in columns:
        for place, (system, cluster) in enumerate(zip(column.systems, column.clusters, strict=True), 1):
            points.setdefault(system, []).append(ChartPoint(column.name, place, text=f"cluster {cluster}"))
    curves = [Curve(system, steps) for system, steps in points.items()]
    return CurveChart(title, subtitle, "rank", [CurvePanel("", curves)], look="ranks")


@attach_chart_declaration(_declare_ranks)
def plot_rank_bump_chart(title: str, subtitle: str, columns: Sequence[BumpChartColumn], notes: Sequence[str]) -> bytes:
    """Draw one column per ranking, the best at the top, and one line per system; a bar ends each cluster; as SVG."""
    systems = columns[0].systems if columns else []
    longest = max((len(_name(system)) for system in systems), default=8) * CHARACTER
    left, top = MARGIN + longest + 16, HEAD + 34
    width = max(NARROWEST, left + STEP * max(0, len(columns) - 1) + 16 + longest + MARGIN)
    sentences = wrap_notes_as_sentences(notes, width)
    bottom = top + max(1, len(systems)) * LINE_HEIGHT
    with draw_chart(title, width, bottom + 18, sentences) as surface:
        surface.add_heading(title, f"{subtitle}; bars separate clusters")
        xs = [left + i * STEP for i in range(len(columns))]
        for x, column in zip(xs, columns, strict=True):
            surface.add_text(x, top - 14, column.name, ha="center", size=8, color=QUIET)
            _draw_cluster_ends(surface, column, x, top)
        for n, system in enumerate(systems):
            _line(surface, system, columns, xs, top, COLOURS[n % len(COLOURS)])
        _names(surface, columns, xs, top)
    return surface.svg


def _names(surface: DrawingSurface, columns: Sequence[BumpChartColumn], xs: Sequence[float], top: float) -> None:
    """Write the names at both ends, in the order of the first and of the last ranking."""
    if not columns:
        return
    ends: tuple[tuple[BumpChartColumn, float, Across], ...] = (
        (columns[0], xs[0] - 14, "right"),
        (columns[-1], xs[-1] + 14, "left"),
    )
    for column, x, ha in ends:
        for row, system in enumerate(column.systems):
            surface.add_text(x, top + (row + 0.5) * LINE_HEIGHT, _name(system), ha=ha)


def _line(
    surface: DrawingSurface,
    system: str,
    columns: Sequence[BumpChartColumn],
    xs: Sequence[float],
    top: float,
    colour: str,
) -> None:
    rows = [column.systems.index(system) if system in column.systems else None for column in columns]
    moves = len(set(rows)) > 1
    ink = colour if moves else QUIET
    for (x, row), (other, following) in pairwise(zip(xs, rows, strict=True)):
        if row is not None and following is not None:
            ys = (top + (row + 0.5) * LINE_HEIGHT, top + (following + 0.5) * LINE_HEIGHT)
            surface.add_line((x, other), ys, color=ink, thick=1.8 if moves else 0.9)
    for x, row, column in zip(xs, rows, columns, strict=True):
        if row is not None:
            y = top + (row + 0.5) * LINE_HEIGHT
            surface.add_box(x - 8, y - 6, 16, 12, fill=colour if moves else GROUND, edge=ink, thick=0.8)
            rank = text_formatting.format_rank(column.ranks[row])
            surface.add_text(x, y, rank, ha="center", size=7.5, color=GROUND if moves else INK)


def _draw_cluster_ends(surface: DrawingSurface, column: BumpChartColumn, x: float, top: float) -> None:
    for row, (cluster, following) in enumerate(pairwise(column.clusters), 1):
        if cluster != following:
            surface.add_line((x - 15, x + 15), (top + row * LINE_HEIGHT,) * 2, color=INK, thick=1.4)
    surface.add_line((x - 15, x + 15), (top + len(column.systems) * LINE_HEIGHT,) * 2, color=FAINT, thick=0.8)


def _name(system: str) -> str:
    return canvas.shorten_in_middle(system, LONGEST_NAME)
