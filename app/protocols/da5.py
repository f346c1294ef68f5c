"""Direct assessment on five points, as in the comparison of protocols of Licht et al. 2022 §5.1.

Source: Licht et al. 2022 §5.1 (five qualitative points, by the source). Wording of the points is our own.
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import ChoiceWidget
from app.protocols.kit.single_score import SingleScorePayload, make_single_score_protocol, make_worked_examples
from app.stats.ratings import ScoreScale

SCALE = ScoreScale(1.0, 5.0, 1.0)
POINTS = (
    (1.0, "Useless"),
    (2.0, "Poor"),
    (3.0, "Fair"),
    (4.0, "Good"),
    (5.0, "Excellent"),
)
RUBRIC = (
    ("1", "Wrong or incomprehensible; nobody could use it."),
    ("2", "Some of it is right, but what matters is wrong or missing."),
    ("3", "What matters comes across, with clear mistakes of meaning or language."),
    ("4", "The meaning is right; small mistakes of language or style."),
    ("5", "Meaning and language are right throughout."),
)


class DA5Payload(SingleScorePayload):
    """The point that the rater chose; a standardised score of an import may lie outside the scale."""

    protocol: Literal["da5"] = "da5"


PROTOCOL = make_single_score_protocol(
    DA5Payload,
    title="Direct assessment (5 points)",
    scale=SCALE,
    widget=ChoiceWidget("score", POINTS),
    rubric=RUBRIC,
    instructions="Choose the point that best describes how good the text is.",
    examples=make_worked_examples(
        DA5Payload,
        "The train leaves at six.",
        ("Der Zug fährt um sechs ab.", 5, "meaning and language are right"),
        ("Der Zug abfährt um sechs.", 4, "the order of the words is wrong"),
        ("Der Zug fährt um sieben ab.", 2, "what matters is wrong"),
        ("Das Essen ist fertig.", 1, "nothing of it is right"),
    ),
)
