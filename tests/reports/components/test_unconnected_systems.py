"""Reports on components, power and forecast where no two systems met on a document; no database."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from app.reports.components.lines import estimate_study_reliability
from app.reports.forecast import report as forecast
from app.reports.power import report as power
from app.reports.power.options import PowerOptions
from app.reports.power.planner import PowerPlanner
from tests.reports.components.test_report import modelled, planned, told
from tests.stats.components.test_hidden import apart
from tests.stats.components.worlds import crossed

UNLIKE = "on average, a system was rated on 20 of 60 documents"
HIDDEN = "document × system is confounded with document"


def ahead() -> forecast.RankingForecastView:
    found = forecast.StabilityForecaster(forecast.RankingForecastOptions(studies=20), modelled(apart()), "mqm")
    return forecast._view(found, [found.compute_chunk(n) for n in range(len(forecast.METHODS) + 1)])


@pytest.fixture(scope="module")
def view() -> forecast.RankingForecastView:
    return ahead()


def test_pairs_without_a_common_segment_are_forecast_by_the_scores_of_each(view: forecast.RankingForecastView) -> None:
    ratings = apart()
    means = {key: ratings.score[ratings.system == s].mean() for s, key in enumerate(ratings.labels.systems)}
    assert len(view.pairs) == 3
    for pair in view.pairs:
        assert pair.difference == pytest.approx(abs(means[pair.better] - means[pair.worse]))
        assert pair.documents == 40
        assert pair.error is not None
        assert pair.error > 0
        assert pair.same_direction is not None
        assert 0.5 < pair.same_direction < 1


def test_studies_of_the_same_size_have_the_documents_of_a_system(view: forecast.RankingForecastView) -> None:
    assert view.documents == 20
    drawn = view.studies[0]
    assert drawn.srp is None
    assert drawn.why == "no document has segments that all systems were rated on; this requires 6"
    for text in (UNLIKE, HIDDEN):
        assert sum(text in warning for warning in view.warnings) == 1
    named = planned(apart(), difference=1.0, documents="20")
    assert sum(UNLIKE in warning for warning in named.warnings) == 1
    assert named.components is not None
    assert named.components.doc_system > 2
    found = modelled(apart()).components_fit
    assert found is not None
    assert estimate_study_reliability(found).documents == 20


def test_nothing_is_said_of_unlike_studies_where_all_systems_meet() -> None:
    assert modelled(crossed(1, documents=12)).list_imbalance_warnings() == []


def test_systems_that_no_rater_links_are_told() -> None:
    whole = crossed(2, documents=20, systems=2, raters=2, ratings=2)
    parted = whole.where(whole.rater == whole.system)
    said = (
        "no rater links these groups of systems, so differences between them may be due to raters; have some raters "
        "judge systems of several groups: s00 | s01"
    )
    assert said in told(parted).warnings
    assert not any("no rater links" in warning for warning in told(whole).warnings)


def test_a_pair_that_cannot_be_compared_has_no_difference() -> None:
    whole = crossed(3, documents=20, systems=3, raters=2, ratings=1)
    system = np.where(whole.document < 10, 2, 0)  # the first ten documents lack one, the others another
    ratings = whole.where(whole.system != system)
    found = forecast.StabilityForecaster(forecast.RankingForecastOptions(studies=20), modelled(ratings), "mqm")
    alone = next(
        pair for pair in found.forecast_system_pair_replication() if {pair.better, pair.worse} == {"s00", "s02"}
    )
    assert alone.difference is None
    assert alone.why == "a forecast needs two documents that both have"


def test_levels_so_small_that_no_quantile_is_finite_are_refused() -> None:
    for asked in (PowerOptions, forecast.RankingForecastOptions):
        with pytest.raises(ValidationError, match=r"0\.000001"):
            asked(alpha=1e-300)
    least: dict[str, Any] = {"alpha": 1e-6, "power": 0.9999, "documents": "10"}
    ratings = crossed(5, documents=12)
    planner = PowerPlanner(PowerOptions(studies=20, systems=200, **least), modelled(ratings), "mqm")
    nothing_drawn = [b"[{}]"] * planner.n_chunks  # as of studies that are too large: 200 systems take 20 s
    for view in (power._view(planner, nothing_drawn), planned(ratings, systems=20, **least)):
        assert view.designs
        assert all(np.isfinite(design.points[0].detectable) for design in view.designs)
