"""Protocols that ask for one number and rank by it unchanged; they differ in scale, wording and examples."""

from __future__ import annotations

from functools import partial
from typing import Literal

from app.protocols.base import (
    DocumentScoreOptions,
    JudgedTexts,
    JudgmentScore,
    P,
    Payload,
    Protocol,
    ScoringOptions,
    SingleScoreInColumnsOptions,
    Widget,
    WorkedExample,
)
from app.protocols.kit.scales import Number, check_score_on_scale
from app.stats.ratings import ScoreScale


class SingleScorePayload(Payload):
    """One number; a standardised score of an import may lie outside the scale."""

    protocol: str
    score: Number


def make_single_score_protocol(
    payload: type[SingleScorePayload],
    *,
    title: str,
    scale: ScoreScale,
    widget: Widget,
    rubric: tuple[tuple[str, str], ...],
    instructions: str,
    examples: tuple[WorkedExample[SingleScorePayload], ...],
    level: Literal["segment", "document"] = "segment",
) -> Protocol[SingleScorePayload]:
    """Make a protocol of one number, where higher is better, with the name that its payload has.

    level: what is judged. If it is segments, campaigns can also have whole documents scored, with the same widget.
    """
    of_documents = level == "document"
    return Protocol(
        name=payload.model_fields["protocol"].default,
        version=1,
        title=title,
        payload=payload,
        higher_is_better=True,
        scale=scale,
        form=(widget,),
        rubric=rubric,
        instructions=instructions,
        level=level,
        document_form=() if of_documents else (widget,),
        contrastive=True,
        check=partial(_check, scale),
        score=score_judgment,
        options=SingleScoreInColumnsOptions if of_documents else DocumentScoreOptions,
        examples=examples,
    )


def make_worked_examples(payload: type[P], source: str, *cases: tuple[str, float, str]) -> tuple[WorkedExample[P], ...]:
    """Make examples from outputs for one source, each with its score and the reason."""
    return tuple(
        WorkedExample(source, output, payload.model_validate({"score": number}), float(number), why)
        for output, number, why in cases
    )


def score_judgment(payload: SingleScorePayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """Return the number unchanged, except that −0 becomes 0."""
    return JudgmentScore(payload.score + 0.0)


def _check(scale: ScoreScale, payload: SingleScorePayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid if the score is not a value of the scale; standardised scores have no scale."""
    check_score_on_scale(payload.score, scale, options)
