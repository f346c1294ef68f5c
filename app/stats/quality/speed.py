"""Pace: seconds per word of each rater, relative to the usual pace of the panel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.rating_metadata import RatingEventTable
from app.stats.ratings import Floats, Ratings


@dataclass(frozen=True, slots=True)
class RaterPace:
    """Pace of one rater. n: timed judgments. seconds: their median. seconds_per_word: all their time over all words
    of the sources, None where no words are known. ratio: to the median of the raters, by words where they are known.
    q_value: chance of a pace so far below the usual one among raters who are alike, over all raters."""

    n: int
    seconds: float
    seconds_per_word: float | None
    ratio: float | None
    q_value: float | None = None


def compute_rater_paces(rows: Ratings, events: RatingEventTable | None, words: Floats | None) -> dict[int, RaterPace]:
    """Pace of each rater (by code) from judgments with a duration; empty without events.

    words: of the source shown with each row, NaN where unknown. Pace is per word if any are known, otherwise per
    judgment. The measure is our own (docs/quality.md).
    """
    if events is None:
        return {}
    timed = mask_first_rows_of_judgments(rows) & (events.started >= 0) & (events.submitted > events.started)
    seconds = np.where(timed, (events.submitted - events.started) / 1e6, np.nan)
    counted = timed & ~np.isnan(words) & (words > 0) if words is not None else np.zeros_like(timed)
    medians, by_word = {}, {}
    for r in np.unique(rows.rater[timed]).tolist():
        mine = rows.rater == r
        medians[r] = (int((mine & timed).sum()), float(np.median(seconds[mine & timed])))
        shown = mine & counted
        if words is not None and shown.any():
            by_word[r] = float(seconds[shown].sum() / words[shown].sum())
    usual_of = by_word or {r: median for r, (_, median) in medians.items()}
    usual = float(np.median(list(usual_of.values()))) if usual_of else 0.0
    ratio = {r: pace / usual for r, pace in usual_of.items() if usual > 0}
    return {r: RaterPace(n, median, by_word.get(r), ratio.get(r)) for r, (n, median) in medians.items()}
