"""What charts declare is what they draw, and every chart of every report declares it."""

from __future__ import annotations

from functools import partial

import pytest

from app.reports import registry
from app.reports.kit.charts import canvas
from app.reports.kit.charts.chart_specification import collect_chart_values
from app.reports.kit.charts.curves import LinePoint, LineSeries, plot_line_chart
from app.reports.kit.charts.dot_and_scatter_plots import DotPlotRow, plot_dot_rows
from app.reports.kit.charts.heat_map import HeatMap, HeatMapCell, plot_heat_map

REPORTS = {**registry.ALL, **registry.WITH_OWN_ROUTES}
SPARSE = {"campaigns/xsts"}
"""Their example leaves out methods that their chart needs."""
CHARTS = [(key, name) for key in sorted(set(REPORTS) - SPARSE) for name in REPORTS[key].charts]


@pytest.mark.parametrize(("key", "name"), CHARTS, ids=["-".join(chart) for chart in CHARTS])
def test_a_chart_is_declared_without_being_drawn(key, name, monkeypatch):
    report = REPORTS[key]
    view = report.result.model_validate(report.example)

    def draws(*_args, **_options):
        raise AssertionError("it was drawn")

    monkeypatch.setattr(canvas, "figure_to_svg", draws)
    monkeypatch.setattr(canvas, "prepare_matplotlib", draws)
    chart = collect_chart_values(partial(report.charts[name], view))
    if chart is not None:
        assert chart["form"] in {"rows", "curves", "cells"}
        assert all(height > 0 for height in chart["heights"])


def test_a_chart_is_drawn_as_before_afterwards():
    draw = partial(plot_dot_rows, "Title", "below", [DotPlotRow("A", [0.2, 0.4], 0.3)], [])
    assert collect_chart_values(draw) is not None
    assert draw().startswith(b"<?xml")


def test_rows_hold_each_value_and_the_mean():
    chart = collect_chart_values(partial(plot_dot_rows, "Title", "below", [DotPlotRow("A", [0.2, 0.4], 0.3)], []))
    assert [(mark["series"], mark["value"]) for mark in chart["marks"]] == [("each", 0.2), ("each", 0.4), ("mean", 0.3)]
    assert chart["series"] == ["each", "mean"]


def test_lines_hold_their_bounds():
    line = LineSeries("psxs", (LinePoint(10, 0.5, 0.4, 0.6), LinePoint(20, 0.7)))
    chart = collect_chart_values(
        partial(plot_line_chart, "Power", "chance", "documents", [line], [], dashed_line_at=0.8)
    )
    (panel,) = chart["panels"]
    assert panel["curves"][0]["points"][0] == {"x": 10, "y": 0.5, "low": 0.4, "high": 0.6, "text": ""}
    assert (chart["line"], chart["top"]) == (0.8, 1.0)


def test_cells_say_where_they_stand_and_what_they_are_of():
    what = HeatMap("t", "b", ["d1", "d2"], ["A"], [[None], [HeatMapCell(0.5, "3")]], ("low", "high"), [], "nothing")
    chart = collect_chart_values(partial(plot_heat_map, what))
    assert chart["cells"] == [{"row": 1, "column": 0, "share": 0.5, "text": "3", "about": ""}]
    assert chart["of_rows"] == ""


def test_what_shows_nothing_is_left_to_its_picture():
    assert collect_chart_values(partial(plot_dot_rows, "Title", "below", [], [])) is None
