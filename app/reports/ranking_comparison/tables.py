"""Rankings side by side as CSV, LaTeX, Markdown or SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from app.reports.kit import text_formatting
from app.reports.kit.columns import NONE, Column, make_csv_headings_and_rows, make_table_section
from app.reports.kit.render import csv_text, markup
from app.reports.kit.table import Table
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking.view import RankingView, SystemLine
from app.reports.ranking_comparison.bump_chart import plot_bump_chart
from app.reports.ranking_comparison.compared_rankings import ComparedRanking as RankingColumn
from app.reports.ranking_comparison.compared_rankings import RankingsSideBySide
from app.reports.ranking_comparison.grid_chart import plot_rank_grid


def render_rankings_side_by_side(shown: RankingsSideBySide, kind: str) -> bytes:
    """Render as `csv` (one line per system and ranking), `tex`, `md` (one line per system) or `svg`.

    The picture shows ranks as lines, or a grid of ranks if the rankings do not have the same systems.
    """
    if kind == "svg":
        return plot_bump_chart(shown) if shown.has_same_systems else plot_rank_grid(shown)
    if kind == "csv":
        return csv_text.render_csv(*make_csv_headings_and_rows(COLUMNS, _lines(shown)))
    if kind == "md":
        head = f"**{markup.format_code_span(shown.subject)}**: rank, and cluster in brackets"
        return markup.render_markdown_table(
            head,
            make_rankings_table(shown),
            code_columns=frozenset({0}),
            caption=make_caption(shown),
            warnings=_warnings(shown),
        )
    said = f"{shown.subject}: rank, and cluster in brackets. {make_caption(shown)}"
    return markup.render_latex_table(
        make_rankings_table(shown), caption=said, label=shown.subject, warnings=_warnings(shown)
    )


def make_rankings_table(shown: RankingsSideBySide) -> Table:
    """Make one row per system: its mean relative rank, and rank and cluster in every ranking."""
    columns: list[Column[str]] = [
        Column(
            heading="System",
            text=lambda system: ranking_tables.label_system_with_key(shown.find_first_line_of_system(system)),
        ),
        Column(heading="Mean relative rank", value=shown.mean_relative_rank.get, digits=2),
        *(Column(heading=ranking.name, digits=0, text=partial(_place, ranking)) for ranking in shown.columns),
    ]
    return make_table_section("", columns, shown.systems).table


def make_caption(shown: RankingsSideBySide) -> str:
    """Say what the figures are and which data they come from."""
    origins = "; ".join(
        f"{one.name}: {one.view.campaign} version {one.view.data_version}, recipe {one.view.recipe.name}"
        for one in shown.columns
        if one.view is not None
    )
    return f"A relative rank is 0 for the best system of a ranking and 1 for the worst. {origins}."


def _warnings(shown: RankingsSideBySide) -> tuple[str, ...]:
    """Return what readers must know before they use the figures."""
    return (*shown.notes, *(f"{one.name}: {one.why}" for one in shown.columns if one.why))


def _place(ranking: RankingColumn, system: str) -> str:
    """Return the rank, with the cluster in brackets."""
    line = ranking.find_system_line(system)
    if line is None:
        return NONE
    rank = text_formatting.format_rank(line.rank)
    return rank if line.cluster is None else f"{rank} ({line.cluster})"


class _Line(NamedTuple):
    """A system in a ranking that has it."""

    shown: RankingsSideBySide
    ranking: RankingColumn
    view: RankingView
    system: SystemLine


def _lines(shown: RankingsSideBySide) -> Iterator[_Line]:
    for system in shown.systems:
        for ranking in shown.columns:
            line = ranking.find_system_line(system)
            if line is not None and ranking.view is not None:
                yield _Line(shown, ranking, ranking.view, line)


COLUMNS: Sequence[Column[_Line]] = (
    Column(key="system", value=attrgetter("system.system")),
    Column(key="ranking", value=attrgetter("ranking.name")),
    Column(key="rank", value=lambda line: text_formatting.format_rank(line.system.rank)),
    Column(key="cluster", value=attrgetter("system.cluster")),
    Column(key="relative_rank", value=lambda line: line.ranking.relative_rank(line.system.system)),
    Column(key="score", value=attrgetter("system.score")),
    Column(key="n_ratings", value=attrgetter("system.n_ratings")),
    Column(key="mean_relative_rank", value=lambda line: line.shown.mean_relative_rank[line.system.system]),
    Column(key="name", value=attrgetter("system.name")),
    Column(key="campaign", value=attrgetter("view.campaign")),
    Column(key="data_version", value=attrgetter("view.data_version")),
    Column(key="recipe", value=attrgetter("view.recipe.name")),
    Column(key="recipe_hash", value=attrgetter("view.recipe.hash")),
)
