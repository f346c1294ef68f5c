"""Reports on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from app.reports.kit import table
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking import view as ranking_view
from app.reports.ranking.view import RankingView

LEFT_TO_CAPTION = frozenset({"Segments", "Documents", "Effective"})
SHORT = {"Rank": "#", "Cluster": "Cl.", "Raw score": "Raw", "Rank range": "Ranks", "Ratings": "n"}
NARROWEST_NAME = 10


def format_ranking_table(report: Mapping[str, object]) -> RenderableType:
    """Format a ranking: one line per system, a rule between clusters, and the recipe and warnings below."""
    view = ranking_view.parse_ranking_view(report)
    parts: list[RenderableType] = [_systems(view), Text(ranking_captions.make_caption(view), style="dim")]
    if told := [line.effective_documents for line in view.systems if line.effective_documents is not None]:
        parts.append(Text(f"Effective documents: {_format_range(min(told), max(told))}.", style="dim"))
    parts += [Text(f"Warning: {warning}", style="yellow") for warning in view.warnings]
    return Group(*parts)


def _format_range(low: float, high: float) -> str:
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f}–{high:.1f}"


def make_rich_table(report_table: table.Table, title: str, notes: Iterable[str] = ()) -> RenderableType:
    """Format one of our tables, with notes below it."""
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, justify in zip(report_table.headings, report_table.alignments, strict=True):
        table.add_column(Text(heading), justify=justify, overflow="fold")
    for row in report_table.rows:
        table.add_row(*map(Text, row))
    return Group(table, *(Text(note, style="dim") for note in notes))


def _systems(view: RankingView) -> Table:
    """Make the table. Values that all systems share are left to the caption, so that it fits 80 columns."""
    shown = ranking_tables.make_systems_table(view)
    kept = [i for i, heading in enumerate(shown.headings) if heading not in LEFT_TO_CAPTION]
    title = f"{ranking_captions.make_ranking_title(view)}, {ranking_captions.describe_score_direction(view)}"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for i in kept:
        heading = shown.headings[i]
        name = SHORT.get(heading, heading)
        if heading == "System":
            table.add_column(name, overflow="fold", min_width=NARROWEST_NAME)
        else:
            table.add_column(Text(name), justify=shown.alignments[i], no_wrap=True)
    for number, row in enumerate(shown.rows):
        if number in shown.breaks:
            table.add_section()
        table.add_row(*(Text(row[i]) for i in kept))
    return table
