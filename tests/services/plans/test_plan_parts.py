"""Parts of a plan's report: which documents it counts, and which calibration set it takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from app.design.checks import PlanChecks
from app.design.design import Design
from app.design.plan import Plan
from app.design.values import DesignDocument, TestSet
from app.services.plans import forecast as plan_forecast
from app.services.plans.plan_input import CalibrationSetMissing, PlanInput, with_calibration_set

LENGTHS = {"d1": 4, "d2": 6, "d3": 11, "cal:1": 50, "cal:2": 50}


def layout_of(documents: dict[str, int | None], raters: int = 3) -> object:
    """The layout of a plan of these documents, each in its bucket (None for calibration), of two systems."""
    plan = SimpleNamespace(
        documents=[SimpleNamespace(key=key, bucket=bucket) for key, bucket in documents.items()],
        systems=("a", "b"),
        design=Design(),
    )
    found = SimpleNamespace(loads=[SimpleNamespace(groups=n) for n in (1,) * raters + (0,)])
    return plan_forecast._layout(cast("Plan", plan), cast("PlanChecks", found), LENGTHS)


def test_calibration_documents_are_no_documents_of_a_forecast() -> None:
    found = layout_of({"d1": 0, "d2": 0, "d3": 1, "cal:1": None, "cal:2": None})
    assert (found.documents, found.segments, found.raters) == (3, 7.0, 3)
    assert layout_of({"d1": 0, "d2": 1, "cal:1": None}).segments == 5.0
    assert layout_of({"d1": 0, "cal:1": None, "cal:2": None}) is None, "one document is too few, calibration or not"


def material(*calibration: str) -> PlanInput:
    documents = tuple(DesignDocument(key, (1,)) for key in calibration)
    texts = TestSet((DesignDocument("d1", (3,)),), {}, calibration=documents)
    return PlanInput(texts, (), (), frozenset(), {}, {}, {}, frozenset(calibration))


@pytest.mark.parametrize(
    ("key", "taken"),
    [
        ("cal", ["cal:1", "cal:2"]),
        ("cal2", ["cal2:1"]),
        (None, []),
    ],
)
def test_pairs_of_one_calibration_set_are_taken_and_of_no_other(key: str | None, taken: list[str]) -> None:
    """A set whose key begins with another's is another set."""
    found = with_calibration_set(material("cal:1", "cal:2", "cal2:1"), key)
    assert [one.key for one in found.test_set.calibration] == taken
    assert [one.key for one in found.test_set.documents] == ["d1"]


def test_a_calibration_set_that_was_not_taken_in_is_refused() -> None:
    for there in ((), ("cal2:1",), ("cal:1",)):
        with pytest.raises(CalibrationSetMissing):
            with_calibration_set(material(*there), "ca")


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
    found = plan_forecast.warn_of_few_documents(cast("Plan", plan))
    assert len(found) == (needed is not None)
    if needed is not None:
        assert f"{needed} documents would be needed" in found[0]
