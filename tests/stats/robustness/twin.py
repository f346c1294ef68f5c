"""The slow way: plain rows of raw scores, changed, and everything computed anew with textbook means and SciPy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from scipy.stats import mannwhitneyu, rankdata

from app.stats.ratings import RatingRole, Ratings


@dataclass(frozen=True)
class Row:
    """One raw score."""

    system: str
    document: str
    segment: int
    rater: str
    role: RatingRole
    accepted: bool
    score: float


def plain(rows: Ratings) -> list[Row]:
    """Ratings as rows that nothing of the program is needed to read."""
    labels = rows.labels
    return [
        Row(
            labels.systems[rows.system[i]],
            labels.documents[rows.document[i]],
            int(rows.segment[i]),
            labels.raters[rows.rater[i]],
            RatingRole(rows.role[i]),
            bool(rows.accepted[i]),
            float(rows.score[i]),
        )
        for i in range(len(rows))
    ]


def without(rows: Iterable[Row], what: str, keys: set[str]) -> list[Row]:
    return [row for row in rows if getattr(row, what) not in keys]


def scaled(rows: Iterable[Row], systems: set[str], *, references: bool, divisor: float, top: bool = False) -> list[Row]:
    """Scores 0–100 divided by a factor, or their distance from 100 is."""
    found = []
    for row in rows:
        if row.system in systems or (references and row.role == RatingRole.REFERENCE):
            score = 100 - (100 - row.score) / divisor if top else row.score / divisor
            found.append(replace(row, score=score))
        else:
            found.append(row)
    return found


def wmt_da(rows: list[Row], unshown: set[str]) -> tuple[list[str], list[int]]:
    """Systems best first, and the cluster of each."""
    order, clusters, _ = standing(rows, unshown)
    return order, clusters


def standing(rows: list[Row], unshown: set[str]) -> tuple[list[str], list[int], dict[str, float]]:
    """WMT's direct assessment: z by rater over all rows, segment means, one-sided rank-sum, lines by the wmt21 rule.

    Systems best first, the cluster of each, and their means.
    """
    values = segment_means(rows, unshown)
    means = {system: round(fmean(given), 10) for system, given in values.items()}
    order = sorted(values, key=lambda system: (-means[system], system))
    wins = {
        a: sum(
            mannwhitneyu(values[a], values[b], alternative="greater", method="asymptotic").pvalue < 0.05
            for b in order
            if b != a
        )
        for a in order
    }
    clusters, number = [], 1
    for i, system in enumerate(order, 1):
        clusters.append(number)
        number += wins[system] == len(order) - i
    return order, clusters, means


def segment_means(rows: list[Row], unshown: set[str], *, z: bool = True) -> dict[str, list[float]]:
    """Means of each system's segments, of z by rater over all rows or of raw scores."""
    scores = defaultdict(list)
    for row in rows:
        scores[row.rater].append(row.score)
    moments = {
        rater: (fmean(given), stdev(given))
        for rater, given in scores.items()
        if len(given) > 1 and stdev(given) > 1e-10
    }
    segments: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        ranked = row.role in (RatingRole.RATING, RatingRole.REPEAT) and row.accepted and row.system not in unshown
        if ranked and (row.rater in moments or not z):
            mean, sd = moments[row.rater] if z else (0.0, 1.0)
            segments[row.system][row.segment].append((row.score - mean) / sd)
    return {system: [round(fmean(given), 10) for given in held.values()] for system, held in segments.items()}


def moved(before: dict[str, float], after: dict[str, float]) -> tuple[float, str | None]:
    """Largest move in ranks among the systems that both have, ties at their mean rank, and whose it is.

    Of several who move as far it is the one that was best before.
    """
    common = sorted(before.keys() & after.keys(), key=lambda system: (-before[system], system))
    ranks = [rankdata([-means[system] for system in common]) for means in (before, after)]
    moves = [abs(float(later) - float(earlier)) for earlier, later in zip(*ranks, strict=True)]
    largest = max(moves, default=0.0)
    return largest, common[moves.index(largest)] if largest else None


def indicators(before: tuple[list[str], list[int]], after: tuple[list[str], list[int]]) -> tuple[bool, bool, int]:
    """Order differs, clusters as sets differ, pairs that stand the other way round; over systems that both have."""
    common = set(before[0]) & set(after[0])

    def kept(places: tuple[list[str], list[int]]) -> tuple[list[str], list[set[str]]]:
        groups = defaultdict(set)
        for system, cluster in zip(*places, strict=True):
            if system in common:
                groups[cluster].add(system)
        return [s for s in places[0] if s in common], [groups[c] for c in sorted(groups)]

    (order, groups), (other, others) = kept(before), kept(after)
    swaps = sum(
        (order.index(a) < order.index(b)) != (other.index(a) < other.index(b)) for a in order for b in order if a < b
    )
    return order != other, groups != others, swaps
