"""Direct assessment: one slider from 0 to 100.

Sources: Graham et al. 2013; Bojar et al. 2018; Knowles 2021 §2–3.
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import SliderWidget
from app.protocols.kit.single_score import SingleScorePayload, make_single_score_protocol, make_worked_examples
from app.stats.ratings import ScoreScale

SCALE = ScoreScale(0.0, 100.0)
TICKS = ((0.0, "no meaning preserved"), (100.0, "perfect"))
RUBRIC = (
    ("0", "Nothing of the meaning is expressed."),
    ("50", "Much of the meaning is expressed, much is lost."),
    ("100", "All of the meaning is expressed, in good language."),
)


class DAPayload(SingleScorePayload):
    """Where the rater put the slider; a standardised score of an import may lie outside its range."""

    protocol: Literal["da"] = "da"


PROTOCOL = make_single_score_protocol(
    DAPayload,
    title="Direct assessment",
    scale=SCALE,
    widget=SliderWidget("score", SCALE.minimum, SCALE.maximum, step=1.0, ticks=TICKS),
    rubric=RUBRIC,
    instructions="Say how much of the meaning the text expresses, and how well.",
    examples=make_worked_examples(
        DAPayload,
        "The dog barked.",
        ("Der Hund bellte.", 100.0, "nothing to find fault with"),
        ("Die Katze.", 0.0, "0 is a score"),
        ("Hund hat bellen.", 61.5, "a continuous slider: halves count"),
    ),
)
