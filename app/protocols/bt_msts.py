"""BT+MSTS: how similar in meaning the back-translation of an output and a reference are.

Source: Licht et al. 2022 §5.1 (out of English: people translate outputs back, then judge them as in MSTS). The outputs
of such a campaign are the texts of a `back_translation` campaign, under the systems' own keys. What is ranked is the
system together with its back-translator, so translators should be spread over systems. This is a separate protocol,
because its scores must not be pooled with MSTS.
"""

from __future__ import annotations

from typing import Literal

from app.protocols.kit.similarity import SimilarityPayload, make_similarity_protocol
from app.protocols.kit.single_score import make_worked_examples


class BTMSTSPayload(SimilarityPayload):
    """The point that the rater chose; it names no side."""

    protocol: Literal["bt_msts"] = "bt_msts"


PROTOCOL = make_similarity_protocol(
    BTMSTSPayload,
    title="Back-translation and monolingual semantic similarity (BT+MSTS)",
    basis="reference",
    examples=make_worked_examples(
        BTMSTSPayload,
        "",
        ("The bridge is closed.", 5, "beside 'The bridge is closed.': nothing was lost on the way there and back"),
        ("The bridge has been shut.", 4, "beside 'The bridge is closed.': the same in other words"),
        ("The bridge is open.", 2, "beside 'The bridge is closed.': the opposite"),
        ("The cheese is ripe.", 1, "beside 'The bridge is closed.': another topic"),
    ),
)
