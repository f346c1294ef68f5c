"""Protocols with one number on a scale, and criteria with one each: what is a value and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.errors import Invalid
from app.protocols import get_protocol
from app.protocols.base import JudgedTexts, parse_scoring_options
from app.stats.ratings import ScoreScale

CRITERIA: dict[str, Any] = {
    "criteria": [
        {"name": "fluency", "minimum": 1, "maximum": 5},
        {"name": "errors", "minimum": 0, "maximum": 1, "step": None, "higher_is_better": False},
    ]
}


def scored(name: str, payload: dict[str, Any], options: dict[str, Any] | None = None) -> float:
    protocol = get_protocol(name)
    under = parse_scoring_options(protocol, options or {})
    answer = protocol.payload.model_validate(payload)
    protocol.check(answer, JudgedTexts(), under)
    return protocol.score(answer, JudgedTexts(), under).score


@pytest.mark.parametrize(
    ("name", "given", "options"),
    [
        ("sqm", 0, {}),
        ("sqm", 6, {}),
        ("da_sqm", 0, {}),
        ("da_sqm", 66.7, {}),
        ("xsts", 1, {}),
        ("xsts", 5, {}),
        ("xsts", 4, {"points": 4}),
        ("esa", 0, {}),
        ("xsts", -1.7, {"scale": "z"}),
        ("sqm", 2.31, {"scale": "z"}),
    ],
)
def test_a_value_of_the_scale_is_taken_as_it_is(name: str, given: float, options: dict[str, Any]) -> None:
    assert scored(name, {"score": given}, options) == given


@pytest.mark.parametrize(
    ("name", "given", "options", "reason"),
    [
        ("sqm", 7, {}, "from 0 to 6 in steps of 1"),
        ("sqm", 2.5, {}, "in steps of 1"),
        ("da_sqm", 100.5, {}, "from 0 to 100"),
        ("xsts", 0, {}, "from 1 to 5"),
        ("xsts", 5, {"points": 4}, "from 1 to 4"),
        ("xsts", 3.5, {}, "in steps of 1"),
        ("esa", 101, {}, "from 0 to 100"),
    ],
)
def test_what_is_off_the_scale_is_refused_with_the_scale(
    name: str, given: float, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Invalid, match=reason) as refused:
        scored(name, {"score": given}, options)
    assert [place.loc for place in refused.value.places] == [("score",)]


@pytest.mark.parametrize("options", [{"points": 3}, {"points": "5"}, {"points": True}, {"scale": "percent"}])
def test_an_option_that_xsts_does_not_know_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        parse_scoring_options(get_protocol("xsts"), options)
    assert refused.value.places[0].loc[:2] == ("options", next(iter(options)))


def test_the_scale_of_xsts_follows_its_points() -> None:
    xsts = get_protocol("xsts")
    assert xsts.get_requested_measure(parse_scoring_options(xsts, {"points": 4})).scale == ScoreScale(1, 4, 1)
    assert xsts.get_requested_measure(parse_scoring_options(xsts, {"scale": "z"})).scale is None


def test_esa_weighs_its_errors_by_the_profile_of_its_authors_unless_told_otherwise() -> None:
    esa = get_protocol("esa")
    assert parse_scoring_options(esa, {}).profile.name == "esa-mqm"
    assert parse_scoring_options(esa, {"weights": "wmt24"}).profile.name == "wmt24"
    assert [(m.name, m.higher_is_better) for m in esa.list_judgment_measures(parse_scoring_options(esa, {}))] == [
        ("score", True),
        ("spans", False),
    ]


def test_esa_holds_its_errors_against_the_texts() -> None:
    esa = get_protocol("esa")
    answer = esa.payload.model_validate({"errors": [{"start": 0, "end": 9, "severity": "minor"}], "score": 50})
    with pytest.raises(Invalid, match="outside the target text"):
        esa.check(answer, JudgedTexts(text="short"), parse_scoring_options(esa, {}))


def test_the_first_criterion_ranks_and_each_can_be_asked_for() -> None:
    rating = get_protocol("rating")
    options = parse_scoring_options(rating, CRITERIA)
    names = [(m.name, m.higher_is_better, m.scale) for m in rating.list_judgment_measures(options)]
    assert names == [("fluency", True, ScoreScale(1, 5, 1)), ("errors", False, ScoreScale(0, 1, None))]
    assert scored("rating", {"scores": {"fluency": 4, "errors": 0.25}}, CRITERIA) == 4


@pytest.mark.parametrize(
    ("scores", "place"),
    [
        ({"fluency": 4}, ("scores", "errors")),
        ({"fluency": 4, "errors": 0, "tone": 1}, ("scores", "tone")),
        ({"fluency": 4.5, "errors": 0}, ("scores", "fluency")),
        ({"fluency": 4, "errors": 1.1}, ("scores", "errors")),
    ],
)
def test_every_criterion_needs_a_value_of_its_scale(scores: dict[str, float], place: tuple[str, str]) -> None:
    with pytest.raises(Invalid) as refused:
        scored("rating", {"scores": scores}, CRITERIA)
    assert [p.loc for p in refused.value.places] == [place]


@pytest.mark.parametrize(
    "criteria",
    [
        [],
        [{"name": "a", "minimum": 1, "maximum": 1}],
        [{"name": "a", "minimum": 0, "maximum": 1, "step": 0.3}],
        [{"name": "a", "minimum": 0, "maximum": 1, "step": 0}],
        [{"name": "a b", "minimum": 0, "maximum": 1}],
        [{"name": "a", "minimum": 0, "maximum": 1}] * 2,
        [{"name": "a", "minimum": 0, "maximum": 1, "labels": {"2": "beyond"}}],
        [{"name": "a", "minimum": 0, "maximum": 1, "labels": {"nan": "none"}}],
        [{"name": "a", "minimum": float("nan"), "maximum": 1}],
        None,
    ],
)
def test_criteria_that_make_no_sense_are_refused(criteria: object) -> None:
    with pytest.raises(Invalid) as refused:
        parse_scoring_options(get_protocol("rating"), {"criteria": criteria})
    assert refused.value.places[0].loc[:2] == ("options", "criteria")


def test_a_campaign_of_ratings_must_declare_criteria() -> None:
    with pytest.raises(Invalid) as refused:
        parse_scoring_options(get_protocol("rating"), {})
    assert refused.value.places[0].loc == ("options", "criteria")
