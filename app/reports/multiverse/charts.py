"""Charts of a multiverse: a matrix of the claims that hold in every analysis, and bars of the claims by choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.kit.charts import canvas
from app.reports.kit.charts.canvas import BAND, BLUE, FAINT, GROUND, INK, ORANGE, QUIET
from app.reports.kit.charts.chart_specification import (
    CellChart,
    ChartCell,
    RowChart,
    RowChartMark,
    attach_chart_declaration,
)
from app.reports.kit.charts.drawing_surface import (
    CHARACTER,
    HEAD,
    LINE,
    MARGIN,
    DrawingSurface,
    draw_chart,
    wrap_sentences,
)

CELL, ROW, BARS = 40.0, 17.0, 300.0
NARROWEST = 560.0
LONGEST_NAME = 30
SHADES = ("#ffffff", "#dbe9f6", "#b0d2e9", "#75b3d8", "#3f8ec4", "#0b5fa5")


@dataclass(frozen=True, slots=True)
class ClaimSharesOfPair:
    """For one pair, the share of universes that claim the first or the second to be better; None if untested."""

    first: str
    second: str
    first_better: float | None
    second_better: float | None


@dataclass(frozen=True, slots=True)
class AnalysisChoiceBar:
    """One choice: the number of universes that make it, and the share of pairs about which they claim something."""

    dimension: str
    choice: str
    n: int
    claimed: float | None


def _declare_shares(
    title: str,
    systems: Sequence[str],
    pairs: Sequence[ClaimSharesOfPair],
    notes: Sequence[str],  # noqa: ARG001
) -> CellChart:
    shares, place = _both_ways(pairs), {system: i for i, system in enumerate(systems)}
    cells = [
        ChartCell(place[first], place[second], share, f"{100 * share:.0f}", f"{100 * share:.1f} % of universes")
        for (first, second), share in shares.items()
        if share is not None and first in place and second in place
    ]
    return CellChart(title, systems, systems, cells, "system", "system")


@attach_chart_declaration(_declare_shares)
def plot_claim_shares(
    title: str, systems: Sequence[str], pairs: Sequence[ClaimSharesOfPair], notes: Sequence[str]
) -> bytes:
    """Draw percentages of universes in which the row beats the column, as SVG; pairs claimed both ways are framed."""
    names = [canvas.shorten_in_middle(system, LONGEST_NAME) for system in systems]
    longest = max(map(len, names), default=8) * CHARACTER
    left, top = MARGIN + longest + 10, HEAD + longest * 0.95 + 12
    width = max(NARROWEST, left + len(systems) * CELL + MARGIN)
    sentences = wrap_sentences(notes, width)
    bottom = top + max(1, len(systems)) * CELL
    shares = _both_ways(pairs)
    with canvas.drawing_lock():
        canvas.prepare_matplotlib()
        surface = DrawingSurface(width, bottom + 18 + len(sentences) * LINE + MARGIN)
        below = (
            "Percentage of universes in which the row is significantly better than the column; framed: claimed "
            "both ways"
        )
        surface.add_heading(title, below)
        for i, name in enumerate(names):
            surface.add_text(left - 8, top + (i + 0.5) * CELL, name, ha="right")
            surface.add_text(left + (i + 0.62) * CELL, top - 6, name, vertical=True, ha="center")
        for i, row in enumerate(systems):
            for j, column in enumerate(systems):
                if i != j:
                    turned = shares.get((column, row))
                    _cell(surface, left + j * CELL, top + i * CELL, shares.get((row, column)), turned)
        surface.add_caption(sentences, bottom + 18)
        return canvas.figure_to_svg(surface.figure, title=title)


def _both_ways(pairs: Sequence[ClaimSharesOfPair]) -> dict[tuple[str, str], float | None]:
    shares = {(pair.first, pair.second): pair.first_better for pair in pairs}
    return shares | {(pair.second, pair.first): pair.second_better for pair in pairs}


def _cell(surface: DrawingSurface, x: float, y: float, share: float | None, turned: float | None) -> None:
    if share is None:
        surface.add_text(x + CELL / 2, y + CELL / 2, "–", ha="center", size=8, color=FAINT)
        return
    shade = min(len(SHADES) - 1, int(share * len(SHADES))) if share else 0
    both = share > 0 and turned is not None and turned > 0
    edge, thick = (ORANGE, 2.0) if both else (FAINT, 0.5)
    inset = 1.5 if both else 0.0
    fill = SHADES[shade]
    surface.add_box(x + inset, y + inset, CELL - 2 * inset, CELL - 2 * inset, fill=fill, edge=edge, thick=thick)
    ink = GROUND if shade >= len(SHADES) - 2 else INK if share else QUIET
    # Only exact values are shown as 0 or 100.
    text = f"{100 * share:.0f}" if share in (0.0, 1.0) else f"{min(99, max(1, round(100 * share)))}"
    surface.add_text(x + CELL / 2, y + CELL / 2, text, ha="center", size=8.5, color=ink)


def _declare_choices(title: str, bars: Sequence[AnalysisChoiceBar], notes: Sequence[str]) -> RowChart:  # noqa: ARG001
    marks = [
        RowChartMark(f"{bar.dimension}: {bar.choice}", bar.claimed, text=f"{bar.n:,} universes", bar=True)
        for bar in bars
    ]
    return RowChart(title, "share of the tested pairs that are claimed", marks)


@attach_chart_declaration(_declare_choices)
def plot_claims_by_choice(title: str, bars: Sequence[AnalysisChoiceBar], notes: Sequence[str]) -> bytes:
    """Draw bars of the share of pairs that the universes of each choice claim, as SVG."""
    names = [canvas.shorten_in_middle(bar.choice, LONGEST_NAME) for bar in bars]
    left = MARGIN + 80 + max(map(len, names), default=8) * CHARACTER + 12
    width = max(NARROWEST, left + BARS + 150 + MARGIN)
    sentences = wrap_sentences(notes, width)
    top = HEAD + 10
    starts = [i for i, bar in enumerate(bars) if not i or bars[i - 1].dimension != bar.dimension]
    bottom = top + max(1, len(bars)) * ROW + len(starts) * 8
    with draw_chart(title, width, bottom + 18, sentences) as surface:
        surface.add_heading(title, "Mean share of the tested pairs that are claimed in universes with each choice")
        y = top
        for i, (bar, name) in enumerate(zip(bars, names, strict=True)):
            if i in starts:
                y += 8
                surface.add_text(MARGIN, y + ROW / 2, bar.dimension, bold=True)
            surface.add_text(left - 8, y + ROW / 2, name, ha="right")
            surface.add_box(left, y + 3, BARS, ROW - 6, fill=BAND)
            surface.add_box(left, y + 3, BARS * (bar.claimed or 0.0), ROW - 6, fill=BLUE)
            share = "untested" if bar.claimed is None else f"{100 * bar.claimed:.0f} %"
            surface.add_text(left + BARS + 8, y + ROW / 2, f"{share} · {bar.n:,} universes", size=8, color=QUIET)
            y += ROW
    return surface.svg
