"""Who judges which output of which document in simulated campaigns: lengths, topics and raters, without scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.stats.ratings import Codes, RatingLabels, RatingLevel, RatingRole, Ratings

Dealing = Literal["all systems", "own rater", "two islands"]
"""How documents are assigned to raters.

all systems: all systems of a document by one rater, in turn. own rater: the first system only by the first rater, the
others by the other raters. two islands: half of the systems by half of the raters, the rest by the rest, so that no
rater links the two halves.
"""


@dataclass(frozen=True, slots=True, eq=False)
class SingleRatingDesign:
    """A design with one rating per output.

    lengths, topic: of each document, shape (D,). rater: of each output, shape (S, D).
    """

    lengths: Codes
    topic: Codes
    rater: Codes

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return int(self.rater.shape[0])

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.lengths.size)

    def make_ratings_scored_zero(self) -> Ratings:
        """Rows of all outputs in canonical order, each scored 0; larger is better."""
        s, lengths = self.n_systems, self.lengths
        document = np.repeat(np.arange(self.n_documents, dtype=np.int32), lengths)
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        position = (np.arange(document.size) - np.repeat(starts, lengths) + 1).astype(np.int32)
        n = document.size * s
        zeros, ones = np.zeros(n, dtype=np.int32), np.ones(n, dtype=np.int32)
        names = RatingLabels(
            systems=tuple(f"S{i:02}" for i in range(s)),
            documents=tuple(f"d{i:05}" for i in range(self.n_documents)),
            raters=tuple(f"r{i:03}" for i in range(int(self.rater.max(initial=0)) + 1)),
            tasks=("t",),
            segment_document=document,
            segment_position=position,
        )
        return Ratings(
            system=np.repeat(np.arange(s, dtype=np.int32), document.size),
            document=np.tile(document, s),
            segment=np.tile(np.arange(document.size, dtype=np.int32), s),
            rater=np.repeat(self.rater, lengths, axis=1).ravel().astype(np.int32),
            task=zeros,
            judgment=np.arange(n, dtype=np.int32),
            nth=ones,
            score=np.zeros(n),
            n_errors=np.full(n, -1, dtype=np.int32),
            kind=np.full(n, RatingLevel.SEGMENT, dtype=np.int8),
            role=np.full(n, RatingRole.RATING, dtype=np.int8),
            accepted=np.ones(n, dtype=np.bool_),
            labels=names,
            higher_is_better=True,
        )


def make_simulated_design(
    lengths: Codes, *, systems: int = 2, raters: int = 6, topics: int = 1, dealing: Dealing = "all systems"
) -> SingleRatingDesign:
    """Make a design of documents with these lengths; topics and raters take turns.

    Topics change more slowly than raters, so that each rater has documents of each topic.
    """
    lengths = np.asarray(lengths, dtype=np.int32)
    documents = np.arange(lengths.size)
    rater = np.broadcast_to(documents % raters, (systems, lengths.size)).astype(np.int32)
    if dealing == "own rater":
        rater = np.where(np.arange(systems)[:, None] == 0, 0, 1 + documents % max(raters - 1, 1)).astype(np.int32)
    elif dealing == "two islands":
        half, others = max(raters // 2, 1), max(raters - raters // 2, 1)
        far = np.arange(systems)[:, None] >= (systems + 1) // 2
        rater = np.where(far, half + documents % others, documents % half).astype(np.int32)
    return SingleRatingDesign(lengths, (documents // max(raters, 1) % topics).astype(np.int32), rater)


def make_equal_document_lengths(documents: int, segments: int = 10) -> Codes:
    """Return lengths of equally long documents."""
    return np.full(documents, segments, dtype=np.int32)


def draw_lognormal_document_lengths(
    rng: np.random.Generator, documents: int = 30, *, median: float = 6.0, spread: float = 1.0
) -> Codes:
    """Draw realistic document lengths: a few are many times as long as most."""
    return np.maximum(1, np.round(median * np.exp(spread * rng.normal(size=documents)))).astype(np.int32)


def make_document_lengths_with_giant(documents: int, segments: int, giant: int) -> Codes:
    """Return document lengths of which the last has `giant` of all `segments`; the others are as even as possible."""
    rest, others = segments - giant, documents - 1
    small = rest // others + (np.arange(others) < rest % others)
    return np.append(small, giant).astype(np.int32)
