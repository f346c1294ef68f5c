"""The charts of the report on robustness."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.robustness.chart_rendering import (
    BumpChartColumn,
    RankingChangeBarRow,
    plot_rank_bump_chart,
    plot_ranking_change_bars,
)
from app.reports.robustness.view import (
    RankingOrderAndClustersView,
    RobustnessView,
    ScoreChangeEffectView,
    ScoreChangeGroupView,
)
from app.stats.robustness.score_changes import Group


def plot_ranking_changes(view: RobustnessView) -> bytes:
    """Draw the shares of changed rankings by kind of change."""
    return plot_ranking_change_bars(
        make_chart_title(view),
        [make_ranking_change_bar_row(group) for group in view.groups],
        [*view.warnings, _origin(view)],
    )


def plot_ranks_by_human_system_degradation(view: RobustnessView) -> bytes:
    """Draw the ranks as human systems and references are degraded more and more."""
    return _bump(view, "degraded", "Ranks as human systems and references are degraded by d")


def plot_ranks_by_lowest_system_inflation(view: RobustnessView) -> bytes:
    """Draw the ranks as the lowest system improves more and more."""
    return _bump(view, "inflated", "Ranks as the lowest system is inflated by d")


def make_ranking_change_bar_row(group: ScoreChangeGroupView, name: str | None = None) -> RankingChangeBarRow:
    """Make one row of bars."""
    counts = (group.n, group.rank_changed, group.cluster_changed)
    return RankingChangeBarRow(name or group.meaning, *counts, group.largest_move or 0.0, group.why)


def make_chart_title(view: RobustnessView) -> str:
    """Return the title of a chart."""
    return f"Robustness of the ranking of {', '.join(view.campaigns)}"


def _bump(view: RobustnessView, group: Group, below: str) -> bytes:
    columns = _columns([one for one in view.changes if one.group == group])
    reason = next((one.why for one in view.groups if one.group == group and one.why), None)
    notes = [_origin(view)] if columns else [reason or "there are no such rankings"]
    return plot_rank_bump_chart(make_chart_title(view), below, columns, notes)


def _columns(changes: Sequence[ScoreChangeEffectView]) -> list[BumpChartColumn]:
    comparable = [one for one in changes if one.before is not None and one.after is not None]
    first = [_column("as it is", comparable[0].before)] if comparable and comparable[0].before else []
    return first + [_column(f"d = {one.what}", one.after) for one in comparable if one.after]


def _column(name: str, places: RankingOrderAndClustersView) -> BumpChartColumn:
    return BumpChartColumn(name, places.systems, places.ranks, places.clusters or ())


def _origin(view: RobustnessView) -> str:
    version = ", ".join(f"version {n}" for n in view.campaigns.values())
    return f"recipe {view.recipe}, normalization {view.normalize}, data {version}"
