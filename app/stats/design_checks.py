"""What a design can support: comparable raters, connected raters, paired segments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.stats.aggregate import Panel
from app.stats.ratings import Bools, Ratings

COMPARABLE_SHARE = 0.95


def unpaired(panel: Panel) -> bool:
    """Whether no two systems share a segment."""
    return len(panel.systems) > 1 and int(panel.present.sum(axis=0).max(initial=0)) <= 1


def share_with_same_raters(ratings: Ratings) -> float:
    """Share of documents that have all systems, each by the same set of raters; of segments without documents.

    Only where this is near 1 do raters see the same mix of systems and documents, so that a rater's mean and
    standard deviation speak about the rater.
    """
    if not len(ratings):
        return 0.0
    unit = ratings.document if ratings.documents_known else ratings.segment
    cells = [np.unique(codes, return_inverse=True)[1] for codes in (unit, ratings.system)]
    shape = (int(cells[0].max()) + 1, int(cells[1].max()) + 1)
    cell = cells[0] * shape[1] + cells[1]
    same = np.ones(shape[0], dtype=np.bool_)
    for _, rows in _by_rater(ratings):
        rated = np.zeros(shape[0] * shape[1], dtype=np.bool_)
        rated[cell[rows]] = True
        by_system = rated.reshape(shape)
        same &= by_system.all(axis=1) | ~by_system.any(axis=1)
    return float(same.mean())


def _by_rater(ratings: Ratings) -> list[tuple[int, npt.NDArray[np.intp]]]:
    order = np.argsort(ratings.rater, kind="stable")
    raters, starts = np.unique(ratings.rater[order], return_index=True)
    return list(zip(raters.tolist(), np.split(order, starts[1:]), strict=True))


def connected_systems(ratings: Ratings) -> list[list[str]]:
    """Systems in groups connected through raters: two systems with a common rater are in one group.

    With several groups a difference of systems cannot be told from a difference of raters, whatever documents they
    share (the rater–system graph of many-facet models is disconnected).
    """
    size = ratings.n_systems
    rated: Bools = np.zeros((size, len(ratings.labels.raters)), dtype=np.bool_)
    rated[ratings.system, ratings.rater] = True
    todo = [int(i) for i in np.flatnonzero(rated.any(axis=1))]
    groups = []
    while todo:
        reached: Bools = np.zeros(size, dtype=np.bool_)
        reached[todo[0]] = True
        while True:
            raters = rated[reached].any(axis=0)
            wider = np.asarray(rated[:, raters].any(axis=1), dtype=np.bool_)
            if (wider == reached).all():
                break
            reached = wider
        groups.append([ratings.labels.systems[i] for i in todo if reached[i]])
        todo = [i for i in todo if not reached[i]]
    return groups
