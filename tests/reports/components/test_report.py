"""Reports on components, power and forecast where data are thin, coarse, or not of documents; no database."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from app.domain.errors import Invalid
from app.domain.recipe import NAMED
from app.reports.components import report as components
from app.reports.forecast import report as forecast
from app.reports.inputs.recipe_input import NOTHING, RecipeInput
from app.reports.inputs.variance_model_input import RatingsWithVarianceModel, parse_component_draw_chunks
from app.reports.power import report as power
from app.reports.power.options import PowerOptions
from app.reports.power.planner import PowerPlanner
from app.stats.planning.power_and_cost import DEFAULTS
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Ratings, ScoreScale
from app.stats.validation.worlds import WORLDS, WorldName, simulate_campaign
from tests.stats.components.worlds import crossed, needs_public_data, side_by_side


def modelled(ratings: Ratings, draws: int = 0) -> RatingsWithVarianceModel:
    n = len(ratings.labels.documents)
    documents = DocumentTable((None,) * n, ("test",) * n, np.full(n, 2), np.full(n, 30))
    given = SimpleNamespace(
        data_version_by_campaign={"c": 1},
        data_hash="sha256:x",
        hash_requested_recipe=lambda recipe: recipe.hash,
        snapshot=SimpleNamespace(campaign=SimpleNamespace(basis="source", key="c")),
        recipe=replace(NAMED["recommended"], seed=1),
        documents=documents,
    )
    return RatingsWithVarianceModel(cast("RecipeInput", given), ratings, (), draws)


def planned(rated: Ratings, protocol: str = "mqm", **question: Any) -> power.PowerView:
    planner = PowerPlanner(PowerOptions(**{"studies": 20, **question}), modelled(rated), protocol)
    return power._view(planner, [planner.compute_chunk(n) for n in range(planner.n_chunks)])


def told(ratings: Ratings, draws: int = 0) -> components.VarianceComponentsView:
    found = modelled(ratings, draws)
    return components._view(
        found, parse_component_draw_chunks([found.compute_component_draw_chunk(n) for n in range(found.n_chunks)])
    )


def nobody() -> Ratings:
    ratings = crossed(1)
    return ratings.where(np.zeros(len(ratings), dtype=bool))


def of_no_documents(ratings: Ratings) -> Ratings:
    return replace(ratings, documents_known=False)


def test_nothing_rated_is_one_clear_statement() -> None:
    assert told(nobody()).warnings == [NOTHING]
    ahead = forecast.StabilityForecaster(forecast.RankingForecastOptions(), modelled(nobody()), "mqm")
    assert forecast._view(ahead, []).warnings == [NOTHING]
    for draw in components.REPORT.charts.values():
        assert b"<svg" in draw(told(nobody()))


def test_without_judgments_published_components_plan_and_other_scales_borrow_none() -> None:
    found = planned(nobody(), difference=2.0, documents="20,40")
    assert found.components is not None
    assert found.components.source == DEFAULTS["mqm"].source
    assert all(point.resampled is None for design in found.designs for point in design.points)
    none = planned(nobody(), "xsts")
    assert (none.components, none.designs) == (None, [])
    assert "run a pilot" in none.warnings[0]
    for draw in power.REPORT.charts.values():
        assert b"<svg" in draw(none)


def test_a_pilot_by_another_protocol_is_refused_at_its_place() -> None:
    own, same, other = (
        cast("Any", SimpleNamespace(campaign=SimpleNamespace(key=key, protocol=protocol)))
        for key, protocol in (("own", "mqm"), ("same", "mqm"), ("other", "da"))
    )
    power._check_pilot(own, same)
    with pytest.raises(Invalid) as refused:
        power._check_pilot(own, other)
    assert [place.loc for place in refused.value.places] == [("query", "pilot")]


def test_constant_scores_and_one_rater_or_system_are_told() -> None:
    constant = crossed(1).with_scores(np.zeros(len(crossed(1))))
    assert told(constant).warnings == ["no model: each system has constant ratings: there is no variance to decompose"]
    assert (
        "one rater: the results do not generalize to other raters; have others rate a part of the outputs"
        in told(crossed(1, raters=1, ratings=1)).warnings
    )
    alone = told(crossed(1, systems=1))
    assert "only one system was rated, so there are no differences; rate a second system" in alone.warnings
    assert (alone.pairs, alone.typical_error) == ([], None)


def test_coarse_scales_with_a_crowded_level_make_p_approximate() -> None:
    rng = np.random.default_rng(0)
    ratings = crossed(2, documents=20)
    scored = ratings.with_scores(np.where(rng.random(len(ratings)) < 0.8, 5.0, 3.0))
    coarse = replace(scored, scale=ScoreScale(1, 5, 1.0))
    assert any("p-values are approximate" in one for one in told(coarse).warnings)
    fine = replace(scored, scale=ScoreScale(0, 100, 1.0))
    assert not any("p-values are approximate" in one for one in told(fine).warnings)


def test_intervals_are_drawn_and_the_same_again() -> None:
    ratings = crossed(4, documents=12, variance={"rater": 1.0})
    one, two = told(ratings, draws=12), told(ratings, draws=12)
    assert one == two
    assert one.draws == 12
    assert all(line.interval is not None for line in one.components if line.term in {"rater", "residual"})


def test_segments_of_no_documents_are_planned_as_documents_of_one_segment() -> None:
    ratings = of_no_documents(crossed(4, documents=12, segments=4))
    found = planned(ratings, difference=1.0, groupings="psxs", ratings="1")
    assert found.segments == 1.0
    assert len(ratings.labels.segment_document) in {point.documents for point in found.designs[0].points}
    ahead = forecast.StabilityForecaster(forecast.RankingForecastOptions(studies=20), modelled(ratings), "da")
    view = forecast._view(ahead, [ahead.compute_chunk(n) for n in range(4)])
    assert view.pairs == []
    assert any("documents are unknown" in one for one in view.warnings)


@pytest.mark.parametrize(
    ("world", "word"),
    [
        ("clean", None),
        ("uneven", None),
        ("few_documents", "effective documents"),
        ("one_giant", "one document holds"),
        ("rater_system", "3 raters"),
        ("confounded", "confounded"),
        ("disconnected", "no rater links"),
    ],
)
def test_a_forecast_tells_how_the_data_are_unlike_what_it_takes_for_granted(world: WorldName, word: str | None) -> None:
    rows = simulate_campaign(WORLDS[world], np.random.default_rng(1), np.zeros(3))
    ahead = forecast.StabilityForecaster(forecast.RankingForecastOptions(), modelled(rows), "mqm")
    beyond = {one for one in forecast._warnings(ahead, 1.0) if "rare failures" not in one}
    plain = simulate_campaign(WORLDS["clean"], np.random.default_rng(1), np.zeros(3))
    beyond -= set(forecast._warnings(forecast.StabilityForecaster(ahead.options, modelled(plain), "mqm"), 1.0))
    assert any(word in one for one in beyond) if word else not beyond


def test_pairs_that_no_rater_links_are_not_forecast_and_say_why() -> None:
    rows = simulate_campaign(WORLDS["confounded"], np.random.default_rng(1), np.zeros(3))
    pairs = forecast.StabilityForecaster(
        forecast.RankingForecastOptions(), modelled(rows), "mqm"
    ).forecast_system_pair_replication()
    apart = [one for one in pairs if "S00" in (one.better, one.worse)]
    (linked,) = (one for one in pairs if one not in apart)
    assert {(one.same_direction, one.bootstrap_significant_again, one.why) for one in apart} == {
        (None, None, forecast.UNLINKED)
    }
    assert linked.same_direction is not None
    assert linked.why is None


@pytest.mark.parametrize(("documents", "said"), [(0, False), (1, True), (58, True), (59, False)])
def test_a_forecast_from_few_documents_says_that_they_can_hide_failures(documents: int, said: bool) -> None:
    assert any("rare failures" in one for one in forecast.list_few_document_warnings(documents)) == said


def test_designs_that_ask_more_raters_than_there_are_are_left_out_and_said() -> None:
    found = planned(crossed(3, documents=12, raters=2), difference=1.0, ratings="1,2,3", documents="10")
    assert {design.ratings_per_item for design in found.designs} == {1, 2}
    assert any("more ratings per item than there are raters" in one for one in found.warnings)


def test_no_difference_is_told_where_no_design_is_left_to_find_one() -> None:
    found = planned(crossed(3, documents=12), raters=1, ratings="2", documents="10")
    assert (found.designs, found.difference) == ([], None)
    assert any("more ratings per item than there are raters" in one for one in found.warnings)
    assert not any("no difference was given" in one for one in found.warnings)
    assert planned(crossed(3, documents=12), raters=1, ratings="2", documents="10", difference=1.0).difference == 1.0
    for draw in power.REPORT.charts.values():
        assert b"<svg" in draw(found)


def test_where_no_number_of_documents_is_enough_the_raters_that_are_is_told() -> None:
    """Two raters who differ much by system: their floor is above the difference."""
    own = "rater_system=1,doc_system=0.5,residual=2,rater_doc=1"
    asked = {"components": own, "raters": 2, "ratings": "1,2", "documents": "20,100,300", "systems": 3}
    found = planned(nobody(), difference=1.5, **asked)
    assert found.planned_documents == 100
    for design in found.designs:
        assert design.documents_needed is None
        assert design.raters_needed is not None
        assert design.raters_at_least is not None
        assert 2 < design.raters_at_least <= design.raters_needed
        few, middle, many = (point.raters_needed for point in design.points)
        assert middle == design.raters_needed
        assert many is not None
        assert many <= middle
        assert few is None or few >= middle
    first = {**asked, "groupings": "psxs", "ratings": "1"}
    enough = planned(nobody(), difference=1.5, **{**first, "raters": found.designs[0].raters_needed})
    fewer = planned(nobody(), difference=1.5, **{**first, "raters": found.designs[0].raters_needed - 1})
    assert enough.designs[0].points[1].detectable <= 1.5 < fewer.designs[0].points[1].detectable
    heads, rows = power.REPORT.csv(found)
    assert [row[heads.index("raters_needed")] for row in rows] == [
        point.raters_needed for design in found.designs for point in design.points
    ]
    needs = power.REPORT.tables(found)[0].table
    assert "Raters for 100 documents" in needs.headings


def test_raters_that_are_not_enough_in_any_number_have_a_reason() -> None:
    found = planned(nobody(), difference=0.5, documents="20", groupings="psxs", ratings="1")
    only = found.designs[0]
    assert (only.raters_needed, only.points[0].raters_needed) == (None, None)
    assert only.raters_told is not None
    assert "with 20 documents no number of raters is enough" in only.raters_told


@pytest.mark.parametrize(
    "wrong", [{"groupings": "rows"}, {"ratings": "0"}, {"documents": "9999"}, {"components": "severity=1"}]
)
def test_questions_that_cannot_be_are_refused_by_name(wrong: dict[str, str]) -> None:
    asked = PowerOptions(**wrong)
    with pytest.raises(Invalid) as refused:
        asked.list_designs(), asked.list_document_counts(20), asked.parse_given_components()
    assert refused.value.places[0].loc == ("query", next(iter(wrong)))


FIRST = (
    "no difference was given, so the planner uses the one that the first design detects at the campaign's size; give "
    "the `difference` that matters to you"
)
ONCE = "some outputs were rated once, so rater variance is confounded with that of outputs; have some rated twice"
LARGEST = "the largest designs were not simulated; use their closed form, or plan smaller designs"


@pytest.mark.parametrize(
    ("rated", "question", "warned"),
    [
        (crossed(3, documents=12), {"difference": 1.0, "documents": "10"}, set()),
        (crossed(3, documents=12), {"documents": "10"}, {FIRST}),
        (crossed(3, documents=12, ratings=1), {"difference": 1.0, "documents": "10"}, {ONCE}),
        (crossed(3, documents=12, ratings=1), {"documents": "10"}, {FIRST, ONCE}),
        (crossed(3, documents=12), {"difference": 1.0, "documents": "1"}, set()),
        (
            crossed(3, documents=12),
            {"difference": 1.0, "documents": "5000", "raters": 100, "systems": 20, "groupings": "psxs", "ratings": "1"},
            {LARGEST},
        ),
    ],
    ids=["nothing", "no difference", "rated once", "both", "one document", "too large"],
)
def test_a_planner_warns_of_what_is_so_and_of_nothing_else(
    rated: Ratings, question: dict[str, str], warned: set[str]
) -> None:
    found = planned(rated, **question)
    assert {one for one in found.warnings if one in {FIRST, ONCE, LARGEST}} == warned
    assert not any(one.startswith("components:") for one in found.warnings), "they are the campaign's own"


def test_components_that_are_not_the_campaigns_own_are_told_and_its_own_are_not() -> None:
    foreign = "not the campaign's own, so they have no interval; run a pilot to measure them"
    published = f"components: {DEFAULTS['mqm'].source}, {foreign}"
    assert published in planned(nobody(), difference=2.0, documents="20").warnings
    given = planned(crossed(3, documents=12), difference=1.0, documents="10", components="residual=2").warnings
    assert f"components: given, {foreign}" in given
    assert ONCE not in planned(nobody(), difference=2.0, documents="20").warnings


def test_a_planner_promises_nothing_where_the_ranking_can_claim_nothing() -> None:
    found = planned(nobody(), difference=20.0, documents="6,7", systems=3, groupings="psxs", ratings="1", raters=3)
    six, seven = found.designs[0].points
    assert (six.power, six.simulated, six.significant_pairs, six.size) == (0.0, 0.0, 0.0, 0.0)
    assert seven.power > 0.99
    assert seven.simulated > 0.9
    assert found.designs[0].documents_needed == 7
    told = "below 7 documents no pair can be significant under recommended: power is 0 there; plan more documents"
    assert told in found.warnings
    enough = planned(nobody(), difference=20.0, documents="7", systems=3, groupings="psxs", ratings="1", raters=3)
    assert told not in enough.warnings


def test_a_planner_takes_the_campaigns_own_lengths_and_tells_the_size_of_its_test() -> None:
    uneven = crossed(3, documents=12, segments=9)
    lengths = np.bincount(uneven.labels.segment_document)
    one = {"difference": 1.0, "documents": "12", "groupings": "psxs", "ratings": "1", "studies": 2000}
    given, mean = "doc_system=1,residual=2,rater_system=0.5", float(lengths.mean())
    own, even = planned(uneven, components=given, **one), planned(uneven, components=given, segments=mean, **one)
    assert own.segments == even.segments == mean
    spread = (lengths**2).sum() * 12 / lengths.sum() ** 2
    taste = 0.5 / own.raters + 0.5 * (spread - 1) * (1 - 1 / own.raters) / 12
    wide = 2 * (spread / 12 + taste + 2 / lengths.sum())
    assert spread > 1.1
    assert own.designs[0].points[0].standard_error == pytest.approx(np.sqrt(wide))
    assert even.designs[0].points[0].standard_error < own.designs[0].points[0].standard_error
    size = own.designs[0].points[0]
    assert size.size > own.alpha_each + 3 * size.size_error, "new raters' tastes are not in the test"
    assert any("the test allows for documents only, so with new raters" in one for one in own.warnings)
    fixed = planned(uneven, components=given, fixed_panel=True, **one)
    assert fixed.designs[0].points[0].size <= fixed.alpha_each + 3 * max(size.size_error, 0.007)
    assert not any("the test counts documents only" in one for one in fixed.warnings)


def test_a_forecast_from_components_is_as_unsure_as_they_are() -> None:
    """Means and components that were taken for the truth gave an SRP with hardly an error."""
    ratings = crossed(4, documents=10, systems=3, variance={"rater": 1.0, "doc_system": 1.0, "residual": 4.0})
    ahead = forecast.StabilityForecaster(forecast.RankingForecastOptions(studies=20), modelled(ratings), "mqm")
    found = [forecast._STUDIES.validate_json(ahead.compute_chunk(n)) for n in (1, 2)]
    for one in found:
        assert one.low is not None
        assert one.low <= one.srp <= one.high
        assert one.studies == 500
        assert one.high > one.low
    planner = PowerPlanner(PowerOptions(), modelled(ratings), "mqm")
    worlds = ahead._draw_worlds(planner, planner.components, np.random.default_rng(1))
    assert len({one[0].residual for one in worlds}) == len(worlds) == 10
    assert np.ptp([one[1][0] for one in worlds]) > 0.1
    published = forecast.StabilityForecaster(forecast.RankingForecastOptions(), modelled(nobody()), "mqm")
    none = PowerPlanner(PowerOptions(), modelled(nobody()), "mqm")
    assert published._draw_worlds(none, DEFAULTS["mqm"], np.random.default_rng(1)) == [(DEFAULTS["mqm"], None, 10)]


class TestOnPublicData:
    pytestmark = needs_public_data

    def test_the_back_test_on_data_rated_by_three_finds_their_real_stability(self) -> None:
        """Side-by-side MQM, en-de, 30 documents: studies of one rating an item, dealt from its three, agree by .950.

        With the three ratings per item that the campaign has, studies agree more: that is another question.
        """
        ahead = forecast.StabilityForecaster(
            forecast.RankingForecastOptions(studies=20), modelled(side_by_side()), "mqm"
        )
        once = ahead._parametric("same", 1)
        assert once["srp"] == pytest.approx(0.950, abs=0.04)
        assert once["high"] - once["low"] > 0.02
        assert once["mc_error"] > 0.003
        view = forecast._view(ahead, [])
        told = "these studies have 3 ratings per item, as in the campaign; studies with one rating per item agree less"
        assert any(told in one for one in view.warnings)
