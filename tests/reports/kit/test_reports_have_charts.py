"""A report without a chart is refused where it is declared, not where somebody asks for its picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.reports import registry


@pytest.mark.parametrize("name", [*registry.ALL, *registry.WITH_OWN_ROUTES])
def test_a_report_without_a_chart_is_refused_by_name(name: str) -> None:
    report = (registry.ALL | registry.WITH_OWN_ROUTES)[name]
    with pytest.raises(TypeError, match=f"the report {report.name} has no chart"):
        replace(report, charts={})
    first = next(iter(report.charts))
    assert [*replace(report, charts={first: report.charts[first]}).charts] == [first]
