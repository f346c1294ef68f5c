"""Size and composition of a set of ratings: counts, and their spread over systems, documents and raters.

Source: Riley et al. 2024, Table 1 and §4.2 (documents, segments, segments per document, raters, systems, ratings, and
buckets: documents rated by the same raters).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.ratings import Codes, RatingRole, Ratings

TEST_SET_ROLES = (RatingRole.RATING, RatingRole.REPEAT)


@dataclass(frozen=True, slots=True)
class CountSummary:
    """Minimum, median and maximum of some counts."""

    least: int
    median: float
    most: int


@dataclass(frozen=True, slots=True)
class RaterSetSize:
    """Number of raters and documents in one bucket: the same raters rated all of its documents."""

    raters: int
    documents: int


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """Counts for one system, rater or domain. mean: of the scores. judgments: distinct ones; systems can share one."""

    code: int
    ratings: int
    judgments: int
    documents: int
    segments: int
    mean: float


def select_test_set_ratings(rows: Ratings) -> Ratings:
    """Keep ratings and repeats; controls, references and calibration items tell nothing about the test set."""
    return rows.where(np.isin(rows.role, [role.value for role in TEST_SET_ROLES]))


def summarize_nonzero_counts(counts: Codes) -> CountSummary | None:
    """Summarize counts without those that are 0; None if all are 0.

    >>> summarize_nonzero_counts(np.array([0, 3, 1, 2], dtype=np.int32))
    CountSummary(least=1, median=2.0, most=3)
    """
    some = counts[counts > 0]
    return CountSummary(int(some.min()), float(np.median(some)), int(some.max())) if some.size else None


def count_ratings_per_output(rows: Ratings) -> Codes:
    """Number of ratings of each rated output: one entry per (system, document, segment)."""
    if not len(rows):
        return np.zeros(0, dtype=np.int32)
    places = np.stack((rows.system, rows.document, rows.segment))
    return np.unique(places, axis=1, return_counts=True)[1].astype(np.int32)


def count_ratings_by_group(rows: Ratings, codes: Codes, n_codes: int) -> tuple[RatingCounts, ...]:
    """Count the ratings of each code from 0 to n_codes − 1 that occurs; `codes` has one entry per row."""
    counts = []
    for code in range(n_codes):
        mine = codes == code
        if mine.any():
            segments = np.stack((rows.document[mine], rows.segment[mine]))
            counts.append(
                RatingCounts(
                    code=code,
                    ratings=int(mine.sum()),
                    judgments=np.unique(rows.judgment[mine]).size,
                    documents=np.unique(rows.document[mine]).size,
                    segments=int(np.unique(segments, axis=1).shape[1]),
                    mean=float(rows.score[mine].mean()),
                )
            )
    return tuple(counts)


def count_documents_by_rater_set(rows: Ratings) -> tuple[RaterSetSize, ...]:
    """Group documents by the set of their raters; return the sizes, largest buckets first."""
    pairs = np.unique(np.stack((rows.document, rows.rater)), axis=1)
    raters: dict[int, list[int]] = {}
    for document, rater in pairs.T.tolist():
        raters.setdefault(document, []).append(rater)
    sets: dict[tuple[int, ...], int] = {}
    for members in raters.values():
        sets[tuple(members)] = sets.get(tuple(members), 0) + 1
    ordered = sorted(sets.items(), key=lambda one: (-one[1], one[0]))
    return tuple(RaterSetSize(len(found), n) for found, n in ordered)


def count_ratings_by_system_and_document(rows: Ratings, n_systems: int, n_documents: int) -> Codes:
    """Number of ratings as a matrix, systems × documents."""
    counts = np.zeros((n_systems, n_documents), dtype=np.int32)
    np.add.at(counts, (rows.system, rows.document), 1)
    return counts
