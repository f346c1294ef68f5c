"""Bootstrap over documents: how a statistic would vary over other documents of the same kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.stats.agreement.units import OfDocuments, ValuesByUnit
from app.stats.document_draws import compute_draws_per_block
from app.stats.intervals import t_quantile
from app.stats.ratings import Floats

MOST_UNDEFINED = 0.05
FEWEST_DOCUMENTS = 2


def bootstrap_document_counts(units: ValuesByUnit, draws: int, *, seed: int, chunk: int) -> Floats:
    """How often each document is drawn, shape (draws, D).

    Documents with a unit that two raters share are resampled separately from the others, so every draw has the same
    number of each. The others only tell how often a category is used.

    chunk: number of the chunk; it determines the draws together with the seed.
    """
    shared = np.unique(units.with_two_or_more_values().document)
    others = np.setdiff1d(np.arange(units.n_documents), shared)
    size = units.n_documents
    return bootstrap_document_counts_of_subset(shared, size, draws, seed, chunk) + bootstrap_document_counts_of_subset(
        others, size, draws, seed, chunk
    )


def bootstrap_distribution(statistic: OfDocuments, units: ValuesByUnit, draws: int, *, seed: int) -> Floats:
    """Return a statistic in every draw of chunk 0, shape (draws,); draws are held in memory block by block."""
    shared = np.unique(units.with_two_or_more_values().document)
    subsets = shared, np.setdiff1d(np.arange(units.n_documents), shared)
    rngs, step = [_generator(seed, 0) for _ in subsets], compute_draws_per_block(units.n_documents)
    parts = [np.empty(0)]
    for start in range(0, draws, step):
        n = min(step, draws - start)
        mine, others = (_count_drawn(held, units.n_documents, n, rng) for held, rng in zip(subsets, rngs, strict=True))
        parts.append(statistic(mine + others))
    return np.concatenate(parts)


def bootstrap_document_counts_of_subset(
    held: npt.NDArray[np.integer], n_documents: int, draws: int, seed: int, chunk: int
) -> Floats:
    """Draw as many documents as `held` (codes) has, with replacement; count each document, shape (draws, D)."""
    return _count_drawn(held, n_documents, draws, _generator(seed, chunk))


def _generator(seed: int, chunk: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, chunk))))


def _count_drawn(held: npt.NDArray[np.integer], n_documents: int, draws: int, rng: np.random.Generator) -> Floats:
    out = np.zeros((draws, n_documents))
    if held.size:
        picked = held[rng.integers(0, held.size, size=(draws, held.size))]
        np.add.at(out, (np.arange(draws)[:, None], picked), 1.0)
    return out


def evaluate_statistics_in_draws(statistics: Sequence[OfDocuments], counts: Floats) -> Floats:
    """Return every statistic in every draw, shape (B, number of statistics); NaN where it is undefined."""
    if not statistics:
        return np.empty((len(counts), 0))
    return np.column_stack([one(counts) for one in statistics])


def percentile_interval(values: Floats, level: float) -> tuple[float, float]:
    """Percentile interval of the draws by linear interpolation; NaN if over 5 % of the draws are undefined.

    Source: Efron & Tibshirani 1993, chapter 13.
    """
    known = values[np.isfinite(values)]
    if not known.size or known.size < (1 - MOST_UNDEFINED) * values.size:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def jackknife_interval(statistic: OfDocuments, units: ValuesByUnit, level: float) -> tuple[float, float]:
    """Interval from leaving out one document at a time: θ̂ ± t·√((D − 1)/D · Σ(θ_D − mean)²), within [−1, 1].

    NaN if there are fewer than two documents, or if the statistic is undefined without one of them.

    Source: Efron & Tibshirani 1993, chapter 11.
    """
    held = np.unique(units.with_two_or_more_values().document)
    if held.size < FEWEST_DOCUMENTS:
        return float("nan"), float("nan")
    step, parts = compute_draws_per_block(units.n_documents), []
    for start in range(0, held.size, step):
        some = held[start : start + step]
        left = np.repeat(units.equal_document_weights(), some.size, axis=0)
        left[np.arange(some.size), some] = 0.0
        parts.append(statistic(left))
    values = np.concatenate(parts)
    error = np.sqrt((held.size - 1) / held.size * ((values - values.mean()) ** 2).sum())
    wide = float(error * t_quantile((1 + level) / 2, np.array([held.size - 1.0]))[0])
    estimate = float(statistic(units.equal_document_weights())[0])
    return max(-1.0, estimate - wide), min(1.0, estimate + wide)
