"""A ranking as Markdown for a pull request and as LaTeX for a paper; names are shown, never executed."""

from __future__ import annotations

from app.reports.kit.render.markup import format_code_span, render_latex_table, render_markdown_table
from app.reports.kit.table import Table
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking.view import RankingView


def render_markdown(view: RankingView, table: Table, *, code_columns: frozenset[int]) -> bytes:
    """Render a table that fits a pull request. code_columns: indices of the columns of names; code is not executed."""
    title, direction = (
        format_code_span(ranking_captions.make_ranking_title(view)),
        ranking_captions.describe_score_direction(view),
    )
    head = f"**{title}**: ranking by `{view.recipe.name}`, {direction}"
    return render_markdown_table(
        head, table, code_columns=code_columns, caption=ranking_captions.make_caption(view), warnings=view.warnings
    )


def render_latex(view: RankingView, table: Table, *, long: bool) -> bytes:
    """Render a booktabs table with its caption and a rule between clusters. long: over several pages, for pairs."""
    title, direction = ranking_captions.make_ranking_title(view), ranking_captions.describe_score_direction(view)
    caption = f"{title}, {direction}. {ranking_captions.make_caption(view)}"
    label = f"{view.campaign}-{view.recipe.name}"
    return render_latex_table(table, caption=caption, label=label, warnings=view.warnings, long=long)
