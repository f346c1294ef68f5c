"""Which documents the forecast of a plan counts, and its warning of too few."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from app.design.design_choices import Design
from app.design.plan import Plan
from app.design.plan_properties import PlanProperties
from app.stats.planning import plan_forecast

LENGTHS = {"d1": 4, "d2": 6, "d3": 11, "cal:1": 50, "cal:2": 50}


def layout_of(documents: dict[str, int | None], raters: int = 3) -> object:
    """The layout of a plan of these documents, each in its bucket (None for calibration), of two systems."""
    plan = SimpleNamespace(
        documents=[SimpleNamespace(key=key, bucket=bucket) for key, bucket in documents.items()],
        systems=("a", "b"),
        design=Design(),
    )
    found = SimpleNamespace(loads=[SimpleNamespace(groups=n) for n in (1,) * raters + (0,)])
    return plan_forecast._layout(cast("Plan", plan), cast("PlanProperties", found), LENGTHS)


def test_calibration_documents_are_no_documents_of_a_forecast() -> None:
    found = layout_of({"d1": 0, "d2": 0, "d3": 1, "cal:1": None, "cal:2": None})
    assert (found.documents, found.segments, found.raters) == (3, 7.0, 3)
    assert layout_of({"d1": 0, "d2": 1, "cal:1": None}).segments == 5.0
    assert layout_of({"d1": 0, "cal:1": None, "cal:2": None}) is None, "one document is too few, calibration or not"


@pytest.mark.parametrize(
    ("documents", "systems", "needed"),
    [(6, 3, 7), (7, 3, None), (6, 2, None), (5, 2, 6), (10, 10, 11), (11, 10, None), (3, 1, None), (0, 3, None)],
)
def test_the_rankings_own_warning_stands_in_the_plan(documents: int, systems: int, needed: int | None) -> None:
    plan = SimpleNamespace(
        documents=[SimpleNamespace(key=f"d{n}", bucket=0) for n in range(documents)]
        + [SimpleNamespace(key="cal:1", bucket=None)],
        systems=tuple("abcdefghij"[:systems]),
    )
    found = plan_forecast.list_few_documents_warnings(cast("Plan", plan))
    assert len(found) == (needed is not None)
    if needed is not None:
        assert f"plan at least {needed} documents" in found[0]
