"""Error span annotation: errors marked as minor or major, then a score from 0 to 100.

Source: Kocmi et al. 2024 (WMT, "Error Span Annotation"). The score ranks. Instead, the marked errors can be weighted
(`scoring=spans`), by default with the profile of the authors' scripts.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.protocols.base import (
    JudgedTexts,
    JudgmentMeasure,
    JudgmentScore,
    Payload,
    Protocol,
    ScoringOptions,
    SideBySideMarkingOptions,
    SliderWidget,
    Span,
    SpansWidget,
    WorkedExample,
)
from app.protocols.kit.marked_errors import Marks, check_error_spans_and_score, choose_score_or_error_penalty
from app.protocols.kit.scales import Number
from app.stats.ratings import ScoreScale

SCALE = ScoreScale(0.0, 100.0)
TICKS = (
    (0.0, "No meaning preserved"),
    (33.0, "Some meaning preserved"),
    (66.0, "Most meaning preserved"),
    (100.0, "Perfect"),
)
RUBRIC = (
    ("minor", "Noticeable, but the meaning is clear: style, grammar, choice of words."),
    ("major", "Changes or hides the meaning, or makes the text unusable here."),
    ("omission", "What is missing is marked on the source, or as missing without a place."),
    ("0", "Nothing of the meaning is left."),
    ("33", "Some of the meaning is there, much is lost."),
    ("66", "Most of the meaning is there; small mistakes."),
    ("100", "The meaning is all there and the language is right."),
)


class ESAOptions(SideBySideMarkingOptions):
    """document_score: whole documents are scored too, on the same slider, without marking."""

    document_score: bool = Field(
        default=False, title="Document score", description="Raters also score each document as a whole."
    )


class ESAPayload(Payload):
    """The errors that a rater marked, and the score given after marking them."""

    protocol: Literal["esa"] = "esa"
    errors: Marks = ()
    score: Number


def list_measures(options: ScoringOptions) -> tuple[JudgmentMeasure, ...]:  # noqa: ARG001 (one signature for all)
    """Return the score, and the weight of the marked errors."""
    return (
        JudgmentMeasure("score", higher_is_better=True, scale=SCALE),
        JudgmentMeasure("spans", higher_is_better=False, uses_profile=True),
    )


def check_payload(payload: ESAPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid naming every error that does not fit the texts, and a score off the slider."""
    check_error_spans_and_score(payload.errors, payload.score, shown, SCALE)


def score_judgment(payload: ESAPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """Return the slider (higher is better), or the weight of the errors (lower is better); and the number of errors."""
    return choose_score_or_error_penalty(payload.errors, payload.score, options)


_SOURCE = "The dog barked, and nobody woke up."
_GRAMMAR = Span(start=4, end=8, severity="minor")
_OMITTED = Span(severity="major", omission=True)

PROTOCOL = Protocol(
    name="esa",
    version=1,
    title="Error span annotation",
    payload=ESAPayload,
    higher_is_better=True,
    scale=SCALE,
    form=(
        SpansWidget("errors", severities=("minor", "major"), source_side=True, omission=True),
        SliderWidget("score", SCALE.minimum, SCALE.maximum, step=1.0, ticks=TICKS),
    ),
    rubric=RUBRIC,
    instructions="Mark every error, including missing parts; then score the text as a whole.",
    document_form=(SliderWidget("score", SCALE.minimum, SCALE.maximum, step=1.0, ticks=TICKS),),
    contrastive=True,
    accepts_prefill=True,
    check=check_payload,
    score=score_judgment,
    options=ESAOptions,
    weights="esa-mqm",
    measures=list_measures,
    examples=(
        WorkedExample(_SOURCE, "Der Hund bellte, und niemand wachte auf.", ESAPayload(score=100), 100.0, "no error"),
        WorkedExample(
            _SOURCE, "Der Hunt bellte, und niemand wachte auf.", ESAPayload(errors=(_GRAMMAR,), score=93), 93.0, "one"
        ),
        WorkedExample(
            _SOURCE, "Der Hunt bellte.", ESAPayload(errors=(_GRAMMAR, _OMITTED), score=41), 41.0, "half is missing"
        ),
        WorkedExample(_SOURCE, "Lorem ipsum.", ESAPayload(errors=(_OMITTED,), score=0), 0.0, "a score of 0 is a score"),
        WorkedExample(
            _SOURCE,
            "Der Hunt bellte, und niemand wachte auf.",
            ESAPayload(errors=(_GRAMMAR.model_copy(update={"prefill": "p1"}),), score=90),
            90.0,
            "two errors were prefilled: one is kept; the other was wrong and was removed",
            prefill=(
                _GRAMMAR.model_copy(update={"prefill": "p1"}),
                Span(start=9, end=15, severity="minor", prefill="p2"),
            ),
        ),
    ),
)
