"""XSTS: how far a text and its translation mean the same, without telling which of them is the source.

Source: Licht et al. 2022 §3 and §5.1 (scale and rubric: `_similarity`).
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import Example, Protocol
from app.protocols.kit.similarity import (
    FORM,
    INSTRUCTIONS,
    RUBRIC,
    SCALE,
    SimilarityOptions,
    SimilarityPayload,
    adapt,
    check,
    measures,
    score,
)


class XSTSPayload(SimilarityPayload):
    """The point that the rater chose; it names no side."""

    protocol: Literal["xsts"] = "xsts"


_SOURCE = "My sister bought a red car yesterday."


def _example(output: str, points: int, why: str) -> Example[XSTSPayload]:
    return Example(_SOURCE, output, XSTSPayload(score=points), float(points), why)


PROTOCOL = Protocol(
    name="xsts",
    version=1,
    title="Cross-lingual semantic similarity (XSTS)",
    payload=XSTSPayload,
    higher_is_better=True,
    scale=SCALE,
    form=FORM,
    rubric=RUBRIC,
    instructions=INSTRUCTIONS,
    bases=("source",),
    hides_source=True,
    adapt=adapt,
    check=check,
    score=score,
    options=SimilarityOptions,
    measures=measures,
    examples=(
        _example("Meine Schwester hat gestern ein rotes Auto gekauft.", 5, "the same"),
        _example("Schwester gestern rotes Auto kaufen getan.", 4, "bad language, same meaning"),
        _example("Meine Schwester hat gestern ein Auto gekauft.", 3, "the colour is lost"),
        _example("Mein Bruder hat ein rotes Auto verkauft.", 2, "who and what differ"),
        _example("Morgen regnet es.", 1, "another topic"),
        Example(
            _SOURCE,
            "Gestern kaufte meine Schwester ein rotes Auto.",
            XSTSPayload(score=4),
            4.0,
            "the best of four points",
            options={"points": 4},
        ),
    ),
)
