"""What the work of raters and tasks consisted of, and which systems occurred together in it.

Sources: Knowles 2021, §5.1 (what workers and HITs contain) and §5.4 with Fig. 4 (systems that meet).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import scipy

from app.stats.plain_values import number_or_none
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.ratings import Bools, Codes, Floats, RatingLevel, RatingRole, Ratings

Table = npt.NDArray[np.int64]
PARTS: Mapping[str, RatingRole | None] = MappingProxyType(
    {
        "rating": RatingRole.RATING,
        "human": None,
        "repeat": RatingRole.REPEAT,
        "reference": RatingRole.REFERENCE,
        "degraded": RatingRole.DEGRADED,
        "calibration": RatingRole.CALIBRATION,
    }
)
"""Kinds of judgment that are counted. `human`: ratings of a human translation shown as a system; part of `rating`."""
REGULAR = (RatingRole.RATING, RatingRole.REPEAT)


@dataclass(frozen=True, slots=True)
class JudgmentCountsByRaterOrTask:
    """What each owner (rater or task) judged.

    owner: codes, sorted, shape (n,). judgments, systems, documents: numbers, shape (n,). count: judgments of each part
    of `PARTS`, shape (n,). mean: their mean score, NaN if there are none.
    """

    owner: Codes
    judgments: Table
    systems: Table
    documents: Table
    count: Mapping[str, Table]
    mean: Mapping[str, Floats]

    def share_of_owners_with_judgments(self, kind: str) -> float | None:
        """Share of the owners with at least one judgment of this kind (`PARTS`); None without owners."""
        return number_or_none(float((self.count[kind] > 0).mean())) if self.owner.size else None


def count_judgments_by_rater_or_task(ratings: Ratings, owner: Codes, humans: Bools) -> JudgmentCountsByRaterOrTask:
    """Count what each owner judged; a judgment shared by several systems counts once, but each system counts.

    Parameters
    ----------
    owner : code of the owner of each row, shape (rows,).
    humans : whether each system is a human translation, by system code, shape (S,).

    Means are of segment scores, or of document scores if no segment was scored. Source: Knowles 2021, §5.1.
    """
    owners, place = np.unique(owner, return_inverse=True)
    n = owners.size
    once = mask_first_rows_of_judgments(ratings)
    scored = once & (ratings.kind == RatingLevel.SEGMENT)
    scored = scored if scored.any() else once
    masks = {part: _part(ratings, role, humans) for part, role in PARTS.items()}
    regular = np.isin(ratings.role, REGULAR)
    return JudgmentCountsByRaterOrTask(
        owner=owners.astype(np.int32),
        judgments=_counts(place, once, n),
        systems=_distinct(place[regular], ratings.system[regular], n),
        documents=_distinct(place, ratings.document, n),
        count={part: _counts(place, once & mask, n) for part, mask in masks.items()},
        mean={part: _group_means(place, ratings.score, scored & mask, n) for part, mask in masks.items()},
    )


def _part(ratings: Ratings, role: RatingRole | None, humans: Bools) -> Bools:
    if role is None:
        return np.asarray((ratings.role == RatingRole.RATING) & humans[ratings.system], dtype=np.bool_)
    return np.asarray(ratings.role == role, dtype=np.bool_)


def _counts(place: npt.NDArray[np.intp], keep: Bools, n: int) -> Table:
    return np.bincount(place[keep], minlength=n).astype(np.int64)


def _distinct(place: npt.NDArray[np.intp], code: Codes, n: int) -> Table:
    """Number of distinct codes at each place."""
    wide = int(code.max(initial=0)) + 1
    return np.bincount(np.unique(place.astype(np.int64) * wide + code) // wide, minlength=n).astype(np.int64)


def _group_means(place: npt.NDArray[np.intp], score: Floats, keep: Bools, n: int) -> Floats:
    count = np.bincount(place[keep], minlength=n)
    total = np.bincount(place[keep], weights=score[keep], minlength=n)
    mean: Floats = np.divide(total, count, out=np.full(n, np.nan), where=count > 0)
    return mean


def count_system_co_occurrence(ratings: Ratings, owner: Codes) -> Table:
    """C[i, j]: number of owners with a regular judgment of system i and one of system j; shape (S, S).

    The diagonal counts the owners who judged a system. Regular judgments are ratings and repeats; control and
    calibration items are not.
    Source: Knowles 2021, §5.4 and Fig. 4 (owners are HITs).

    >>> import numpy as np
    >>> rows = Ratings.from_columns(
    ...     system=["A", "B", "A"], document=["d", "d", "e"], position=[1, 1, 1], rater=["x", "x", "y"],
    ...     score=[1, 2, 3], higher_is_better=True)
    >>> count_system_co_occurrence(rows, rows.rater).tolist()
    [[2, 1], [1, 1]]
    """
    regular = np.isin(ratings.role, REGULAR)
    owners, place = np.unique(owner[regular], return_inverse=True)
    shape = (owners.size, ratings.n_systems)
    occurrence = scipy.sparse.csr_array(
        (np.ones(place.size, dtype=np.int64), (place, ratings.system[regular])), shape=shape
    )
    occurrence.data[:] = 1
    return np.asarray((occurrence.T @ occurrence).toarray(), dtype=np.int64)


def compute_co_occurrence_shares(table: Table) -> Floats:
    """C[i, j] / C[i, i]: share of the owners who judged system i that also judged j; NaN if no owner judged i."""
    own = np.diag(table)[:, None].astype(np.float64)
    shares_: Floats = np.divide(table, own, out=np.full(table.shape, np.nan), where=own > 0)
    return shares_


def count_system_pairs_rarely_together(table: Table, least: float = 0.5) -> int:
    """Count system pairs in which less than a share `least` of the owners of one system also judged the other.

    Source: Knowles 2021, §5.4 (pairs that are hardly compared under the same conditions).
    """
    occurring = np.flatnonzero(np.diag(table))
    low = compute_co_occurrence_shares(table)[np.ix_(occurring, occurring)] < least
    return int(np.triu(low | low.T, 1).sum())
