"""The charts of post-edits beside direct scores."""

from __future__ import annotations

from app.reports.kit.charts.dot_and_scatter_plots import DotPlotRow, ScatterPanel, plot_dot_rows, plot_scatter_panels
from app.reports.postediting_da.view import MEASURES, NAMES, PosteditingDAView, make_caption


def plot_mean_correlations(view: PosteditingDAView) -> bytes:
    """Draw the correlations: a dot per system and a bar for their mean."""
    rows = []
    for mean in view.means:
        each = [getattr(one, mean.measure) for one in view.correlations if one.campaign == mean.campaign]
        values = [value for value in each if value is not None]
        rows.append(DotPlotRow(f"{mean.campaign}, {NAMES[mean.measure]}", values, mean.fisher))
    below = "One dot per system; bar: mean by Fisher's z; left of 0, scores and edits agree"
    return plot_dot_rows(_title(view), below, rows, [*view.warnings, make_caption(view)])


def plot_score_edit_rate_scatter(view: PosteditingDAView) -> bytes:
    """Draw scores against mTER, one panel per system."""
    panels = [ScatterPanel(one.system, one.r, one.points) for one in view.scatter]
    below = f"Scores of {view.compared_with or 'no campaign'} (up: better) over mTER (right: more edits)"
    return plot_scatter_panels(_title(view), below, panels, [*view.warnings, make_caption(view)])


def _title(view: PosteditingDAView) -> str:
    return f"{', '.join(MEASURE_WORDS)} and scores of {', '.join(view.campaigns)}"


MEASURE_WORDS = tuple(NAMES[name] for name in MEASURES)
