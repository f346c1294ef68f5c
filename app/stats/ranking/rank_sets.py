"""Simultaneous confidence sets for ranks (Mogstad, Romano, Shaikh & Wilhelm 2024), with documents as the sampled units.

All hypotheses "j is not better than k" are tested together by step-down with a studentized Rademacher wild bootstrap
over documents. Without studentizing, the sets cover the true ranks far too seldom (docs/statistics.md).

If documents differ in length, the bootstrap does not reflect how imprecise the mean of a long document is: its
statistics stay small where the true one varies widely. The limit is therefore the larger of the bootstrap's own and
that of normal campaigns with these lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from app.stats.aggregate import Indices
from app.stats.inference.by_document import compute_document_degrees_of_freedom, compute_document_influences
from app.stats.ratings import Bools, Floats
from app.stats.testing.permutation import sample_sign_patterns

FEWEST_DOCUMENTS = 6
"""With fewer documents nothing is claimed: every set is [1, S]."""
FEW_DOCUMENTS = 15
"""With fewer documents the coverage is approximate."""
_MOST_DRAWS = 200_000
_NORMAL_DRAWS = 999
_MANY_DEGREES = 100
_CORRELATION = 0.1
"""Correlation of segments of one document in normal campaigns, chosen by simulation with very uneven lengths."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class RankSets:
    """Rank sets [first, last] of the systems, in their given order. documents: number of documents behind them."""

    first: Indices
    last: Indices
    documents: int

    @property
    def is_approximate(self) -> bool:
        """Whether there are too few documents for the coverage to be nominal."""
        return self.documents < FEW_DOCUMENTS


def choose_number_of_bootstrap_draws(n_systems: int) -> int:
    """Return max(999, 20·S(S−1)), at most 200 000."""
    return min(max(999, 20 * n_systems * (n_systems - 1)), _MOST_DRAWS)


def compute_rank_sets(
    sums: Floats,
    weights: Floats,
    *,
    alpha: float,
    seed: int,
    draws: int | None = None,
    comparable: Bools | None = None,
) -> RankSets:
    """Rank sets that hold the true ranks of all systems at once with probability 1 − α.

    ψ_Dj: how far document D moves θ_j, corrected for its leverage (`inference.by_document`), over the union of
    documents; a_D = ψ_Dj − ψ_Dk; T_jk = (θ_j − θ_k)/√Σa²; bootstrap m* = Σε_D·a_D/D and T* = m*/√((Σa²/D − m*²)/(D−1)).

    Parameters
    ----------
    sums : sum of the scores of each system in each document, larger is better, shape (S, D).
    weights : the number of segments (or weight) behind each sum, shape (S, D); every system has at least one.
    draws : number of sign draws, None for max(999, 20·S(S−1)).
    comparable : pairs about which a claim is allowed, symmetric, shape (S, S); None for all.

    Source: Mogstad et al. 2024, §3 (step-down, two-sided sets).
    """
    size = len(sums)
    held = (weights > 0).any(axis=0)
    documents = int(held.sum())
    beats = np.zeros((size, size), dtype=np.bool_)
    if documents >= FEWEST_DOCUMENTS and size > 1:
        n = choose_number_of_bootstrap_draws(size) if draws is None else draws
        allowed = ~np.eye(size, dtype=np.bool_) if comparable is None else comparable
        beats = _step_down(sums[:, held], weights[:, held], allowed, alpha=alpha, seed=seed, draws=n)
    return RankSets(1 + beats.sum(axis=0), size - beats.sum(axis=1), documents)


def _step_down(sums: Floats, weights: Floats, comparable: Bools, *, alpha: float, seed: int, draws: int) -> Bools:
    """Return beats[j, k], true if the hypothesis that j is not better than k is rejected."""
    documents = sums.shape[1]
    totals = weights.sum(axis=1, keepdims=True)
    theta = sums.sum(axis=1, keepdims=True) / totals
    psi = compute_document_influences(sums, weights) * documents
    squares = np.stack([((psi[j] - psi) ** 2).sum(axis=1) for j in range(len(psi))])
    sizes = (psi * psi).sum(axis=1)
    # In floating point, a difference that is equal in every document is only nearly constant.
    active = np.asarray(squares > 1e-24 * (sizes[:, None] + sizes), dtype=np.bool_) & comparable
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (theta - theta.T) / np.sqrt(squares) * documents
    moved = _bootstrap_means(psi, seed=seed, draws=draws)
    normal = simulate_null_t_statistics(psi, weights, seed=seed)
    beats = np.zeros_like(active)
    place = ceil((1 - alpha) * (draws + 1))
    while active.any() and place <= draws:
        largest = _largest_statistic(moved, squares / documents, active, documents)
        limit = max(np.partition(largest, place - 1)[place - 1], _limit(normal, active, alpha))
        rejected = active & (observed > limit)
        if not rejected.any():
            break
        beats |= rejected
        active &= ~rejected
    return beats


def simulate_null_t_statistics(psi: Floats, weights: Floats, *, seed: int) -> Floats | None:
    """T of every pair in normal campaigns of equal systems with these lengths, shape (draws, S, S).

    Systems vary independently, as much as in `psi`, and segments of one document are correlated by .1. None if every
    system has enough degrees of freedom for lengths not to matter.
    """
    if float(compute_document_degrees_of_freedom(weights, _CORRELATION).min()) >= _MANY_DEGREES:
        return None
    rng = np.random.Generator(np.random.PCG64(seed))
    deviations = psi - psi.mean(axis=0)
    share = weights / weights.sum(axis=1, keepdims=True)
    variance = (1 - _CORRELATION) * weights + _CORRELATION * weights * weights
    scale = np.sqrt(
        (deviations * deviations).sum(axis=1, keepdims=True) * variance / variance.sum(axis=1, keepdims=True)
    )
    factor = np.sqrt(1.0 / np.where(share < 1, 1 - share, 1.0))
    campaigns = []
    step = max(1, _CHUNK // weights.size)
    for start in range(0, _NORMAL_DRAWS, step):
        drawn = rng.standard_normal((min(step, _NORMAL_DRAWS - start), *weights.shape)) * scale
        theta = drawn.sum(axis=2)
        moved = (drawn - share * theta[:, :, None]) * factor
        gram = moved @ moved.transpose(0, 2, 1)
        own = np.einsum("bii->bi", gram)
        spread = own[:, :, None] + own[:, None, :] - 2 * gram
        campaigns.append((theta[:, :, None] - theta[:, None, :]) / np.sqrt(np.where(spread > 0, spread, np.inf)))
    return np.asarray(np.concatenate(campaigns), dtype=np.float64)


def _limit(normal: Floats | None, active: Bools, alpha: float) -> float:
    """Return the 1 − α quantile of the largest T over the active hypotheses in normal campaigns."""
    if normal is None:
        return -inf
    largest = normal[:, active].max(axis=1)
    place = ceil((1 - alpha) * (len(largest) + 1)) - 1
    return float(np.partition(largest, place)[place])


def _bootstrap_means(psi: Floats, *, seed: int, draws: int) -> Floats:
    """m*_j = Σε_D·ψ_Dj/D for each system and draw, shape (S, draws)."""
    documents = psi.shape[1]
    chunk = max(1, _CHUNK // documents)
    parts = [
        2.0 * (psi @ flips.T) - psi.sum(axis=1, keepdims=True)
        for flips in sample_sign_patterns(documents, draws, seed, chunk)
    ]
    return np.asarray(np.concatenate(parts, axis=1) / documents, dtype=np.float64)


def _largest_statistic(moved: Floats, mean_squares: Floats, active: Bools, documents: int) -> Floats:
    """Return the largest T* over the active hypotheses in each draw; +∞ if the bootstrap sample does not vary."""
    largest = np.full(moved.shape[1], -np.inf)
    # Take a few draws at a time, so that all pairs of one system stay in the processor's cache.
    step = max(1, _CHUNK // (8 * len(moved)))
    for start in range(0, moved.shape[1], step):
        draws = slice(start, start + step)
        for j in range(len(moved)):
            either = np.flatnonzero(active[j] | active[:, j])
            either = either[either > j]
            if either.size:
                t = _statistics(moved[j, draws] - moved[either, draws], mean_squares[j, either][:, None], documents)
                # T* of (k, j) is −T* of (j, k), but a constant sample counts as +∞ for both.
                ahead = _rows(t, active[j, either]).max(axis=0, initial=-np.inf)
                behind = -_rows(t, active[either, j]).min(axis=0, initial=np.inf)
                constant = np.where(t.max(axis=0) == np.inf, np.inf, -np.inf)
                largest[draws] = np.maximum.reduce((largest[draws], ahead, behind, constant))
    return largest


def _rows(values: Floats, chosen: Bools) -> Floats:
    return values if chosen.all() else values[chosen]


def _statistics(mean: Floats, limit: Floats, documents: int) -> Floats:
    """T* of each pair and draw; +∞ if the sample is constant."""
    variance = (limit - mean * mean) / (documents - 1)
    constant = variance <= 1e-12 * limit
    t = mean / np.sqrt(np.where(constant, 1.0, variance))
    t[constant] = np.inf
    return t
