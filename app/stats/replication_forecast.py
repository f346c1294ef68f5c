"""Would a study of the same size find this difference again? A forecast from one study with single ratings.

The true difference is not the observed one: it lies around the observed one with the standard error of the study, and
the new study lies around the truth with the same error again. The new difference therefore varies by √2 standard errors
around the observed one. There is no prior on the truth, so if a difference was picked as the largest among many nearly
equal systems, the forecast is too optimistic.

Sources: Goodman 1992 (Statistics in Medicine 11); Senn 2002 (ibid. 21); Killeen 2005 (Psychological Science 16). The
gate (docs/gate.md) shows it if outputs were rated once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
import scipy

from app.domain.errors import Invalid
from app.stats.aggregate import Indices, round_scores
from app.stats.inference.by_document import estimate_ratio_precision
from app.stats.intervals import compute_interval_half_widths
from app.stats.ratings import Floats

Claim = Literal["better", "worse", "not_worse", "equivalent"]
FORECAST = "forecast"
_AT_ONCE = 1 << 20  # drawn documents in memory at once


@dataclass(frozen=True, slots=True)
class ReplicationChances:
    """Chances that a study of the same size, on new documents of the same kind, replicates this one.

    same_direction: it finds the same system better. significant_again: the claim holds in it, too. Both are None if
    undefined, with the reason in `why`. difference, standard_error, documents: of the present study.
    """

    same_direction: float | None
    significant_again: float | None
    difference: float | None
    standard_error: float | None
    documents: int
    method: str = FORECAST
    why: str | None = None


def forecast_replication(
    sums: Floats,
    counts: Indices | Floats,
    *,
    claim: Claim = "better",
    margin: float = 0.0,
    alpha: float = 0.05,
    two_sided: bool = True,
    extra_variance: float = 0.0,
) -> ReplicationChances:
    """Forecast a re-run of one comparison in closed form.

    Parameters
    ----------
    sums : Σ of the paired segment differences of each document, positive where the first system is better, shape (D,).
    counts : segments (or weights) behind each sum, shape (D,); documents with 0 are left out.
    claim : what must hold again: the first is better (or worse), better than −margin, or within ±margin (TOST).
    alpha, two_sided : a claim of the re-run needs |t| beyond the 1 − alpha/2 quantile, 1 − alpha if one-sided; TOST is
        always two tests at alpha.
    extra_variance : added once for what a re-run samples besides documents, e.g. 2σ²_rs/R for other raters.

    Raises
    ------
    Invalid
        alpha is not between 0 and 1, the margin of a claim that needs one is not above 0, or the variance is below 0.

    Notes
    -----
    θ̂ = Σd/Σn with error and degrees of freedom ν of `inference.by_document`; s = √(2·SE² + extra). same_direction =
    T_ν(|θ̂|/s); better: T_ν((θ̂ − t·SE′)/s), SE′ = √(SE² + extra), and accordingly for the other claims.

    Examples
    --------
    >>> found = forecast_replication(np.array([3.0, 1, 2, 4, 2, 3, 1, 2]), np.ones(8, dtype=int))
    >>> round(found.same_direction, 3), round(found.significant_again, 3)
    (0.998, 0.984)
    """
    _check(claim, margin, alpha, extra_variance)
    sums, counts = _rated_documents(sums, counts)
    documents = int(sums.size)
    if documents < 2:
        return ReplicationChances(
            None, None, None, None, documents, why="a forecast needs two documents that both have"
        )
    theta = float(round_scores(np.asarray(sums.sum() / counts.sum())))
    known = estimate_ratio_precision(sums, counts)
    error, degrees = float(known.error), float(known.degrees)
    spread, new_error = sqrt(2 * error**2 + extra_variance), sqrt(error**2 + extra_variance)
    quantile = float(scipy.special.stdtrit(degrees, 1 - (alpha / 2 if two_sided and claim != "equivalent" else alpha)))
    if theta == 0.0:
        same, why = None, "the systems are equal: there is no direction to replicate"
    else:
        same, why = _t_probability_below(abs(theta), spread, degrees), None
    holds = _claim_holds(claim, theta, quantile * new_error, margin, spread, degrees)
    return ReplicationChances(same, holds, theta, error, documents, why=why)


def _rated_documents(sums: Floats, counts: Indices | Floats) -> tuple[Floats, Floats]:
    there = np.asarray(counts) > 0
    return np.asarray(sums, dtype=np.float64)[there], np.asarray(counts, dtype=np.float64)[there]


def _check(claim: Claim, margin: float, alpha: float, extra_variance: float) -> None:
    if not 0 < alpha < 1:
        raise Invalid("alpha must lie between 0 and 1")
    if claim in {"not_worse", "equivalent"} and not margin > 0:
        raise Invalid(f"the claim {claim} needs a margin above 0")
    if not extra_variance >= 0:
        raise Invalid("a variance is at least 0")


def _t_probability_below(distance: float, spread: float, degrees: float) -> float:
    """P(T·spread < distance); 1 or 0 without spread."""
    if spread <= 1e-12 * max(1.0, abs(distance)):
        return 1.0 if distance > 0 else 0.0
    return float(scipy.special.stdtr(degrees, distance / spread))


def _claim_holds(claim: Claim, theta: float, reach: float, margin: float, spread: float, degrees: float) -> float:
    """Chance that the re-run's bound, `reach` away from its difference, meets the claim."""
    if claim == "better":
        return _t_probability_below(theta - reach, spread, degrees)
    if claim == "worse":
        return _t_probability_below(-theta - reach, spread, degrees)
    if claim == "not_worse":
        return _t_probability_below(theta + margin - reach, spread, degrees)
    room = margin - reach
    if room <= 0:
        return 0.0
    return max(
        0.0, _t_probability_below(room - theta, spread, degrees) - _t_probability_below(-room - theta, spread, degrees)
    )


def forecast_replication_by_bootstrap(
    sums: Floats,
    counts: Indices | Floats,
    *,
    rng: np.random.Generator,
    alpha: float = 0.05,
    draws: int = 2000,
) -> ReplicationChances:
    """Forecast a re-run of the observed claim, better or worse, by resampling documents twice.

    The first draw stands for the possible truth. The second, from the first, stands for the re-run, which is tested by
    its own t. It assumes no shape of the differences. For fewer than ten documents it is too optimistic, like every
    bootstrap. Parameters and documents as in `forecast_replication`.

    Source: Efron & Tibshirani 1993, ch. 13 (the sample as the population).
    """
    sums, counts = _rated_documents(sums, counts)
    n = int(sums.size)
    if n < 2:
        return ReplicationChances(None, None, None, None, n, why="a forecast needs two documents that both have")
    theta = float(round_scores(np.asarray(sums.sum() / counts.sum())))
    error = float(estimate_ratio_precision(sums, counts).error)
    if theta == 0.0:
        return ReplicationChances(
            None, None, theta, error, n, why="the systems are equal: there is no direction to replicate"
        )
    sign = np.sign(theta)
    same = again = done = 0
    while done < draws:
        some = min(draws - done, max(1, _AT_ONCE // n))
        first = rng.integers(n, size=(some, n))
        second = np.take_along_axis(first, rng.integers(n, size=(some, n)), axis=1)
        x, m = sums[second], counts[second]
        differences = sign * round_scores(x.sum(axis=1) / m.sum(axis=1))
        same += int((differences > 0).sum())
        again += int(
            (
                (differences > 0) & (differences >= compute_interval_half_widths(estimate_ratio_precision(x, m), alpha))
            ).sum()
        )
        done += some
    return ReplicationChances(same / draws, again / draws, theta, error, n)
