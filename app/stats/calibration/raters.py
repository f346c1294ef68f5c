"""Raters on calibration items: how far each is from the consensus, and the parameters for z-scores.

Sources: Licht et al. 2022, §4 (shift to the consensus); Knowles 2021, §6 and Knowles & Lo 2024 (mean and standard
deviation of each annotator, estimated on items that all of them judged).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.agreement.pairs import pearson
from app.stats.agreement.score_distributions import compute_unit_medians
from app.stats.agreement.units import ValuesByUnit
from app.stats.intervals import t_quantile
from app.stats.plain_values import number_or_none
from app.stats.ratings import Floats


@dataclass(frozen=True, slots=True)
class RaterOffset:
    """One rater on calibration items.

    n: items judged. mean, sd: of the rater's scores (n − 1), the parameters of z. consensus: mean of the agreed scores
    of the same items. shift: consensus − mean; adding it moves the rater's mean to the consensus. error: standard error
    of the shift over items, None below two items. interval: of the shift, Student's t with n − 1 degrees of freedom.
    spread_ratio: the rater's SD over that of the agreed scores. correlation: Pearson's r with the mean of the item's
    other raters.
    """

    rater: str
    n: int
    mean: float
    sd: float | None
    consensus: float
    shift: float
    error: float | None
    interval: tuple[float, float] | None
    spread_ratio: float | None
    correlation: float | None


def compute_median_consensus_by_unit(units: ValuesByUnit) -> Floats:
    """Substitute for an agreed score if none was given: the median over raters of each unit, shape (U,)."""
    return compute_unit_medians(units)


def compute_rater_offsets(units: ValuesByUnit, consensus: Floats, *, level: float = 0.95) -> tuple[RaterOffset, ...]:
    """Compare every rater with the agreed scores, sorted by name.

    consensus: of each unit, NaN if there is none; shape (U,).
    """
    agreed = consensus[units.unit]
    others = _mean_of_others(units)
    rows = []
    for code in np.unique(units.rater[np.isfinite(agreed)]).tolist():
        mine = (units.rater == code) & np.isfinite(agreed)
        rows.append(_offset(units.raters[code], units.value[mine], agreed[mine], others[mine], level))
    return tuple(sorted(rows, key=lambda one: one.rater))


def _offset(rater: str, own: Floats, agreed: Floats, others: Floats, level: float) -> RaterOffset:
    n, apart = own.size, agreed - own
    sd, theirs = (float(v.std(ddof=1)) if n > 1 else float("nan") for v in (own, agreed))
    shift = float(agreed.mean() - own.mean())
    error = float(apart.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    reach = error * float(t_quantile(0.5 + level / 2, np.array([n - 1]))[0]) if n > 1 else float("nan")
    known = np.isfinite(others)
    return RaterOffset(
        rater=rater,
        n=n,
        mean=float(own.mean()),
        sd=number_or_none(sd),
        consensus=float(agreed.mean()),
        shift=shift,
        error=number_or_none(error),
        interval=(shift - reach, shift + reach) if np.isfinite(reach) else None,
        spread_ratio=sd / theirs if n > 1 and theirs > 0 else None,
        correlation=number_or_none(pearson(own[known], others[known])) if known.sum() > 1 else None,
    )


def _mean_of_others(units: ValuesByUnit) -> Floats:
    """Mean of the other raters of the same unit, NaN if there are none; shape (n,)."""
    n = units.n_values_by_unit()[units.unit]
    total = np.bincount(units.unit, weights=units.value, minlength=units.n_units)[units.unit]
    mean = np.divide(total - units.value, n - 1, out=np.full(units.value.size, np.nan), where=n > 1)
    return np.asarray(mean, dtype=np.float64)


def standardize_raters_by_calibration(
    units: ValuesByUnit, calibration: ValuesByUnit
) -> tuple[ValuesByUnit, tuple[str, ...]]:
    """Compute z-scores with each rater's mean and standard deviation on other items, `calibration`.

    Raters with fewer than two scores in `calibration`, or with constant scores, are left out; the second value is
    their names.

    Source: Knowles & Lo 2024 (calibration HITs).
    """
    size = len(units.raters)
    place = {name: i for i, name in enumerate(units.raters)}
    rater = np.array([place.get(name, -1) for name in calibration.raters], dtype=np.int64)[calibration.rater]
    held, value = rater >= 0, calibration.value
    n = np.bincount(rater[held], minlength=size)
    mean = np.bincount(rater[held], weights=value[held], minlength=size) / np.maximum(n, 1)
    off = value[held] - mean[rater[held]]
    sd = np.sqrt(np.bincount(rater[held], weights=off * off, minlength=size) / np.maximum(n - 1, 1))
    usable = (n > 1) & (np.round(sd, 10) > 0)
    kept = usable[units.rater]
    score = np.divide(units.value - mean[units.rater], sd[units.rater], out=np.zeros(kept.size), where=kept)
    lost = tuple(units.raters[code] for code in np.unique(units.rater[~kept]).tolist())
    return units.with_replaced_values(score).where(kept), lost
