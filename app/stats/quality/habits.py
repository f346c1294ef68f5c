"""Habits in the sequence and choice of scores: runs of one score, round numbers, no errors, distinct values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.stats.plain_values import number_or_none
from app.stats.ratings import Codes, Floats, ScoreScale

ROUND = 10
"""Multiples of this are round on a slider."""
SLIDER_LEVELS = 50
"""A scale with fewer levels has no round numbers that raters could prefer."""


@dataclass(frozen=True, slots=True)
class ScoringHabits:
    """Habits of one rater.

    n: judgments. distinct: different scores. longest_run: most equal scores one after the other; expected_run: its
    expectation if the same scores came in random order; run_p: chance of one as long (Poisson approximation).
    round_share: scores that are multiples of 10 on a slider, round_expected: of the levels of the scale. no_errors:
    judgments without a marked error. entropy: of the scores, normalized by log n (1: all differ). run_q, round_q:
    chance of so long a run for its expectation, and of so many round scores, among raters who are alike, over all
    raters; constant_p: of one score throughout, by how often others give it and give it again; None where that cannot
    be told.
    """

    n: int
    distinct: int
    longest_run: int
    expected_run: float
    run_p: float
    round_share: float | None
    round_expected: float | None
    no_errors: float | None
    entropy: float
    run_q: float | None = None
    round_q: float | None = None
    constant_p: float | None = None


def compute_scoring_habits(score: Floats, n_errors: Codes, scale: ScoreScale | None) -> ScoringHabits:
    """Habits of one rater from their scores in the order in which they were given, at least one.

    Source: the behaviour flags of WMT21's `ad-wrkr-stats.csv`.
    """
    values, counts = np.unique(np.round(score, 10), return_counts=True)
    longest = find_longest_run_length(np.round(score, 10))
    shares = counts / score.size
    known = n_errors[n_errors >= 0]
    round_share, round_expected = _heaping(score, scale)
    spread = float(-(shares * np.log(shares)).sum())
    return ScoringHabits(
        n=score.size,
        distinct=values.size,
        longest_run=longest,
        expected_run=compute_expected_longest_run(shares, score.size),
        run_p=compute_chance_of_score_run(shares, score.size, longest),
        round_share=round_share,
        round_expected=round_expected,
        no_errors=number_or_none(float((known == 0).mean())) if known.size else None,
        entropy=float(spread / np.log(score.size)) if score.size > 1 else 0.0,
    )


def find_longest_run_length(values: Floats) -> int:
    """Length of the longest run of one value.

    >>> import numpy as np
    >>> find_longest_run_length(np.array([3.0, 3, 1, 1, 1, 3]))
    3
    """
    edges = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1], [True])))
    return int(np.diff(edges).max())


def compute_chance_of_score_run(shares: Floats, n: int, length: int) -> float:
    """Chance that n independent draws with these shares contain a run of at least `length`; Poisson by declumping.

    λ = Σ_v p_v^ℓ + (n − ℓ)·p_v^ℓ·(1 − p_v), P = 1 − e^−λ; 1 for runs of one.

    Source: Arratia, Goldstein & Gordon 1990, Stat. Sci. 5(4), §4.

    >>> import numpy as np
    >>> round(compute_chance_of_score_run(np.array([0.5, 0.5]), 100, 10), 3)
    0.086
    """
    if length <= 1 or shares.size == 1:
        return 1.0
    if length > n:
        return 0.0
    powers = shares**length
    return float(-np.expm1(-(powers + (n - length) * powers * (1 - shares)).sum()))


def compute_expected_longest_run(shares: Floats, n: int) -> float:
    """Expected longest run of n independent draws, Σ_ℓ P(run ≥ ℓ); n if there is only one value."""
    if shares.size == 1:
        return float(n)
    total = 0.0
    for length in range(1, n + 1):
        chance = compute_chance_of_score_run(shares, n, length)
        total += chance
        if chance < 1e-12:
            break
    return total


def _heaping(score: Floats, scale: ScoreScale | None) -> tuple[float | None, float | None]:
    """Share of scores that are multiples of ten, and the share of such levels; None if the scale is not a slider."""
    if scale is None or not np.isfinite(scale.maximum - scale.minimum):
        return None, None
    step = scale.step or 1.0
    levels = np.arange(scale.minimum, scale.maximum + step / 2, step)
    if levels.size < SLIDER_LEVELS:
        return None, None
    of_scores, of_levels = (np.isclose(v / ROUND, np.round(v / ROUND), atol=1e-9).mean() for v in (score, levels))
    return float(of_scores), float(of_levels)
