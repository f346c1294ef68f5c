"""A rater compared with the panel: level, spread and order of their scores on items that others rated too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.aggregate import round_scores
from app.stats.plain_values import number_or_none
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.ratings import Codes, Floats, RatingRole, Ratings

MIN_ITEMS = 10
"""With fewer items, rank correlation and spread ratio are not given."""


@dataclass(frozen=True, slots=True)
class RaterItemMeans:
    """One entry per item and rater, ordered by them: the mean of that rater's scores of the item.

    others: mean over the other raters of the item, NaN if there are none. others_square: Σ of the squares of their
    scores. others_n: the number of these scores.
    """

    item: Codes
    rater: Codes
    score: Floats
    others: Floats
    others_square: Floats
    others_n: Codes


@dataclass(frozen=True, slots=True)
class RaterPanelComparison:
    """One rater against the panel or a consensus.

    basis: `calibration` (items that everyone judges), `panel` (items that others happen to have rated) or `consensus`.
    n_items: items compared. offset: own mean minus theirs, in the protocol's unit; shift: −offset, what
    calibration by rater would add.
    lenient: the offset with its sign turned so that a positive one is lenient. spread_ratio: own SD over the SD of
    their scores on the same items. correlation: Spearman's, with the mean of the others (leave one out).
    sds: distance of the rater's level from the usual one, in robust SDs of the raters' levels, each beside the levels
    of those whom they met. offset_q, correlation_q: chance of a level so far from the usual one, and of a correlation
    so far below it, among raters who are alike, over all raters (Benjamini–Hochberg); None where that cannot be told.
    """

    basis: str
    n_items: int
    offset: float
    shift: float
    lenient: float
    spread_ratio: float | None
    correlation: float | None
    sds: float | None = None
    offset_q: float | None = None
    correlation_q: float | None = None


def compare_raters_with_panel(ratings: Ratings, consensus: Floats | None = None) -> dict[int, RaterPanelComparison]:
    """Compare each rater (by code) with the others on common items, or with the consensus if one is given.

    Calibration items are used if there are any, otherwise all ratings. `ratings` are of one kind.

    Parameters
    ----------
    consensus : agreed score of each row, NaN if there is none, shape (rows,).

    Sources: Licht et al. 2022, §4 (shift to a consensus); Knowles 2021, §5 (common items).
    """
    calibrated = ratings.role == RatingRole.CALIBRATION
    basis = "calibration" if calibrated.any() else "panel"
    keep = mask_first_rows_of_judgments(ratings) & (
        calibrated if calibrated.any() else ratings.role == RatingRole.RATING
    )
    if consensus is not None:
        known = mask_first_rows_of_judgments(ratings) & ~np.isnan(consensus)
        return _compare_each_rater(ratings, "consensus", ratings.where(known), consensus[known])
    cells = compute_rater_item_means(ratings.where(keep))
    shared = cells.others_n > 0
    by_rater = {}
    for rater in np.unique(cells.rater[shared]):
        mine = np.flatnonzero(shared & (cells.rater == rater))
        by_rater[int(rater)] = _against(ratings, basis, cells.score[mine], cells.others[mine], _pooled_sd(cells, mine))
    return by_rater


def _compare_each_rater(ratings: Ratings, basis: str, rows: Ratings, agreed: Floats) -> dict[int, RaterPanelComparison]:
    by_rater = {}
    for rater in np.unique(rows.rater):
        mine = rows.rater == rater
        sd = float(agreed[mine].std(ddof=1)) if mine.sum() > 1 else 0.0
        by_rater[int(rater)] = _against(ratings, basis, rows.score[mine], agreed[mine], sd)
    return by_rater


def _against(ratings: Ratings, basis: str, own: Floats, theirs: Floats, their_sd: float) -> RaterPanelComparison:
    offset = float(own.mean() - theirs.mean())
    enough = own.size >= MIN_ITEMS
    ratio = float(own.std(ddof=1)) / their_sd if enough and their_sd > 0 else float("nan")
    rank = compute_spearman_correlation(own, theirs) if enough else float("nan")
    lenient = offset * ratings.better_sign
    return RaterPanelComparison(
        basis, own.size, offset, -offset + 0.0, lenient, number_or_none(ratio), number_or_none(rank)
    )


def compute_rater_item_means(ratings: Ratings) -> RaterItemMeans:
    """Return scores by (item, rater), each with the scores of the other raters of the item."""
    address = np.stack((ratings.system, ratings.document, ratings.segment, ratings.rater), axis=1)
    keys, cell = np.unique(address, axis=0, return_inverse=True)
    cell = cell.ravel()
    score = np.bincount(cell, weights=ratings.score, minlength=len(keys)) / np.bincount(cell, minlength=len(keys))
    item = np.unique(keys[:, :3], axis=0, return_inverse=True)[1].ravel()
    total, square, n = (
        np.bincount(item, weights=w, minlength=int(item.max(initial=-1)) + 1)
        for w in (score, score**2, np.ones(score.size))
    )
    others_n = n[item] - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        others = np.where(others_n > 0, (total[item] - score) / others_n, np.nan)
    return RaterItemMeans(
        item=item.astype(np.int32),
        rater=keys[:, 3].astype(np.int32),
        score=score,
        others=others,
        others_square=square[item] - score**2,
        others_n=others_n.astype(np.int32),
    )


def _pooled_sd(cells: RaterItemMeans, mine: np.ndarray[tuple[int], np.dtype[np.intp]]) -> float:
    """SD of all scores of the other raters on these items."""
    n = int(cells.others_n[mine].sum())
    total = float((cells.others[mine] * cells.others_n[mine]).sum())
    spread = float(cells.others_square[mine].sum()) - total * total / n
    return float(np.sqrt(max(spread, 0.0) / (n - 1))) if n > 1 else 0.0


def compute_spearman_correlation(first: Floats, second: Floats) -> float:
    """Rank correlation with average ranks for ties (Spearman 1904); NaN if one side does not vary.

    >>> import numpy as np
    >>> round(compute_spearman_correlation(np.array([1.0, 2, 2, 4]), np.array([3.0, 3, 5, 9])), 6)
    0.833333
    """
    x, y = (_ranks(round_scores(values)) for values in (first, second))
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / size if size > 0 else float("nan")


def _ranks(values: Floats) -> Floats:
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") + 1) / 2
