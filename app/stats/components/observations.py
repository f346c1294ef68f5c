"""Ratings in the form the mixed model uses: one row per (segment, system, rater), ordered by document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.aggregate import Indices
from app.stats.ratings import Floats, Ratings


@dataclass(frozen=True, slots=True, eq=False)
class ModelObservations:
    """N rows sorted by document, segment, system and rater, each combination once.

    system, rater, document, segment: dense codes, shape (N,). score: minus `centre`, the mean score; shape (N,).
    systems, raters, documents: labels of the codes that occur. n_segments: number of segments.
    repeats: number of rows that disappeared because several ratings of one output by one rater were averaged.
    """

    system: Indices
    rater: Indices
    document: Indices
    segment: Indices
    score: Floats
    centre: float
    systems: tuple[str, ...]
    raters: tuple[str, ...]
    documents: tuple[str, ...]
    n_segments: int
    documents_known: bool
    repeats: int

    def __len__(self) -> int:
        return int(self.score.size)

    @property
    def n_sampled_units(self) -> int:
        """Number of sampled units: documents, or segments if the documents are unknown."""
        return len(self.documents) if self.documents_known else self.n_segments

    @property
    def mean_sampled_units_per_system(self) -> int:
        """Mean number of sampled units on which a system was rated, rounded, at least 1; 0 without rows."""
        if not len(self):
            return 0
        unit = self.document if self.documents_known else self.segment
        return max(1, round(np.unique(unit * len(self.systems) + self.system).size / len(self.systems)))


def make_model_observations(ratings: Ratings) -> ModelObservations:
    """Average repeated ratings of one output by one rater, and assign dense codes.

    ratings : segment ratings of an analysis, in canonical order.
    """
    n_raters, n_systems = max(len(ratings.labels.raters), 1), max(ratings.n_systems, 1)
    key = (ratings.segment.astype(np.int64) * n_systems + ratings.system) * n_raters + ratings.rater
    keys, row = np.unique(key, return_inverse=True)
    n = np.bincount(row, minlength=keys.size)
    score = np.bincount(row, weights=ratings.score, minlength=keys.size) / np.maximum(n, 1)
    rest, rater = np.divmod(keys, n_raters)
    segment, system = np.divmod(rest, n_systems)
    of_segment = ratings.labels.segment_document.astype(np.int64)
    document = of_segment[segment] if keys.size else segment
    order = np.lexsort((rater, system, segment, document))
    systems, system = np.unique(system[order], return_inverse=True)
    raters, rater = np.unique(rater[order], return_inverse=True)
    documents, document = np.unique(document[order], return_inverse=True)
    centre = float(score.mean()) if score.size else 0.0
    segment = segment[order]
    segment = np.cumsum(np.diff(segment, prepend=segment[:1]) != 0)  # numbered in row order, document by document
    labels = ratings.labels
    return ModelObservations(
        system=system,
        rater=rater,
        document=document,
        segment=segment,
        score=score[order] - centre,
        centre=centre,
        systems=tuple(labels.systems[i] for i in systems),
        raters=tuple(labels.raters[i] for i in raters),
        documents=tuple(labels.documents[i] for i in documents),
        n_segments=int(segment.max()) + 1 if segment.size else 0,
        documents_known=ratings.documents_known,
        repeats=len(ratings) - int(keys.size),
    )
