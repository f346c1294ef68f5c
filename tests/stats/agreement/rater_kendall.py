"""Kendall's τ between the system rankings of two raters (Riley et al. 2024, §4.3 and Table 2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from app.stats.aggregate import round_scores
from app.stats.ratings import Bools, Floats, Ratings

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RaterPairTau:
    """Two raters who rated the same documents.

    documents: that both rated. single_documents: mean τ over the documents where it is defined, None where it is
    nowhere. undefined: documents where a ranking is constant, left out of the mean. all_documents: τ of the rankings
    over all of them together.
    """

    first: str
    second: str
    documents: int
    single_documents: float | None
    undefined: int
    all_documents: float | None


@dataclass(frozen=True, slots=True)
class RaterKendall:
    """Agreement of all pairs of raters; the means over pairs are unweighted, over those where τ is defined."""

    pairs: tuple[RaterPairTau, ...]

    @property
    def single_documents(self) -> float | None:
        """Mean over rater pairs of the mean τ by document."""
        return _mean([pair.single_documents for pair in self.pairs])

    @property
    def all_documents(self) -> float | None:
        """Mean over rater pairs of τ over all shared documents."""
        return _mean([pair.all_documents for pair in self.pairs])


def kendall_tau_b(x: Floats, y: Floats) -> float | None:
    """Kendall's τ-b of two rows of scores, equal to 10 decimals being a tie; None where either is constant.

    >>> round(kendall_tau_b(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])), 6)
    0.333333
    """
    first, second = np.triu_indices(x.size, k=1)
    x, y = round_scores(x), round_scores(y)
    a, b = np.sign(x[first] - x[second]), np.sign(y[first] - y[second])
    untied = float(np.abs(a).sum() * np.abs(b).sum())
    return float((a * b).sum() / np.sqrt(untied)) if untied else None


def compute_rater_kendall(ratings: Ratings) -> RaterKendall:
    """τ-b between the rankings of every two raters: by document, and over all documents that both rated.

    A rater's score of a system is the mean of the segment scores; only (segment, system) cells that both rated count.

    Parameters
    ----------
    ratings : segment ratings.

    Source: Riley et al. 2024, §4.3.
    """
    cells = ratings.segment.astype(np.int64) * max(ratings.n_systems, 1) + ratings.system
    by_rater = [np.flatnonzero(ratings.rater == rater) for rater in range(len(ratings.labels.raters))]
    pairs = []
    for first, other in combinations(range(len(by_rater)), 2):
        shared = np.intersect1d(cells[by_rater[first]], cells[by_rater[other]])
        if shared.size:
            scores = [_cell_means(ratings, cells, by_rater[rater], shared) for rater in (first, other)]
            pairs.append(_pair(ratings, (first, other), shared, scores))
    return RaterKendall(tuple(pairs))


def _cell_means(ratings: Ratings, cells: Indices, rows: npt.NDArray[np.intp], shared: Indices) -> Floats:
    """Mean score of one rater in each shared cell."""
    theirs = rows[np.isin(cells[rows], shared)]
    at = np.searchsorted(shared, cells[theirs])
    total = np.bincount(at, weights=ratings.score[theirs], minlength=shared.size)
    return np.asarray(total / np.bincount(at, minlength=shared.size), dtype=np.float64)


def _pair(ratings: Ratings, raters: tuple[int, int], shared: Indices, scores: list[Floats]) -> RaterPairTau:
    segment, system = np.divmod(shared, max(ratings.n_systems, 1))
    document = ratings.labels.segment_document[segment]
    documents = np.unique(document)
    taus = [_tau_of(system, scores, document == one) for one in documents]
    known = [tau for tau in taus if tau is not None]
    names = ratings.labels.raters
    return RaterPairTau(
        first=names[raters[0]],
        second=names[raters[1]],
        documents=len(documents),
        single_documents=_mean(taus),
        undefined=len(taus) - len(known),
        all_documents=_tau_of(system, scores, np.ones(shared.size, dtype=np.bool_)),
    )


def _tau_of(system: Indices, scores: list[Floats], where: Bools) -> float | None:
    systems, code = np.unique(system[where], return_inverse=True)
    n = np.bincount(code, minlength=systems.size)
    first, other = (np.bincount(code, weights=score[where], minlength=systems.size) / n for score in scores)
    return kendall_tau_b(first, other)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
