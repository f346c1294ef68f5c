"""A protocol that a manager writes: what it may say, what an answer must have, and what each part scores."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest

from app.domain.errors import Invalid
from app.protocols import ALL, convert_to_custom_options, get_protocol, list_widgets_at_level, make_rater_form
from app.protocols.base import JudgedTexts, SpansWidget, parse_scoring_options
from app.stats.scoring import weigh_error

CUSTOM = get_protocol("custom")
SPANS = {"kind": "spans", "severities": [{"name": "light", "weight": 1.0}, {"name": "heavy", "weight": 4.0}]}
SLIDER = {"kind": "slider", "name": "s", "title": "How good?"}
YES = {"kind": "yes_no", "name": "y", "title": "Usable?"}
TEXT = {"kind": "text", "name": "t", "title": "Why?"}
EDIT = {"kind": "post_edit"}
CHOICE = {
    "kind": "choice",
    "name": "c",
    "title": "Which?",
    "options": [{"value": -1.0, "label": "bad"}, {"value": 3.0, "label": "good"}],
}
SHOWN = JudgedTexts("Hello.", "Hallo.")


def options(*parts: dict[str, object], **more: object) -> dict[str, object]:
    return {"parts": list(parts), **more}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (options(), "at least 1"),
        (options(*({**SLIDER, "name": f"s{n}"} for n in range(21))), "at most 20"),
        (options(TEXT), "no part scores"),
        (options(SLIDER, SLIDER), "same name"),
        (options(SPANS, SPANS, SLIDER), "one part only"),
        (options({**SLIDER, "name": "spans"}), "cannot be called spans"),
        (options({**SLIDER, "name": "a b"}), "match"),
        (options({**SLIDER, "minimum": 100.0}), "less than maximum"),
        (options({**SLIDER, "step": 7.0}), "whole number of steps"),
        (options({**SLIDER, "labels": {"101": "x"}}), "no value of the scale"),
        (options({**CHOICE, "options": CHOICE["options"][:1]}), "at least 2"),
        (options({**CHOICE, "options": [CHOICE["options"][0]] * 2}), "same value"),
        (options({**SPANS, "severities": []}), "at least 1"),
        (options({**SPANS, "severities": [{"name": f"n{n}", "weight": 1.0} for n in range(10)]}), "at most 9"),
        (options({**SPANS, "severities": [{"name": "A", "weight": 1.0}, {"name": "a", "weight": 2.0}]}), "same name"),
        (options({**SPANS, "severities": [{"name": "a", "weight": -1.0}]}), "greater than or equal to 0"),
        (options({**SPANS, "categories": [{"name": "a/b"}]}), "match"),
        (options({**SPANS, "categories": [{"name": "a"}], "tokens": ["a"]}), "same name"),
        (options({**SPANS, "categories": [{"name": "a"}], "free_category": True}), "either listed or written"),
        (options(SLIDER, ranks_by="none"), "ranks_by must be one of s"),
        (options({"kind": "picture"}), "picture"),
        (options({**SLIDER, "surprise": 1}), "surprise"),
    ],
)
def test_a_protocol_that_cannot_be_asked_is_refused_at_its_place(wrong, why):
    with pytest.raises(Invalid) as refused:
        parse_scoring_options(CUSTOM, wrong)
    told = [f"{'.'.join(map(str, place.loc))} {place.msg}" for place in refused.value.places]
    assert any(why in one for one in told), told
    assert all(one.startswith("options") for one in told)


@pytest.mark.parametrize(
    ("parts", "answer", "place"),
    [
        ((SLIDER,), {}, ("scores", "s")),
        ((SLIDER,), {"scores": {"s": 101}}, ("scores", "s")),
        ((SLIDER,), {"scores": {"s": 1, "x": 1}}, ("scores", "x")),
        ((YES,), {"scores": {"y": 0.5}}, ("scores", "y")),
        ((CHOICE,), {"scores": {"c": 0}}, ("scores", "c")),
        ((SLIDER,), {"scores": {"s": 1}, "errors": [{"severity": "light"}]}, ("errors",)),
        ((SPANS,), {"errors": [{"severity": "minor"}]}, ("errors", 0, "severity")),
        ((SPANS,), {"errors": [{"severity": "light", "start": 0, "end": 7}]}, ("errors", 0, "end")),
        ((SLIDER, {**TEXT, "required": True}), {"scores": {"s": 1}}, ("texts", "t")),
        ((SLIDER, {**TEXT, "required": True}), {"scores": {"s": 1}, "texts": {"t": " "}}, ("texts", "t")),
        ((SLIDER, {**TEXT, "most": 3}), {"scores": {"s": 1}, "texts": {"t": "abcd"}}, ("texts", "t")),
        ((SLIDER,), {"scores": {"s": 1}, "texts": {"t": "a"}}, ("texts", "t")),
        ((EDIT,), {}, ("texts", "post-edit")),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_at_its_place(parts, answer, place):
    payload = CUSTOM.payload.model_validate({"protocol": "custom", **answer})
    with pytest.raises(Invalid) as refused:
        CUSTOM.check(payload, SHOWN, parse_scoring_options(CUSTOM, options(*parts)))
    assert place in [one.loc for one in refused.value.places]


def test_each_part_scores_as_it_says_and_the_overall_score_is_their_mean_by_weight():
    lower = {**SLIDER, "name": "bad", "higher_is_better": False, "weight": 1.0}
    given = options(
        {**SPANS, "weights": {"heavy/Form": 0.5}, "categories": [{"name": "Form"}, {"name": "Meaning"}]},
        {**SLIDER, "weight": 2.0},
        lower,
        {**CHOICE, "weight": 1.0},
        YES,
        EDIT,
        ranks_by="overall",
    )
    asked = parse_scoring_options(CUSTOM, given)
    errors = [{"severity": "heavy", "category": "Meaning"}, {"severity": "heavy", "category": "Form"}]
    payload = CUSTOM.payload.model_validate(
        {
            "protocol": "custom",
            "errors": [*errors, {"severity": "light", "category": "Form"}],
            "scores": {"s": 80, "bad": 25, "c": -1, "y": 1},
            "texts": {"post-edit": "Halli."},
        }
    )
    CUSTOM.check(payload, SHOWN, asked)
    scores = {
        one.name: CUSTOM.score(payload, SHOWN, replace(asked, measure=one.name)).score
        for one in CUSTOM.list_judgment_measures(asked)
    }
    assert next(iter(scores)) == "overall"
    assert scores["spans"] == pytest.approx(4.0 + 0.5 + 1.0)
    assert scores["overall"] == pytest.approx((2 * 80 + 75 + 0) / 4)
    assert (scores["s"], scores["bad"], scores["c"], scores["y"]) == (80, 25, -1, 1)
    assert scores["post-edit"] == pytest.approx(100 / 6)
    directions = {one.name: one.higher_is_better for one in CUSTOM.list_judgment_measures(asked)}
    assert directions == {
        "overall": True, "spans": False, "s": True, "bad": False, "c": True, "y": True, "post-edit": False,
    }  # fmt: skip


def test_the_form_keeps_the_order_of_the_parts():
    asked = parse_scoring_options(
        CUSTOM, options(SLIDER, YES, SPANS, TEXT, CHOICE, rubric=[{"value": "a", "meaning": "b"}])
    )
    form = make_rater_form(CUSTOM, asked, basis="source")
    kinds = [widget.kind for widget in form.widgets]
    assert kinds == ["criteria", "spans", "texts", "criteria"]
    assert [one.name for one in form.widgets[0].criteria] == ["s", "y"]
    assert form.rubric == (("a", "b"),)


@pytest.mark.parametrize("name", sorted(name for name, one in ALL.items() if one.ranks))
def test_every_built_in_protocol_can_be_taken_as_a_start(name):
    """What is written out is a protocol, asks the same questions, and weighs marked errors alike."""
    start = get_protocol(name)
    given = parse_scoring_options(start, start.examples[0].options)
    written = parse_scoring_options(CUSTOM, convert_to_custom_options(start, given))
    level = start.level
    written_again = parse_scoring_options(CUSTOM, convert_to_custom_options(CUSTOM, written))
    assert written_again.own == written.own
    kinds = {"slider": "criteria", "choice": "criteria", "count": "criteria", "textedit": "texts", "link": "texts"}
    before = [kinds.get(one.kind, one.kind) for one in list_widgets_at_level(start, given, level)]
    after = [one.kind for one in list_widgets_at_level(CUSTOM, written, "segment")]
    assert [one for one, _ in groupby(before)] == after
    first, second = start.get_requested_measure(given), CUSTOM.get_requested_measure(written)
    if first.name == second.name:
        assert first.higher_is_better is second.higher_is_better
    for one in list_widgets_at_level(start, given, level):
        if isinstance(one, SpansWidget):
            for severity in one.severities:
                for category in (None, *(f"{a}/{b}" for a, bs in one.categories for b in bs)):
                    was = weigh_error(given.profile, severity, category)[0]
                    assert weigh_error(written.profile, severity, category)[0] == was
