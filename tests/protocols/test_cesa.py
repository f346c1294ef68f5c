"""Contrastive ESA: five bands, faults against the instructions, and which outputs are free of errors."""

from __future__ import annotations

import pytest

from app.domain.errors import Invalid
from app.protocols import cesa, check_answer, make_rater_form
from app.protocols.base import JudgedTexts, ScoringOptions, SliderWidget, Span, parse_scoring_options
from app.protocols.cesa import BANDS, PROTOCOL, CESAPayload

TEXT = JudgedTexts("Do you come?", "Kommst du?")
OPTIONS = parse_scoring_options(PROTOCOL, {})
MINOR = Span(start=0, end=3, severity="minor")


@pytest.mark.parametrize("value", [0, 20, 25, 40, 45, 60, 65, 80, 85, 100])
def test_the_ends_of_the_bands_are_scores(value: float) -> None:
    PROTOCOL.check(CESAPayload(score=value), TEXT, OPTIONS)


@pytest.mark.parametrize("value", [-5, 22, 84, 99.5, 105])
def test_what_lies_in_no_band_is_refused(value: float) -> None:
    with pytest.raises(Invalid, match="steps of 5"):
        PROTOCOL.check(CESAPayload(score=value), TEXT, OPTIONS)


def test_the_bands_divide_the_slider_without_overlap() -> None:
    slider = next(widget for widget in PROTOCOL.form if isinstance(widget, SliderWidget))
    ends = [tuple(map(float, label.split(":")[0].split("–"))) for _, label in BANDS]
    values = [slider.minimum + i * slider.step for i in range(int(slider.maximum / slider.step) + 1)]
    assert [start for start, _ in BANDS] == [low for low, _ in ends]
    assert all(sum(low <= value <= high for low, high in ends) == 1 for value in values)


@pytest.mark.parametrize(
    ("payload", "free"),
    [
        (CESAPayload(score=85), 1.0),
        (CESAPayload(score=80), 0.0),
        (CESAPayload(score=100, errors=(MINOR,)), 0.0),
    ],
)
def test_free_of_errors_is_nothing_marked_and_the_highest_band(payload: CESAPayload, free: float) -> None:
    asked = ScoringOptions(OPTIONS.profile, own=OPTIONS.own, measure="error_free")
    assert PROTOCOL.score(payload, TEXT, asked).score == free


def test_a_fault_against_the_instructions_may_have_no_place_and_no_other_category_is_offered() -> None:
    form = make_rater_form(PROTOCOL, OPTIONS, basis="source")
    fault = Span(severity="major", category=cesa.FAULT)
    check_answer(PROTOCOL, CESAPayload(errors=(fault, MINOR), score=40), TEXT, OPTIONS, form)
    other = Span(severity="major", category="Accuracy")
    with pytest.raises(Invalid, match="none of the form's"):
        check_answer(PROTOCOL, CESAPayload(errors=(other,), score=40), TEXT, OPTIONS, form)
