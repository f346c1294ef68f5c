"""Predict one protocol's scores from another's on the same outputs; evaluated on held-out documents.

Source: Barlow et al. 1972 (isotonic regression, pool adjacent violators). R² compares with predicting the mean, which
has R² = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.agreement.units import Indices
from app.stats.calibration.campaign_linking import percentile_interval_of_draws
from app.stats.document_draws import bootstrap_document_sums
from app.stats.plain_values import number_or_none
from app.stats.ratings import Codes, Floats

FOLDS = 10
FEWEST = 4
"""Fewest documents for which some can be held out."""


@dataclass(frozen=True, slots=True)
class MonotoneCurve:
    """A monotone curve: predicted value at each level of the other score, linear in between, constant outside."""

    x: Floats
    y: Floats

    def predict(self, values: Floats) -> Floats:
        """Predict the other protocol's scores, shape of `values`."""
        return np.asarray(np.interp(values, self.x, self.y), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ScorePredictionFit:
    """How well one score predicts another.

    r_squared: on held-out documents, with an interval over documents. inside: R² on the data of the fit; the difference
    shows overfitting. why: the reason if there is no R².
    """

    n: int
    n_documents: int
    curve: MonotoneCurve | None
    r_squared: float | None
    interval: tuple[float, float] | None
    inside: float | None
    why: str | None = None


def isotonic_regression(x: Floats, y: Floats, *, rising: bool = True) -> MonotoneCurve:
    """Fit the least-squares monotone curve through points; points with equal x are averaged first.

    >>> isotonic_regression(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])).y
    array([1. , 2.5, 2.5])
    """
    from scipy.optimize import isotonic_regression

    at, code = np.unique(x, return_inverse=True)
    n = np.bincount(code).astype(np.float64)
    mean = np.bincount(code, weights=y) / n
    fitted = isotonic_regression(mean, weights=n, increasing=rising)
    return MonotoneCurve(at, np.asarray(fitted.x, dtype=np.float64))


def fit_score_prediction(
    x: Floats, y: Floats, document: Codes, *, rng: np.random.Generator, draws: int, level: float, rising: bool = True
) -> ScorePredictionFit:
    """Predict y from x and evaluate by cross-validation over folds of documents.

    Parameters
    ----------
    x, y : scores of the same outputs under two protocols, shape (n,). document : code of each.
    rising : False if a higher x is expected to go with a lower y, as with a score and a penalty.

    R² = 1 − Σ(y − ŷ)²/Σ(y − ȳ)², with ŷ from the curve of the other documents; below 0 the curve is worse than the
    mean. The interval resamples documents without refitting their predictions.
    """
    held, code = np.unique(document, return_inverse=True)
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        why = "no output was judged in both" if not x.size else "one of the two scores is constant"
        return ScorePredictionFit(x.size, held.size, None, None, None, None, why)
    curve = isotonic_regression(x, y, rising=rising)
    once = np.ones((1, held.size))
    inside = _r_squared([once @ term for term in _square_terms(y, curve.predict(x), code)])[0]
    if held.size < FEWEST:
        why = f"fewer than {FEWEST} documents: too few to hold any out"
        return ScorePredictionFit(x.size, held.size, curve, None, None, number_or_none(inside), why)
    fold = rng.permutation(np.arange(held.size) % min(FOLDS, held.size))[code]
    predicted = np.empty(y.size)
    for k in np.unique(fold).tolist():
        rest = fold != k
        predicted[~rest] = isotonic_regression(x[rest], y[rest], rising=rising).predict(x[~rest])
    terms = _square_terms(y, predicted, code)
    r_squared = _r_squared([once @ term for term in terms])[0]
    drawn = _r_squared(bootstrap_document_sums(rng, held.size, draws, terms))
    return ScorePredictionFit(
        x.size,
        held.size,
        curve,
        number_or_none(r_squared),
        percentile_interval_of_draws(drawn, level),
        number_or_none(inside),
    )


def _square_terms(y: Floats, predicted: Floats, document: Indices) -> list[Floats]:
    """By document: n, sum and squares of y about its mean, and squares about the prediction; shape (D,) each."""
    about = y - y.mean()
    return [
        np.asarray(np.bincount(document, weights=values), dtype=np.float64)
        for values in (np.ones(y.size), about, about * about, (y - predicted) ** 2)
    ]


def _r_squared(drawn: Sequence[Floats]) -> Floats:
    """1 − residual/total sum of squares in every draw, from the drawn terms; shape (B,) each."""
    n, total, square, left = drawn
    spread = square - total * total / n
    missed = np.divide(left, spread, out=np.full(n.size, np.nan), where=spread > 1e-12)
    return np.asarray(1 - missed, dtype=np.float64)
