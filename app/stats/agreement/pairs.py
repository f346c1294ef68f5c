"""Agreement of two raters at a time: shared units, correlations, and Cohen's κ with each rater's own margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from app.stats.agreement.kappa import make_agreement_weights
from app.stats.agreement.units import SLACK, Indices, OfDocuments, ValuesByUnit
from app.stats.plain_values import number_or_none
from app.stats.ratings import Codes, Floats

MOST_PAIRS = 8_000_000
"""Most pairs of values held in memory at once; with more, statistics by rater pair are omitted."""
TOO_MANY_PAIRS = (
    "too many pairs of ratings: statistics by rater pair are left out; leave out systems or raters to get them"
)


@dataclass(frozen=True, slots=True)
class ValuePairs:
    """All pairs of values of the same unit: first and second value, the unit, and the pair of raters.

    pair: 0 … G−1. raters: codes of each pair, shape (G, 2). first, second, unit, pair: shape (n,).
    """

    first: Floats
    second: Floats
    unit: Codes
    pair: Indices
    raters: npt.NDArray[np.int64]


def count_value_pairs(units: ValuesByUnit) -> int:
    """Number of pairs of values that share a unit."""
    size = units.n_values_by_unit()
    return int((size * (size - 1) // 2).sum())


def has_too_many_value_pairs(units: ValuesByUnit) -> bool:
    """Whether the units have more pairs of values than are held in memory at once."""
    return count_value_pairs(units) > MOST_PAIRS


def list_value_pairs(units: ValuesByUnit) -> ValuePairs:
    """List all pairs of values; the rater with the lower code comes first. Raises ValueError beyond `MOST_PAIRS`."""
    if has_too_many_value_pairs(units):
        raise ValueError("too many pairs of ratings to hold at once")
    firsts: list[Indices] = []
    lags: list[Indices] = []
    for lag in range(1, int(units.n_values_by_unit().max(initial=0))):
        at = np.flatnonzero(units.unit[:-lag] == units.unit[lag:])
        firsts.append(at)
        lags.append(at + lag)
    first = np.concatenate(firsts) if firsts else np.empty(0, dtype=np.intp)
    other = np.concatenate(lags) if lags else np.empty(0, dtype=np.intp)
    n = max(len(units.raters), 1)
    keys, pair = np.unique(units.rater[first].astype(np.int64) * n + units.rater[other], return_inverse=True)
    return ValuePairs(
        first=units.value[first],
        second=units.value[other],
        unit=units.unit[first],
        pair=np.asarray(pair, dtype=np.intp),
        raters=np.column_stack(np.divmod(keys, n)),
    )


@dataclass(frozen=True, slots=True)
class RaterPairAgreement:
    """Agreement of two raters on shared units; None where a figure is undefined (a rater gave only one score).

    mean_difference: first minus second. absolute: mean |difference|. identical: share of equal scores.
    kappa, weighted: Cohen's κ, plain and with quadratic weights; only if values are categories.
    """

    first: str
    second: str
    n_units: int
    n_documents: int
    pearson: float | None
    tau_b: float | None
    mean_difference: float
    absolute: float
    identical: float
    kappa: float | None = None
    weighted: float | None = None


def compare_rater_pairs(units: ValuesByUnit, *, levels: int | None = None) -> tuple[RaterPairAgreement, ...]:
    """Compare all raters who share a unit, by name. levels: number of categories if values are 0 … levels−1."""
    pairs = list_value_pairs(units)
    order = np.argsort(pairs.pair, kind="stable")
    bounds = np.searchsorted(pairs.pair[order], np.arange(len(pairs.raters) + 1))
    lines = []
    for g, (a, b) in enumerate(pairs.raters.tolist()):
        rows = order[bounds[g] : bounds[g + 1]]
        x, y = pairs.first[rows], pairs.second[rows]
        lines.append(_line((units.raters[a], units.raters[b]), units.document[pairs.unit[rows]], x, y, levels))
    return tuple(sorted(lines, key=lambda line: (line.first, line.second)))


def _line(names: tuple[str, str], documents: Codes, x: Floats, y: Floats, levels: int | None) -> RaterPairAgreement:
    return RaterPairAgreement(
        first=names[0],
        second=names[1],
        n_units=x.size,
        n_documents=np.unique(documents).size,
        pearson=number_or_none(pearson(x, y)),
        tau_b=number_or_none(kendall_tau(x, y)),
        mean_difference=float((x - y).mean()),
        absolute=float(np.abs(x - y).mean()),
        identical=float((np.abs(x - y) <= SLACK).mean()),
        kappa=None if levels is None else number_or_none(cohen_kappa(x, y, levels)),
        weighted=None if levels is None else number_or_none(cohen_kappa(x, y, levels, quadratic=True)),
    )


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's correlation; NaN if either is constant to 10 decimals, as means of equal scores are.

    >>> round(pearson(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])), 6)
    0.5
    """
    if x.size < 2 or _constant(x) or _constant(y):
        return float("nan")
    a, b = x - x.mean(), y - y.mean()
    return float((a @ b) / np.sqrt((a @ a) * (b @ b)))


def _constant(values: Floats) -> bool:
    """Whether all values are equal up to rounding: sums of 0.1 in a different order differ in their last bits."""
    return round(float(np.ptp(values)), 10) == 0


def kendall_tau(x: Floats, y: Floats, *, variant: str = "b") -> float:
    """Kendall's τ-b, or Stuart's τ-c; values equal to 10 decimals are ties. NaN if either is constant."""
    from scipy import stats

    if x.size < 2 or _constant(x) or _constant(y):
        return float("nan")
    if x.size == 2:  # SciPy's p-value, which is not used, would divide by n − 2
        return float(np.sign((x[1] - x[0]) * (y[1] - y[0])))
    # The p-value is not used; the asymptotic method avoids computing it by enumeration.
    return float(stats.kendalltau(np.round(x, 10), np.round(y, 10), variant=variant, method="asymptotic").statistic)


def cohen_kappa(x: Floats, y: Floats, levels: int, *, quadratic: bool = False) -> float:
    """Cohen's κ of two raters with each rater's own margins, or its quadratic form; NaN if chance agreement is 1.

    x, y : categories from 0 that each rater gave to the same units, shape (units,). levels : number of categories.

    Source: Cohen 1960, 1968.
    """
    like = make_agreement_weights(levels, "quadratic" if quadratic else "identity")
    at = x.astype(np.intp) * levels + y.astype(np.intp)
    table = np.bincount(at, minlength=levels * levels).reshape(levels, levels) / max(x.size, 1)
    chance = float(table.sum(axis=1) @ like @ table.sum(axis=0))
    return float(((table * like).sum() - chance) / (1 - chance)) if 1 - chance > SLACK else float("nan")


def mean_rater_pair_pearson(units: ValuesByUnit) -> OfDocuments:
    """Unweighted mean of Pearson's correlation over the rater pairs for which it is defined; NaN if there is none."""
    pairs = list_value_pairs(units)
    centre = float(units.value.mean()) if units.value.size else 0.0
    x, y = pairs.first - centre, pairs.second - centre
    at = (units.document[pairs.unit], pairs.pair)
    shape = (units.n_documents, max(len(pairs.raters), 1))
    parts = [scipy.sparse.coo_array((c, at), shape=shape).tocsr() for c in (np.ones(x.size), x, y, x * x, y * y, x * y)]

    def value(weights: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (np.asarray((part.T @ weights.T).T) for part in parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            vx, vy = sxx - sx * sx / n, syy - sy * sy / n
            r = (sxy - sx * sy / n) / np.sqrt(vx * vy)
        # So small a share of the sum of squares is the rounding error of a constant.
        usable = (n > 1) & (vx > 1e-12 * np.maximum(sxx, 1e-12)) & (vy > 1e-12 * np.maximum(syy, 1e-12))
        return compute_masked_row_means(r, usable)

    return value


def compute_masked_row_means(values: Floats, usable: npt.NDArray[np.bool_]) -> Floats:
    """Mean of the usable values of each row, NaN if there are none."""
    n = usable.sum(axis=1)
    total = np.where(usable, values, 0.0).sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
