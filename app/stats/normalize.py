"""Rater normalization: give the scores of different raters a common level and spread.

The unit is the rater. A campaign holds one language pair, so this is WMT's "worker within language pair".

Sources: Riley et al. 2024, §6.1.3 (mean, error, z); Knowles 2021, §3 (z, ddof = 1); `center` is the evaluator-level
calibration of Licht et al. 2022, §4, with the mean of the ratings themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.domain.errors import Invalid, Place
from app.domain.recipe import ConstantRaters
from app.stats.ratings import Bools, Codes, Floats, Ratings

Method = Literal["none", "mean", "center", "error", "error_rate", "z"]

FEW_RATINGS = 20
"""With fewer ratings, a rater's mean and standard deviation are too noisy to divide by."""
CONSTANT = "raters who always gave the same score have no z"
CHECK = "check their work"


@dataclass(frozen=True, slots=True)
class RaterMoments:
    """Moments of raters for normalization; arrays of shape (raters,).

    n: number of rows. mean, sd: of their scores, sd with ddof = 1, NaN below 1 and 2 rows. errors: marked errors, −1
    for all raters if any row has none recorded. overall: mean of all rows. rows: which rows these are (one boolean per
    rating).
    """

    n: Codes
    mean: Floats
    sd: Floats
    errors: Codes
    overall: float
    rows: Bools

    @property
    def constant_score_rater_mask(self) -> Bools:
        """Raters whose scores do not vary, to 10 decimals, or who gave fewer than two."""
        return np.asarray((self.n < 2) | (np.round(np.nan_to_num(self.sd), 10) == 0), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class NormalizedRatings:
    """Ratings ready to aggregate.

    scored: rows with their normalized score, in the unit `unit`. raw: the same rows, and those whose normalized score
    is missing, with their original scores. dropped: number of rows of constant raters left out. missing: number of rows
    that are in raw only.
    """

    scored: Ratings
    raw: Ratings
    unit: str
    dropped: int
    missing: int
    warnings: tuple[str, ...]


def compute_moments_per_rater(ratings: Ratings, rows: Bools | None = None) -> RaterMoments:
    """Moments of every rater over `rows` (default: all), summed in canonical order."""
    used = np.ones(len(ratings), dtype=np.bool_) if rows is None else rows
    rater, score = ratings.rater[used], ratings.score[used]
    size = len(ratings.labels.raters)
    n = np.bincount(rater, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(rater, weights=score, minlength=size) / n
        deviation = score - mean[rater]
        sd = np.sqrt(np.bincount(rater, weights=deviation * deviation, minlength=size) / (n - 1))
    errors = np.bincount(rater, weights=ratings.n_errors[used], minlength=size).astype(np.int32)
    if (ratings.n_errors[used] < 0).any():
        errors = np.full(size, -1, dtype=np.int32)
    overall = float(score.sum() / score.size) if score.size else 0.0
    sd[n < 2] = np.nan
    return RaterMoments(n.astype(np.int32), mean, sd, errors, overall, used)


def normalize_ratings(
    ratings: Ratings,
    method: Method,
    *,
    moments: RaterMoments,
    sd0: ConstantRaters = "drop",
) -> NormalizedRatings:
    """Normalize `ratings` by the moments of their raters.

    Parameters
    ----------
    ratings : the rows to normalize; their rater codes index `moments`.
    method : `none`; `mean` x·M/m_r; `center` x − m_r + M; `error` c·x·(M/m_r)·E_r and `error_rate` the same with
        E_r/n_r, with c such that the mean over the rows behind the moments stays M; `z` (x − m_r)/s_r.
    moments : from `compute_moments_per_rater`, over ratings and repeats, over all rows of the unfiltered file (WMT),
        or over calibration items. Scores of raters without such a row are unchanged; under `z` these raters count as
        constant.
    sd0 : constant raters under `z`: `drop` their rows, z = `zero`, or `drop_z` (z missing, raw kept).

    Raises
    ------
    Invalid : `mean`, `error`, `error_rate` on bounded or signed scores; the latter two without marked errors.
    """
    if method == "none" or not len(ratings):
        return NormalizedRatings(ratings, ratings, "raw", 0, 0, ())
    if method == "z":
        return _standardize(ratings, moments, sd0)
    score, warnings = _RESCALING[method](ratings, moments)
    return NormalizedRatings(ratings.with_scores(score), ratings, "raw", 0, 0, warnings)


def _standardize(ratings: Ratings, moments: RaterMoments, sd0: ConstantRaters) -> NormalizedRatings:
    constant = moments.constant_score_rater_mask[ratings.rater]
    names = format_rater_keys(
        ratings, np.flatnonzero(moments.constant_score_rater_mask & (_rows_of_raters(ratings) > 0))
    )
    warnings = _warn_few_ratings(ratings, moments)
    kept = ratings.where(~constant)
    z = (kept.score - moments.mean[kept.rater]) / moments.sd[kept.rater]
    if not constant.any():
        return NormalizedRatings(kept.with_scores(z), kept, "z", 0, 0, warnings)
    n = int(constant.sum())
    if sd0 == "drop":
        warning = f"{CONSTANT}, so their ratings are dropped; {CHECK}: {names}"
        return NormalizedRatings(kept.with_scores(z), kept, "z", n, 0, (warning, *warnings))
    if sd0 == "drop_z":
        warning = f"{CONSTANT}, so only their raw scores count; {CHECK}: {names}"
        return NormalizedRatings(kept.with_scores(z), ratings, "z", 0, n, (warning, *warnings))
    filled = np.zeros(len(ratings))
    filled[~constant] = z
    warning = f"raters who always gave the same score have z = 0, and their raw scores count; {CHECK}: {names}"
    return NormalizedRatings(ratings.with_scores(filled), ratings, "z", 0, 0, (warning, *warnings))


def _scale_to_mean(ratings: Ratings, moments: RaterMoments) -> Floats:
    """Return x·M/m_r; scores of raters with m_r = 0, or without a row behind the moments, are unchanged."""
    usable = (moments.n > 0) & (moments.mean != 0)
    factor = np.divide(moments.overall, moments.mean, out=np.ones(moments.n.size), where=usable)
    return np.asarray(ratings.score * factor[ratings.rater], dtype=np.float64)


def _by_mean(ratings: Ratings, moments: RaterMoments) -> tuple[Floats, tuple[str, ...]]:
    _check_ratio_scale(ratings)
    zero = np.flatnonzero((moments.n > 0) & (moments.mean == 0))
    what = "raters with mean 0 cannot be scaled, so their scores stay unchanged; center the scores by rater instead"
    warnings = (f"{what}: {format_rater_keys(ratings, zero)}",) if zero.size else ()
    return _scale_to_mean(ratings, moments), warnings


def _by_center(ratings: Ratings, moments: RaterMoments) -> tuple[Floats, tuple[str, ...]]:
    shift = np.where(moments.n > 0, moments.overall - np.nan_to_num(moments.mean), 0.0)
    return ratings.score + shift[ratings.rater], ()


def _by_error(ratings: Ratings, moments: RaterMoments, *, rate: bool) -> tuple[Floats, tuple[str, ...]]:
    if (moments.errors < 0).any():
        raise _invalid("error normalization needs marked errors, but these ratings have none")
    if not moments.errors.any():
        raise _invalid("error normalization needs marked errors, but no rater marked any")
    scaled, warnings = _by_mean(ratings, moments)
    weight = moments.errors / np.maximum(moments.n, 1) if rate else moments.errors.astype(np.float64)
    # Σ x' E_r over the rows behind the moments: there a rater's x' sum to n_r·M, or to 0 if m_r = 0.
    per_rater_sum = np.where(np.nan_to_num(moments.mean) != 0, moments.n * moments.overall, 0.0)
    total = float((per_rater_sum * weight).sum())
    if total == 0:
        raise _invalid("error normalization is undefined: raters who marked errors have only scores of 0")
    constant = moments.overall * int(moments.n.sum()) / total
    known = moments.n[ratings.rater] > 0
    return np.where(known, constant * scaled * weight[ratings.rater], ratings.score), warnings


_Rescale = Callable[[Ratings, RaterMoments], tuple[Floats, tuple[str, ...]]]
_RESCALING: MappingProxyType[str, _Rescale] = MappingProxyType(
    {
        "mean": _by_mean,
        "center": _by_center,
        "error": lambda ratings, moments: _by_error(ratings, moments, rate=False),
        "error_rate": lambda ratings, moments: _by_error(ratings, moments, rate=True),
    }
)


def _check_ratio_scale(ratings: Ratings) -> None:
    scale = ratings.scale
    bounded = scale is not None and np.isfinite(scale.maximum) and (ratings.higher_is_better or scale.minimum != 0)
    if bounded or (ratings.score < 0).any():
        raise _invalid(
            "dividing by a rater's mean requires a scale with a true zero and no negative scores; use center"
        )


def _invalid(message: str) -> Invalid:
    return Invalid(message, places=(Place(("query", "normalize"), message),))


def _rows_of_raters(ratings: Ratings) -> Codes:
    return np.bincount(ratings.rater, minlength=len(ratings.labels.raters)).astype(np.int32)


def _warn_few_ratings(ratings: Ratings, moments: RaterMoments) -> tuple[str, ...]:
    few = np.flatnonzero(
        (moments.n < FEW_RATINGS) & (_rows_of_raters(ratings) > 0) & ~moments.constant_score_rater_mask
    )
    what = f"raters with fewer than {FEW_RATINGS} ratings, so their z-scores are imprecise; let them judge more"
    return (f"{what}: {format_rater_keys(ratings, few)}",) if few.size else ()


def format_rater_keys(ratings: Ratings, raters: npt.NDArray[np.intp], most: int = 5) -> str:
    """Format raters as `rater:KEY`, so that a view without identities can find them in the text."""
    shown = ", ".join(f"rater:{ratings.labels.raters[i]}" for i in raters[:most])
    return shown if raters.size <= most else f"{shown} and {raters.size - most} more"
