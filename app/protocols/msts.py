"""MSTS: how similar in meaning a translation and an independent human one are, both in the target language.

Source: Licht et al. 2022 §5.1 (two English texts on the scale of XSTS, into English only). Raters are not told which of
the two is the reference. A human translation is ranked like any other system; the reference has to be a second one.
"""

from __future__ import annotations

from typing import Literal

from app.protocols.kit.similarity import SimilarityPayload, make_similarity_protocol
from app.protocols.kit.single_score import make_worked_examples


class MSTSPayload(SimilarityPayload):
    """The point that the rater chose; it names no side."""

    protocol: Literal["msts"] = "msts"


PROTOCOL = make_similarity_protocol(
    MSTSPayload,
    title="Monolingual semantic similarity (MSTS)",
    basis="reference",
    examples=make_worked_examples(
        MSTSPayload,
        "",
        ("She sold her boat in May.", 5, "beside 'She sold her boat in May.': the same"),
        (
            "In May she got rid of her boat, for money.",
            4,
            "beside 'She sold her boat in May.': the same in other words",
        ),
        ("She sold her boat.", 3, "beside 'She sold her boat in May.': when is lost"),
        ("She bought a boat in May.", 2, "beside 'She sold her boat in May.': what happened differs"),
        ("It rained all week.", 1, "beside 'She sold her boat in May.': another topic"),
    ),
)
