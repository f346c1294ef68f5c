"""Whether a protocol detects known differences in quality: human translations over systems, or a given order.

Source: Licht et al. 2022, §6.1 (meaningfulness: HT0 above MT1 above MT2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.stats.agreement.units import Indices, ValuesByUnit
from app.stats.calibration.campaign_linking import percentile_interval_of_draws
from app.stats.document_draws import compute_draws_per_block
from app.stats.ratings import Floats


@dataclass(frozen=True, slots=True)
class SystemGap:
    """How much better one system scored than another. n: segments that both have.

    standardized: the gap over the SD of its segment differences; it has no unit, so protocols can be compared.
    found: whether the whole interval is above 0, on the expected side; None without an interval.
    """

    better: int
    worse: int
    n: int
    n_documents: int
    gap: float
    interval: tuple[float, float] | None
    standardized: float | None
    found: bool | None


def estimate_system_gap(
    means: Floats,
    units: ValuesByUnit,
    better: int,
    worse: int,
    *,
    sign: int,
    draws: int,
    level: float,
    rng: np.random.Generator,
) -> SystemGap | None:
    """Mean paired difference over shared segments, None without any; the interval resamples documents.

    means: mean over raters of each unit, shape (U,). sign: 1 if higher is better, else −1.
    """
    places, first, second = np.intersect1d(
        units.place[units.system == better], units.place[units.system == worse], return_indices=True
    )
    if not places.size:
        return None
    upper, lower = np.flatnonzero(units.system == better)[first], np.flatnonzero(units.system == worse)[second]
    apart = (means[upper] - means[lower]) * sign
    held, code = np.unique(units.document[upper], return_inverse=True)
    sums, counts = np.bincount(code, weights=apart), np.bincount(code)
    drawn = _draw_gaps(sums, counts, draws, rng)
    bounds = percentile_interval_of_draws(drawn, level) if held.size > 1 else None
    sd = float(apart.std(ddof=1)) if apart.size > 1 else 0.0
    return SystemGap(
        better=better,
        worse=worse,
        n=apart.size,
        n_documents=held.size,
        gap=float(apart.mean()),
        interval=bounds,
        standardized=float(apart.mean()) / sd if sd > 1e-12 else None,
        found=None if bounds is None else bounds[0] > 0,
    )


def _draw_gaps(sums: Floats | Indices, counts: Indices, draws: int, rng: np.random.Generator) -> Floats:
    """The mean gap over the documents of each draw, shape (draws,)."""
    step, parts = compute_draws_per_block(sums.size), [np.empty(0)]
    for start in range(0, draws, step):
        picked = rng.integers(0, sums.size, size=(min(step, draws - start), sums.size))
        parts.append(sums[picked].sum(axis=1) / counts[picked].sum(axis=1))
    return np.concatenate(parts)


def list_pairs_expected_to_differ(
    order: Sequence[int], humans: Sequence[int], others: Sequence[int]
) -> list[tuple[int, int]]:
    """List expected (better, worse) pairs: neighbours in a given order, or each human translation with each system."""
    if order:
        return list(pairwise(order))
    return [(human, other) for human in humans for other in others]
