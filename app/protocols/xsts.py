"""XSTS: how similar in meaning a text and its translation are, without revealing which of them is the source.

Source: Licht et al. 2022 §3 and §5.1 (scale and rubric: `kit.similarity`).
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import WorkedExample
from app.protocols.kit.similarity import SimilarityPayload, make_similarity_protocol
from app.protocols.kit.single_score import make_worked_examples

_SOURCE = "My sister bought a red car yesterday."


class XSTSPayload(SimilarityPayload):
    """The point that the rater chose; it names no side."""

    protocol: Literal["xsts"] = "xsts"


PROTOCOL = make_similarity_protocol(
    XSTSPayload,
    title="Cross-lingual semantic similarity (XSTS)",
    basis="source",
    examples=(
        *make_worked_examples(
            XSTSPayload,
            _SOURCE,
            ("Meine Schwester hat gestern ein rotes Auto gekauft.", 5, "the same"),
            ("Schwester gestern rotes Auto kaufen getan.", 4, "bad language, same meaning"),
            ("Meine Schwester hat gestern ein Auto gekauft.", 3, "the colour is lost"),
            ("Mein Bruder hat ein rotes Auto verkauft.", 2, "who and what differ"),
            ("Morgen regnet es.", 1, "another topic"),
        ),
        WorkedExample(
            _SOURCE,
            "Gestern kaufte meine Schwester ein rotes Auto.",
            XSTSPayload(score=4),
            4.0,
            "the best of four points",
            options={"points": 4},
        ),
    ),
)
