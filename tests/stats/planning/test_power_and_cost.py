"""The planner's closed form against figures of independent code and against simulation."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.stats.planning import power_and_cost
from app.stats.planning.power_and_cost import (
    EN_DE,
    GROUPINGS,
    ZH_EN,
    NoVarianceComponents,
    StudyCostAssumptions,
    StudyLayout,
    VarianceComponents,
)

# Standard errors computed with independent code. Layouts: documents, raters,
# mean segments of a document (11,310 / 30 ratings of 38 documents; 104 segments of 30).
ZH_LAYOUT, DE_LAYOUT = StudyLayout(38, 377 / 38, 8), StudyLayout(30, 104 / 30, 10)
TABLE = [
    (ZH_EN, ZH_LAYOUT, {"single": (0.597, 0.694, 0.898), "half": (0.670, 0.758, 0.949), "two": (0.513, 0.571, 0.699)}),
    (EN_DE, DE_LAYOUT, {"single": (0.725, 0.822, 1.075), "half": (0.850, 0.934, 1.163), "two": (0.528, 0.594, 0.770)}),
]
F17 = VarianceComponents(0.36, 0.0, 0.64, 0.09, 0.25, 0.0, 0.16, 1.44)


def errors(components: VarianceComponents, layout: StudyLayout) -> list[float]:
    return [sqrt(power_and_cost.compute_contrast_variance(components, replace(layout, grouping=g))) for g in GROUPINGS]


@pytest.mark.parametrize(("components", "layout", "rows"), TABLE)
def test_standard_errors_are_those_of_the_table(
    components: VarianceComponents, layout: StudyLayout, rows: dict[str, tuple[float, ...]]
) -> None:
    """Single rated, double rated on half the documents, single rated on twice as many."""
    half = replace(layout, documents=layout.documents // 2, ratings_per_item=2)
    for name, asked in (("single", layout), ("half", half), ("two", replace(layout, documents=2 * layout.documents))):
        assert errors(components, asked) == pytest.approx(rows[name], abs=6e-4), name


def test_the_floor_and_twice_as_many_raters_are_those_of_the_table() -> None:
    assert power_and_cost.compute_standard_error_floor(ZH_EN, ZH_LAYOUT) == pytest.approx(0.412, abs=5e-4)
    assert power_and_cost.compute_standard_error_floor(EN_DE, DE_LAYOUT) == pytest.approx(0.175, abs=5e-4)
    assert errors(ZH_EN, replace(ZH_LAYOUT, raters=16))[0] == pytest.approx(0.521, abs=6e-4)
    assert errors(ZH_EN, replace(ZH_LAYOUT, ratings_per_item=3))[0] == pytest.approx(0.542, abs=6e-4)
    assert power_and_cost.compute_standard_error_floor(ZH_EN, replace(ZH_LAYOUT, fixed_panel=True)) == 0


def test_documents_needed_to_equal_psxs_are_those_of_the_table() -> None:
    """1.67 / 1.30 and 3.42 / 2.27 times, fixed panel: there the variance falls as 1/D."""
    for components, layout, wanted in ((ZH_EN, ZH_LAYOUT, (1.67, 3.42)), (EN_DE, DE_LAYOUT, (1.30, 2.27))):
        psxs, *others = errors(components, replace(layout, fixed_panel=True))
        assert [(e / psxs) ** 2 for e in others] == pytest.approx(wanted, abs=6e-3)


def test_the_formula_is_what_simulated_studies_vary_by() -> None:
    """With document × system and residual drawn, and raters who see all systems of their documents."""
    assert power_and_cost.compute_contrast_variance(F17, StudyLayout(60, 5, 6)) == pytest.approx(0.05693, abs=5e-6)
    rng = np.random.default_rng(4)
    n, d, m, r = 4000, 60, 5, 6
    rater = np.arange(d) % r
    by_system = [
        rng.normal(0, sqrt(0.36 + 0.16), (n, d))
        + rng.normal(0, 0.3, (n, r))[:, rater]
        + rng.normal(0, sqrt(1.44 / m), (n, d))
        for _ in range(2)
    ]
    found = float((by_system[0] - by_system[1]).mean(axis=1).var(ddof=1))
    assert found == pytest.approx(power_and_cost.compute_contrast_variance(F17, StudyLayout(d, m, r)), rel=0.08)


def test_documents_needed_reach_the_difference_and_one_fewer_does_not() -> None:
    needed = power_and_cost.compute_documents_needed(EN_DE, DE_LAYOUT, difference=2.0, systems=3)
    assert needed is not None
    for documents, reached in ((needed, True), (needed - 1, False)):
        found = power_and_cost.forecast_power(EN_DE, replace(DE_LAYOUT, documents=documents), systems=3)
        assert (found.detectable <= 2.0) is reached
    assert power_and_cost.compute_documents_needed(ZH_EN, ZH_LAYOUT, difference=0.5, systems=3) is None, (
        "below the floor"
    )
    only = VarianceComponents(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    assert power_and_cost.compute_documents_needed(only, DE_LAYOUT, difference=1e-3, systems=2) == 4_528_200
    for nearly_nothing in (1e-6, 1e-154, 1e-300):
        assert power_and_cost.compute_documents_needed(only, DE_LAYOUT, difference=nearly_nothing, systems=2) is None


def test_power_at_the_detectable_difference_is_the_power_asked_for() -> None:
    for power in (0.5, 0.8, 0.95):
        found = power_and_cost.compute_detectable_difference(0.3, alpha=0.01, power=power)
        assert power_and_cost.compute_z_test_power(found, 0.3, alpha=0.01) == pytest.approx(power, abs=1e-4)


def test_defaults_say_where_they_come_from_and_are_never_borrowed() -> None:
    mqm = power_and_cost.get_default_variance_components("mqm")
    assert mqm.residual == pytest.approx((8.028 + 10.340) / 2)
    assert mqm.source == "MQM, mean of WMT23 zh-en and en-de, weights wmt24"
    assert power_and_cost.get_default_variance_components("esa").residual == 116.5
    for protocol in ("xsts", "da", "sqm"):
        with pytest.raises(NoVarianceComponents):
            power_and_cost.get_default_variance_components(protocol)


def test_impossible_layouts_are_refused() -> None:
    with pytest.raises(Invalid):
        StudyLayout(0, 5, 3)
    with pytest.raises(Invalid):
        replace(F17, residual=-1.0)
    with pytest.raises(Invalid):
        power_and_cost.forecast_power(F17, StudyLayout(10, 5, 3), systems=1)


def test_cost_grows_with_ratings_and_has_no_price_without_pay() -> None:
    one = power_and_cost.compute_study_cost(
        StudyLayout(10, 5, 3), StudyCostAssumptions(), systems=4, words_per_segment=40
    )
    two = power_and_cost.compute_study_cost(
        StudyLayout(10, 5, 3, ratings_per_item=2), StudyCostAssumptions(), systems=4, words_per_segment=40
    )
    assert two.judging_hours == pytest.approx(2 * one.judging_hours)
    assert one.price is None


@pytest.mark.parametrize(
    ("alpha", "power", "refused"),
    [
        (0.05, 1.5, True),
        (0.05, 1.0, True),
        (0.05, 0.999, False),
        (0.05, 0.001, False),
        (0.05, 0.0, True),
        (1.5, 0.8, True),
        (1.0, 0.8, True),
        (0.999, 0.8, False),
        (0.0, 0.8, True),
    ],
)
def test_alpha_and_power_are_probabilities_that_leave_something_open(alpha: float, power: float, refused: bool) -> None:
    def asked() -> power_and_cost.PowerForecast:
        return power_and_cost.forecast_power(EN_DE, StudyLayout(30, 5, 6), systems=3, alpha=alpha, power=power)

    if not refused:
        assert asked().power == power
        return
    with pytest.raises(Invalid):
        asked()
