"""Rankings beside each other as CSV, LaTeX, Markdown or SVG."""

from __future__ import annotations

from app.reports.kit import captions
from app.reports.kit.render import csv_text, markup
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking.view import SystemLine
from app.services.pictures.rank_grid import rank_grid
from app.services.pictures.recipes import bump_chart
from app.services.side_by_side import SideBySide


def render(shown: SideBySide, kind: str) -> bytes:
    """As `csv` (a line a system and ranking), `tex`, `md` (a line a system) or `svg`.

    The picture has ranks as lines; a grid of ranks where the rankings do not have the same systems.
    """
    if kind == "svg":
        return bump_chart(shown) if shown.same_systems else rank_grid(shown)
    if kind == "csv":
        return _csv(shown)
    if kind == "md":
        head = f"**{markup.code(shown.subject)}**: rank, and cluster in brackets"
        return markup.markdown_table(
            head, table(shown), names=frozenset({0}), caption=caption(shown), warnings=_warnings(shown)
        )
    said = f"{shown.subject}: rank, and cluster in brackets. {caption(shown)}"
    return markup.latex_table(table(shown), caption=said, label=shown.subject, warnings=_warnings(shown))


def table(shown: SideBySide) -> Table:
    """One row a system: its mean relative rank, and rank and cluster in every ranking."""
    alignments: list[Alignment] = ["left" if n == 0 else "right" for n in range(len(shown.columns) + 2)]
    rows = [
        (
            ranking_tables.labelled(shown.line(system)),
            f"{shown.mean_relative_rank[system]:.2f}",
            *(_cell(one.line(system)) for one in shown.columns),
        )
        for system in shown.systems
    ]
    headings = ("System", "Mean relative rank", *(one.name for one in shown.columns))
    return Table(headings, tuple(alignments), tuple(rows))


def caption(shown: SideBySide) -> str:
    """What the figures are, and from which data."""
    origins = "; ".join(
        f"{one.name}: {one.view.campaign} version {one.view.data_version}, recipe {one.view.recipe.name}"
        for one in shown.columns
        if one.view is not None
    )
    return f"A relative rank is 0 for the best system of a ranking and 1 for the worst. {origins}."


def _warnings(shown: SideBySide) -> tuple[str, ...]:
    """What is to be known before the figures are used."""
    return (*shown.notes, *(f"{one.name}: {one.why}" for one in shown.columns if one.why))


def _cell(line: SystemLine | None) -> str:
    if line is None:
        return "–"
    rank = captions.rank(line.rank)
    return rank if line.cluster is None else f"{rank} ({line.cluster})"


CSV_COLUMNS = (
    "system",
    "ranking",
    "rank",
    "cluster",
    "relative_rank",
    "score",
    "n_ratings",
    "mean_relative_rank",
    "name",
)
CSV_ORIGIN = ("campaign", "data_version", "recipe", "recipe_hash")


def _csv(shown: SideBySide) -> bytes:
    rows: list[tuple[Cell, ...]] = []
    for system in shown.systems:
        for one in shown.columns:
            line = one.line(system)
            if line is not None and one.view is not None:
                view = one.view
                where = (captions.rank(line.rank), line.cluster, one.relative_rank(system), line.score, line.n_ratings)
                origin = (view.campaign, view.data_version, view.recipe.name, view.recipe.hash)
                rows.append((system, one.name, *where, shown.mean_relative_rank[system], line.name, *origin))
    return csv_text.as_csv((*CSV_COLUMNS, *CSV_ORIGIN), rows)
