"""Studies with a known truth, made from a campaign's own documents, lengths, raters and scores.

The documents of the campaign are the population. A study draws equally many with replacement, each with all its
ratings, so the true difference of two systems is that of the campaign. For a world without differences, the systems of
each drawn document are permuted at random, all segments of the document together: effects of raters and documents on
scores remain, and no system is better. If most documents have only one system, whole documents are permuted among all
systems instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import COLUMNS, Codes, RatingLabels, Ratings

Indices = npt.NDArray[np.intp]
PAIRED_SHARE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class StudyPopulation:
    """The units that studies draw: documents, or segments if documents are unknown.

    rows: sorted by unit, and within each unit in canonical order; starts: first row of each unit, and the end of the
    last; shape (U + 1,). has_paired_units: whether most units have several systems, so that systems can be permuted
    within units.
    """

    rows: Ratings
    documents: DocumentTable | None
    starts: Indices
    has_paired_units: bool

    @classmethod
    def from_ratings(cls, rows: Ratings, documents: DocumentTable | None = None) -> StudyPopulation:
        """Take the units that are rated in `rows`."""
        rows = rows if rows.is_in_canonical_order else rows.in_canonical_order()
        unit = rows.document if rows.documents_known else rows.segment
        order = np.argsort(unit, kind="stable")
        ordered = rows.take(order)
        edges = np.flatnonzero(np.diff(unit[order], prepend=-2))
        starts = np.append(edges, len(rows)).astype(np.intp)
        return cls(ordered, documents, starts, _are_most_units_paired(ordered.system, starts))

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(self.starts.size - 1)

    def draw_study(self, rng: np.random.Generator, *, null: bool) -> tuple[Ratings, DocumentTable | None]:
        """Draw one study, with what is known about its documents; without differences if `null`."""
        drawn = np.sort(rng.integers(self.n_units, size=self.n_units))
        lengths = self.starts[drawn + 1] - self.starts[drawn]
        at = np.repeat(self.starts[drawn] - np.append(0, np.cumsum(lengths)[:-1]), lengths) + np.arange(lengths.sum())
        unit = np.repeat(np.arange(drawn.size), lengths)
        ratings = self._renumber_units(at, unit, drawn)
        # Within a unit, the rows of each system are in canonical order already.
        order = None
        if null:
            within = unit if self.has_paired_units else np.zeros_like(unit)
            ratings = replace(ratings, system=_shuffled_systems(rng, ratings.system, unit, within))
        if self.has_paired_units or not null:  # otherwise two systems of a unit can have become one
            order = np.argsort(ratings.system, kind="stable")
        return ratings.in_canonical_order(order), self._documents_of_drawn(drawn)

    def _renumber_units(self, at: Indices, unit: Indices, drawn: Indices) -> Ratings:
        """Return the rows of the drawn units, each draw as its own unit."""
        rows = self.rows
        columns = {name: getattr(rows, name)[at] for name in COLUMNS}
        columns["judgment"] = _pairs(unit, columns["judgment"])[0]
        labels, segment = rows.labels, columns["segment"]
        if rows.documents_known:
            columns["segment"], which = _pairs(unit, segment)
            keys = tuple(f"{n:09}" for n in range(drawn.size))
            columns["document"] = unit.astype(np.int32)
            of_segment, position = unit[which].astype(np.int32), labels.segment_position[segment[which]]
        else:
            columns["segment"] = unit.astype(np.int32)
            keys, of_segment = labels.documents[:1], np.zeros(drawn.size, dtype=np.int32)
            columns["document"] = np.zeros(unit.size, dtype=np.int32)
            position = np.arange(1, drawn.size + 1, dtype=np.int32)
        named = RatingLabels(labels.systems, keys, labels.raters, labels.tasks, of_segment, position)
        return replace(rows, labels=named, **columns)

    def _documents_of_drawn(self, drawn: Indices) -> DocumentTable | None:
        known = self.documents
        if known is None or not self.rows.documents_known:
            return None
        codes = self.rows.document[self.starts[drawn]]
        return DocumentTable(
            tuple(known.domain[code] for code in codes),
            tuple(known.kind[code] for code in codes),
            known.segments[codes],
            known.words[codes],
        )


def _are_most_units_paired(system: Codes, starts: Indices) -> bool:
    n_units = starts.size - 1
    if not n_units:
        return True
    unit = np.repeat(np.arange(n_units), np.diff(starts))
    _, first = _pairs(unit, system)
    return bool((np.bincount(unit[first], minlength=n_units) > 1).mean() >= PAIRED_SHARE)


def _pairs(unit: Indices, code: Codes) -> tuple[Codes, Indices]:
    """Return a new code for each (unit, code), in their order, and where each occurs first."""
    key = unit.astype(np.int64) * (int(code.max(initial=0)) + 1) + code
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return inverse.ravel().astype(np.int32), first


def _shuffled_systems(rng: np.random.Generator, system: Codes, unit: Indices, within: Indices) -> Codes:
    """Permute the systems of each (unit, system) at random among those with the same `within`."""
    codes, place = _pairs(unit, system)
    order = np.lexsort((rng.random(place.size), within[place]))
    # In the order of (unit, system), places with the same `within` are adjacent, so this is a permutation of each.
    return np.asarray(system[place][order][codes], dtype=np.int32)
