"""Scalar quality metric: one of seven points, 0 to 6.

Source: Freitag et al. 2021 §3 (the scale, after earlier adequacy scales; labels at 0, 2, 4 and 6).
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import (
    Choice,
    Example,
    GradedOptions,
    JudgedTexts,
    JudgmentScore,
    Payload,
    Protocol,
    ScoringOptions,
)
from app.protocols.kit.scales import Number, check_score
from app.stats.ratings import Scale

SCALE = Scale(0.0, 6.0, 1.0)
ANCHORS = {0: "No meaning preserved", 2: "Some meaning preserved", 4: "Most meaning preserved", 6: "Perfect meaning"}
POINTS = tuple((float(point), ANCHORS.get(point, "")) for point in range(7))
RUBRIC = (
    ("0", "Hardly anything of the meaning can be found in the output."),
    ("2", "Parts of the meaning are there, but important ones are missing or hard to make out."),
    ("4", "Nearly all of the meaning is there; a few slips of grammar or small inconsistencies."),
    ("6", "The meaning is right throughout, also in its context; the grammar is right."),
    ("1, 3, 5", "Between the neighbours."),
)


class SQMPayload(Payload):
    """The point that the rater chose; a standardised score of an import may lie outside the scale."""

    protocol: Literal["sqm"] = "sqm"
    score: Number


def check(payload: SQMPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid where the score is none of the seven points."""
    check_score(payload.score, SCALE, options)


def score(payload: SQMPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """The point as it stands (higher is better)."""
    return JudgmentScore(payload.score + 0.0)


def _example(output: str, points: float, why: str) -> Example[SQMPayload]:
    return Example("She missed the last train.", output, SQMPayload(score=points), points, why)


PROTOCOL = Protocol(
    name="sqm",
    version=1,
    title="Scalar quality metric (7 points)",
    payload=SQMPayload,
    higher_is_better=True,
    scale=SCALE,
    form=(Choice("score", POINTS),),
    rubric=RUBRIC,
    instructions="Choose the point that fits the text best, in its context.",
    document_form=(Choice("score", POINTS),),
    contrastive=True,
    check=check,
    score=score,
    options=GradedOptions,
    examples=(
        _example("Sie verpasste den letzten Zug.", 6.0, "meaning and grammar are right"),
        _example("Sie verpasste der letzte Zug.", 5.0, "all is there, the case is wrong"),
        _example("Sie verpasste den Zug.", 4.0, "most is there: not that it was the last one"),
        _example("Der Bus war voll.", 0.0, "0 is a point of the scale"),
    ),
)
