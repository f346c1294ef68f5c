"""Contrastive error span annotation: ESA on several outputs side by side, with a slider in five bands.

Source: the cESA of WMT26 (Zouhar et al. 2026, arXiv 2607.26640). Scores have steps of five, so that each is in one
band; the wording of the bands is ours. An output is free of errors if nothing is marked and its score is in the highest
band. Not following the instructions of a task is an error with its own category, with or without a position.
"""

from __future__ import annotations

from typing import Literal

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

STEP = 5.0
SCALE = ScoreScale(0.0, 100.0, STEP)
SHARE = ScoreScale(0.0, 1.0, 1.0)
GOOD = 85.0  # start of the highest band
FAULT = "Instructions fault"
BANDS = (
    (0.0, "0–20: wrong or unusable"),
    (25.0, "25–40: much is wrong"),
    (45.0, "45–60: the gist is there"),
    (65.0, "65–80: good, with mistakes"),
    (85.0, "85–100: nothing, or almost nothing, to correct"),
)
RUBRIC = (
    ("minor", "Noticeable, but the meaning is clear: style, grammar, choice of words."),
    ("major", "Changes or hides the meaning, or makes the text unusable here."),
    ("omission", "What is missing is marked on the source, or as missing without a place."),
    (FAULT, "The text does not do what it was asked to do: another language, form, length, or an answer to the text."),
    *((name, text) for name, text in (label.split(": ") for _, label in BANDS)),
)


class CESAPayload(Payload):
    """The errors that a rater marked on one column, and its score, given with the other columns in sight."""

    protocol: Literal["cesa"] = "cesa"
    errors: Marks = ()
    score: Number


def list_measures(options: ScoringOptions) -> tuple[JudgmentMeasure, ...]:  # noqa: ARG001 (one signature for all)
    """Return the score, the weight of the marked errors, and whether the output is free of errors."""
    return (
        JudgmentMeasure("score", higher_is_better=True, scale=SCALE),
        JudgmentMeasure("spans", higher_is_better=False, uses_profile=True),
        JudgmentMeasure("error_free", higher_is_better=True, scale=SHARE),
    )


def check_payload(payload: CESAPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid naming every error that does not fit the texts, and a score outside the bands."""
    check_error_spans_and_score(payload.errors, payload.score, shown, SCALE)


def score_judgment(payload: CESAPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """Return the slider, the weight of the errors (lower is better), or 1 for no errors; and the number of errors."""
    if options.measure == "error_free":
        return JudgmentScore(float(not payload.errors and payload.score >= GOOD), len(payload.errors))
    return choose_score_or_error_penalty(payload.errors, payload.score, options)


_SOURCE = "Translate formally: do you want to come along?"
_WORD = Span(start=0, end=7, severity="minor")
_INFORMAL = Span(start=7, end=9, severity="major", category=FAULT)

PROTOCOL = Protocol(
    name="cesa",
    version=1,
    title="Contrastive error span annotation",
    payload=CESAPayload,
    higher_is_better=True,
    scale=SCALE,
    form=(
        SpansWidget(
            "errors", severities=("minor", "major"), categories=((FAULT, ()),), source_side=True, omission=True
        ),
        SliderWidget("score", SCALE.minimum, SCALE.maximum, step=STEP, ticks=BANDS),
    ),
    rubric=RUBRIC,
    instructions="Mark every error in every column, including missing parts; then score each column in comparison with "
    "the others.",
    contrastive=True,
    accepts_prefill=True,
    check=check_payload,
    score=score_judgment,
    options=SideBySideMarkingOptions,
    weights="esa-mqm",
    measures=list_measures,
    examples=(
        WorkedExample(_SOURCE, "Möchten Sie mitkommen?", CESAPayload(score=95), 95.0, "nothing to mark"),
        WorkedExample(
            _SOURCE, "Wollen Sie mitkommen?", CESAPayload(errors=(_WORD,), score=80), 80.0, "one small mistake"
        ),
        WorkedExample(
            _SOURCE,
            "Willst du mitkommen?",
            CESAPayload(errors=(_INFORMAL,), score=40),
            40.0,
            "it is not formal, as was asked",
        ),
        WorkedExample(
            _SOURCE,
            "Ja, gern!",
            CESAPayload(errors=(Span(severity="major", category=FAULT),), score=0),
            0.0,
            "an answer in place of a translation: the fault has no place",
        ),
        WorkedExample(
            _SOURCE,
            "Wollen Sie mitkommen?",
            CESAPayload(errors=(), score=90),
            90.0,
            "a prefilled error was wrong and was removed",
            prefill=(_WORD.model_copy(update={"prefill": "p1"}),),
        ),
    ),
)
