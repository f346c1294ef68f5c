"""MSTS: how far a translation and an independent human one mean the same, both in the target language.

Source: Licht et al. 2022 §5.1 (two English texts on the scale of XSTS, into English only). Which of the two is the
reference is not told. A human translation is ranked as any other system; the reference has to be a second one.
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


class MSTSPayload(SimilarityPayload):
    """The point that the rater chose; it names no side."""

    protocol: Literal["msts"] = "msts"


def _example(output: str, points: int, why: str) -> Example[MSTSPayload]:
    return Example("", output, MSTSPayload(score=points), float(points), f"beside 'She sold her boat in May.': {why}")


PROTOCOL = Protocol(
    name="msts",
    version=1,
    title="Monolingual semantic similarity (MSTS)",
    payload=MSTSPayload,
    higher_is_better=True,
    scale=SCALE,
    form=FORM,
    rubric=RUBRIC,
    instructions=INSTRUCTIONS,
    bases=("reference",),
    hides_source=True,
    adapt=adapt,
    check=check,
    score=score,
    options=SimilarityOptions,
    measures=measures,
    examples=(
        _example("She sold her boat in May.", 5, "the same"),
        _example("In May she got rid of her boat, for money.", 4, "the same in other words"),
        _example("She sold her boat.", 3, "when is lost"),
        _example("She bought a boat in May.", 2, "what happened differs"),
        _example("It rained all week.", 1, "another topic"),
    ),
)
