"""Values that raters gave to the same units: segments, whole documents, or the mean of a document's segments.

Every agreement statistic is a function of document weights. Weights of 1 give the estimate, counts from drawing with
replacement give its bootstrap distribution over documents, and weights of 0 or 1 select some of the documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from app.stats.ratings import Bools, Codes, Floats, Ratings

Level = Literal["segments", "documents", "averaged"]
LEVELS: tuple[Level, ...] = ("segments", "documents", "averaged")
Repeated = Literal["average", "latest", "first"]
Indices = npt.NDArray[np.intp]
Keys = npt.NDArray[np.int64]
OfDocuments = Callable[[Floats], Floats]
"""Maps document weights, shape (B, D), to the statistic, shape (B,); NaN where it is undefined."""
SLACK = 1e-9
"""Two values are within t if |a − b| ≤ t + SLACK, so that rounding does not decide."""


@dataclass(frozen=True, slots=True)
class ValuesByUnit:
    """Values sorted by unit and rater, one for each (unit, rater).

    unit, rater, value: shape (n,). document, system: codes of each unit, shape (U,). place: the segment of each unit,
    or its document if units are documents. raters: labels.
    """

    unit: Codes
    rater: Codes
    value: Floats
    document: Codes
    system: Codes
    place: Codes
    n_documents: int
    raters: tuple[str, ...]

    @property
    def n_units(self) -> int:
        """Number of units, which all have a value."""
        return int(self.document.size)

    def n_values_by_unit(self) -> Indices:
        """Number of values of each unit, shape (U,)."""
        return np.bincount(self.unit, minlength=self.n_units)

    def unit_starts(self) -> Indices:
        """Index of the first value of each unit, shape (U,)."""
        return np.cumsum(self.n_values_by_unit()) - self.n_values_by_unit()

    def where(self, keep: Bools) -> Self:
        """Keep the values for which `keep` is true, and drop units that have no value left."""
        held = np.zeros(self.n_units, dtype=np.bool_)
        held[self.unit[keep]] = True
        used, codes = np.flatnonzero(held), np.cumsum(held, dtype=np.int32) - np.int32(1)
        return type(self)(
            codes[self.unit[keep]],
            self.rater[keep],
            self.value[keep],
            self.document[used],
            self.system[used],
            self.place[used],
            self.n_documents,
            self.raters,
        )

    def with_two_or_more_values(self) -> Self:
        """Keep only units with at least two values; the others tell nothing about agreement."""
        size = self.n_values_by_unit()
        return self if (size > 1).all() else self.where(size[self.unit] > 1)

    def with_replaced_values(self, value: Floats) -> Self:
        """Return a copy with these values."""
        return replace(self, value=value)

    def standardize_raters(self) -> Self:
        """Scale each rater to mean 0, SD 1 (n − 1) over these units; raters whose scores are all equal are left out."""
        n = np.bincount(self.rater, minlength=len(self.raters))
        mean = np.bincount(self.rater, weights=self.value, minlength=n.size) / np.maximum(n, 1)
        off = self.value - mean[self.rater]
        squares = np.bincount(self.rater, weights=off * off, minlength=n.size)
        sd = np.sqrt(squares / np.maximum(n - 1, 1))
        kept = sd[self.rater] > SLACK
        scores = np.divide(off, sd[self.rater], out=np.zeros_like(off), where=kept)
        return self.with_replaced_values(scores).where(kept)

    def sum_by_document(self, per_unit: Floats) -> Floats:
        """Sums over the units of each document; shapes (U, …) → (D, …)."""
        out = np.zeros((self.n_documents, *per_unit.shape[1:]))
        np.add.at(out, self.document, per_unit)
        return out

    def equal_document_weights(self) -> Floats:
        """Weight 1 for every document, shape (1, D)."""
        return np.ones((1, self.n_documents))


def make_segment_units(ratings: Ratings, *, repeated: Repeated = "average") -> ValuesByUnit:
    """Make one unit per output (segment × system).

    repeated: use the mean, the latest or the first of several ratings of one output by one rater.
    """
    rows = ratings.segment_ratings()
    return _units(rows, rows.segment.astype(np.int64) * max(rows.n_systems, 1) + rows.system, repeated)


def make_document_units(ratings: Ratings, *, repeated: Repeated = "average") -> ValuesByUnit:
    """Make one unit per document × system from the scores that raters gave to whole documents."""
    rows = ratings.document_ratings()
    return _units(rows, _item(rows), repeated)


def make_document_units_from_segments(ratings: Ratings, *, repeated: Repeated = "average") -> ValuesByUnit:
    """Make one unit per document × system from the mean of each rater's segment scores.

    If raters also scored whole documents, only documents with such a score count, so both levels cover the same data.
    Source: Grundkiewicz et al. 2021, §5.3.
    """
    rows = ratings.segment_ratings()
    whole = ratings.document_ratings()
    if len(whole):
        n = max(len(ratings.labels.raters), 1)
        scored = np.isin(_item(rows) * n + rows.rater, _item(whole) * n + whole.rater)
        rows = rows.where(scored)
    segments = make_segment_units(rows, repeated=repeated)
    n = max(rows.n_systems, 1)
    segment, system = np.divmod(np.unique(rows.segment.astype(np.int64) * n + rows.system), n)
    document = rows.labels.segment_document[segment]
    item = document.astype(np.int64) * n + system
    at = segments.unit
    return _units_by_key(item[at], segments.rater, segments.value, document[at], rows)


def _item(rows: Ratings) -> Keys:
    return rows.document.astype(np.int64) * max(rows.n_systems, 1) + rows.system


def _units(rows: Ratings, key: Keys, repeated: Repeated) -> ValuesByUnit:
    if repeated != "average":
        nth = -rows.nth if repeated == "latest" else rows.nth
        order = np.lexsort((nth, rows.rater, key))
        first = np.ones(order.size, dtype=np.bool_)
        first[1:] = (key[order][1:] != key[order][:-1]) | (rows.rater[order][1:] != rows.rater[order][:-1])
        kept = np.sort(order[first])
        rows, key = rows.take(kept), key[kept]
    return _units_by_key(key, rows.rater, rows.score, rows.document, rows)


def _units_by_key(key: Keys, rater: Codes, score: Floats, document: Codes, of: Ratings) -> ValuesByUnit:
    """Average the scores of each (key, rater); the columns are parallel. A key is a (segment or document) × system."""
    labels, n_systems = of.labels, max(of.n_systems, 1)
    n = max(len(labels.raters), 1)
    at, group = np.unique(key * n + rater, return_inverse=True)
    value = np.bincount(group, weights=score, minlength=at.size) / np.bincount(group, minlength=at.size)
    cell, who = np.divmod(at, n)
    cells, unit = np.unique(cell, return_inverse=True)
    whose = np.zeros(cells.size, dtype=np.int32)
    whose[unit[group]] = document
    return ValuesByUnit(
        unit=unit.astype(np.int32),
        rater=who.astype(np.int32),
        value=np.round(value, 10) + 0.0,
        document=whose,
        system=(cells % n_systems).astype(np.int32),
        place=(cells // n_systems).astype(np.int32),
        n_documents=len(labels.documents),
        raters=labels.raters,
    )
