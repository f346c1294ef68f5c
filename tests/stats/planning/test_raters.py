"""Raters that a difference takes: the closed form solved for them against trying one number after the other."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from app.stats.planning import power_and_cost
from app.stats.planning.power_and_cost import EN_DE, GROUPINGS, ZH_EN, StudyLayout, VarianceComponents
from app.stats.planning.raters import compute_raters_needed, minimum_raters_for_unlimited_documents

NO_RATER_SYSTEM = VarianceComponents(1.0, 2.0, 3.0, 0.0, 1.0, 1.0, 0.5, 4.0)
SYSTEMS = 4


def found(components: VarianceComponents, layout: StudyLayout, raters: int) -> float:
    return power_and_cost.forecast_power(components, replace(layout, raters=raters), systems=SYSTEMS).detectable


def tried(components: VarianceComponents, layout: StudyLayout, difference: float) -> int | None:
    """The first number of raters with work for each that finds the difference; by the variance alone."""
    shares = layout.documents * layout.ratings_per_item * (1 if layout.grouping == "psxs" else SYSTEMS)
    numbers = range(layout.ratings_per_item, shares + 1)
    return next((raters for raters in numbers if found(components, layout, raters) <= difference), None)


@pytest.mark.parametrize("components", [ZH_EN, EN_DE, NO_RATER_SYSTEM])
def test_the_fewest_raters_are_those_found_by_trying(components: VarianceComponents) -> None:
    numbers = set()
    for grouping, each, fixed in product(GROUPINGS, (1, 2), (False, True)):
        layout = StudyLayout(12, 4, 1, each, grouping, fixed)
        for difference in (1.5, 2.5, 3.1, 3.7, 4.3, 5.1, 6.3, 9.0):
            panel = compute_raters_needed(components, layout, difference=difference, systems=SYSTEMS)
            assert panel.least == tried(components, layout, difference), (layout, difference)
            assert panel.least is not None or panel.note, "none has a reason"
            numbers.add(panel.least)
    assert None in numbers
    assert len(numbers) > 2


def test_what_a_layout_finds_takes_its_own_raters_and_documents() -> None:
    """The detectable difference of a layout leads back to both; rounding adds none."""
    for raters, documents in product((2, 7, 10, 13, 17), (17, 30, 38)):
        layout = StudyLayout(documents, 377 / 38, raters)
        difference = found(ZH_EN, layout, raters)
        assert compute_raters_needed(ZH_EN, layout, difference=difference, systems=SYSTEMS).least == raters
        assert (
            power_and_cost.compute_documents_needed(ZH_EN, layout, difference=difference, systems=SYSTEMS) == documents
        )


def test_why_no_number_of_raters_is_enough() -> None:
    def told(difference: float, components: VarianceComponents = EN_DE, **layout: object) -> str | None:
        base = replace(StudyLayout(30, 104 / 30, 10), **layout)  # type: ignore[arg-type]  # fields of a layout
        return compute_raters_needed(components, base, difference=difference, systems=SYSTEMS).note

    endless = found(EN_DE, StudyLayout(30, 104 / 30, 10), 10**12)
    assert (
        told(0.5)
        == f"with 30 documents no number of raters is enough: differences up to {endless:.3g} are not detected"
    )
    assert told(endless * 1.00001) == "this requires more raters than there are ratings of documents to share out"
    assert told(0.5, fixed_panel=True) == "more raters do not lower the standard error here"
    assert told(9.0, fixed_panel=True) is None
    assert told(9.0, NO_RATER_SYSTEM, grouping="none") == "more raters raise the standard error here"


def test_with_at_least_so_many_raters_some_documents_are_enough_and_with_one_fewer_none() -> None:
    """WMT23 zh-en: eight raters have a floor of .412, below which no number of documents goes."""
    for difference in (0.3, 0.5, 1.0, 1.7):
        least = minimum_raters_for_unlimited_documents(
            ZH_EN, StudyLayout(1, 9.9, 8), difference=difference, systems=SYSTEMS
        )
        assert least is not None
        for raters, enough in ((least, True), (least - 1, False)):
            layout = StudyLayout(1, 9.9, max(1, raters))
            documents = power_and_cost.compute_documents_needed(ZH_EN, layout, difference=difference, systems=SYSTEMS)
            assert raters == 0 or (documents is not None) is enough
    assert (
        minimum_raters_for_unlimited_documents(
            ZH_EN, StudyLayout(1, 9.9, 8, 3, fixed_panel=True), difference=0.3, systems=SYSTEMS
        )
        == 3
    )
    assert (
        minimum_raters_for_unlimited_documents(ZH_EN, StudyLayout(1, 9.9, 8), difference=1e-9, systems=SYSTEMS) is None
    )
    assert (
        minimum_raters_for_unlimited_documents(
            ZH_EN, StudyLayout(1, 9.9, 8, fixed_panel=True), difference=1e-300, systems=SYSTEMS
        )
        is None
    )
