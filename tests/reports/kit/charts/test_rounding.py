"""Pictures of values that differ by the rounding of sums alone, or are all but 0."""

from __future__ import annotations

import pytest

from app.reports.kit.charts.before_after import BeforeAfterRow, plot_before_after
from app.reports.kit.charts.line_panels import LinePanel, PanelSeries, plot_line_panels

EDGE = 2.5 + 4e-16


@pytest.mark.parametrize("after", [2.5, EDGE, 0.0, 3e-17])
def test_places_that_differ_by_rounding_are_drawn_as_one(after: float) -> None:
    before = 2.5 if after > 1 else 0.0
    rows = [BeforeAfterRow("A", before, after, (before, after), "1."), BeforeAfterRow("B", after, before, None, "1.")]
    drawn = plot_before_after("Moved", "below", rows, ["told"])
    assert drawn.count(b"<svg") == 1
    assert b">A<" in drawn


@pytest.mark.parametrize("value", [0.0, 1e-15, 3e-13, 0.3])
def test_an_axis_ends_above_its_values_however_small_they_are(value: float) -> None:
    drawn = plot_line_panels(
        "Small",
        "below",
        [LinePanel("one", ("1", "2"), (PanelSeries("A", (value, None)),))],
        [],
        empty_message="nothing",
    )
    assert b">A<" in drawn
