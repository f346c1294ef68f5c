"""Checks of what a design supports: comparable raters, connected raters, paired segments."""

from __future__ import annotations

import numpy as np

from app.stats.aggregate import ScoreMatrix
from app.stats.ratings import Bools, Codes, Ratings

COMPARABLE_SHARE = 0.95


def has_no_common_segments(matrix: ScoreMatrix) -> bool:
    """Return whether no two systems share a segment."""
    return len(matrix.systems) > 1 and int(matrix.present.sum(axis=0).max(initial=0)) <= 1


def share_of_documents_with_same_raters(ratings: Ratings) -> float:
    """Return the share of documents whose systems were all rated by the same raters; of segments without documents.

    A rater's mean and standard deviation describe the rater only if this is near 1, because only then do all raters see
    the same mix of systems and documents.
    """
    if not len(ratings):
        return 0.0
    unit = (ratings.document if ratings.documents_known else ratings.segment).astype(np.int64)
    n_raters, n_systems = len(ratings.labels.raters), ratings.n_systems
    cells = np.unique((unit * n_raters + ratings.rater) * n_systems + ratings.system)
    # Every rater of a document must have every system on it.
    visits, systems_seen = np.unique(cells // n_systems, return_counts=True)
    documents, visit_of = np.unique(visits // n_raters, return_inverse=True)
    partial = systems_seen < np.unique(ratings.system).size
    return 1 - np.unique(visit_of[partial]).size / documents.size


def group_systems_linked_by_raters(ratings: Ratings) -> list[list[str]]:
    """Return the groups of `group_system_codes_linked_by_raters` as keys of systems."""
    return [[ratings.labels.systems[code] for code in group] for group in group_system_codes_linked_by_raters(ratings)]


def find_system_pairs_linked_by_raters(ratings: Ratings, systems: Codes) -> Bools:
    """Return which pairs of `systems` are linked by a chain of common raters, shape (S, S), False on the diagonal.

    For any other pair, no test can separate the difference of the systems from the difference of their raters.
    """
    group = np.full(max(ratings.n_systems, 1), -1)
    for number, members in enumerate(group_system_codes_linked_by_raters(ratings)):
        group[members] = number
    of = group[systems]
    return np.asarray((of[:, None] == of[None, :]) & ~np.eye(systems.size, dtype=np.bool_))


def group_system_codes_linked_by_raters(ratings: Ratings) -> list[list[int]]:
    """Group systems that are connected through raters: two systems with a common rater are in one group.

    If there are several groups, a difference of systems across groups cannot be separated from a difference of raters,
    whatever documents they share (the rater–system graph of many-facet models is disconnected).
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
        groups.append([i for i in todo if reached[i]])
        todo = [i for i in todo if not reached[i]]
    return groups
