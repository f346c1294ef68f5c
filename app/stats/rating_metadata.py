"""Further data on the ratings, in the same codes, loaded only when a report needs them.

`DocumentTable`, `RaterTable` and `TaskTable` have one entry per code of `Ratings.labels`; `RatingEventTable` and
`RepeatAndDegradedLinks` have one per row of `Ratings`; `ErrorTable` has one per error, with the index of its row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.ratings import Codes, Floats

Micros = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """One entry per document code.

    domain: label, None if unknown. kind: test, calibration, tutorial or attention. segments: number of segments. words:
    of all sources, split at whitespace; −1 if no source is known.
    """

    domain: tuple[str | None, ...]
    kind: tuple[str, ...]
    segments: Codes
    words: Codes

    def domain_codes_and_labels(self) -> tuple[Codes, tuple[str, ...]]:
        """Domain of each document as a code, and the sorted labels; unknown domains are one domain, `unknown`."""
        names = tuple(sorted({d or "unknown" for d in self.domain}))
        code = {name: i for i, name in enumerate(names)}
        return np.array([code[d or "unknown"] for d in self.domain], dtype=np.int32), names


@dataclass(frozen=True, slots=True)
class RaterTable:
    """One entry per rater code. person: key of the person, or the rater's own key if accounts are not linked."""

    person: tuple[str, ...]
    attributes: tuple[dict[str, object], ...]

    def person_codes(self) -> tuple[Codes, tuple[str, ...]]:
        """Person of each rater as a code, and the sorted labels."""
        names = tuple(sorted(set(self.person)))
        code = {name: i for i, name in enumerate(names)}
        return np.array([code[p] for p in self.person], dtype=np.int32), names


@dataclass(frozen=True, slots=True)
class TaskTable:
    """One entry per task code: the rater who holds it (−1 for none), its state, and metadata from its import."""

    rater: Codes
    state: tuple[str, ...]
    meta: tuple[dict[str, object], ...]


@dataclass(frozen=True, slots=True)
class RatingEventTable:
    """One entry per row of the ratings.

    started, submitted: microseconds since 1970 UTC, −1 if unknown. position: of the item in its task, from 1.
    revisions: how often the answer was given. first_score: of the first revision.
    """

    started: Micros
    submitted: Micros
    position: Codes
    revisions: Codes
    first_score: Floats


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """One entry per error, in the order of rows and then as marked.

    row: row of the ratings. side: 0 source, 1 target. start, end: code points, −1 for an omission without a position.
    severity, category: codes of `severities` and `categories` (category −1 for none). weight: under the profile in use.
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
class RepeatAndDegradedLinks:
    """For each row the row it repeats or degrades, or −1: same system and segment, role rating, same task if any."""

    original: Codes


EPOCH_UNKNOWN = -1
"""Value of an unknown time among microseconds since 1970 UTC."""
