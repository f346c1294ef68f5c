"""Intraclass correlations: one-way on all units, two-way on the largest complete block.

Source: Shrout & Fleiss 1979; McGraw & Wong 1996 (names).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import scipy

from app.stats.agreement.units import Indices, OfDocuments, ValuesByUnit
from app.stats.ratings import Bools, Floats

TwoWay = Literal["A1", "C1", "Ak", "Ck"]
MOST_SETS = 2000


def icc_one_way(units: ValuesByUnit, *, mean_of_raters: bool = False) -> OfDocuments:
    """ICC(1), or ICC(k) of the mean of a unit's raters; units may have unequal numbers of raters.

    ICC(1) = (MSB − MSW)/(MSB + (k0 − 1)MSW) with k0 = (N − Σk_i²/N)/(n − 1); ICC(k) = (MSB − MSW)/MSB.
    """
    units = units.with_two_or_more_values()
    size = units.n_values_by_unit().astype(np.float64)
    centre = units.value - (units.value.mean() if units.value.size else 0.0)
    total = np.bincount(units.unit, weights=centre, minlength=units.n_units)
    squares = np.bincount(units.unit, weights=centre**2, minlength=units.n_units)
    sums = units.sum_by_document(np.column_stack((np.ones(size.size), size, size**2, total, total**2 / size, squares)))

    def value(weights: Floats) -> Floats:
        n, ratings, sizes, ys, between, within = (weights @ sums).T
        with np.errstate(invalid="ignore", divide="ignore"):
            msb = (between - ys**2 / ratings) / (n - 1)
            msw = (within - between) / (ratings - n)
            k0 = 1.0 if mean_of_raters else (ratings - sizes / ratings) / (n - 1)
            return _share(msb - msw, msb + (k0 - 1) * msw)

    return value


def _share(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.abs(whole) > 1e-12, part / whole, np.nan)


@dataclass(frozen=True, slots=True)
class CompleteBlock:
    """Units that every rater of a set rated. values: one row per unit, one column per rater, shape (n, k)."""

    units: ValuesByUnit
    values: Floats
    raters: tuple[str, ...]


def find_largest_complete_block(units: ValuesByUnit) -> CompleteBlock | None:
    """Find the complete block with the most values; candidates are the rater sets of units and all rater pairs.

    None if no two raters share a unit. Ties go to the block with more units, then to the raters first by name.
    """
    units = units.with_two_or_more_values()
    if not units.n_units:
        return None
    held, code = _rater_sets(units)
    n = np.bincount(code)
    chosen = max(_candidates(held, n), key=lambda some: (*_size(held, n, some), tuple(-r for r in some)))
    within = np.all(held[:, chosen], axis=1)[code][units.unit] & np.isin(units.rater, chosen)
    block = units.where(within)
    values = block.value.reshape(block.n_units, len(chosen))
    return CompleteBlock(block, values, tuple(units.raters[r] for r in chosen))


def _rater_sets(units: ValuesByUnit) -> tuple[Bools, Indices]:
    """Return the distinct sets of raters of the units, shape (sets, raters), and the code of each unit's set, (U,).

    Codes are made by adding one rater after another, because units are far more than sets.
    """
    size, start, n = units.n_values_by_unit(), units.unit_starts(), len(units.raters) + 1
    code = np.zeros(units.n_units, dtype=np.int64)
    for nth in range(int(size.max(initial=0))):
        more = size > nth
        code *= n
        code[more] += units.rater[start[more] + nth] + 1
        code = np.unique(code, return_inverse=True)[1]
    _, first = np.unique(code, return_index=True)
    held = np.zeros((first.size, len(units.raters)), dtype=np.bool_)
    of_first = np.zeros(units.n_units, dtype=np.bool_)
    of_first[first] = True
    rows = of_first[units.unit]
    held[code[units.unit[rows]], units.rater[rows]] = True
    return held, code


def _candidates(held: Bools, n: Indices) -> list[tuple[int, ...]]:
    """Candidates for the block: sets of raters and pairs. held, n: raters of each set, and its number of units."""
    sets = sorted(tuple(np.flatnonzero(row).tolist()) for row in held)
    candidates = set(sets[:MOST_SETS])
    where = scipy.sparse.csr_array(held, dtype=np.int64)
    together = (where.T @ (where * n[:, None])).toarray()
    pairs = combinations(np.flatnonzero(held.any(axis=0)).tolist(), 2)
    most = sorted(pairs, key=lambda pair: -together[pair])[:MOST_SETS]
    return sorted(candidates | {pair for pair in most if together[pair]})


def _size(held: Bools, n: Indices, some: tuple[int, ...]) -> tuple[int, int]:
    n_units = int(n[np.all(held[:, some], axis=1)].sum())
    return n_units * len(some), n_units


def icc_two_way(block: CompleteBlock, form: TwoWay) -> OfDocuments:
    """ICC(A,1), ICC(C,1), or ICC(A,k) and ICC(C,k) of the mean of the k raters, on a complete block.

    A: agreement, with raters as a sample (Shrout & Fleiss 2,1 and 2,k). C: consistency (3,1 and 3,k).
    """
    n_raters = block.values.shape[1]
    values = block.values - block.values.mean()
    ones = np.ones((len(values), 1))
    columns = (ones, (values.sum(axis=1) ** 2)[:, None], (values**2).sum(axis=1)[:, None], values)
    sums = block.units.sum_by_document(np.hstack(columns))

    def value(weights: Floats) -> Floats:
        total = weights @ sums
        n, k = total[:, 0], float(n_raters)
        with np.errstate(invalid="ignore", divide="ignore"):
            grand = total[:, 3:].sum(axis=1) ** 2 / (n * k)
            rows = total[:, 1] / k - grand
            columns = (total[:, 3:] ** 2).sum(axis=1) / n - grand
            msr, msc = rows / (n - 1), columns / (k - 1)
            mse = (total[:, 2] - grand - rows - columns) / ((n - 1) * (k - 1))
            whole = {
                "C1": msr + (k - 1) * mse,
                "Ck": msr,
                "A1": msr + (k - 1) * mse + k * (msc - mse) / n,
                "Ak": msr + (msc - mse) / n,
            }[form]
        return np.where(n > 1, _share(msr - mse, whole), np.nan)

    return value
