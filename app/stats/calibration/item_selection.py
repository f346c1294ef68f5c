"""Items for a calibration set: those on which earlier raters agreed most, equally many per quality level.

Source: Licht et al. 2022, §4 (pairs on which raters agreed, over all quality levels); NLLB's practice of 100 or 200
per level.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from app.stats.agreement.score_distributions import compute_unit_medians
from app.stats.agreement.units import SLACK, ValuesByUnit
from app.stats.ratings import Floats, ScoreScale

MOST_LEVELS = 7
BINS = 5
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ChosenStratumItems:
    """Chosen items of a stratum. unit: codes, highest agreement first. available: number of items that qualified."""

    stratum: str
    unit: Indices
    available: int


def divide_scale_into_strata(scale: ScoreScale) -> tuple[tuple[str, float, float], ...]:
    """Strata of a scale as (name, lower, upper bound): its levels if there are at most 7, else five equal parts.

    The upper bound is excluded, except in the last stratum.

    >>> [name for name, _, _ in divide_scale_into_strata(ScoreScale(1, 3, 1))]
    ['1', '2', '3']
    >>> divide_scale_into_strata(ScoreScale(0, 100, 1))[0]
    ('0 to 20', 0.0, 20.0)
    """
    width = scale.maximum - scale.minimum
    if scale.step and width / scale.step + 1 <= MOST_LEVELS + SLACK:
        levels = [scale.minimum + i * scale.step for i in range(round(width / scale.step) + 1)]
        half = scale.step / 2
        return tuple((f"{level:g}", level - half, level + half) for level in levels)
    at = [scale.minimum + width * i / BINS for i in range(BINS + 1)]
    return tuple((f"{low:g} to {high:g}", low, high) for low, high in pairwise(at))


def compute_unit_median_and_deviation(units: ValuesByUnit) -> tuple[Floats, Floats]:
    """Median over raters of each unit, and the root mean square deviation of raters from it; shapes (U,)."""
    middle = compute_unit_medians(units)
    off = units.value - middle[units.unit]
    square = np.bincount(units.unit, weights=off * off, minlength=units.n_units) / np.maximum(
        units.n_values_by_unit(), 1
    )
    return middle, np.sqrt(square)


def choose_calibration_items(
    units: ValuesByUnit, scale: ScoreScale, *, per_stratum: int, min_ratings: int = 2, max_spread: float | None = None
) -> list[ChosenStratumItems]:
    """Choose the items of each stratum with the highest agreement; ties go to more ratings, then to the first item.

    Parameters
    ----------
    min_ratings : minimum number of ratings of an item. max_spread : maximum root mean square deviation of raters from
        their median; None sets no limit.
    """
    middle, spread = compute_unit_median_and_deviation(units)
    n = units.n_values_by_unit()
    usable = n >= min_ratings
    if max_spread is not None:
        usable &= spread <= max_spread + SLACK
    order = np.lexsort((np.arange(n.size), -n, np.round(spread, 10)))
    candidates, strata = [], divide_scale_into_strata(scale)
    for i, (name, low, high) in enumerate(strata):
        top = middle <= high if i == len(strata) - 1 else middle < high - SLACK
        inside = order[(usable & (middle >= low - SLACK) & top)[order]]
        candidates.append(ChosenStratumItems(name, inside[:per_stratum], inside.size))
    return candidates
