"""How scores lie under one condition: all of them, and within the documents as they were shown.

Source: Grundkiewicz et al. 2021, §5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.stats.arms.times import (
    LENGTHS,
    LONG,
    SHORT,
    encode_column_combinations,
    format_length_range,
    mask_lengths_within,
)
from app.stats.plain_values import number_or_none
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.ratings import Bools, Floats, RatingRole, Ratings

CONTROLS = (RatingRole.REPEAT, RatingRole.DEGRADED, RatingRole.REFERENCE)
SETS: tuple[tuple[str, int, int | None], ...] = (
    ("all", 1, None),
    ("short", 1, SHORT),
    ("long", LONG, None),
    *((format_length_range(low, high), low, high) for low, high in LENGTHS),
)
"""Documents by number of segments: name, least, most."""


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """Segment scores of documents of some length under one condition.

    n: scores. sd: of all of them (n − 1). within: pooled within documents as one rater was shown them of one system,
    √(Σ(n_u − 1)s_u²/Σ(n_u − 1)); shown: how many of those have two scores or more. None where undefined.
    """

    documents: str
    n: int
    mean: float
    sd: float | None
    within: float | None
    shown: int


def mask_compared_rows(ratings: Ratings, *, controls: bool) -> Bools:
    """Rows whose scores are compared: ratings, one a judgment.

    controls: also of documents in which the rater met a control item (degraded, repeat, reference) of any system.

    Source: Grundkiewicz et al. 2021, §4 (documents with control items are left out).
    """
    keep: Bools = mask_first_rows_of_judgments(ratings) & (ratings.role == RatingRole.RATING)
    if controls or not len(ratings):
        return keep
    screen = encode_column_combinations(ratings.rater, ratings.task, ratings.document)
    with_controls = np.unique(screen[np.isin(ratings.role, CONTROLS)])
    return np.asarray(keep & ~np.isin(screen, with_controls), dtype=np.bool_)


def compute_score_spreads(ratings: Ratings) -> Iterator[ScoreSpread]:
    """Over all documents, short and long ones, and by length; those that there are.

    ratings : one row a judgment; ratings of whole documents are left out.
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


def _score_spread(name: str, score: Floats, unit: npt.NDArray[np.intp]) -> ScoreSpread:
    size = np.bincount(unit)
    off = score - (np.bincount(unit, weights=score) / size)[unit]
    degrees = int((size - 1).sum())
    return ScoreSpread(
        documents=name,
        n=score.size,
        mean=float(score.mean()),
        sd=number_or_none(float(score.std(ddof=1))) if score.size > 1 else None,
        within=float(off @ off / degrees) ** 0.5 if degrees else None,
        shown=int((size > 1).sum()),
    )
