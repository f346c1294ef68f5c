"""The charts of the report on variance components."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from app.reports.components.view import VarianceComponentsView, make_caption
from app.reports.kit.charts.curves import LinePoint, LineSeries, plot_line_chart
from app.reports.kit.charts.variance import (
    RaterSeverityMark,
    VarianceBar,
    plot_caterpillar,
    plot_rater_system_heat_map,
    plot_variance_bars,
)

_SIGN = "Above 0: gives higher scores than the others"
_PENALTY = "Above 0: gives more penalty than the others"


def plot_variance_components(view: VarianceComponentsView) -> bytes:
    """Draw the components as bars with their intervals."""
    bars = [
        VarianceBar(one.name, one.variance, one.share or 0.0, one.interval)
        for one in view.components
        if one.variance is not None
    ]
    out = [f"{one.name}: {one.why}" for one in view.components if one.variance is None and one.why]
    notes = [*view.warnings, *([f"Not in the model: {'; '.join(out)}"] if out else []), make_caption(view)]
    return plot_variance_bars(_title(view, "Variance components"), bars, notes)


def plot_rater_severities(view: VarianceComponentsView) -> bytes:
    """Draw each rater's severity with its interval."""
    marks = [RaterSeverityMark(one.rater, one.severity, one.interval) for one in view.raters]
    notes = [*view.warnings, *_reason_if_missing(marks, "the severity of raters is not estimated"), make_caption(view)]
    return plot_caterpillar(_title(view, "Severity of raters"), _describe_sign(view), marks, notes)


def plot_rater_system_effects(view: VarianceComponentsView) -> bytes:
    """Draw each rater's effect on each system beyond severity."""
    cells = {(one.rater, one.system): one.tendency for one in view.rater_system}
    notes = [*view.warnings, *_reason_if_missing(cells, "rater × system is not estimated"), make_caption(view)]
    rows = list(dict.fromkeys(one.rater for one in view.rater_system))
    columns = [one.system for one in view.systems] if cells else []
    return plot_rater_system_heat_map(_title(view, "Rater × system"), _describe_sign(view), rows, columns, cells, notes)


def plot_generalizability(view: VarianceComponentsView) -> bytes:
    """Draw generalizability by number of documents, with a line for each number of ratings per item."""
    steps_by_ratings: dict[int, list[LinePoint]] = {}
    for decision in view.decisions:
        if decision.generalizability is not None:
            steps_by_ratings.setdefault(decision.ratings, []).append(
                LinePoint(decision.documents, decision.generalizability)
            )
    lines = [
        LineSeries(f"{k} rating{'s' if k > 1 else ''} per item", tuple(steps)) for k, steps in steps_by_ratings.items()
    ]
    notes = [*view.warnings, *_reason_if_missing(lines, "nothing to draw"), make_caption(view)]
    heading = "Generalizability of system means (relative decisions) by documents"
    return plot_line_chart(_title(view, "Generalizability of larger studies"), heading, "documents", lines, notes)


def _reason_if_missing(there: object, why: str) -> list[str]:
    return [] if there else [why]


def _title(view: VarianceComponentsView, what: str) -> str:
    return f"{what}: {', '.join(view.campaigns)}"


def _describe_sign(view: VarianceComponentsView) -> str:
    return _SIGN if view.higher_is_better else _PENALTY


PICTURES: Mapping[str, Callable[[VarianceComponentsView], bytes]] = MappingProxyType(
    {"severity": plot_rater_severities, "rater_system": plot_rater_system_effects, "studies": plot_generalizability}
)
