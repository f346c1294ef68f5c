"""Where scores lie furthest apart: of one output between its raters, or of one segment between two systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.ratings import Ratings

Codes = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RaterDisagreement:
    """An output that several raters scored: who gave the lowest and the highest mean score, as codes.

    segment, system: of the output. spread: highest minus lowest. n: raters.
    """

    segment: int
    system: int
    lowest: float
    highest: float
    lowest_rater: int
    highest_rater: int
    n: int

    @property
    def spread(self) -> float:
        """How far the scores are apart."""
        return self.highest - self.lowest


@dataclass(frozen=True, slots=True)
class SegmentScoreDifference:
    """A segment that has scores of both systems. first, second: mean scores. n: ratings of both."""

    segment: int
    first: float
    second: float
    n: int

    @property
    def spread(self) -> float:
        """How far the scores are apart."""
        return abs(self.first - self.second)


def find_rater_disagreements(rows: Ratings, most: int) -> tuple[list[RaterDisagreement], int]:
    """The outputs with the largest spread between raters, at most so many, and how many have two raters or more.

    Several scores of one rater for one output count as their mean. Ties stand in the order of segments and systems.
    """
    keys, means, _ = _means_by_key(rows, np.stack([rows.segment, rows.system, rows.rater]))
    segment, system, rater = keys
    if not segment.size:
        return [], 0
    starts = np.flatnonzero(np.r_[True, (np.diff(segment) != 0) | (np.diff(system) != 0)])
    counts = np.diff(np.r_[starts, segment.size])
    spread = np.maximum.reduceat(means, starts) - np.minimum.reduceat(means, starts)
    several = np.flatnonzero(counts > 1)
    worst = several[np.argsort(-spread[several], kind="stable")][:most]
    disagreements = []
    for output in worst.tolist():
        start, end = int(starts[output]), int(starts[output] + counts[output])
        low, high = start + int(means[start:end].argmin()), start + int(means[start:end].argmax())
        disagreements.append(
            RaterDisagreement(
                segment=int(segment[start]),
                system=int(system[start]),
                lowest=float(means[low]),
                highest=float(means[high]),
                lowest_rater=int(rater[low]),
                highest_rater=int(rater[high]),
                n=end - start,
            )
        )
    return disagreements, int(several.size)


def find_segment_score_differences(
    rows: Ratings, first: int, second: int, most: int
) -> tuple[list[SegmentScoreDifference], int]:
    """The segments whose mean scores differ most between two systems, at most so many, and how many have both."""
    pair = rows.where((rows.system == first) | (rows.system == second))
    keys, means, counts = _means_by_key(pair, np.stack([pair.segment, pair.system]))
    segment, system = keys
    _, at_first, at_second = np.intersect1d(segment[system == first], segment[system == second], return_indices=True)
    left, right = np.flatnonzero(system == first)[at_first], np.flatnonzero(system == second)[at_second]
    worst = np.argsort(-np.abs(means[left] - means[right]), kind="stable")[:most]
    return [
        SegmentScoreDifference(
            segment=int(segment[left[i]]),
            first=float(means[left[i]]),
            second=float(means[right[i]]),
            n=int(counts[left[i]] + counts[right[i]]),
        )
        for i in worst.tolist()
    ], int(left.size)


def _means_by_key(rows: Ratings, keys: Codes) -> tuple[Codes, Floats, Codes]:
    """The mean score of each combination of keys that occurs, in their order, and the number of scores."""
    groups, inverse, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    sums = np.bincount(inverse.reshape(-1), weights=rows.score, minlength=counts.size)
    return groups, sums / np.maximum(counts, 1), counts
