"""The chart of the report on automatic metrics."""

from __future__ import annotations

from app.reports.kit.charts.dot_and_scatter_plots import DotPlotRow, plot_dot_rows
from app.reports.metrics.view import MetricsView, make_caption

SHOWN = (("spa", "SPA"), ("accuracy", "accuracy"))


def plot_metric_accuracies_under_changes(view: MetricsView) -> bytes:
    """Draw the accuracies of every metric: a bar for the original data, dots for the extremes after each change."""
    rows = []
    for metric in view.metrics:
        for name, word in SHOWN:
            ends = [getattr(line, name) for line in view.spread if line.metric == metric.metric]
            values = [value for pair in ends if pair is not None for value in pair]
            base = getattr(metric, name)
            rows.append(DotPlotRow(f"{metric.metric}, {word}", values or ([] if base is None else [base]), base))
    below = "Bar: on the scores as given; dots: lowest and highest value after each kind of change to the human scores"
    title = f"Automatic metrics of {', '.join(view.campaigns)}"
    return plot_dot_rows(title, below, rows, [*view.warnings, make_caption(view)], axis_limits=(0.0, 1.0))
