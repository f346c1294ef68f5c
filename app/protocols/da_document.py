"""Direct assessment of whole documents: one slider for each document, nothing for its segments.

Sources: Barrault et al. 2019 (WMT19: document rating with document context, DR+DC); Läubli et al. 2018 (why whole
documents). With one number per document, tests are weak, so a campaign needs many documents.
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import SliderWidget
from app.protocols.kit.single_score import SingleScorePayload, make_single_score_protocol, make_worked_examples
from app.stats.ratings import ScoreScale

SCALE = ScoreScale(0.0, 100.0)
TICKS = ((0.0, "no meaning preserved"), (100.0, "perfect"))
RUBRIC = (
    ("0", "Nothing of the meaning of the document is expressed."),
    ("50", "Much of it is expressed, much is lost; or the parts do not fit together."),
    ("100", "All of it is expressed, in good language, and the document reads as one text."),
)


class DADocumentPayload(SingleScorePayload):
    """Where the rater put the slider; a standardised score of an import may lie outside its range."""

    protocol: Literal["da_document"] = "da_document"


PROTOCOL = make_single_score_protocol(
    DADocumentPayload,
    title="Direct assessment of documents",
    scale=SCALE,
    widget=SliderWidget("score", SCALE.minimum, SCALE.maximum, step=1.0, ticks=TICKS),
    rubric=RUBRIC,
    instructions="Read the whole document, then say how much of its meaning the text expresses, and how well.",
    level="document",
    examples=make_worked_examples(
        DADocumentPayload,
        "Anna called. She had lost her keys. Could we let her in?",
        ("Anna rief an. Sie hatte ihre Schlüssel verloren. Könnten wir sie hereinlassen?", 100.0, "reads as one text"),
        (
            "Anna rief an. Er hatte ihre Tasten verloren. Könnten wir sie hereinlassen?",
            55.0,
            "each sentence could stand somewhere, together they do not fit",
        ),
        ("Das Wetter ist schön.", 0.0, "0 is a score"),
    ),
)
