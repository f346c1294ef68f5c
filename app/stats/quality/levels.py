"""Raters' levels, relative to the levels of those who rated the same items, and the residuals of their scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.stats.quality.panel import RaterItemMeans
from app.stats.ratings import Bools, Floats

RIDGE = 1e-9
"""Ridge, as a share of the largest count: groups of raters without common items have no common level.

Each group gets a mean of 0.
"""


@dataclass(frozen=True, slots=True)
class RaterLevelsAndResiduals:
    """Levels and residuals of raters.

    of_rater: by rater code, in the protocol's unit, NaN for a rater who shares no item; the mean is 0 in each group of
    raters connected by common items. others: by cell, the mean, over the item's other raters, of the score minus the
    rater's level. residual: the cell's own score minus its rater's level, minus `others`. Both are NaN without others.
    """

    of_rater: Floats
    residual: Floats
    others: Floats


def estimate_rater_levels_and_residuals(
    cells: RaterItemMeans, n_raters: int, trusted: Bools | None = None
) -> RaterLevelsAndResiduals:
    """Least squares of score = item + rater, so that a residual is free of the levels of the raters compared with.

    Parameters
    ----------
    trusted : by rater code, whether others are compared with them; by default all. Those left out are still compared
        with the others.

    Source: the fixed effects of the crossed model in Searle, Casella & McCulloch 1992, ch. 4.

    >>> import numpy as np
    >>> from app.stats.quality.panel import compute_rater_item_means
    >>> from app.stats.ratings import Ratings
    >>> two = Ratings.from_columns(system=["s"] * 4, document=["d"] * 4, position=[1, 2, 1, 2],
    ...     rater=["a", "a", "b", "b"], score=[5.0, 9, 3, 5], higher_is_better=True)
    >>> found = estimate_rater_levels_and_residuals(compute_rater_item_means(two), 2)
    >>> found.of_rater.round(6).tolist(), found.residual.round(6).tolist()
    ([1.5, -1.5], [-1.0, 1.0, 1.0, -1.0])
    """
    if trusted is None:
        trusted = np.ones(n_raters, dtype=np.bool_)
    inside = trusted[cells.rater]
    n_items = int(cells.item.max(initial=-1)) + 1
    of_rater = _solve_levels(cells, inside, n_items, n_raters)
    left = cells.score - np.where(inside, np.nan_to_num(of_rater[cells.rater]), 0.0)
    total = np.bincount(cells.item[inside], weights=left[inside], minlength=n_items)
    count = np.bincount(cells.item[inside], minlength=n_items)
    others_n = count[cells.item] - inside
    with np.errstate(invalid="ignore", divide="ignore"):
        others = (total[cells.item] - np.where(inside, left, 0.0)) / others_n
    residual = np.where(others_n > 0, left - others, np.nan)
    for rater in np.flatnonzero(~trusted):
        mine = (cells.rater == rater) & ~np.isnan(residual)
        if mine.any():
            of_rater[rater] = residual[mine].mean()
            residual[mine] -= of_rater[rater]
    return RaterLevelsAndResiduals(of_rater, residual, others)


def _solve_levels(cells: RaterItemMeans, inside: Bools, n_items: int, n_raters: int) -> Floats:
    """Solve the normal equations without the items: a Laplacian of raters who share items."""
    item, rater, score = cells.item[inside], cells.rater[inside], cells.score[inside]
    count = np.bincount(item, minlength=n_items)
    mean = np.bincount(item, weights=score, minlength=n_items) / np.maximum(count, 1)
    is_shared = count[item] > 1
    item, rater, score = item[is_shared], rater[is_shared], score[is_shared]
    right = np.bincount(rater, weights=score - mean[item], minlength=n_raters)
    matrix = np.zeros((n_raters, n_raters))
    np.add.at(matrix, (rater, rater), 1.0)
    for first, second in iterate_cell_pairs_within_items(item):
        np.add.at(matrix, (rater[first], rater[second]), -1.0 / count[item[first]])
    known = np.bincount(rater, minlength=n_raters) > 0
    at = np.flatnonzero(known)
    solved = np.full(n_raters, np.nan)
    if at.size:
        part = matrix[np.ix_(at, at)]
        ridge = RIDGE * float(part.diagonal().max()) * np.eye(at.size)
        solved[at] = np.linalg.solve(part + ridge, right[at])
    return solved


def iterate_cell_pairs_within_items(item: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs of cells of one item, including each cell with itself, by their distance in the order of items.

    item : code of each cell, shape (cells,). Yields parallel indices of cells, shape (pairs at this distance,). Goes
    distance by distance: if 100 raters judge every item, all pairs have 100 times as many entries as there are cells.
    """
    order = np.argsort(item, kind="stable")
    ordered = item[order]
    yield order, order
    lag = 1
    while (same := np.flatnonzero(ordered[lag:] == ordered[:-lag])).size:
        first, second = order[same], order[same + lag]
        yield first, second
        yield second, first
        lag += 1
