"""Findings of one simulated study compared with the truth: claims, intervals and rank sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.stats.ranking.result import PairRow, Ranking

LEVELS: Final = (0.01, 0.05, 0.1, 0.5)
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TrueScores:
    """True scores of the systems, larger is better.

    differences: of pairs, if they differ from those of the scores (on common segments). values: the scores in the unit
    and sign in which they are reported; None if their intervals are not checked.
    """

    scores: Mapping[str, float]
    differences: Mapping[Pair, float] | None = None
    values: Mapping[str, float] | None = None

    @classmethod
    def from_ranking(cls, ranking: Ranking) -> TrueScores:
        """Take a ranking as the truth."""
        sign = 1 if ranking.higher_is_better else -1
        known = {(p.better, p.worse): p.difference for p in ranking.pairs if p.difference is not None}
        return cls(
            {row.system: round(sign * row.score, 10) for row in ranking.systems},
            {**known, **{(b, a): -value for (a, b), value in known.items()}},
            {row.system: row.score for row in ranking.systems},
        )

    @property
    def are_all_equal(self) -> bool:
        """Whether no system is better."""
        return len(set(self.scores.values())) <= 1

    def difference(self, pair: Pair) -> float | None:
        """First minus second; None if it is unknown."""
        if self.differences is not None:
            return self.differences.get(pair)
        first, second = (self.scores.get(system) for system in pair)
        return None if first is None or second is None else first - second

    def rank_ranges(self) -> dict[str, tuple[int, int]]:
        """First and last rank of each system; equal systems have all the ranks that they share."""
        every = self.scores.values()
        return {s: (1 + sum(x > own for x in every), sum(x >= own for x in every)) for s, own in self.scores.items()}


def compare_ranking_with_truth(ranking: Ranking, truth: TrueScores) -> dict[str, float]:
    """Return each finding by name; those that are undefined are left out.

    pairs_claimed, wrong_claims: shares of the pairs tested. any_claim: whether any claim is wrong. If all systems are
    equal, also p_below_x, the share of p-values at or below x before adjustment, in a direction that does not depend on
    the data, and any_line, whether there is more than one cluster. difference_interval, new_raters_interval,
    new_domains_interval, score_interval: shares of intervals that contain the truth. rank_sets: whether all rank sets
    do.
    """
    return {**_claims(ranking, truth), **_intervals(ranking, truth), **_sets(ranking, truth)}


def _claims(ranking: Ranking, truth: TrueScores) -> dict[str, float]:
    tested = [pair for pair in ranking.pairs if pair.testable]
    if not tested:
        return {}
    claims = [pair for pair in tested if pair.significant or pair.significant_reverse]
    wrong = sum(_is_wrong(pair, truth.scores) for pair in claims)
    measures = {
        "pairs_claimed": len(claims) / len(tested),
        "wrong_claims": wrong / len(tested),
        "any_claim": float(wrong > 0),
    }
    if not truth.are_all_equal:
        return measures
    clusters = {row.cluster for row in ranking.systems}
    if None not in clusters:
        measures["any_line"] = float(len(clusters) > 1)
    p = np.array([_p(pair) for pair in tested])
    p = p[~np.isnan(p)]
    return {**measures, **({f"p_below_{x:g}": float((p <= x).mean()) for x in LEVELS} if p.size else {})}


def _p(pair: PairRow) -> float:
    """p that the system with the smaller key is better; for a two-sided test, its p."""
    if pair.p_value is None:
        return np.nan
    one_sided = pair.p_reverse is not None and pair.better > pair.worse
    return float(pair.p_reverse if one_sided and pair.p_reverse is not None else pair.p_value)


def _is_wrong(pair: PairRow, score: Mapping[str, float]) -> bool:
    claimed, other = (pair.better, pair.worse) if pair.significant else (pair.worse, pair.better)
    return not score.get(claimed, 0.0) > score.get(other, 0.0)


def _intervals(ranking: Ranking, truth: TrueScores) -> dict[str, float]:
    coverage = {}
    for name, of in _OF_DIFFERENCES.items():
        held = [
            _interval_covers(interval, value)
            for pair in ranking.pairs
            if (interval := of(pair)) and (value := truth.difference((pair.better, pair.worse))) is not None
        ]
        if held:
            coverage[name] = float(np.mean(held))
    values = truth.values or {}
    marginal = [
        _interval_covers(row.interval, values[row.system])
        for row in ranking.systems
        if row.interval is not None and row.system in values
    ]
    if marginal:
        coverage["score_interval"] = float(np.mean(marginal))
    return coverage


_OF_DIFFERENCES: Final[Mapping[str, Callable[[PairRow], tuple[float, float] | None]]] = {
    "difference_interval": lambda pair: pair.interval,
    "new_raters_interval": lambda pair: pair.new_raters_interval,
    "new_domains_interval": lambda pair: pair.new_domains_interval,
}


def _interval_covers(interval: tuple[float, float], value: float) -> bool:
    """Include the ends, to ten decimals, because sums of the same scores in another order differ in their last bits."""
    return interval[0] - 1e-10 <= value <= interval[1] + 1e-10


def _sets(ranking: Ranking, truth: TrueScores) -> dict[str, float]:
    if not ranking.systems or any(row.rank_set is None for row in ranking.systems):
        return {}
    spans = truth.rank_ranges()
    if set(spans) != {row.system for row in ranking.systems}:
        return {}
    held = (
        row.rank_set is not None and row.rank_set[0] <= spans[row.system][0] and spans[row.system][1] <= row.rank_set[1]
        for row in ranking.systems
    )
    return {"rank_sets": float(all(held))}
