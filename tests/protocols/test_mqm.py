"""MQM payloads: what fits a text, what does not, and what it comes to."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from app.domain.errors import Invalid
from app.protocols import get_protocol
from app.protocols.base import JudgedTexts, JudgmentScore, ScoringOptions
from app.stats.scoring import resolve_weight_profile

MQM = get_protocol("mqm")
OPTIONS = ScoringOptions(resolve_weight_profile("freitag2021"))
SHOWN = JudgedTexts(source="Ein Hund.", text="A 🐶 dog.")  # 8 code points, more in UTF-16


def judged(**span: object) -> None:
    payload = MQM.payload.model_validate({"errors": [{"severity": "minor", **span}]})
    MQM.check(payload, SHOWN, OPTIONS)


@pytest.mark.parametrize(
    "span",
    [
        {"start": 0, "end": 8},
        {"start": 8, "end": 8},
        {"side": "source", "start": 0, "end": 9},
        {"omission": True},
        {},
        *({"severity": s} for s in ("neutral", "major", "critical", "undecided")),
    ],
)
def test_a_span_inside_the_text_fits(span: dict[str, object]) -> None:
    judged(**span)


@pytest.mark.parametrize(
    ("span", "field"),
    [
        ({"start": 0, "end": 9}, "end"),
        ({"side": "source", "start": 0, "end": 10}, "end"),
        ({"start": 3, "end": 2}, "end"),
        ({"start": 3}, "end"),
        ({"end": 3}, "end"),
        ({"severity": "Major"}, "severity"),
        ({"severity": "awful"}, "severity"),
    ],
)
def test_a_span_that_does_not_fit_is_refused_by_field(span: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        judged(**span)
    assert [place.loc for place in refused.value.places] == [("errors", 0, field)]


@pytest.mark.parametrize("start", [True, 1.0, "1", -1, 10**400, None])
def test_an_offset_is_a_whole_number(start: object) -> None:
    with pytest.raises((ValidationError, Invalid)):
        judged(start=start, end=4)


def test_a_span_over_a_text_nobody_knows_is_taken_as_it_is() -> None:
    payload = MQM.payload.model_validate({"errors": [{"severity": "minor", "start": 500, "end": 510}]})
    MQM.check(payload, JudgedTexts(), OPTIONS)
    assert MQM.score(payload, JudgedTexts(), OPTIONS) == JudgmentScore(1.0, 1)


def test_errors_that_weigh_nothing_still_count_as_errors() -> None:
    payload = MQM.payload.model_validate({"errors": [{"severity": "neutral"}, {"severity": "minor"}]})
    assert MQM.score(payload, SHOWN, OPTIONS) == JudgmentScore(1.0, 2)


def test_the_number_of_errors_is_bounded() -> None:
    with pytest.raises(ValidationError):
        MQM.payload.model_validate({"errors": [{"severity": "minor"}] * 1001})
