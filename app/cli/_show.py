"""Reports on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from app.services import captions, ranking_view, tables
from app.services.ranking_view import RankingView


def ranking_table(report: Mapping[str, object]) -> RenderableType:
    """A ranking report: a line a system, a rule between clusters, the recipe and the warnings below."""
    view = ranking_view.of_mapping(report)
    parts: list[RenderableType] = [_systems(view), Text(captions.caption(view), style="dim")]
    parts += [Text(f"Warning: {warning}", style="yellow") for warning in view.warnings]
    return Group(*parts)


def _systems(view: RankingView) -> Table:
    shown = tables.systems_table(view)
    heading = f"{captions.title(view)}, {captions.direction(view)}"
    table = Table(title=Text(heading), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for heading, alignment in zip(shown.headings, shown.alignments, strict=True):
        table.add_column(Text(heading), justify=alignment, no_wrap=heading != "System", overflow="fold")
    for i, row in enumerate(shown.rows):
        if i in shown.breaks:
            table.add_section()
        table.add_row(*(Text(cell) for cell in row))
    return table
