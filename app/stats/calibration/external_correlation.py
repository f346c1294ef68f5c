"""Whether calibrated scores of language pairs correlate with an automatic score: r, R², and R² on held-out halves.

Source: Licht et al. 2022, §6.2 (Table 6): Pearson's r, R² = r², and the mean held-out R² of a linear regression from
the automatic to the human score that is fitted to one half of the pairs, over 5,000 random halves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.agreement.pairs import pearson
from app.stats.plain_values import number_or_none
from app.stats.ratings import Floats

SPLITS = 5_000
FEWEST = 4
"""Fitting a line takes two language pairs, and so does computing R² on the rest."""


@dataclass(frozen=True, slots=True)
class CorrelationOverLanguagePairs:
    """Correlation of human with automatic scores over n language pairs.

    pearson, r_squared, split_half: None if one score is constant. error: standard error over the splits.
    splits: number of splits with a defined R². why: the reason for a missing figure.
    """

    n: int
    pearson: float | None
    r_squared: float | None
    split_half: float | None
    error: float | None
    splits: int
    why: str | None = None


def correlate_over_language_pairs(
    automatic: Floats, human: Floats, *, rng: np.random.Generator, splits: int = SPLITS
) -> CorrelationOverLanguagePairs:
    """Correlate human with automatic scores over language pairs.

    Parameters
    ----------
    automatic, human : shape (n,), finite. The line is fitted to ⌊n/2⌋ pairs and evaluated on the rest.

    A split has no R² and does not count if the automatic scores of the fitted half, or the human scores of the held-out
    half, are constant.
    """
    r = pearson(automatic, human)
    if automatic.size < 2:
        return CorrelationOverLanguagePairs(
            automatic.size, None, None, None, None, 0, "a correlation needs two language pairs"
        )
    if not np.isfinite(r):
        return CorrelationOverLanguagePairs(
            automatic.size, None, None, None, None, 0, "one of the two scores is constant"
        )
    if automatic.size < FEWEST:
        why = f"halves need {FEWEST} language pairs"
        return CorrelationOverLanguagePairs(automatic.size, r, r * r, None, None, 0, why)
    held = compute_held_out_r_squared(automatic, human, draw_split_halves(automatic.size, rng, splits))
    known = held[np.isfinite(held)]
    mean = float(known.mean()) if known.size else float("nan")
    error = float(known.std(ddof=1) / np.sqrt(known.size)) if known.size > 1 else float("nan")
    return CorrelationOverLanguagePairs(
        automatic.size, r, r * r, number_or_none(mean), number_or_none(error), int(known.size)
    )


def draw_split_halves(n: int, rng: np.random.Generator, splits: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Mask of the pairs to which the line is fitted in each split, shape (splits, n)."""
    order = np.argsort(rng.random((splits, n)), axis=1)
    fitted = np.zeros((splits, n), dtype=np.bool_)
    np.put_along_axis(fitted, order[:, : n // 2], values=True, axis=1)
    return fitted


def compute_held_out_r_squared(x: Floats, y: Floats, fitted: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> Floats:
    """R² on the held-out pairs of a least-squares line from x to y, for each split; NaN where it is undefined."""
    w = fitted.astype(np.float64)
    n = w.sum(axis=1)
    mx, my = w @ x / n, w @ y / n
    dx, dy = x - mx[:, None], y - my[:, None]
    square = (w * dx * dx).sum(axis=1)
    usable = square > 1e-12 * max(float(np.ptp(x)) ** 2, 1e-300)
    slope = np.divide((w * dx * dy).sum(axis=1), square, out=np.full(n.size, np.nan), where=usable)
    rest = 1 - w
    left = (rest * (dy - slope[:, None] * dx) ** 2).sum(axis=1)
    mean = rest @ y / rest.sum(axis=1)
    total = (rest * (y - mean[:, None]) ** 2).sum(axis=1)
    missed = np.divide(left, total, out=np.full(n.size, np.nan), where=total > 0)
    return np.asarray(1 - missed, dtype=np.float64)
