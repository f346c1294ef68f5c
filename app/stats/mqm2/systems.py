"""MQM 2.0 scores of systems: segment penalties, averaged over raters, over the number of source words.

The formula is in `app.stats.mqm2.mqm2`. Because of the mean over raters, the words of a text that several raters judged
count only once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.mqm2.mqm2 import Mqm2Score, PassingThreshold, score_mqm2_from_penalty
from app.stats.ratings import Bools, Codes, Floats, Ratings


@dataclass(frozen=True, slots=True)
class Mqm2SystemScore:
    """Score of one system. words: EWC, source words of its segments. scored: None if there are no words."""

    system: int
    n_segments: int
    n_ratings: int
    words: float
    critical: int
    scored: Mqm2Score | None


def score_systems(
    rows: Ratings,
    critical: Codes,
    words: Floats,
    *,
    threshold: PassingThreshold | None = None,
    critical_fails: bool = True,
) -> tuple[Mqm2SystemScore, ...]:
    """Score every system that has rows, in the order of system codes.

    Parameters
    ----------
    rows : penalties of segments whose word counts are known (`mask_rows_with_word_counts`).
    critical : shape (n_rows,), number of critical errors marked in each row.
    words : shape (n_segments,), by segment code.
    """
    penalty, system, segment = _segment_penalties(rows)
    scores = []
    for code in np.unique(system).tolist():
        own, mine = system == code, rows.system == code
        total, serious = float(words[segment[own]].sum()), int(critical[mine].sum())
        points = float(penalty[own].sum())
        score = (
            score_mqm2_from_penalty(points, total, serious, threshold=threshold, critical_fails=critical_fails)
            if total
            else None
        )
        scores.append(Mqm2SystemScore(code, int(own.sum()), int(mine.sum()), total, serious, score))
    return tuple(scores)


def mask_rows_with_word_counts(rows: Ratings, words: Floats) -> Bools:
    """Mask of the rows whose segment has a word count, shape (n_rows,). words: by segment code, NaN if unknown."""
    known = np.append(~np.isnan(words), False)  # rows without a segment have the code −1
    return np.asarray(known[rows.segment], dtype=np.bool_)


def _segment_penalties(rows: Ratings) -> tuple[Floats, Codes, Codes]:
    """Return the penalty of each (system, segment), the mean over its raters of each rater's mean, and both codes."""
    by_rater, at_rater = np.unique(
        np.stack((rows.system, rows.segment, rows.rater)).astype(np.int64), axis=1, return_inverse=True
    )
    of_rater = _group_means(rows.score, at_rater.ravel(), by_rater.shape[1])
    by_segment, at_segment = np.unique(by_rater[:2], axis=1, return_inverse=True)
    of_segment = _group_means(of_rater, at_segment.ravel(), by_segment.shape[1])
    system, segment = by_segment.astype(np.int32)
    return of_segment, system, segment


def _group_means(values: Floats, group: np.ndarray[tuple[int, ...], np.dtype[np.intp]], n: int) -> Floats:
    return np.bincount(group, values, minlength=n) / np.bincount(group, minlength=n)
