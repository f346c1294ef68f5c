"""Drift of a rater's level during the work: CUSUM and slope of their scores relative to others', by document."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from app.stats.document_draws import iterate_draw_block_sizes
from app.stats.plain_values import number_or_none
from app.stats.quality.levels import estimate_rater_levels_and_residuals
from app.stats.quality.panel import RaterItemMeans
from app.stats.quality.quality_criteria import CHANCE, DECISION, REFERENCE
from app.stats.ratings import Bools, Codes, Floats
from app.stats.testing.adjust import benjamini_hochberg

MIN_DOCUMENTS = 10
"""With fewer documents drift is not tested."""
FIRST_DRAWS, DRAWS = 199, 4_999
"""Orders of the documents drawn: the larger number if the smaller one does not settle it."""
DOUBT = 0.1
SEED = 1954
Places = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class CusumResult:
    """A two-sided CUSUM.

    upper, lower: the sums after each value. alarm: the first value (from 1) with a sum above the decision interval,
    None without one; side: +1 if the upper sum raised the alarm, −1 the lower one, 0 none.
    """

    upper: Floats
    lower: Floats
    alarm: int | None
    side: int


@dataclass(frozen=True, slots=True)
class SeverityDrift:
    """Drift of one rater on standardized residuals, one a document, positive is lenient.

    n: documents. alarm: document (among those with a residual, from 1) at which the CUSUM rang; side: +1 more lenient
    toward the end, −1 more severe, by which of the two sums reached its height last. largest: sum reached; chance: of
    one as large if the documents had come in another order. slope: from the first document to the last, in SDs of a
    document's residual; p_value: chance of one as steep, two-sided. either: chance of a CUSUM or a slope as rare as the
    rarer of the two; q_value: the same over all raters (Benjamini–Hochberg).
    """

    n: int
    alarm: int | None
    side: int
    largest: float
    chance: float
    slope: float | None
    p_value: float | None
    either: float = 1.0
    q_value: float | None = None

    @property
    def direction(self) -> int:
        """+1 more lenient, −1 more severe: by the slope, or by the CUSUM if that is the rarer one."""
        if self.slope and self.p_value is not None and self.p_value <= self.chance:
            return 1 if self.slope > 0 else -1
        return self.side


@dataclass(frozen=True, slots=True)
class PositionsInRaterWork:
    """Position of each cell in the work of its rater, and its document; both of shape (cells,)."""

    place: Floats
    document: Codes


def compute_cusum(values: Floats, *, k: float = REFERENCE, h: float = DECISION) -> CusumResult:
    """S_t = max(0, S_{t−1} + x_t − k), and likewise for −x; alarm if one is above h.

    Parameters
    ----------
    values : standardized residuals in the order of work, shape (n,).
    k, h : reference value and decision interval, in SDs.

    Source: Page 1954; two-sided, because raters may become stricter or more lenient.

    >>> import numpy as np
    >>> compute_cusum(np.array([0, 0, 0.2, -0.1, 0.1, 1.2, 1.1, 0.9, 1.3, 1.0]), h=2).alarm
    9
    """
    upper, lower = (_cusum_sums(side * values - k) for side in (1.0, -1.0))
    over = np.flatnonzero((upper > h) | (lower > h))
    if not over.size:
        return CusumResult(upper, lower, None, 0)
    first = int(over[0])
    return CusumResult(upper, lower, first + 1, 1 if upper[first] >= lower[first] else -1)


def _cusum_sums(steps: Floats) -> Floats:
    """Return the CUSUM along the last axis."""
    walked = np.cumsum(steps, axis=-1)
    return np.asarray(walked - np.minimum(0.0, np.minimum.accumulate(walked, axis=-1)) if steps.size else walked)


def estimate_drift(
    residuals: Floats,
    place: Places | None = None,
    weight: Floats | None = None,
    *,
    k: float = REFERENCE,
    h: float = DECISION,
    seed: int = 0,
) -> SeverityDrift | None:
    """Drift of one rater; None below 10 documents or if the residuals do not vary.

    The residuals are centred and scaled by the rater's own mean and SD, so a consistently severe rater does not drift.
    Segments of one document resemble each other, so only documents can be treated as independent: chances are those of
    the same residuals in random orders, including the given one, and hold for any distribution.

    Parameters
    ----------
    residuals : one per document, in the order of work, shape (n,).
    place : position of each document in the work, for the slope; by default evenly spaced.
    weight : how informative each residual is, so that a document of one segment counts less; by default equal.

    Sources: Page 1954 (CUSUM); Phipson & Smyth 2010 (chances from drawn orders).
    """
    n = residuals.size
    if n < MIN_DOCUMENTS:
        return None
    counts = np.ones(n) if weight is None else weight / weight.mean()
    x = counts * (residuals - np.average(residuals, weights=counts))
    sd = float(x.std(ddof=1))
    if np.round(sd, 10) == 0:
        return None
    x = x / sd
    where = np.arange(n, dtype=np.float64) if place is None else place
    where = (where - where.mean()) / max(float(np.ptp(where)), 1e-300)
    chart = compute_cusum(x, k=k, h=h)
    slope = fit_least_squares_trend(where, x)[0]
    largest = float(max(chart.upper.max(), chart.lower.max()))
    side = 1 if chart.upper.argmax() >= chart.lower.argmax() else -1
    chance, p_value, either = _chances(x, where, k, seed)
    return SeverityDrift(n, chart.alarm, side, largest, chance, number_or_none(slope), p_value, either)


def _chances(x: Floats, where: Floats, k: float, seed: int) -> tuple[float, float, float]:
    """Chances of the CUSUM, of the slope and of the rarer of both; more orders are drawn if few do not settle it."""
    tally = _test_random_orders(x, where, k, FIRST_DRAWS, seed)
    return tally if tally[2] > DOUBT else _test_random_orders(x, where, k, DRAWS, seed)


def _test_random_orders(x: Floats, where: Floats, k: float, draws: int, seed: int) -> tuple[float, float, float]:
    rng = np.random.default_rng((SEED, seed))
    reached, steep = [], []
    for i, n in enumerate(iterate_draw_block_sizes(draws + 1, x.size)):  # the given order and the drawn ones
        orders = np.tile(x, (n, 1))
        drawn = orders if i else orders[1:]
        drawn[:] = rng.permuted(drawn, axis=1)
        reached.append(np.maximum(_cusum_sums(orders - k).max(axis=1), _cusum_sums(-orders - k).max(axis=1)))
        steep.append(np.abs(orders @ where))
    both = [_rarity(np.round(np.concatenate(values), 9)) for values in (reached, steep)]
    either = np.minimum(*both)
    return float(both[0][0]), float(both[1][0]), float((either <= either[0]).mean())


def _rarity(values: Floats) -> Floats:
    """Share of the values that are at least as large as each."""
    return 1 - np.searchsorted(np.sort(values), values, "left") / values.size


def estimate_drift_by_rater(
    cells: RaterItemMeans,
    positions: PositionsInRaterWork,
    n_raters: int,
    trusted: Bools | None = None,
    *,
    sign: int = 1,
    k: float = REFERENCE,
    h: float = DECISION,
    chance: float = CHANCE,
) -> dict[int, SeverityDrift]:
    """Drift of every rater (by code) relative to the others of the same items, after removing the others' levels.

    If one rater drifts, those who worked on the same items seem to drift the other way. Therefore, as long as a chance
    is below `chance`, the rater with the smallest one is removed from those with whom others are compared. Raters who
    then have too few documents with others keep their previous result.

    Parameters
    ----------
    trusted : by rater code, with whom the others are compared at first; by default all.
    sign : +1 where a larger score is better, −1 where a smaller one is; a positive residual is lenient.

    Sources: Page 1954; Benjamini & Hochberg 1995.
    """
    is_compared = np.ones(n_raters, dtype=np.bool_) if trusted is None else trusted.copy()
    by_rater: dict[int, SeverityDrift] = {}
    pending = set(np.unique(cells.rater).tolist())
    while pending:
        blocks = _blocks(
            cells, positions, sign * estimate_rater_levels_and_residuals(cells, n_raters, is_compared).residual
        )
        for rater in sorted(pending):
            drift_ = _drift_of_rater(blocks, rater, k, h)
            if drift_ is not None:
                by_rater[rater] = drift_
        moved = [r for r, one in by_rater.items() if is_compared[r] and one.either < chance]
        if not moved:
            break
        worst = min(moved, key=lambda r: (by_rater[r].either, -abs(by_rater[r].slope or 0.0), r))
        is_compared[worst] = False
        pending = _raters_sharing_items(cells, worst, is_compared)
    return _with_q_values(by_rater)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """One entry per rater and document: mean residual, mean position in the work, and the weight of the mean."""

    rater: np.ndarray[tuple[int], np.dtype[np.integer]]
    residual: Floats
    place: Floats
    weight: Floats


def _blocks(cells: RaterItemMeans, positions: PositionsInRaterWork, residual: Floats) -> _Blocks:
    at = np.flatnonzero(~np.isnan(residual))
    both = np.stack((cells.rater[at], positions.document[at]), axis=1)
    keys, block = np.unique(both, axis=0, return_inverse=True)
    block = block.ravel()
    n = np.bincount(block, minlength=len(keys)).astype(np.float64)
    mean, place = (np.bincount(block, weights=v[at], minlength=len(keys)) / n for v in (residual, positions.place))
    return _Blocks(keys[:, 0], mean, place, _weights(residual[at] - mean[block], mean, n))


def _weights(inside: Floats, mean: Floats, n: Floats) -> Floats:
    """1/(a + b/n): b is the variance of a document's cells, a that of whole documents, by moments over all raters."""
    spare = float((n - 1).sum())
    of_cells = float((inside**2).sum()) / spare if spare else 0.0
    of_documents = max(float((mean**2).mean()) - of_cells * float((1 / n).mean()), 0.0) if n.size else 0.0
    variance = of_documents + of_cells / n
    return np.asarray(1 / variance if (variance > 0).all() else np.ones(n.size))


def _drift_of_rater(blocks: _Blocks, rater: int, k: float, h: float) -> SeverityDrift | None:
    mine = np.flatnonzero(blocks.rater == rater)
    if mine.size < MIN_DOCUMENTS:
        return None
    mine = mine[np.argsort(blocks.place[mine], kind="stable")]
    return estimate_drift(blocks.residual[mine], blocks.place[mine], blocks.weight[mine], k=k, h=h, seed=rater)


def _with_q_values(by_rater: dict[int, SeverityDrift]) -> dict[int, SeverityDrift]:
    q_values = benjamini_hochberg(np.array([one.either for one in by_rater.values()])).tolist()
    return {r: replace(one, q_value=q) for (r, one), q in zip(by_rater.items(), q_values, strict=True)}


def _raters_sharing_items(cells: RaterItemMeans, rater: int, is_compared: Bools) -> set[int]:
    """Return the raters who are still compared and share an item with `rater`."""
    shared = np.isin(cells.item, cells.item[cells.rater == rater])
    return {r for r in np.unique(cells.rater[shared]).tolist() if is_compared[r]}


def fit_least_squares_trend(x: Floats, y: Floats) -> tuple[float, float]:
    """Least-squares slope of y on x and its two-sided p by t with n − 2 degrees; NaN below three points or constant x.

    >>> import numpy as np
    >>> slope, p = fit_least_squares_trend(np.array([1.0, 2, 3, 4]), np.array([2.0, 4, 5, 8]))
    >>> round(slope, 6), round(p, 6)
    (1.9, 0.018844)
    """
    n = x.size
    spread = float(((x - x.mean()) ** 2).sum()) if n else 0.0
    if n < 3 or spread <= 0:
        return float("nan"), float("nan")
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    left = y - y.mean() - slope * (x - x.mean())
    error = float(np.sqrt((left**2).sum() / (n - 2) / spread))
    if error <= 0:
        return slope, 0.0 if slope else 1.0
    return slope, min(1.0, 2 * float(scipy.special.stdtr(n - 2, -abs(slope / error))))
