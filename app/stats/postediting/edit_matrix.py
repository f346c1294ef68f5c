"""Compare the outputs of one segment with all of its post-edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.stats.postediting.operations import EditOperations, Tokenization, count_edit_operations, levenshtein_distance

Ints = npt.NDArray[np.int32]
EXTERNAL = -1
"""Origin of a reference that is not a post-edit."""


@dataclass(frozen=True, slots=True)
class SegmentTexts:
    """The texts of one segment.

    outputs: (code of the system, text). post_edits: (code of the system whose output was edited, text). external: an
    independent translation, None if there is none. document: its code.
    """

    document: int
    outputs: tuple[tuple[int, str], ...]
    post_edits: tuple[tuple[int, str], ...]
    external: str | None = None


@dataclass(frozen=True, slots=True)
class OwnPostEditDistance:
    """One output against its own post-edit.

    words, characters: edit distance without shifts; n_characters: length of the post-edit.
    """

    system: int
    operations: EditOperations
    words: int
    characters: int
    n_characters: int


@dataclass(frozen=True, slots=True)
class OutputReferenceEditMatrix:
    """Edits of each output of one segment against each reference, in tokens.

    systems: codes, shape (s,). origin: of each reference, the system whose output was edited, or EXTERNAL; shape (r,).
    edits: shape (s, r). length: of the references, shape (r,). own: outputs against their own post-edits.
    """

    document: int
    systems: Ints
    origin: Ints
    edits: Ints
    length: Ints
    own: tuple[OwnPostEditDistance, ...] = field(default=())

    @property
    def post_edit_reference_mask(self) -> npt.NDArray[np.bool_]:
        """Which references are post-edits, shape (r,)."""
        return np.asarray(self.origin != EXTERNAL, dtype=np.bool_)

    def edits_to_closest_reference(self, system: int, wanted: npt.NDArray[np.bool_]) -> tuple[int, float] | None:
        """Edits of an output to the closest of some references, and their mean length; None if either is missing.

        Source: Bentivogli et al. 2018, §4 (mTER), as sacrebleu's TER takes several references.
        """
        row = np.flatnonzero(self.systems == system)
        if not row.size or not wanted.any():
            return None
        return int(self.edits[row[0], wanted].min()), float(self.length[wanted].mean())


def count_edits_to_every_reference(texts: SegmentTexts, tokens: Tokenization) -> OutputReferenceEditMatrix:
    """Count the edits of every output to every reference; equal texts are compared once."""
    references = [*texts.post_edits, *([] if texts.external is None else [(EXTERNAL, texts.external)])]
    split = {text: tokens.tokenize(text) for _, text in (*texts.outputs, *references)}
    known: dict[tuple[str, str], EditOperations] = {}
    for _, output in texts.outputs:
        for _, reference in references:
            if (output, reference) not in known:
                known[output, reference] = count_edit_operations(split[output], split[reference])
    edits = [[known[output, reference].total_edits for _, reference in references] for _, output in texts.outputs]
    return OutputReferenceEditMatrix(
        document=texts.document,
        systems=np.array([system for system, _ in texts.outputs], dtype=np.int32),
        origin=np.array([origin for origin, _ in references], dtype=np.int32),
        edits=np.array(edits, dtype=np.int32).reshape(len(texts.outputs), len(references)),
        length=np.array([len(split[text]) for _, text in references], dtype=np.int32),
        own=tuple(_compare_with_own_edit(texts, split, known)),
    )


def _compare_with_own_edit(
    texts: SegmentTexts, split: dict[str, tuple[str, ...]], known: dict[tuple[str, str], EditOperations]
) -> Sequence[OwnPostEditDistance]:
    outputs = dict(texts.outputs)
    edits = []
    for system, edited in texts.post_edits:
        if system not in outputs:
            continue
        output = outputs[system]
        by_character = levenshtein_distance(output.strip(), edited.strip())
        edits.append(
            OwnPostEditDistance(
                system,
                known[output, edited],
                levenshtein_distance(split[output], split[edited]),
                by_character,
                len(edited.strip()),
            )
        )
    return edits
