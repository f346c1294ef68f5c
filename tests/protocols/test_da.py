"""Direct assessment payloads: what is a score and what is not."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from app.domain.errors import Invalid
from app.protocols import get_protocol
from app.protocols.base import NO_ERRORS_ASKED, JudgedTexts, JudgmentScore, ScoringOptions
from app.stats.scoring import resolve_weight_profile

DA = get_protocol("da")
RAW = ScoringOptions(resolve_weight_profile(None))
STANDARDISED = ScoringOptions(resolve_weight_profile(None), standardised=True)


@pytest.mark.parametrize("score", [0, 0.0, -0.0, 100, 99.99])
def test_a_score_on_the_slider_is_taken_and_zero_is_one(score: float) -> None:
    payload = DA.payload.model_validate({"score": score})
    DA.check(payload, JudgedTexts(), RAW)
    found = DA.score(payload, JudgedTexts(), RAW)
    assert found == JudgmentScore(float(score), NO_ERRORS_ASKED)
    assert math.copysign(1, found.score) == 1


@pytest.mark.parametrize("score", [-0.1, 100.001, -3.2])
def test_a_score_off_the_slider_is_refused_unless_it_is_standardised(score: float) -> None:
    payload = DA.payload.model_validate({"score": score})
    with pytest.raises(Invalid, match="from 0 to 100"):
        DA.check(payload, JudgedTexts(), RAW)
    DA.check(payload, JudgedTexts(), STANDARDISED)
    assert DA.score(payload, JudgedTexts(), STANDARDISED).score == score


@pytest.mark.parametrize("score", [True, "50", None, math.nan, math.inf, 10**400, [50], 1e7])
def test_what_is_no_number_is_no_score(score: object) -> None:
    with pytest.raises(ValidationError):
        DA.payload.model_validate({"score": score})


def test_a_score_must_be_there() -> None:
    with pytest.raises(ValidationError):
        DA.payload.model_validate({"protocol": "da"})
