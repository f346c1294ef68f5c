"""Variance components and the planner on the public side-by-side MQM, from the file through Postgres to the reports.

The figures were computed with independent code from WMT23 en-de (Song et al. 2025), weights wmt24.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.reports.kit import request, store
from app.reports.kit.redact import HIDDEN
from app.services.campaigns import recipes
from app.services.jobs import report_requests
from tests.spine import Spine
from tests.stats.components.test_fit import PUBLISHED

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def spine(published: Spine, sxs: dict[str, Any]) -> Spine:
    assert sxs["stored"]["judgments"]
    chosen = {"scoring": {"from": "spans", "profile": "wmt24"}}
    with published.database.transaction() as session:
        recipes.put_named_recipe(session, "sxs", "as-published", chosen, actor="test")
    return published


def report(spine: Spine, kind: str, **question: Any) -> dict[str, Any]:
    one = report_requests.get_report_kind_by_name(kind)
    asking = request.ReportRequest(
        one, ("sxs",), request.parse_report_options(one, {"recipe": "as-published", **question})
    )
    found: dict[str, Any] = json.loads(store.find_or_compute_report(spine.database, asking).body)
    return found


def test_the_report_on_components_has_the_published_figures(spine: Spine) -> None:
    found = report(spine, "components", draws=4)

    variances = {one["term"]: one["variance"] for one in found["components"] if one["term"] != "system"}
    assert variances == pytest.approx(PUBLISHED, rel=0.02, abs=0.02)
    assert (found["n_ratings"], found["n_raters"], found["degrees"], found["draws"]) == (3120, 10, 163, 4)
    assert found["typical_error"] == pytest.approx(0.573, rel=0.02)
    assert [one["system"] for one in found["systems"]][:2] == ["ONLINE-W", "GPT4-5shot_with_refA"]
    for one in found["systems"]:
        assert one["mean"] == pytest.approx(one["raw"], abs=0.1), (
            "complete data: only long documents weigh a little less"
        )
    assert len(found["pairs"]) == 45
    assert len(found["rater_system"]) == 100
    assert all(one["difference"] >= 0 for one in found["pairs"])
    for one in found["components"]:
        if one["interval"]:
            assert 0 <= one["interval"][0] <= one["interval"][1]


def test_viewers_learn_no_rater(spine: Spine) -> None:
    kind = report_requests.get_report_kind_by_name("components")
    asking = request.ReportRequest(
        kind, ("sxs",), request.parse_report_options(kind, {"recipe": "as-published", "draws": 0})
    )
    blind = json.loads(store.redact_report_for_viewers(kind, store.find_or_compute_report(spine.database, asking)).body)
    assert {one["rater"] for one in (*blind["raters"], *blind["rater_system"])} == {HIDDEN}


def errors_of(found: dict[str, Any]) -> dict[tuple[str, int, int], float]:
    return {
        (design["grouping"], design["ratings_per_item"], point["documents"]): point["standard_error"]
        for design in found["designs"]
        for point in design["points"]
    }


def test_the_planner_has_the_published_contrast_errors(spine: Spine) -> None:
    """En-de, documents equally long: single on 30, double on 15, single on 60 documents; floor .175."""
    asked = {"difference": 2.0, "documents": "15,30,60", "studies": 20, "draws": 0}
    own = report(spine, "power", **asked)
    found = report(spine, "power", **asked, segments=own["segments"])

    errors = errors_of(found)
    assert all(error > errors[design] for design, error in errors_of(own).items())  # its documents are not
    table = {"psxs": (0.725, 0.850, 0.528), "system_balanced": (0.822, 0.934, 0.594), "none": (1.075, 1.163, 0.770)}
    for grouping, wanted in table.items():
        ours = [errors[grouping, 1, 30], errors[grouping, 2, 15], errors[grouping, 1, 60]]
        assert ours == pytest.approx(wanted, abs=3e-3), grouping
    for design in found["designs"]:
        assert design["floor"] == pytest.approx(0.175, abs=1e-3)
    assert found["components"]["source"] == "sxs, own judgments"
    needed = {(d["grouping"], d["ratings_per_item"]): d["documents_needed"] for d in found["designs"]}
    assert needed["psxs", 1] < needed["system_balanced", 1] < needed["none", 1]


def test_prices_and_other_questions_follow(spine: Spine) -> None:
    ask = {"documents": "30", "studies": 20, "draws": 0, "groupings": "psxs", "ratings": "1"}
    plain = report(spine, "power", hourly=20.0, difference=2.0, **ask)
    dear = report(spine, "power", hourly=40.0, difference=2.0, **ask)
    (one,), (two,) = plain["designs"][0]["points"], dear["designs"][0]["points"]
    assert two["price"] == pytest.approx(2 * one["price"], abs=0.02)
    own = report(spine, "power", components="residual=4,rater_system=1", raters=5, difference=1.0, **ask)
    assert own["components"]["source"] == "given"
    assert own["designs"][0]["floor"] == pytest.approx((2 / 5) ** 0.5)
    assert own["designs"][0]["points"][0]["resampled"] is None


def test_the_forecast_is_labelled_and_holds_every_pair(spine: Spine) -> None:
    found = report(spine, "forecast", studies=60)

    assert (found["method"], found["rated_twice"], len(found["pairs"])) == ("forecast", True, 45)
    assert "a forecast" in found["warnings"][0]
    by_method = {one["method"]: one for one in found["studies"]}
    assert by_method["components_new_raters"]["srp"] < by_method["components_same_raters"]["srp"]
    assert all(25 < one["mean_significant_pairs"] < 40 for one in found["studies"])
    for pair in found["pairs"]:
        assert pair["significant_again"] <= pair["same_direction"]
        assert pair["same_direction"] == pytest.approx(pair["bootstrap_same_direction"], abs=0.12)
