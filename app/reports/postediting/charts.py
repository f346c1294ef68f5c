"""The charts of the report on post-edits."""

from __future__ import annotations

from app.reports.postediting.chart_rendering import (
    RateDotRow,
    StackedBar,
    TERBarAndLinePoint,
    plot_rate_dots,
    plot_stacked_bars,
    plot_ter_by_reference_count,
)
from app.reports.postediting.view import EditRateView, PosteditingView, make_caption


def plot_edit_rates(view: PosteditingView) -> bytes:
    """Draw the edit rates of every system with their intervals."""
    rows = [RateDotRow(one.system, [_rate(one.hter), _rate(one.mter), _rate(one.ter_external)]) for one in view.systems]
    below = "HTER (dot), mTER (hollow diamond), TER against the external reference (square); lines: intervals"
    return plot_rate_dots(_title(view), below, rows, [*view.warnings, make_caption(view)])


def _rate(rate: EditRateView) -> tuple[float, tuple[float, float] | None] | None:
    return None if rate.value is None else (rate.value, rate.interval)


def plot_closest_reference_shares(view: PosteditingView) -> bytes:
    """Draw how often a system's own post-edits are the closest, alone or together with others."""
    own = {one.system: one for one in view.closest if one.own}
    rows = [
        StackedBar(system, one.unique / one.n, one.tied / one.n, f"{one.n:,} segments") for system, one in own.items()
    ]
    below = "Segments whose own post-edit is closest: alone (filled), tied (hatched), another is closer (empty)"
    return plot_stacked_bars(_title(view), below, rows, [*view.warnings, make_caption(view)])


def plot_mean_ter_by_reference_count(view: PosteditingView) -> bytes:
    """Draw TER against single references, and mTER against a growing number of references."""
    bars = [
        TERBarAndLinePoint(
            {"other": str(one.n), "targeted": "targeted", "external": "external"}[one.what],
            one.single,
            one.growing,
            one.what == "targeted",
        )
        for one in view.curve
    ]
    below = (
        "Bars: TER against one reference, farthest first; line: mTER against all references so far; means over systems"
    )
    return plot_ter_by_reference_count(_title(view), below, bars, [*view.warnings, make_caption(view)])


def _title(view: PosteditingView) -> str:
    return f"Post-edits of {', '.join(view.campaigns)}"
