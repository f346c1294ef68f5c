"""The largest score differences: between the raters of one output, or between two systems on one segment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.ratings import Ratings

Codes = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RaterDifferenceOnOutput:
    """An output that several raters scored, with the raters (codes) of the lowest and the highest mean score.

    segment, system: of the output. spread: highest minus lowest. n: number of raters.
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
        """Difference between the highest and the lowest score."""
        return self.highest - self.lowest


@dataclass(frozen=True, slots=True)
class SystemDifferenceOnSegment:
    """A segment with scores for both systems. first, second: mean scores. n: number of ratings of both."""

    segment: int
    first: float
    second: float
    n: int

    @property
    def spread(self) -> float:
        """Absolute difference between the two scores."""
        return abs(self.first - self.second)


def find_rater_differences_on_outputs(rows: Ratings, most: int) -> tuple[list[RaterDifferenceOnOutput], int]:
    """Return up to `most` outputs with the largest spread between raters, and how many have two or more raters.

    Several scores by one rater for one output count as their mean. Ties keep the order of segments and systems.
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
            RaterDifferenceOnOutput(
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


def find_system_differences_on_segments(
    rows: Ratings, first: int, second: int, most: int
) -> tuple[list[SystemDifferenceOnSegment], int]:
    """Return up to `most` segments whose mean scores differ most between two systems, and how many have both."""
    pair = rows.where((rows.system == first) | (rows.system == second))
    keys, means, counts = _means_by_key(pair, np.stack([pair.segment, pair.system]))
    segment, system = keys
    _, at_first, at_second = np.intersect1d(segment[system == first], segment[system == second], return_indices=True)
    left, right = np.flatnonzero(system == first)[at_first], np.flatnonzero(system == second)[at_second]
    worst = np.argsort(-np.abs(means[left] - means[right]), kind="stable")[:most]
    return [
        SystemDifferenceOnSegment(
            segment=int(segment[left[i]]),
            first=float(means[left[i]]),
            second=float(means[right[i]]),
            n=int(counts[left[i]] + counts[right[i]]),
        )
        for i in worst.tolist()
    ], int(left.size)


def _means_by_key(rows: Ratings, keys: Codes) -> tuple[Codes, Floats, Codes]:
    """Return each combination of keys that occurs, in sorted order, its mean score and its number of scores."""
    groups, inverse, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    sums = np.bincount(inverse.reshape(-1), weights=rows.score, minlength=counts.size)
    return groups, sums / np.maximum(counts, 1), counts
