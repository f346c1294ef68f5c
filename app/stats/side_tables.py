"""What else is known beside the ratings, in the same codes. Loaded only when a report asks.

`DocumentTable`, `RaterTable` and `TaskTable` have one entry a code of `Ratings.labels`; `RatingEventTable` and
`OriginalRatingLinks` one a row of `Ratings`; `ErrorTable` one an error, pointing to its row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.ratings import Codes, Floats

Micros = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """One entry a document code.

    domain: label, None where unknown. kind: test, calibration, tutorial or attention. segments: number of segments.
    words: of all sources, counted at white space; −1 where no source is known.
    """

    domain: tuple[str | None, ...]
    kind: tuple[str, ...]
    segments: Codes
    words: Codes

    def domain_codes(self) -> tuple[Codes, tuple[str, ...]]:
        """Domain of each document as a code, and the sorted labels; unknown domains are one domain, `unknown`."""
        names = tuple(sorted({d or "unknown" for d in self.domain}))
        code = {name: i for i, name in enumerate(names)}
        return np.array([code[d or "unknown"] for d in self.domain], dtype=np.int32), names


@dataclass(frozen=True, slots=True)
class RaterTable:
    """One entry a rater code. person: key of the person, the rater's own key where nobody linked accounts."""

    person: tuple[str, ...]
    attributes: tuple[dict[str, object], ...]

    def person_codes(self) -> tuple[Codes, tuple[str, ...]]:
        """Person of each rater as a code, and the sorted labels."""
        names = tuple(sorted(set(self.person)))
        code = {name: i for i, name in enumerate(names)}
        return np.array([code[p] for p in self.person], dtype=np.int32), names


@dataclass(frozen=True, slots=True)
class TaskTable:
    """One entry a task code: the rater who holds it (−1 for none), its state, and what an import said of it."""

    rater: Codes
    state: tuple[str, ...]
    meta: tuple[dict[str, object], ...]


@dataclass(frozen=True, slots=True)
class RatingEventTable:
    """One entry a row of the ratings.

    started, submitted: microseconds since 1970 UTC, −1 where unknown. position: of the item in its task, from 1.
    revisions: how often the answer was given. first_score: of the first revision.
    """

    started: Micros
    submitted: Micros
    position: Codes
    revisions: Codes
    first_score: Floats


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """One entry an error, in the order of its row and then as it was marked.

    row: row of the ratings. side: 0 source, 1 target. start, end: code points, −1 for an omission without a place.
    severity, category: codes of the labels beside them (category −1 for none). weight: under the profile in use.
    """

    row: Codes
    side: npt.NDArray[np.int8]
    start: Codes
    end: Codes
    severity: Codes
    category: Codes
    weight: Floats
    severities: tuple[str, ...]
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OriginalRatingLinks:
    """For each row the row it repeats or degrades, or −1: same system and segment, role rating, same task first."""

    original: Codes


EPOCH_UNKNOWN = -1
"""Stands for a time that is not known, among microseconds since 1970 UTC."""
