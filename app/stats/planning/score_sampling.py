"""Non-normal scores for the studies of a plan: many zeros and a tail (MQM), or a few levels (XSTS).

A Gaussian copula: the latent normal value of every rating is the sum of effects of documents, outputs and raters, and a
monotone map gives it the distribution of the available single ratings. Systems are shifted on the latent scale by as
much as their mean scores should differ.

Sources: Cario & Nelson 1997 (normal to anything); Nataf 1962 (correlation of the latent values from that of the
scores). The families, zeros with a gamma tail and levels, are our own choice (docs/reports/planner.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
import scipy

from app.domain.errors import Invalid
from app.stats.planning.power_and_cost import VarianceComponents
from app.stats.ratings import Floats

Scores = Literal["normal", "zero_inflated_gamma", "ordinal"]
MOST_LEVELS = 101
FURTHEST = 8.0
"""Largest latent distance, in standard deviations, that is searched."""

_Z = np.linspace(-FURTHEST - 1, FURTHEST + 1, 20_001)
_SHIFTS = np.linspace(-FURTHEST, FURTHEST, 401)
_TERMS = 60
_RHO = np.linspace(0.0, 1.0, 2_001)


class CannotSimulateScores(Invalid):
    """These scores cannot be drawn from the ratings at hand."""

    published = "NoSuchScores"


@dataclass(frozen=True, slots=True, eq=False)
class MarginalDistribution:
    """Distribution of single ratings.

    score: maps latent standard normal values, any shape, to scores. description: in words. variance: of the scores.
    """

    score: Callable[[Floats], Floats]
    variance: float
    description: str


def fit_marginal(kind: Scores, ratings: Floats) -> MarginalDistribution:
    """Fit the distribution of single ratings, all systems together. ratings : shape (n,).

    Raises CannotSimulateScores if there are none, if all are equal, or if they do not suit the distribution.
    """
    if not ratings.size:
        raise CannotSimulateScores("there are no ratings to fit them to")
    if ratings.min() == ratings.max():
        raise CannotSimulateScores("every rating is the same")
    if kind == "zero_inflated_gamma":
        return fit_zero_inflated_gamma(ratings)
    if kind == "ordinal":
        return fit_ordinal_marginal(ratings)
    raise CannotSimulateScores(f"{kind} has no distribution of its own to fit")


def fit_zero_inflated_gamma(ratings: Floats) -> MarginalDistribution:
    """Fit the share of zeros as observed, and the rest as gamma by moments: shape mean²/variance, scale variance/mean.

    Raises CannotSimulateScores for scores below 0, or if those above 0 are all equal.
    """
    if ratings.min() < 0:
        raise CannotSimulateScores("zero_inflated_gamma: there are scores below 0")
    above = ratings[ratings > 0]
    if above.min() == above.max():
        raise CannotSimulateScores("zero_inflated_gamma: all scores above 0 are the same")
    zeros, mean, spread = 1 - above.size / ratings.size, float(above.mean()), float(above.var())
    shape, scale = mean**2 / spread, spread / mean
    # A table, because computing the inverse takes longer than everything else. It uses the upper tail, because the
    # lower probability would be rounded to 1.
    first = float(scipy.special.ndtri(zeros)) if zeros else _Z[0]
    at = np.linspace(max(first, _Z[0]), _Z[-1], 20_001)
    values = scale * scipy.special.gammainccinv(shape, np.minimum(scipy.special.ndtr(-at) / (1 - zeros), 1.0))

    def score(latent: Floats) -> Floats:
        return np.asarray(np.where(latent <= first, 0.0, np.interp(latent, at, values)), dtype=np.float64)

    variance = (1 - zeros) * (spread + mean**2) - ((1 - zeros) * mean) ** 2
    description = f"{zeros:.1%} zeros, the rest gamma of mean {mean:.3g}, shape {shape:.3g}"
    return MarginalDistribution(score, variance, description)


def fit_ordinal_marginal(ratings: Floats) -> MarginalDistribution:
    """Fit levels with their observed shares. Raises CannotSimulateScores for more than MOST_LEVELS."""
    levels, counts = np.unique(ratings, return_counts=True)
    if levels.size > MOST_LEVELS:
        raise CannotSimulateScores(f"ordinal: {levels.size:,} different scores; at most {MOST_LEVELS} levels")
    shares = counts / ratings.size
    cuts = scipy.special.ndtri(np.cumsum(shares)[:-1])

    def score(latent: Floats) -> Floats:
        return np.asarray(levels[np.searchsorted(cuts, latent)], dtype=np.float64)

    mean = float(shares @ levels)
    description = f"{levels.size} levels with their observed frequencies"
    return MarginalDistribution(score, float(shares @ (levels - mean) ** 2), description)


@dataclass(frozen=True, slots=True, eq=False)
class LatentVariances:
    """Latent variances, which sum to 1.

    shared: what all systems of a segment have in common. parts: the others, as in VarianceComponents. fits: whether the
    components sum to no more than the marginal variance; otherwise they are scaled in proportion.
    """

    shared: float
    parts: VarianceComponents
    fits: bool

    def latent_sd(self, fixed_panel: bool) -> float:
        """Standard deviation of one latent value; a fixed panel has no rater × system effect."""
        return sqrt(1.0 - self.parts.rater_system) if fixed_panel else 1.0


def compute_latent_variances(components: VarianceComponents, marginal: MarginalDistribution) -> LatentVariances:
    """Latent variances for which one rater's scores of two systems on one segment covary as the components say.

    Variance of the marginal beyond the components is common to all systems of a segment. A non-linear map weakens
    correlations. The latent correlations needed are looked up in the order shared, rater, rater × document, rater ×
    segment, rater × system, document × system, segment × system, rater × document × system: sets of components from the
    start of this order covary exactly, other sets nearly. A normal marginal leaves the shares unchanged.
    """
    c = components
    order = (c.rater, c.rater_doc, c.rater_segment, c.rater_system, c.doc_system, c.segment_system, c.rater_doc_system)
    total = sum(order) + c.residual
    whole = max(total, marginal.variance)
    correlations = np.minimum(np.cumsum([whole - total, *order]) / whole, 1.0)
    needed = np.interp(correlations, _correlation(marginal), _RHO)
    shared, r, rd, rg, rs, ds, gs, rds = (max(0.0, float(one)) for one in np.diff(needed, prepend=0.0))
    parts = VarianceComponents(ds, gs, r, rs, rd, rg, rds, max(0.0, 1.0 - float(needed[-1])), c.source)
    return LatentVariances(shared, parts, fits=total <= marginal.variance * (1 + 1e-9))


def _correlation(marginal: MarginalDistribution) -> Floats:
    """Correlation of two scores whose latent values have correlation _RHO: Σ c_k² ρ^k / Σ c_k², Hermite coefficients.

    Source: Nataf 1962; Mehler's formula.
    """
    weight = np.exp(-(_Z**2) / 2)
    weight /= weight.sum()
    values = marginal.score(_Z)
    mean = float(weight @ values)
    variance = float(weight @ (values - mean) ** 2)
    before, now, correlation = np.zeros_like(_Z), np.ones_like(_Z), np.zeros_like(_RHO)
    known = 0.0
    for k in range(1, _TERMS + 1):
        before, now = now, (_Z * now - sqrt(k - 1) * before) / sqrt(k)
        share = float(weight @ (values * now)) ** 2 / variance
        correlation += share * _RHO**k
        known += share
    # The remaining terms, of a map with steps, matter only if the latent values are nearly equal.
    return np.asarray(correlation + max(0.0, 1.0 - known) * _RHO ** (_TERMS + 1), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSampler:
    """Scores ready to be drawn: marginal, latent variances, and the mean score of each shift, larger is better."""

    marginal: MarginalDistribution
    latent: LatentVariances
    sign: int
    fixed_panel: bool
    means: Floats

    def score_latent_values(self, values: Floats) -> Floats:
        """Return scores of latent values; larger is better for both."""
        return self.sign * self.marginal.score(self.sign * values)

    def shifts_for_difference(self, difference: float) -> Floats:
        """Return symmetric shifts of two systems whose means differ by `difference`, shape (2,).

        Raises CannotSimulateScores if the scale does not allow it.
        """
        differ = self.means - self.means[::-1]
        if difference > differ[-1]:
            raise CannotSimulateScores(f"no two systems can differ by {difference:.3g} on this scale")
        half = float(np.interp(difference, differ, _SHIFTS))
        return np.array([half, -half])

    def shifts_for_means(self, means: Floats) -> Floats:
        """Return shifts for means that differ like these, around the mean of all ratings, (S,); within the scale."""
        middle = float(np.interp(0.0, _SHIFTS, self.means))
        return np.asarray(np.interp(means - means.mean() + middle, self.means, _SHIFTS), dtype=np.float64)


def make_score_sampler(
    components: VarianceComponents, marginal: MarginalDistribution, *, better_sign: int, fixed_panel: bool = False
) -> ScoreSampler:
    """Prepare scores for drawing. better_sign : −1 for penalties."""
    scores = compute_latent_variances(components, marginal)
    spread, weight = scores.latent_sd(fixed_panel), np.exp(-(_Z**2) / 2)
    weight /= weight.sum()
    means = [float(weight @ (better_sign * marginal.score(better_sign * (spread * _Z + s)))) for s in _SHIFTS]
    return ScoreSampler(marginal, scores, better_sign, fixed_panel, np.maximum.accumulate(np.array(means)))
