"""Forms: what raters are asked at each level, and which answers fit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

import pytest

from app.domain.errors import Invalid
from app.protocols import (
    ALL,
    PreferencePayload,
    QuestionNotAsked,
    check_answer,
    check_preference,
    find_payload_type,
    get_protocol,
    list_judged_levels,
    list_screen_preference_widgets,
    make_rater_form,
)
from app.protocols.base import (
    Basis,
    ChoiceWidget,
    CriteriaWidget,
    JudgedTexts,
    Level,
    PreferenceWidget,
    Protocol,
    SpansWidget,
    Widget,
    parse_scoring_options,
)

EVERY = [pytest.param(protocol, id=name) for name, protocol in ALL.items()]
EXAMPLES = [pytest.param(p, e, id=f"{p.name}: {e.why}") for p in ALL.values() for e in p.examples]
SIDE_BY_SIDE = [pytest.param(p, id=name) for name, p in ALL.items() if p.contrastive]
GRADED = [pytest.param(p, id=name) for name, p in ALL.items() if p.document_form]
SHOWN = JudgedTexts("Ein Hund.", "A dog.")


def answered(name: str, said: dict[str, Any], *, basis: Basis = "source", level: Level = "segment", **own: Any) -> None:
    protocol = get_protocol(name)
    options = parse_scoring_options(protocol, own)
    form = make_rater_form(protocol, options, basis=basis, level=level)
    check_answer(protocol, protocol.payload.model_validate(said), SHOWN, options, form)


@pytest.mark.parametrize(("protocol", "example"), EXAMPLES)
def test_every_example_answers_the_form_of_its_protocol(protocol: Protocol[Any], example: Any) -> None:
    options = parse_scoring_options(protocol, example.options)
    form = make_rater_form(protocol, options, basis=protocol.bases[0], level=protocol.level)
    check_answer(protocol, example.payload, example.judged_texts, options, form)


@pytest.mark.parametrize("protocol", EVERY)
def test_without_further_options_only_segments_are_asked_about_or_only_documents(protocol: Protocol[Any]) -> None:
    options = parse_scoring_options(protocol, protocol.examples[0].options)
    assert list_judged_levels(protocol, options) == (protocol.level,)
    other: Level = "document" if protocol.level == "segment" else "segment"
    with pytest.raises(QuestionNotAsked, match=f"but of {protocol.level}"):
        make_rater_form(protocol, options, basis=protocol.bases[0], level=other)


@pytest.mark.parametrize("protocol", EVERY)
def test_a_protocol_has_an_option_just_where_it_has_a_form_for_it(protocol: Protocol[Any]) -> None:
    fields = protocol.options.model_fields
    assert ("document_score" in fields) == bool(protocol.document_form)
    assert ("preference" in fields) == protocol.contrastive
    assert protocol.accepts_prefill >= protocol.requires_prefill


@pytest.mark.parametrize("protocol", EVERY)
def test_every_widget_is_of_a_known_kind_and_has_its_bounds(protocol: Protocol[Any]) -> None:
    options = parse_scoring_options(protocol, protocol.examples[0].options)
    for level in list_judged_levels(protocol, options):
        for widget in make_rater_form(protocol, options, basis=protocol.bases[0], level=level).widgets:
            assert isinstance(widget, get_args(Widget))
            assert not isinstance(widget, CriteriaWidget) or widget.criteria


@pytest.mark.parametrize("protocol", EVERY)
def test_a_form_says_what_to_do_and_nothing_of_systems_roles_or_scores(protocol: Protocol[Any]) -> None:
    form = make_rater_form(
        protocol,
        parse_scoring_options(protocol, protocol.examples[0].options),
        basis=protocol.bases[0],
        level=protocol.level,
    )
    assert set(asdict(form)) == {"level", "widgets", "rubric", "labels", "instructions"}
    assert form.instructions[0].endswith(".")
    if protocol.hides_source:
        said = " ".join((*form.labels, *form.instructions, *(text for line in form.rubric for text in line)))
        assert not {"source", "reference", "translation", "output"} & set(said.casefold().split())


@pytest.mark.parametrize("protocol", GRADED)
def test_a_document_score_is_asked_where_the_options_say_so_and_answers_by_the_same_payload(
    protocol: Protocol[Any],
) -> None:
    options = parse_scoring_options(protocol, {**protocol.examples[0].options, "document_score": True})
    assert list_judged_levels(protocol, options) == ("segment", "document")
    form = make_rater_form(protocol, options, basis=protocol.bases[0], level="document")
    known = protocol.examples[0].payload.model_dump(mode="json")
    asked = {field for widget in form.widgets for field in widget.fields}
    payload = find_payload_type(protocol, "document").model_validate({name: known[name] for name in asked})
    check_answer(protocol, payload, JudgedTexts(), options, form)
    assert protocol.score(payload, JudgedTexts(), options).score == protocol.examples[0].score
    assert "document as a whole" in form.instructions[-1]


def test_errors_are_not_marked_where_only_a_document_score_is_asked() -> None:
    answered("esa", {"score": 0}, level="document", document_score=True)
    with pytest.raises(Invalid) as refused:
        answered("esa", {"score": 0, "errors": [{"severity": "minor"}]}, level="document", document_score=True)
    assert [place.loc for place in refused.value.places] == [("errors",)]


@pytest.mark.parametrize(
    ("name", "span", "field"),
    [
        ("esa", {"severity": "critical"}, "severity"),
        ("esa", {"severity": "minor", "category": "Fluency"}, "category"),
        ("mqm", {"severity": "minor", "category": "No such"}, "category"),
        ("mqm", {"severity": "minor", "category": "Fluency/Omission"}, "category"),
        ("mqm", {"severity": "minor", "prefill": "p1"}, "prefill"),
    ],
)
def test_an_error_that_the_form_does_not_offer_is_refused_by_field(name: str, span: dict[str, Any], field: str) -> None:
    said: dict[str, Any] = {"errors": [{"severity": "minor"}, span]}
    if "score" in get_protocol(name).payload.model_fields:
        said["score"] = 50
    with pytest.raises(Invalid) as refused:
        answered(name, said)
    assert [place.loc for place in refused.value.places] == [("errors", 1, field)]
    get_protocol(name).check(
        get_protocol(name).payload.model_validate(said), JudgedTexts(), parse_scoring_options(get_protocol(name), {})
    )  # files may say so


@pytest.mark.parametrize("name", ["mqm", "mqm2"])
@pytest.mark.parametrize(
    ("weights", "severities"),
    [
        ("freitag2021", ("neutral", "minor", "major", "undecided")),
        ("wmt24", ("neutral", "minor", "major", "critical", "undecided")),
        ({"Critical/Accuracy": 9, "MINOR": 1}, ("neutral", "minor", "critical", "undecided")),
        ({"Terrible": 9, "Neutral": 0}, ("neutral", "minor", "major", "critical", "undecided")),
    ],
)
def test_a_form_offers_and_explains_severities_that_the_weights_know_and_takes_no_others(
    name: str, weights: Any, severities: tuple[str, ...]
) -> None:
    protocol = get_protocol(name)
    form = make_rater_form(protocol, parse_scoring_options(protocol, {"weights": weights}), basis="source")
    (spans,) = (widget for widget in form.widgets if isinstance(widget, SpansWidget))
    known = next(widget.severities for widget in protocol.form if isinstance(widget, SpansWidget))
    assert spans.severities == tuple(one for one in severities if one in known), "mqm2 has no undecided"
    explained = {value.split()[0] for value, _ in protocol.rubric}
    assert {value.split()[0] for value, _ in form.rubric} == explained & set(severities)
    said = {"errors": [{"severity": "critical", "category": "Other" if name == "mqm" else "Style"}]}
    if "critical" in severities:
        answered(name, said, weights=weights)
        return
    with pytest.raises(Invalid) as refused:
        answered(name, said, weights=weights)
    assert [place.loc for place in refused.value.places] == [("errors", 0, "severity")]
    files_may_say_so = protocol.payload.model_validate(said)
    protocol.check(files_may_say_so, JudgedTexts(), parse_scoring_options(protocol, {"weights": weights}))


def test_without_a_source_on_the_screen_there_is_nothing_to_mark_on_it() -> None:
    on_source = {"errors": [{"severity": "minor", "side": "source", "start": 0, "end": 3}]}
    answered("mqm", on_source, basis="both")
    with pytest.raises(Invalid) as refused:
        answered("mqm", on_source, basis="reference")
    assert [place.loc for place in refused.value.places] == [("errors", 0, "side")]
    spans = make_rater_form(get_protocol("mqm"), parse_scoring_options(get_protocol("mqm"), {}), basis="none").widgets[
        0
    ]
    assert isinstance(spans, SpansWidget)
    assert spans.source_side is False


def test_a_scale_of_four_points_offers_four() -> None:
    for points in (4, 5):
        protocol = get_protocol("xsts")
        choice = make_rater_form(protocol, parse_scoring_options(protocol, {"points": points}), basis="source").widgets[
            0
        ]
        assert isinstance(choice, ChoiceWidget)
        assert [value for value, _ in choice.points] == [float(n) for n in range(1, points + 1)]


def test_criteria_come_with_their_scales() -> None:
    labels = {"labels": {"5": "reads well"}, "title": "Fluency"}
    declared = {"criteria": [{"name": "fluency", "minimum": 1.0, "maximum": 5.0, **labels}]}
    (widget,) = make_rater_form(
        get_protocol("rating"), parse_scoring_options(get_protocol("rating"), declared), basis="none"
    ).widgets
    assert isinstance(widget, CriteriaWidget)
    (scale,) = widget.criteria
    assert (scale.name, scale.title, scale.ticks) == ("fluency", "Fluency", ((5.0, "reads well"),))


@pytest.mark.parametrize("protocol", SIDE_BY_SIDE)
@pytest.mark.parametrize("mode", ["best", "ranking"])
def test_a_preference_is_asked_of_a_screen_where_the_options_say_so(protocol: Protocol[Any], mode: Any) -> None:
    options = parse_scoring_options(protocol, {**protocol.examples[0].options, "preference": mode})
    form = make_rater_form(protocol, options, basis=protocol.bases[0], level="screen")
    assert form.widgets == list_screen_preference_widgets(protocol, mode) == (PreferenceWidget("preference", mode),)
    payload = find_payload_type(protocol, "screen").model_validate(
        {"protocol": protocol.name, "preference": [[2], [1, 3]]}
    )
    check_preference(payload, form.widgets[0], protocol=protocol.name, columns=3)
    assert PreferencePayload.model_validate_json(payload.model_dump_json()) == payload


@pytest.mark.parametrize(
    ("mode", "preference", "fits"),
    [
        ("ranking", [[3], [1, 2]], True),
        ("ranking", [[1], [2], [3]], True),
        ("ranking", [[1, 2, 3]], True),
        ("ranking", [[1], [2]], False),
        ("ranking", [[1], [2], [3], [4]], False),
        ("ranking", [[1], [1, 2, 3]], False),
        ("best", [[1], [2, 3]], True),
        ("best", [[1, 2, 3]], True),
        ("best", [[1], [2], [3]], False),
    ],
)
def test_a_preference_puts_every_column_in_one_group(mode: Any, preference: Any, fits: bool) -> None:
    payload = PreferencePayload.model_validate({"protocol": "da", "preference": preference})
    asked = PreferenceWidget("preference", mode)
    if fits:
        check_preference(payload, asked, protocol="da", columns=3)
        return
    with pytest.raises(Invalid) as refused:
        check_preference(payload, asked, protocol="da", columns=3)
    assert [place.loc for place in refused.value.places] == [("preference",)]


def test_a_preference_names_the_protocol_of_the_campaign() -> None:
    payload = PreferencePayload.model_validate({"protocol": "esa", "preference": [[1], [2]]})
    with pytest.raises(Invalid, match="judges by da"):
        check_preference(payload, PreferenceWidget("preference", "best"), protocol="da", columns=2)
