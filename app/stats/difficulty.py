"""Which documents are difficult, for which systems, and whether systems were judged on equally difficult documents.

Source: Knowles 2021, §6 and Fig. 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
import numpy.typing as npt

from app.stats.aggregate import round_scores
from app.stats.ratings import Codes, Floats, Ratings

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DocumentDifficultyTable:
    """Documents (rows, easiest first) against systems (columns, best first).

    documents, systems: codes, shapes (D,) and (S,). cell: mean of all segment scores, NaN if there are none. n: their
    number. Both have shape (D, S). document_mean, document_n, system_mean, system_n: over all segment scores of a row
    or column. expected: the mean that each system would have if all its scores equalled the document means, shape
    (S,). Systems that differ in it were judged on documents of different difficulty. All means are in score units.
    """

    documents: Codes
    systems: Codes
    cell: Floats
    n: Counts
    document_mean: Floats
    document_n: Counts
    system_mean: Floats
    system_n: Counts
    expected: Floats

    @property
    def filled_cell_share(self) -> float:
        """Share of cells that have a score; NaN without cells."""
        return float((self.n > 0).mean()) if self.n.size else nan

    @property
    def sd_of_document_means(self) -> float:
        """SD (n − 1) of the document means; NaN below two documents."""
        return _sd(self.document_mean)

    @property
    def sd_of_system_means(self) -> float:
        """SD (n − 1) of the system means; NaN below two systems."""
        return _sd(self.system_mean)

    @property
    def is_fully_crossed(self) -> bool:
        """Whether every system was judged on every document."""
        return bool((self.n > 0).all())


def average_scores_by_document_and_system(ratings: Ratings) -> DocumentDifficultyTable:
    """Mean segment score of each system on each document.

    Documents and systems without judgments are left out. Both are sorted by mean, best first; ties by key.

    Source: Knowles 2021, §6, Fig. 5. `expected` is an addition of this program.

    >>> rows = Ratings.from_columns(
    ...     system=["A", "B", "A"], document=["d", "d", "e"], position=[1, 1, 1], rater=["r"] * 3,
    ...     score=[60, 40, 90], higher_is_better=True)
    >>> found = average_scores_by_document_and_system(rows)
    >>> found.cell.tolist(), found.expected.tolist()
    ([[90.0, nan], [60.0, 40.0]], [70.0, 50.0])
    """
    rows = ratings.segment_ratings()
    shape = (len(rows.labels.documents), rows.n_systems)
    at = rows.document.astype(np.int64) * max(shape[1], 1) + rows.system
    size = shape[0] * shape[1]
    n = np.bincount(at, minlength=size).reshape(shape).astype(np.int64)
    total = np.bincount(at, weights=rows.score, minlength=size).reshape(shape)
    documents, systems = np.flatnonzero(n.sum(axis=1)), np.flatnonzero(n.sum(axis=0))
    n, total = n[np.ix_(documents, systems)], total[np.ix_(documents, systems)]
    row, column = _mean(total.sum(axis=1), n.sum(axis=1)), _mean(total.sum(axis=0), n.sum(axis=0))
    down = np.argsort(-rows.better_sign * round_scores(row), kind="stable")
    across = np.argsort(-rows.better_sign * round_scores(column), kind="stable")
    n, total, row = n[np.ix_(down, across)], total[np.ix_(down, across)], row[down]
    return DocumentDifficultyTable(
        documents=documents[down].astype(np.int32),
        systems=systems[across].astype(np.int32),
        cell=_mean(total, n),
        n=n,
        document_mean=row,
        document_n=n.sum(axis=1),
        system_mean=column[across],
        system_n=n.sum(axis=0),
        expected=_mean((n * row[:, None]).sum(axis=0), n.sum(axis=0)),
    )


def _mean(total: Floats | Counts, n: Counts) -> Floats:
    means: Floats = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    return means


def _sd(values: Floats) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else nan
