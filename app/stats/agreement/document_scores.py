"""How the score of a whole document relates to the scores of its segments.

Source: Grundkiewicz et al. 2021, §5.2 and Table 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from app.stats.agreement.pairs import kendall_tau, pearson
from app.stats.agreement.units import Indices, OfDocuments
from app.stats.plain_values import number_or_none
from app.stats.ratings import Bools, Codes, Floats, Ratings

FEW = 5
Part = Callable[[Floats], float]
PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "mean": lambda s: float(s.mean()),
        "median": lambda s: float(np.median(s)),
        "min": lambda s: float(s.min()),
        "max": lambda s: float(s.max()),
        "first5": lambda s: float(s[:FEW].mean()),
        "last5": lambda s: float(s[-FEW:].mean()),
        "first": lambda s: float(s[0]),
        "last": lambda s: float(s[-1]),
    }
)
"""Summaries of a document's segment scores, which are in order of position. If a document has fewer than five
segments, the first five and the last five are all of them."""


@dataclass(frozen=True, slots=True)
class DocumentAndSegmentScores:
    """Documents of one system that a rater scored as a whole and segment by segment.

    score: of the document, shape (n,). parts: summaries of segment scores, by name as in `PARTS`. document: code.
    length: number of segments. incomplete: documents left out because the rater skipped segments that others scored.
    alone: documents left out because the rater scored no segment.
    """

    score: Floats
    parts: Mapping[str, Floats]
    document: Codes
    length: Codes
    n_documents: int
    incomplete: int
    alone: int

    @property
    def n_document_scores(self) -> int:
        """Number of (rater, system, document)."""
        return int(self.score.size)


@dataclass(frozen=True, slots=True)
class DocumentSegmentScoreCorrelations:
    """Correlations of document scores with a summary of segment scores; None below two, or if either is constant."""

    n: int
    pearson: float | None
    spearman: float | None
    kendall: float | None


def join_document_and_segment_scores(ratings: Ratings) -> DocumentAndSegmentScores:
    """Join document and segment scores, using each rater's latest rating of each.

    A document is included if its rater scored every segment of it that any rater scored (for the same system).
    """
    whole, rows = (
        _latest(ratings.document_ratings(), ("document",)),
        _latest(ratings.segment_ratings(), ("document", "segment")),
    )
    shape = (len(ratings.labels.documents), max(ratings.n_systems, 1))
    item = rows.document.astype(np.int64) * shape[1] + rows.system
    pairs = np.unique(np.stack((item, rows.segment)), axis=1)
    full = np.bincount(pairs[0], minlength=shape[0] * shape[1])
    n_raters = max(len(ratings.labels.raters), 1)
    key = item * n_raters + rows.rater
    order = np.lexsort((rows.labels.segment_position[rows.segment], key))
    keys, first, size = np.unique(key[order], return_index=True, return_counts=True)
    wanted = (whole.document.astype(np.int64) * shape[1] + whole.system) * n_raters + whole.rater
    at = np.searchsorted(keys, wanted)
    scored = np.zeros(wanted.size, dtype=np.bool_)
    inside = at < keys.size
    scored[inside] = keys[at[inside]] == wanted[inside]
    complete = scored.copy()
    complete[scored] = size[at[scored]] == full[wanted[scored] // n_raters]
    take, scores = at[complete], rows.score[order]
    stretches = [scores[a : a + n] for a, n in zip(first[take].tolist(), size[take].tolist(), strict=True)]
    return DocumentAndSegmentScores(
        score=whole.score[complete],
        parts={name: np.array([part(s) for s in stretches], dtype=np.float64) for name, part in PARTS.items()},
        document=whole.document[complete],
        length=size[take].astype(np.int32),
        n_documents=shape[0],
        incomplete=int((scored & ~complete).sum()),
        alone=int((~scored).sum()),
    )


def _latest(rows: Ratings, place: tuple[str, ...]) -> Ratings:
    columns = [getattr(rows, name) for name in (*place, "system", "rater")]
    order: Indices = np.lexsort((-rows.nth, *columns))
    first = np.ones(order.size, dtype=np.bool_)
    if order.size:
        first[1:] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
    return rows.take(np.sort(order[first]))


def correlate_document_with_segment_scores(
    data: DocumentAndSegmentScores, summary: str, where: Bools
) -> DocumentSegmentScoreCorrelations:
    """Pearson, Spearman and Kendall (τ-b) between the document score and one summary of its segments."""
    x, y = data.score[where], data.parts[summary][where]
    return DocumentSegmentScoreCorrelations(
        n=x.size,
        pearson=number_or_none(pearson(x, y)),
        spearman=number_or_none(pearson(_ranks(x), _ranks(y))),
        kendall=number_or_none(kendall_tau(x, y)),
    )


def _ranks(values: Floats) -> Floats:
    """Mid-ranks; values that are equal to 10 decimals are ties."""
    _, code, counts = np.unique(np.round(values, 10), return_inverse=True, return_counts=True)
    upper = np.cumsum(counts)
    return np.asarray((upper - (counts - 1) / 2)[code], dtype=np.float64)


def document_segment_score_pearson(data: DocumentAndSegmentScores, summary: str, where: Bools) -> OfDocuments:
    """Pearson's correlation as a function of document weights, for its bootstrap interval."""
    x = data.score[where] - (data.score[where].mean() if where.any() else 0.0)
    y = data.parts[summary][where] - (data.parts[summary][where].mean() if where.any() else 0.0)
    sums = np.zeros((data.n_documents, 6))
    np.add.at(sums, data.document[where], np.column_stack((np.ones(x.size), x, y, x * x, y * y, x * y)))

    def value(weights: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (weights @ sums).T
        with np.errstate(invalid="ignore", divide="ignore"):
            vx, vy = sxx - sx * sx / n, syy - sy * sy / n
            r = (sxy - sx * sy / n) / np.sqrt(vx * vy)
        return np.where((n > 1) & (vx > 1e-9) & (vy > 1e-9), r, np.nan)

    return value
