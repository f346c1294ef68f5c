"""BT+MSTS: how far the back-translation of an output and a reference mean the same.

Source: Licht et al. 2022 §5.1 (out of English: outputs are translated back by hand, then judged as in MSTS). The
outputs of such a campaign are the texts of a `back_translation` campaign, under the systems' own keys; what ranks is
the system together with its back-translator, so translators are to be spread over systems. A protocol of its own,
since its scores are not to be pooled with MSTS.
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


class BTMSTSPayload(SimilarityPayload):
    """The point that the rater chose; it names no side."""

    protocol: Literal["bt_msts"] = "bt_msts"


def _example(output: str, points: int, why: str) -> Example[BTMSTSPayload]:
    return Example("", output, BTMSTSPayload(score=points), float(points), f"beside 'The bridge is closed.': {why}")


PROTOCOL = Protocol(
    name="bt_msts",
    version=1,
    title="Back-translation and monolingual semantic similarity (BT+MSTS)",
    payload=BTMSTSPayload,
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
        _example("The bridge is closed.", 5, "nothing was lost on the way there and back"),
        _example("The bridge has been shut.", 4, "the same in other words"),
        _example("The bridge is open.", 2, "the opposite"),
        _example("The cheese is ripe.", 1, "another topic"),
    ),
)
