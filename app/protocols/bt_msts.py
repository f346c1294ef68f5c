"""BT+MSTS: how far the back-translation of an output and a reference mean the same.

Source: Licht et al. 2022 §5.1 (out of English: outputs are translated back by hand, then judged as in MSTS). The
outputs of such a campaign are the texts of a `back_translation` campaign, under the systems' own keys; what ranks is
the system together with its back-translator, so translators are to be spread over systems. A protocol of its own,
since its scores are not to be pooled with MSTS.
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
