"""Spread of scores under one condition: over all scores, and within documents as they were shown.

Source: Grundkiewicz et al. 2021, §5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.arms.times import (
    LONG,
    SHORT,
)
from app.stats.document_lengths import LENGTHS, format_segment_count_range, mask_lengths_within
from app.stats.plain_values import number_or_none
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.ratings import Bools, Floats, RatingRole, Ratings, encode_column_combinations

CONTROLS = (RatingRole.REPEAT, RatingRole.DEGRADED, RatingRole.REFERENCE)
SETS: tuple[tuple[str, int, int | None], ...] = (
    ("all", 1, None),
    ("short", 1, SHORT),
    ("long", LONG, None),
    *((format_segment_count_range(low, high), low, high) for low, high in LENGTHS),
)
"""Document sets by number of segments: name, minimum, maximum."""


@dataclass(frozen=True, slots=True)
class SegmentScoreSpread:
    """Segment scores of documents of some length under one condition; None where undefined.

    n: scores. sd: of all scores (n − 1). within: pooled SD within units u, √(Σ(n_u − 1)s_u²/Σ(n_u − 1)); a unit is
    one document of one system as one rater was shown it. shown: number of units with two or more scores.
    """

    documents: str
    n: int
    mean: float
    sd: float | None
    within: float | None
    shown: int


def mask_ratings_compared_between_arms(ratings: Ratings, *, with_controls: bool) -> Bools:
    """Mask of the rows whose scores are compared: ratings, one row per judgment.

    with_controls: include documents in which the rater saw a control item (degraded, repeat, reference) of any system.

    Source: Grundkiewicz et al. 2021, §4 (documents with control items are left out).
    """
    keep: Bools = mask_first_rows_of_judgments(ratings) & (ratings.role == RatingRole.RATING)
    if with_controls or not len(ratings):
        return keep
    screen = encode_column_combinations(ratings.rater, ratings.task, ratings.document)
    controlled = np.unique(screen[np.isin(ratings.role, CONTROLS)])
    return np.asarray(keep & ~np.isin(screen, controlled), dtype=np.bool_)


def compute_score_spreads_by_document_length(ratings: Ratings) -> Iterator[SegmentScoreSpread]:
    """Yield the spread over all documents, short and long ones, and by length; empty sets are left out.

    ratings : one row per judgment; ratings of whole documents are ignored.
    """
    rows = ratings.segment_ratings()
    if not len(rows):
        return
    unit = encode_column_combinations(rows.rater, rows.task, rows.document, rows.system)
    length = np.bincount(unit).astype(np.int64)
    for name, low, high in SETS:
        keep = mask_lengths_within(length, low, high)[unit]
        if keep.any():
            yield _score_spread(name, rows.score[keep], np.unique(unit[keep], return_inverse=True)[1])


def _score_spread(name: str, score: Floats, unit: npt.NDArray[np.intp]) -> SegmentScoreSpread:
    size = np.bincount(unit)
    off = score - (np.bincount(unit, weights=score) / size)[unit]
    degrees = int((size - 1).sum())
    return SegmentScoreSpread(
        documents=name,
        n=score.size,
        mean=float(score.mean()),
        sd=number_or_none(float(score.std(ddof=1))) if score.size > 1 else None,
        within=float(off @ off / degrees) ** 0.5 if degrees else None,
        shown=int((size > 1).sum()),
    )
