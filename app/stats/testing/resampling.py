"""Bootstrap over documents: percentile and BCa intervals of ratios, and the test based on the percentiles.

A statistic is Σsums/Σweights over documents. A draw takes D of the D documents, with replacement, and is the same for
all statistics.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy

from app.domain.recipe import IntervalKind
from app.stats import intervals
from app.stats.document_draws import iterate_bootstrap_document_counts
from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.ratings import Floats

DRAWS = 5_000
FEWEST_FOR_BCA = 20
_CHUNK = 1 << 20
_ROWS = 256


def draw_bootstrap_ratios(sums: Floats, weights: Floats, *, draws: int, seed: int) -> Floats:
    """Bootstrap values of each statistic, shape (R, draws); NaN where a draw has no weight.

    Parameters
    ----------
    sums, weights : shapes (R, D); 0 in documents that a statistic does not have.
    """
    return np.concatenate(list(_draw_blocks(sums, weights, draws, seed)), axis=1)


def _draw_blocks(sums: Floats, weights: Floats, draws: int, seed: int) -> Iterator[Floats]:
    """Yield the bootstrap values in blocks of draws, shape (R, some draws)."""
    documents, rng = sums.shape[1], np.random.Generator(np.random.PCG64(seed))
    if (weights == weights[:1]).all():
        weights = weights[:1]  # systems with the same documents have the same weight in a draw
    for counts in iterate_bootstrap_document_counts(rng, documents, draws, rows=max(1, _CHUNK // max(documents, 1))):
        with np.errstate(invalid="ignore", divide="ignore"):
            values = (sums @ counts.T) / (weights @ counts.T)
        yield values


def compute_bootstrap_intervals(
    sums: Floats, weights: Floats, *, alpha: float, kind: IntervalKind, seed: int, draws: int = DRAWS
) -> tuple[Floats, Floats]:
    """Lower and upper ends of the 1 − α intervals of each statistic, shapes (R,); NaN below two documents.

    `t`: the standard error over whole documents and Student's t. `percentile`: quantiles of the draws by linear
    interpolation. `bca`: bias-corrected and accelerated, with the acceleration from leaving out one document at a time;
    t below 20 documents.

    Source: Cochran 1977, §6.3; Efron 1987; Efron & Tibshirani 1993, §14.3.
    """
    held = weights > 0
    documents = held.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = sums.sum(axis=1) / weights.sum(axis=1)
    step = max(1, _CHUNK // max(sums.shape[1], 1))
    width = np.concatenate(
        [
            np.empty(0),
            *(
                intervals.compute_interval_half_widths(estimate_ratio_precision(sums[some], weights[some]), alpha)
                for some in (slice(start, start + step) for start in range(0, len(sums), step))
            ),
        ]
    )
    low, high = estimate - width, estimate + width
    fewest = FEWEST_FOR_BCA if kind == "bca" else 2
    rows = np.flatnonzero(documents >= fewest) if kind != "t" else np.empty(0, dtype=np.intp)
    levels = np.array([alpha / 2, 1 - alpha / 2])
    for start in range(0, rows.size, _ROWS):
        some = rows[start : start + _ROWS]
        for row, drawn in zip(
            some, draw_bootstrap_ratios(sums[some], weights[some], draws=draws, seed=seed), strict=True
        ):
            values = drawn[np.isfinite(drawn)]
            own = held[row]
            at = levels if kind == "percentile" else _bca_levels(sums[row][own], weights[row][own], values, levels)
            low[row], high[row] = np.quantile(values, at)
    return low, high


def _bca_levels(
    sums: Floats, weights: Floats, values: Floats, ends: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Levels of the percentiles after correction for bias and acceleration."""
    estimate = sums.sum() / weights.sum()
    near = 1e-12 * max(1.0, abs(estimate))
    below = (values < estimate - near).mean() + 0.5 * (np.abs(values - estimate) <= near).mean()
    left = (sums.sum() - sums) / (weights.sum() - weights)
    apart = left.mean() - left
    squares = (apart * apart).sum()
    if squares <= 0 or not 0 < below < 1:
        return ends
    acceleration = (apart**3).sum() / (6 * squares**1.5)
    bias = scipy.special.ndtri(below)
    z = bias + scipy.special.ndtri(ends)
    return np.asarray(scipy.special.ndtr(bias + z / (1 - acceleration * z)), dtype=np.float64)


def compute_bootstrap_p_values(sums: Floats, weights: Floats, *, draws: int, seed: int) -> tuple[Floats, Floats]:
    """One-sided bootstrap p-values of each statistic, for the nulls ≤ 0 and ≥ 0; shapes (R,).

    (1 + number of draws ≤ 0)/(B + 1) and (1 + number ≥ 0)/(B + 1); the two-sided p is twice the smaller.

    Source: Efron & Tibshirani 1993, §15.4 (inverting percentile intervals).
    """
    beyond = np.empty((2, len(sums)))
    for start in range(0, len(sums), _ROWS):
        some = slice(start, start + _ROWS)
        usable, below, above = np.ones((3, len(sums[some])), dtype=np.int64)
        for block in _draw_blocks(sums[some], weights[some], draws, seed):
            drawn = np.round(block, 10)
            usable += np.isfinite(drawn).sum(axis=1)
            below += (drawn <= 0).sum(axis=1)
            above += (drawn >= 0).sum(axis=1)
        beyond[:, some] = below / usable, above / usable
    return beyond[0], beyond[1]
