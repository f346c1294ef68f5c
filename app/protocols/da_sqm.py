"""Direct assessment with the labels of SQM: a slider from 0 to 100 with seven ticks.

Source: Kocmi et al. 2022 (WMT22 findings, §7: DA+SQM). The ticks 0 to 6 divide the slider evenly; four of them have a
label. Documents are scored as a whole, on the same slider.
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import SliderWidget
from app.protocols.kit.single_score import SingleScorePayload, make_single_score_protocol, make_worked_examples
from app.stats.ratings import ScoreScale

SCALE = ScoreScale(0.0, 100.0)
LABELS = {
    0: "0: No meaning preserved",
    2: "2: Some meaning preserved",
    4: "4: Most meaning preserved and few grammar mistakes",
    6: "6: Perfect meaning and grammar",
}
TICKS = tuple((100.0 * tick / 6, LABELS.get(tick, str(tick))) for tick in range(7))
RUBRIC = (
    ("0", "Nearly all of the meaning is lost."),
    ("33 (2)", "Some of the meaning is kept, important parts are not; or the text is hard to follow."),
    ("67 (4)", "Most of the meaning is kept; a few mistakes of grammar or small inconsistencies."),
    ("100 (6)", "Meaning and grammar are right, and fit the rest of the document."),
)


class DASQMPayload(SingleScorePayload):
    """Where the rater put the slider; a standardised score of an import may lie outside its range."""

    protocol: Literal["da_sqm"] = "da_sqm"


PROTOCOL = make_single_score_protocol(
    DASQMPayload,
    title="Direct assessment with SQM labels",
    scale=SCALE,
    widget=SliderWidget("score", SCALE.minimum, SCALE.maximum, step=1.0, ticks=TICKS),
    rubric=RUBRIC,
    instructions="Say how good the text is in its context: meaning first, then grammar.",
    examples=make_worked_examples(
        DASQMPayload,
        "The shop opens at nine.",
        ("Das Geschäft öffnet um neun.", 100.0, "nothing to find fault with"),
        ("Das Geschäft öffnet an neun.", 78.0, "all is there, a preposition is wrong: between ticks 4 and 5"),
        ("Das Wetter ist schön.", 0.0, "0 is a score"),
    ),
)
