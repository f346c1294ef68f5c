"""Direct assessment: one slider from 0 to 100.

Sources: Graham et al. 2013; Bojar et al. 2018; Knowles 2021 §2–3.
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import (
    Example,
    GradedOptions,
    JudgedTexts,
    JudgmentScore,
    Payload,
    Protocol,
    ScoringOptions,
    Slider,
)
from app.protocols.kit.scales import Number, check_score
from app.stats.ratings import Scale

SCALE = Scale(0.0, 100.0)
TICKS = ((0.0, "no meaning preserved"), (100.0, "perfect"))
RUBRIC = (
    ("0", "Nothing of the meaning is expressed."),
    ("50", "Much of the meaning is expressed, much is lost."),
    ("100", "All of the meaning is expressed, in good language."),
)


class DAPayload(Payload):
    """Where the rater put the slider; a standardised score of an import may lie outside its range."""

    protocol: Literal["da"] = "da"
    score: Number


def check(payload: DAPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid where the score is off the slider; standardised scores know no range."""
    check_score(payload.score, SCALE, options)


def score(payload: DAPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """The slider as it stands (higher is better); 0 is a score, and −0 is 0."""
    return JudgmentScore(payload.score + 0.0)


PROTOCOL = Protocol(
    name="da",
    version=1,
    title="Direct assessment",
    payload=DAPayload,
    higher_is_better=True,
    scale=SCALE,
    form=(Slider("score", SCALE.minimum, SCALE.maximum, step=1.0, ticks=TICKS),),
    rubric=RUBRIC,
    instructions="Say how much of the meaning the text expresses, and how well.",
    document_form=(Slider("score", SCALE.minimum, SCALE.maximum, step=1.0, ticks=TICKS),),
    contrastive=True,
    check=check,
    score=score,
    options=GradedOptions,
    examples=(
        Example(
            source="The dog barked.",
            output="Der Hund bellte.",
            payload=DAPayload(score=100.0),
            score=100.0,
            why="nothing to find fault with",
        ),
        Example(
            source="The dog barked.", output="Die Katze.", payload=DAPayload(score=0.0), score=0.0, why="0 is a score"
        ),
        Example(
            source="The dog barked.",
            output="Hund hat bellen.",
            payload=DAPayload(score=61.5),
            score=61.5,
            why="a continuous slider: halves count",
        ),
    ),
)
