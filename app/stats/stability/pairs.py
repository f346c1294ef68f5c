"""How often each pair of systems is claimed: a design's power for it, for as many pairs as a report can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from app.design.design_inputs import Bools, Codes
from app.stats.stability.request import StabilityRequest
from app.stats.stability.srp import Order
from app.stats.stability.study_significance import Claims

MOST_REPORTED = 50_000
"""Pairs of a point × points of a report: the 105 pairs of 15 systems at the 324 points of Figures 3–8 are 34,020."""
DECIMALS = 6
"""Decimals of shares: enough to distinguish any two counts among at most 10,000 studies."""


def choose_max_reported_rank_distance(request: StabilityRequest, systems: int) -> int:
    """Return the largest distance in the full-data ranking at which the claims of a pair are reported.

    request : resolved. Returns systems − 1 if all pairs fit, 0 if not even neighbours do.

    Examples
    --------
    >>> many = StabilityRequest((), documents=tuple(range(1, 101)), studies=2)
    >>> choose_max_reported_rank_distance(many, 3)
    2
    """
    points = max(1, len(request.designs) * len(request.document_counts))
    fitting = [reach for reach in range(1, systems) if points * _pairs(reach, systems) <= MOST_REPORTED]
    return max(fitting, default=0)


def _pairs(reach: int, systems: int) -> int:
    """Return the number of pairs at most `reach` places apart.

    >>> _pairs(1, 15), _pairs(14, 15)
    (14, 105)
    """
    return reach * systems - reach * (reach + 1) // 2


@dataclass(frozen=True, slots=True, eq=False)
class ReportedPairs:
    """The pairs whose claims are reported under a normalization.

    pairs: codes of the systems of each, the better by all ratings first, in the order of that ranking; of equal systems
    the first in `systems` counts as better. columns: indices of these pairs among all, shape (P,). first: whether the
    better is the first of the two in `systems`, shape (P,).
    """

    pairs: tuple[tuple[int, int], ...]
    columns: Codes
    first: Bools

    @classmethod
    def select_within_rank_distance(cls, order: Order, systems: int, reach: int) -> Self:
        """Select the pairs at most `reach` places apart in a ranking.

        order : shape (pairs,), see `srp.find_better_of_pairs`.
        """
        at, below = np.triu_indices(systems, k=1)
        won = np.zeros(systems, dtype=np.int64)
        np.add.at(won, at, order)
        np.subtract.at(won, below, order)
        ranked = np.argsort(-won, kind="stable")
        near = below - at <= reach
        better, worse = ranked[at[near]], ranked[below[near]]
        low, high = np.minimum(better, worse), np.maximum(better, worse)
        columns = low * systems - low * (low + 1) // 2 + high - low - 1
        return cls(tuple(zip(better.tolist(), worse.tolist(), strict=True)), columns, better < worse)

    def claim_shares(self, claimed: Claims) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the shares of studies that claim each pair as all ratings order it, and in the reverse order.

        claimed : shape (n, pairs).
        """
        first, second = (found.sum(axis=0)[self.columns] for found in (claimed > 0, claimed < 0))
        n = len(claimed)
        as_ordered, turned = np.where(self.first, first, second) / n, np.where(self.first, second, first) / n
        return tuple(as_ordered.round(DECIMALS).tolist()), tuple(turned.round(DECIMALS).tolist())
