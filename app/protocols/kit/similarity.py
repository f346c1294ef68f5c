"""Similarity of meaning: the scale of XSTS, for protocols that show two texts without saying which is which.

Source: Licht et al. 2022 §3 (scale, texts shown without their roles), §5.1 (variants; four points: 4 and 5 are one).
Language errors that leave the meaning clear do not count against a text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeVar

from pydantic import Field

from app.protocols.base import (
    Basis,
    ChoiceWidget,
    JudgedTexts,
    JudgmentMeasure,
    JudgmentScore,
    Payload,
    Protocol,
    ScoringOptions,
    SingleScoreOptions,
    Widget,
    WorkedExample,
)
from app.protocols.kit.scales import Number, check_score_on_scale
from app.stats.ratings import ScoreScale

LEAST = 1.0
SCALE = ScoreScale(LEAST, 5.0, 1.0)
POINTS = (
    (1.0, "Not equivalent, few details shared"),
    (2.0, "Not equivalent, some details shared"),
    (3.0, "Mostly equivalent"),
    (4.0, "Near-equivalent: paraphrases"),
    (5.0, "Exactly equivalent"),
)
BEST_OF_FOUR = (4.0, "Equivalent: exactly, or as paraphrases")
FORM = (ChoiceWidget("score", POINTS),)
RUBRIC = (
    ("1", "Another topic, or the same with less than half of what matters in common."),
    ("2", "Some things agree, but who, what or to whom differs or is missing: something important is not the same."),
    ("3", "What matters is the same; only unimportant details differ or are missing, none contradicts."),
    ("4", "The same meaning in other words: style, emphasis or degree of politeness differs."),
    ("5", "The same meaning, said in the same way: nobody could tell which was made from which."),
    ("4 of 4 points", "Combines 4 and 5."),
)
INSTRUCTIONS = (
    "Choose how similar the two texts are in meaning. Bad language alone does not count, as long as the meaning is "
    "clear."
)


class SimilarityOptions(SingleScoreOptions):
    """points: how many the scale has."""

    points: Literal[4, 5] = Field(5, title="Points of the scale")


class SimilarityPayload(Payload):
    """The point that the rater chose; it names no side."""

    score: Number


S = TypeVar("S", bound=SimilarityPayload)


def find_similarity_scale(options: ScoringOptions) -> ScoreScale:
    """Return the scale of a campaign: 1 to 5, or 1 to 4."""
    points = options.own.points if isinstance(options.own, SimilarityOptions) else 5
    return ScoreScale(LEAST, float(points), 1.0)


def list_measures(options: ScoringOptions) -> tuple[JudgmentMeasure, ...]:
    """Return the one measure, with the campaign's scale."""
    return (
        JudgmentMeasure(
            "score", higher_is_better=True, scale=None if options.standardised else find_similarity_scale(options)
        ),
    )


def fit_widget_to_scale(widget: Widget, options: ScoringOptions) -> Widget:
    """Return the widget with as many points as the campaign's scale."""
    if isinstance(widget, ChoiceWidget) and find_similarity_scale(options).maximum < SCALE.maximum:
        return replace(widget, points=(*POINTS[:3], BEST_OF_FOUR))
    return widget


def check_payload(payload: SimilarityPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid if the score is not a point of the campaign's scale."""
    check_score_on_scale(payload.score, find_similarity_scale(options), options)


def score_judgment(payload: SimilarityPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """Return the point unchanged (higher is better)."""
    return JudgmentScore(payload.score + 0.0)


def make_similarity_protocol(
    payload: type[S], *, title: str, basis: Basis, examples: tuple[WorkedExample[S], ...]
) -> Protocol[S]:
    """Make a protocol that shows two texts without their roles. basis: which text is shown with the output."""
    return Protocol(
        name=payload.model_fields["protocol"].default,
        version=1,
        title=title,
        payload=payload,
        higher_is_better=True,
        scale=SCALE,
        form=FORM,
        rubric=RUBRIC,
        instructions=INSTRUCTIONS,
        bases=(basis,),
        hides_source=True,
        adapt=fit_widget_to_scale,
        check=check_payload,
        score=score_judgment,
        options=SimilarityOptions,
        measures=list_measures,
        examples=examples,
    )
