"""Direct assessment on five points, as in the comparison of protocols of Licht et al. 2022 §5.1.

Source: Licht et al. 2022 §5.1 (five qualitative points, by the source). Wording of the points is our own.
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

SCALE = Scale(1.0, 5.0, 1.0)
POINTS = (
    (1.0, "Useless"),
    (2.0, "Poor"),
    (3.0, "Fair"),
    (4.0, "Good"),
    (5.0, "Excellent"),
)
RUBRIC = (
    ("1", "Wrong or not to be understood; nobody could use it."),
    ("2", "Some of it is right, but what matters is wrong or missing."),
    ("3", "What matters comes across, with clear mistakes of meaning or language."),
    ("4", "The meaning is right; small mistakes of language or style."),
    ("5", "Meaning and language are right throughout."),
)


class DA5Payload(Payload):
    """The point that the rater chose; a standardised score of an import may lie outside the scale."""

    protocol: Literal["da5"] = "da5"
    score: Number


def check(payload: DA5Payload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid where the score is none of the five points."""
    check_score(payload.score, SCALE, options)


def score(payload: DA5Payload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """The point as it stands (higher is better)."""
    return JudgmentScore(payload.score + 0.0)


def _example(output: str, points: int, why: str) -> Example[DA5Payload]:
    return Example("The train leaves at six.", output, DA5Payload(score=points), float(points), why)


PROTOCOL = Protocol(
    name="da5",
    version=1,
    title="Direct assessment (5 points)",
    payload=DA5Payload,
    higher_is_better=True,
    scale=SCALE,
    form=(Choice("score", POINTS),),
    rubric=RUBRIC,
    instructions="Choose the point that says best how good the text is.",
    document_form=(Choice("score", POINTS),),
    contrastive=True,
    check=check,
    score=score,
    options=GradedOptions,
    examples=(
        _example("Der Zug fährt um sechs ab.", 5, "meaning and language are right"),
        _example("Der Zug abfährt um sechs.", 4, "the order of the words is wrong"),
        _example("Der Zug fährt um sieben ab.", 2, "what matters is wrong"),
        _example("Das Essen ist fertig.", 1, "nothing of it is right"),
    ),
)
