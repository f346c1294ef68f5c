"""What holds for every protocol, whichever there are."""

from __future__ import annotations

import json
import pkgutil
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

import app.protocols
from app.domain.errors import Invalid, NotFound
from app.domain.keys import is_key
from app.protocols import ALL, SERVING
from app.protocols.base import JudgedTexts, Protocol, ScoringOptions, WorkedExample, parse_scoring_options
from app.stats.scoring import resolve_weight_profile

EVERY = [pytest.param(protocol, id=name) for name, protocol in ALL.items()]
EXAMPLES = [pytest.param(p, e, id=f"{p.name}: {e.why}") for p in ALL.values() for e in p.examples]


def options_for(protocol: Protocol[Any], example: WorkedExample[Any]) -> ScoringOptions:
    return replace(parse_scoring_options(protocol, example.options), profile=resolve_weight_profile(example.profile))


def test_every_module_is_found() -> None:
    modules = [m.name for m in pkgutil.iter_modules(app.protocols.__path__) if m.name not in SERVING]
    assert len(ALL) == len(modules) >= 2


def test_an_unknown_protocol_is_not_found_and_those_there_are_are_named() -> None:
    with pytest.raises(NotFound, match=r"da, .*mqm"):
        app.protocols.get_protocol("no-such")


@pytest.mark.parametrize(("protocol", "example"), EXAMPLES)
def test_every_example_fits_its_texts_and_scores_as_stated(
    protocol: Protocol[Any], example: WorkedExample[Any]
) -> None:
    shown, options = example.judged_texts, options_for(protocol, example)
    protocol.check(example.payload, shown, options)
    assert protocol.score(example.payload, shown, options).score == pytest.approx(example.score, abs=1e-12)


@pytest.mark.parametrize(("protocol", "example"), EXAMPLES)
def test_every_payload_survives_json(protocol: Protocol[Any], example: WorkedExample[Any]) -> None:
    assert protocol.payload.model_validate_json(example.payload.model_dump_json()) == example.payload
    assert protocol.payload.model_validate(json.loads(example.payload.model_dump_json())) == example.payload


@pytest.mark.parametrize("protocol", EVERY)
def test_every_form_asks_for_every_field(protocol: Protocol[Any]) -> None:
    fields = [field for widget in protocol.form for field in widget.fields]
    assert sorted(fields) == sorted(set(protocol.payload.model_fields) - {"protocol"})


@pytest.mark.parametrize("protocol", EVERY)
def test_every_payload_names_its_protocol_and_refuses_another(protocol: Protocol[Any]) -> None:
    plain = json.loads(protocol.examples[0].payload.model_dump_json())
    assert plain["protocol"] == protocol.name
    with pytest.raises(ValidationError):
        protocol.payload.model_validate({**plain, "protocol": "another"})


@pytest.mark.parametrize("protocol", EVERY)
def test_no_payload_takes_a_field_that_is_not_declared(protocol: Protocol[Any]) -> None:
    plain = json.loads(protocol.examples[0].payload.model_dump_json())
    with pytest.raises(ValidationError):
        protocol.payload.model_validate({**plain, "surprise": 1})


@pytest.mark.parametrize("protocol", EVERY)
def test_every_protocol_says_what_it_is(protocol: Protocol[Any]) -> None:
    assert is_key(protocol.name)
    assert protocol.version >= 1
    assert protocol.title
    assert protocol.rubric
    assert len(protocol.examples) >= 3


@pytest.mark.parametrize(("protocol", "example"), EXAMPLES)
def test_every_measure_of_an_example_lies_on_its_scale(protocol: Protocol[Any], example: WorkedExample[Any]) -> None:
    options = options_for(protocol, example)
    names = [measure.name for measure in protocol.list_judgment_measures(options)]
    assert len(set(names)) == len(names) >= 1
    assert protocol.get_requested_measure(options) == protocol.list_judgment_measures(options)[0]
    for measure in protocol.list_judgment_measures(options):
        asked = replace(options, measure=measure.name)
        assert protocol.get_requested_measure(asked) == measure
        scored = protocol.score(example.payload, example.judged_texts, asked)
        if measure.scale is not None:
            assert measure.scale.minimum <= scored.score <= measure.scale.maximum


@pytest.mark.parametrize("protocol", EVERY)
def test_the_measure_that_ranks_has_the_direction_and_scale_of_the_protocol(protocol: Protocol[Any]) -> None:
    options = options_for(protocol, protocol.examples[0])
    first = protocol.get_requested_measure(options)
    assert first.higher_is_better is protocol.higher_is_better
    assert protocol.scale is None or first.scale == protocol.scale


@pytest.mark.parametrize("protocol", EVERY)
def test_an_unknown_measure_is_refused_and_those_there_are_are_named(protocol: Protocol[Any]) -> None:
    options = options_for(protocol, protocol.examples[0])
    with pytest.raises(Invalid, match=protocol.get_requested_measure(options).name):
        protocol.get_requested_measure(replace(options, measure="no-such"))


@pytest.mark.parametrize("protocol", EVERY)
def test_an_option_that_is_not_declared_is_refused_by_name(protocol: Protocol[Any]) -> None:
    with pytest.raises(Invalid) as refused:
        parse_scoring_options(protocol, {**protocol.examples[0].options, "surprise": 1})
    assert ("options", "surprise") in [place.loc for place in refused.value.places]


@pytest.mark.parametrize("protocol", EVERY)
def test_a_number_that_needs_the_output_says_so_and_no_other_does(protocol: Protocol[Any]) -> None:
    example = protocol.examples[0]
    for measure in protocol.list_judgment_measures(options_for(protocol, example)):
        asked = replace(options_for(protocol, example), measure=measure.name)
        if measure.needs_text:
            with pytest.raises(Invalid, match="not known"):
                protocol.score(example.payload, JudgedTexts(), asked)
        else:
            assert protocol.score(example.payload, JudgedTexts(), asked) == protocol.score(
                example.payload, example.judged_texts, asked
            )
