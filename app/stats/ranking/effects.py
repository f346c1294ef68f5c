"""Effect sizes that are easy to interpret: how often one system is better than another on a random segment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.aggregate import Indices, ScoreMatrix, round_scores
from app.stats.ratings import Floats
from app.stats.testing.common_segments import list_all_system_pairs


@dataclass(frozen=True, slots=True)
class SuperiorityChances:
    """P(first better), P(tie) and P(second better) of each pair, shape (pairs,); NaN without a comparison."""

    better: Floats
    tie: Floats
    worse: Floats


def estimate_probability_of_superiority(matrix: ScoreMatrix, sign: int, *, paired: bool) -> SuperiorityChances:
    """Chance that the first system of each pair is better on a random segment; scores equal to 10 decimals are ties.

    Parameters
    ----------
    matrix : systems in ranking order, scores in the protocol's unit.
    sign : +1 where a larger score is better.
    paired : whether both systems are compared on the same segment, over common segments. Otherwise a segment of one is
        compared with a segment of the other, over all combinations; P(better) − P(worse) is then Cliff's δ.

    Source: Cliff 1993 (dominance); Grissom & Kim 2005, ch. 5 (probability of superiority).
    """
    scores = sign * round_scores(matrix.score)
    counted = count_better_segments(matrix, scores) if paired else _counts_on_all_segments(matrix, scores)
    better, worse, n = counted
    # Use counts, because 1 − better − worse leaves 5.6e-17 where there is no tie.
    tie = n - better - worse
    with np.errstate(invalid="ignore", divide="ignore"):
        return SuperiorityChances(better / n, tie / n, worse / n)


def count_better_segments(matrix: ScoreMatrix, scores: Floats) -> Indices:
    """Count segments on which the first is better, the second is better, and both are present; shape (3, pairs)."""
    counts = [np.zeros((3, 0), dtype=np.intp)]
    for i in range(len(scores) - 1):
        both = matrix.present[i] & matrix.present[i + 1 :]
        better, worse = (scores[i] > scores[i + 1 :]) & both, (scores[i] < scores[i + 1 :]) & both
        counts.append(np.stack([better.sum(axis=1), worse.sum(axis=1), both.sum(axis=1)]))
    return np.concatenate(counts, axis=1)


def _counts_on_all_segments(matrix: ScoreMatrix, scores: Floats) -> Indices:
    """Count likewise over every combination of a segment of the first system and one of the second."""
    first, second = list_all_system_pairs(len(scores))
    held = [np.sort(row[present]) for row, present in zip(scores, matrix.present, strict=True)]
    counts = np.zeros((3, first.size), dtype=np.intp)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        x, y = held[i], held[j]
        below = int(np.searchsorted(y, x, side="left").sum())
        not_above = int(np.searchsorted(y, x, side="right").sum())
        counts[:, pair] = below, x.size * y.size - not_above, x.size * y.size
    return counts
