"""The verdicts of control items alone, for callers that need no other evidence."""

from __future__ import annotations

import numpy as np

from app.stats.quality.controls import Verdict, run_control_tests
from app.stats.quality.pairing import find_original_rows
from app.stats.quality.quality_criteria import RaterQualityCriteria
from app.stats.ratings import Ratings


def decide_rater_verdicts_by_controls(
    ratings: Ratings, criteria: RaterQualityCriteria, *, of_segments: bool, only_rater: str | None = None
) -> dict[str, Verdict]:
    """Return the verdict, by key, on every rater who judged a degraded item; as `make_rater_quality_report` gives it.

    Parameters
    ----------
    ratings : at least all ratings of outputs of which the same rater judged a degraded copy or a repeat.
    of_segments : whether segments are scored in the campaign; otherwise document scores are used.
    only_rater : key of the one rater whose verdict is wanted; by default all.

    Sources: Graham et al. 2013, 2016 (control items); docs/quality.md lists the verdicts.
    """
    rows = ratings.where(np.asarray((ratings.segment >= 0) == of_segments))
    names = rows.labels.raters
    if only_rater is not None and only_rater not in names:
        return {}
    tests = run_control_tests(
        rows,
        find_original_rows(rows),
        test=criteria.test,
        min_pairs=criteria.min_pairs,
        adjust=criteria.adjust,
        alpha=criteria.alpha,
        only=None if only_rater is None else names.index(only_rater),
    )
    return {names[rater]: one.verdict for rater, one in tests.items()}
