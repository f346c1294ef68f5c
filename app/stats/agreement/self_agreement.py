"""Self-agreement of raters: repeated ratings of one output, and one translation under two system names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.agreement.pairs import has_too_many_value_pairs, kendall_tau, list_value_pairs, pearson
from app.stats.agreement.units import SLACK, make_segment_units
from app.stats.plain_values import number_or_none
from app.stats.ratings import Bools, Codes, Floats, Ratings


@dataclass(frozen=True, slots=True)
class RepeatRatingPairs:
    """Pairs of a rating and the same rater's next rating of the same output. rater: codes. Shapes (n,)."""

    first: Floats
    second: Floats
    rater: Codes

    def where(self, keep: Bools) -> RepeatRatingPairs:
        """Keep only the pairs for which `keep` is true."""
        return RepeatRatingPairs(self.first[keep], self.second[keep], self.rater[keep])


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """Agreement of raters with themselves over pairs of ratings.

    n: pairs. absolute: mean |difference|. identical: share of equal scores. within: share at most `tolerance` apart.
    kappa: `within` corrected for chance, None if the chance agreement is not given.
    """

    n: int
    absolute: float
    identical: float
    within: float
    kappa: float | None
    pearson: float | None
    tau_b: float | None


def pair_consecutive_ratings(ratings: Ratings) -> RepeatRatingPairs:
    """Pair consecutive ratings (1st and 2nd, 2nd and 3rd …) of one output by one rater; segments only."""
    rows = ratings.segment_ratings()
    order = np.lexsort((rows.nth, rows.rater, rows.system, rows.segment))
    segment, system, rater = (column[order] for column in (rows.segment, rows.system, rows.rater))
    same = (segment[1:] == segment[:-1]) & (system[1:] == system[:-1]) & (rater[1:] == rater[:-1])
    at = np.flatnonzero(same)
    score = rows.score[order]
    return RepeatRatingPairs(score[at], score[at + 1], rater[at])


def pair_ratings_of_duplicate_systems(
    ratings: Ratings, system: int, other_system: int
) -> tuple[RepeatRatingPairs, RepeatRatingPairs | None]:
    """Pair ratings of one translation that was judged under the names of two systems (codes).

    Returns pairs by one rater under both names and, for comparison, pairs by two raters under the same name, of whom
    `rater` is the first; None instead of these if they are too many to be held in memory.
    """
    rows = ratings.segment_ratings()
    a, b = rows.where(rows.system == system), rows.where(rows.system == other_system)
    order = np.argsort(b.segment, kind="stable")
    first = np.searchsorted(b.segment[order], a.segment)
    times = np.searchsorted(b.segment[order], a.segment, side="right") - first
    left = np.repeat(np.arange(len(a)), times)
    right = order[np.arange(left.size) - np.repeat(np.cumsum(times) - times, times) + np.repeat(first, times)]
    before = RepeatRatingPairs(a.score[left], b.score[right], a.rater[left])
    own = before.where(a.rater[left] == b.rater[right])
    units = make_segment_units(rows.where((rows.system == system) | (rows.system == other_system)), repeated="first")
    if has_too_many_value_pairs(units):
        return own, None
    both = list_value_pairs(units)
    return own, RepeatRatingPairs(both.first, both.second, both.raters[both.pair, 0].astype(np.int32))


def compute_self_agreement(
    pairs: RepeatRatingPairs, *, tolerance: float, chance: float | None = None
) -> SelfAgreement | None:
    """Agreement of the pairs; None without pairs. chance: probability that two ratings are within the tolerance.

    Source: Grundkiewicz et al. 2021, §5.3; Graham et al. 2013.
    """
    if not pairs.first.size:
        return None
    distances = np.abs(pairs.first - pairs.second)
    within = float((distances <= tolerance + SLACK).mean())
    return SelfAgreement(
        n=distances.size,
        absolute=float(distances.mean()),
        identical=float((distances <= SLACK).mean()),
        within=within,
        kappa=None if chance is None else (within - chance) / (1 - chance),
        pearson=number_or_none(pearson(pairs.first, pairs.second)),
        tau_b=number_or_none(kendall_tau(pairs.first, pairs.second)),
    )
