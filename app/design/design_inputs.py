"""The inputs of a design: the test set, the systems, and the people who judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

Unit = Literal["items", "segments", "words"]
Role = Literal["rating", "repeat", "reference", "degraded", "calibration"]


@dataclass(frozen=True, slots=True)
class DocumentToPlan:
    """An ordered list of segments.

    words: number of words of each segment, as a reader counts them; one entry per segment, at least one. references:
    names of the references that cover the whole document. stratum: level of quality, for pairs of a calibration set.
    """

    key: str
    words: tuple[int, ...]
    domain: str | None = None
    references: tuple[str, ...] = ()
    stratum: str | None = None

    @property
    def n_segments(self) -> int:
        """The number of segments."""
        return len(self.words)


@dataclass(frozen=True, slots=True)
class System:
    """A producer of texts that are judged."""

    key: str


@dataclass(frozen=True, slots=True)
class TestSet:
    """What can be judged.

    documents: in the order of the test set. outputs: by (document, system) one mark per segment, equal for equal texts
    (such as their SHA-256), None if the system has no output; a missing pair has none at all. calibration: documents of
    the campaign's calibration set, each an item that every rater judges.
    """

    __test__ = False  # the name is the field's; pytest would otherwise collect it

    documents: tuple[DocumentToPlan, ...]
    outputs: Mapping[tuple[str, str], tuple[str | None, ...]]
    calibration: tuple[DocumentToPlan, ...] = ()

    def output_fingerprints_in_range(self, document: str, system: str, first: int, last: int) -> tuple[str, ...] | None:
        """Return the marks of a stretch; None unless the system has an output for each of its segments."""
        texts = self.outputs.get((document, system))
        if texts is None:
            return None
        marks = tuple(mark for mark in texts[first - 1 : last] if mark is not None)
        return marks if len(marks) == last - first + 1 else None


@dataclass(frozen=True, slots=True)
class Rater:
    """An account that judges.

    person: the owner of the account; accounts of one person never judge the same item. capacity: the most that the
    rater will do, counted in capacity_unit; None is no bound. buckets: names of the buckets for which the rater is
    intended.
    """

    key: str
    person: str | None = None
    capacity: int | None = None
    capacity_unit: Unit = "items"
    buckets: tuple[str, ...] | None = None
    team: str | None = None

    @property
    def person_key(self) -> tuple[str, str]:
        """What distinguishes people; an account without a person counts as a person."""
        return ("account", self.key) if self.person is None else ("person", self.person)


@dataclass(frozen=True, slots=True)
class WorkSize:
    """How much there is to judge."""

    items: int = 0
    segments: int = 0
    words: int = 0

    def __add__(self, other: WorkSize) -> WorkSize:
        return WorkSize(self.items + other.items, self.segments + other.segments, self.words + other.words)

    def multiplied_by(self, n: int) -> WorkSize:
        """Return n times this size."""
        return WorkSize(self.items * n, self.segments * n, self.words * n)

    def count_in(self, unit: Unit) -> int:
        """Return the count in one unit."""
        return {"items": self.items, "segments": self.segments, "words": self.words}[unit]


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """Segments `first` to `last` (from 1) of the document at index `document` of the test set, and their words."""

    document: int
    first: int
    last: int
    words: int

    @property
    def work_size(self) -> WorkSize:
        """How much there is to judge in one item on this stretch."""
        return WorkSize(1, self.last - self.first + 1, self.words)
