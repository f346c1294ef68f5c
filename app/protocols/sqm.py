"""Scalar quality metric: one of seven points, 0 to 6.

Source: Freitag et al. 2021 §3 (the scale, after earlier adequacy scales; labels at 0, 2, 4 and 6).
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import ChoiceWidget
from app.protocols.kit.single_score import SingleScorePayload, make_single_score_protocol, make_worked_examples
from app.stats.ratings import ScoreScale

SCALE = ScoreScale(0.0, 6.0, 1.0)
ANCHORS = {0: "No meaning preserved", 2: "Some meaning preserved", 4: "Most meaning preserved", 6: "Perfect meaning"}
POINTS = tuple((float(point), ANCHORS.get(point, "")) for point in range(7))
RUBRIC = (
    ("0", "Hardly anything of the meaning can be found in the output."),
    ("2", "Parts of the meaning are there, but important ones are missing or hard to make out."),
    ("4", "Nearly all of the meaning is there; a few slips of grammar or small inconsistencies."),
    ("6", "The meaning is right throughout, also in its context; the grammar is right."),
    ("1, 3, 5", "Between the two neighbouring points."),
)


class SQMPayload(SingleScorePayload):
    """The point that the rater chose; a standardised score of an import may lie outside the scale."""

    protocol: Literal["sqm"] = "sqm"


PROTOCOL = make_single_score_protocol(
    SQMPayload,
    title="Scalar quality metric (7 points)",
    scale=SCALE,
    widget=ChoiceWidget("score", POINTS),
    rubric=RUBRIC,
    instructions="Choose the point that fits the text best, in its context.",
    examples=make_worked_examples(
        SQMPayload,
        "She missed the last train.",
        ("Sie verpasste den letzten Zug.", 6.0, "meaning and grammar are right"),
        ("Sie verpasste der letzte Zug.", 5.0, "all is there, the case is wrong"),
        ("Sie verpasste den Zug.", 4.0, "most is there: not that it was the last one"),
        ("Der Bus war voll.", 0.0, "0 is a point of the scale"),
    ),
)
