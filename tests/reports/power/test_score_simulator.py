"""The planner's report with scores that are not normal, and with clusters; no database."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from app.reports.power import report as power
from app.reports.power.options import PowerOptions
from app.reports.power.view import CSV
from app.stats.ratings import Ratings
from tests.reports.components.test_report import nobody, planned
from tests.stats.components.worlds import crossed


def mqm() -> Ratings:
    """Penalties with zeros."""
    plain = crossed(2, documents=30, systems=4, variance={"rater": 1.0, "segment": 1.0, "doc_system": 0.3})
    return replace(plain.with_scores(np.maximum(plain.score - 1, 0.0)), higher_is_better=False)


def xsts() -> Ratings:
    plain = crossed(2, documents=30, systems=4, variance={"rater": 0.4, "segment": 0.5})
    return plain.with_scores(np.clip(np.round(plain.score + 2), 1, 5))


ASKED = {"difference": 0.6, "documents": "10,60", "groupings": "psxs,none", "ratings": "1"}


def points(view: power.PowerView) -> list[dict[str, object]]:
    return [point.model_dump() for design in view.designs for point in design.points]


@pytest.mark.parametrize(("scores", "world"), [("zero_inflated_gamma", mqm), ("ordinal", xsts)])
def test_scores_that_are_not_normal_change_what_is_simulated_and_nothing_else(scores: str, world: object) -> None:
    ratings = world()  # type: ignore[operator]  # one of two functions above
    normal, other = planned(ratings, **ASKED), planned(ratings, scores=scores, **ASKED)
    assert [p["simulated"] for p in points(normal)] != [p["simulated"] for p in points(other)]
    for before, after in zip(points(normal), points(other), strict=True):
        for name in ("power", "standard_error", "detectable", "hours", "interval"):
            assert before[name] == after[name]
        assert 0 <= after["simulated"] <= 1  # type: ignore[operator]  # of a dump
    assert (normal.marginal, normal.scores) == (None, "normal")
    assert other.marginal is not None
    assert other.marginal in power.REPORT.caption(other)
    assert any("assume normal scores" in one for one in other.warnings)


def test_studies_are_simulated_from_two_documents_on() -> None:
    view = planned(mqm(), **{**ASKED, "documents": "1,2,3"})
    for design in view.designs:
        assert [point.simulated is None for point in design.points] == [True, False, False]


@pytest.mark.parametrize("scores", ["normal", "zero_inflated_gamma"])
def test_clusters_are_told_for_every_size_and_change_nothing_else(scores: str) -> None:
    plain, counted = (planned(mqm(), scores=scores, clusters=rule, **ASKED) for rule in ("none", "strict"))
    for before, after in zip(points(plain), points(counted), strict=True):
        assert before["clusters"] is None
        assert 1 <= after["clusters"] <= 4  # type: ignore[operator]  # of a dump
        assert {**after, "clusters": None, "clusters_error": None} == before
    few, many = (point.clusters for point in counted.designs[0].points)
    assert few is not None
    assert many is not None
    assert few < many
    shown = [one.title for one in power.REPORT.tables(counted)]
    assert "Clusters for the budget" in shown
    assert "Clusters for the budget" not in [one.title for one in power.REPORT.tables(plain)]
    heads, rows = power.REPORT.csv(counted)
    assert tuple(heads) == CSV
    assert [row[heads.index("clusters")] for row in rows] == [point["clusters"] for point in points(counted)]
    drawn, empty = (power.REPORT.charts["clusters"](view) for view in (counted, plain))
    assert b"Clusters expected of 4 systems" in drawn
    assert b"No clusters were asked for" in empty


def test_what_cannot_be_fitted_is_said_and_the_rest_answered() -> None:
    of_nothing = planned(nobody(), scores="zero_inflated_gamma", clusters="strict", **ASKED)
    assert "no studies are simulated: there are no ratings to fit them to" in of_nothing.warnings
    too_far = planned(xsts(), scores="ordinal", **{**ASKED, "difference": 4.5})
    assert any("no two systems can differ by 4.5" in one for one in too_far.warnings)
    below = planned(crossed(1, documents=10), scores="zero_inflated_gamma", **ASKED)
    assert any("scores below 0" in one for one in below.warnings)
    for view in (of_nothing, too_far, below):
        assert all(p["simulated"] is None and p["clusters"] is None for p in points(view))
        least = 11 if view is of_nothing else 6  # below it the ranking can claim nothing
        assert all((p["power"] == 0) == (p["documents"] < least) for p in points(view))  # type: ignore[operator]  # of a dump
        assert all(0 <= p["power"] <= 1 for p in points(view))  # type: ignore[operator]  # of a dump
    none = planned(nobody(), "xsts", scores="ordinal", clusters="strict")
    assert (none.components, none.marginal) == (None, None)
    for draw in power.REPORT.charts.values():
        assert b"<svg" in draw(none)
        assert b"<svg" in draw(of_nothing)


def test_there_are_three_kinds_of_scores() -> None:
    with pytest.raises(ValidationError):
        PowerOptions(scores="poisson")  # type: ignore[arg-type]  # what is refused
