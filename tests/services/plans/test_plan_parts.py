"""Parts of what a plan is compiled from: which calibration set it takes."""

from __future__ import annotations

import pytest

from app.design.design_inputs import DocumentToPlan, TestSet
from app.services.plans.plan_input import CalibrationSetMissing, PlanInput, restrict_to_calibration_set


def material(*calibration: str) -> PlanInput:
    documents = tuple(DocumentToPlan(key, (1,)) for key in calibration)
    texts = TestSet((DocumentToPlan("d1", (3,)),), {}, calibration=documents)
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
    found = restrict_to_calibration_set(material("cal:1", "cal:2", "cal2:1"), key)
    assert [one.key for one in found.test_set.calibration] == taken
    assert [one.key for one in found.test_set.documents] == ["d1"]


def test_a_calibration_set_that_was_not_taken_in_is_refused() -> None:
    for there in ((), ("cal2:1",), ("cal:1",)):
        with pytest.raises(CalibrationSetMissing):
            restrict_to_calibration_set(material(*there), "ca")
