"""Control items: does a rater score the degraded copy of an output worse than the output itself?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from app.domain.errors import Invalid, Place
from app.stats.aggregate import round_scores
from app.stats.plain_values import number_or_none
from app.stats.quality.pairing import RatingsPairedWithOriginals, pair_with_originals
from app.stats.quality.quality_criteria import ALPHA, MIN_PAIRS, TESTS, ControlAdjust, ControlTestName
from app.stats.rating_metadata import RepeatAndDegradedLinks
from app.stats.ratings import Floats, RatingRole, Ratings
from app.stats.testing.adjust import adjust_p_values
from app.stats.testing.paired import wilcoxon_signed_rank
from app.stats.testing.unpaired import wilcoxon_rank_sum

Verdict = Literal["pass", "fail", "not_testable"]
MOST_EXACT = 50
MOST_MISSED = 0.05
"""Largest chance of failing a rater who works like those who passed; above it, the test fails no rater."""
MIN_POOL = 20
DRAWS = 199
SEED = 2016


@dataclass(frozen=True, slots=True)
class RaterControlTest:
    """The test of one rater.

    n_pairs: degraded items with a rated original. n_unmatched: degraded judgments without one.
    statistic: t of the paired t test, W⁺ of the signed-rank test, U of the rank-sum test, each of degraded against
    original, oriented so that a small one speaks for the rater. mean_difference: degraded − original in the protocol's
    own unit. share_worse: pairs whose degraded item was scored worse, ties counting none.
    p_value: one-sided; q_value: adjusted over the raters that could be tested. verdict, why: `not_testable` says why.
    missed: chance that a rater fails with as many pairs who works like those who passed, of a rater who did not pass;
    None where fewer than 20 pairs of others tell it.
    """

    n_pairs: int
    n_unmatched: int
    statistic: float | None
    p_value: float | None
    q_value: float | None
    mean_difference: float | None
    share_worse: float | None
    verdict: Verdict
    why: str | None = None
    missed: float | None = None


@dataclass(frozen=True, slots=True)
class _SampleTest:
    """Statistic and one-sided p of one sample of pairs."""

    statistic: float
    p_value: float


def run_control_tests(
    ratings: Ratings,
    links: RepeatAndDegradedLinks,
    *,
    test: ControlTestName = "signed_rank",
    min_pairs: int = MIN_PAIRS,
    adjust: ControlAdjust = "bh",
    alpha: float = ALPHA,
    only: int | None = None,
) -> dict[int, RaterControlTest]:
    """Test every rater (by code) who judged a degraded item, one-sided: it was scored worse than its original.

    A rater passes if the adjusted p is below `alpha`. With fewer than `min_pairs` pairs there is no verdict, and the
    rater does not count in the family. There is also no verdict if more than 5 % of raters who work like those who
    passed would fail: few pairs, or pairs that hardly differ, are not evidence against a rater. The direction of worse
    scores is that of `ratings.higher_is_better`.

    Parameters
    ----------
    test : `signed_rank`, exact up to 50 pairs, zeros dropped; `paired_t`; `rank_sum`, asymptotic with continuity
        correction, where an original's score is the mean of it and its repeats, as in Appraise.
    adjust : over the tested raters: `bh` (q-values), `holm` or `none`.

    Raises
    ------
    Invalid : an unknown test, or `min_pairs` below 2.

    Sources: Graham et al. 2013, 2016 (NLE 23(1)); Appraise (rank-sum); Efron & Tibshirani 1993 (draws).
    """
    if test not in TESTS:
        raise Invalid("the question is not valid", places=(Place(("query", "test"), f"must be one of {TESTS}"),))
    if min_pairs < 2:
        raise Invalid("the question is not valid", places=(Place(("query", "min_pairs"), "must be 2 or more"),))
    pairs = pair_with_originals(ratings, links, RatingRole.DEGRADED, with_repeats=test == "rank_sum")
    raters = np.union1d(np.unique(pairs.rater), np.flatnonzero(pairs.unmatched))
    sign = ratings.better_sign
    tested = {int(r): _test_or_reason(*pairs.paired_scores_of_rater(int(r)), sign, test, min_pairs) for r in raters}
    testable = [rater for rater, one in tested.items() if isinstance(one, _SampleTest)]
    family = np.array([one.p_value for one in tested.values() if isinstance(one, _SampleTest)])
    q_values = dict(zip(testable, adjust_p_values(family, adjust).tolist(), strict=True))
    passed = [rater for rater, q in q_values.items() if q < alpha]
    tests = {}
    for rater, outcome in tested.items():
        if only is not None and rater != only:
            continue
        q = q_values.get(rater)
        missed = None
        if isinstance(outcome, _SampleTest) and q is not None and q >= alpha:
            limit = alpha * outcome.p_value / q
            missed = _share_failing(pairs, rater, passed, sign, test, limit)
        tests[rater] = _verdict(pairs, rater, outcome, q, sign, alpha, missed)
    return tests


def _share_failing(
    pairs: RatingsPairedWithOriginals, rater: int, passed: list[int], sign: int, test: ControlTestName, limit: float
) -> float | None:
    """Share of draws of as many pairs, from those of the raters who passed, whose p is not below a limit."""
    n = pairs.paired_scores_of_rater(rater)[0].size
    theirs = np.flatnonzero(np.isin(pairs.rater, passed))
    if theirs.size < MIN_POOL:
        return None
    drawn = np.random.default_rng((SEED, rater)).choice(theirs, (DRAWS, n))
    tests = [
        run_degraded_below_original_test(sign * pairs.changed[rows], sign * pairs.original[rows], test)
        for rows in drawn
    ]
    return float(np.mean([one is None or one.p_value >= limit for one in tests]))


def _verdict(
    pairs: RatingsPairedWithOriginals,
    rater: int,
    outcome: _SampleTest | str,
    q: float | None,
    sign: int,
    alpha: float,
    missed: float | None,
) -> RaterControlTest:
    changed, original = pairs.paired_scores_of_rater(rater)
    difference = round_scores(changed - original)
    weak = missed is not None and missed > MOST_MISSED
    verdict: Verdict = "not_testable" if q is None or weak else "pass" if q < alpha else "fail"
    why = (
        f"with {difference.size} pairs, {missed:.0%} of raters who work like those who passed would fail"
        if weak
        else None
    )
    return RaterControlTest(
        n_pairs=difference.size,
        n_unmatched=int(pairs.unmatched[rater]),
        statistic=number_or_none(outcome.statistic) if isinstance(outcome, _SampleTest) else None,
        p_value=outcome.p_value if isinstance(outcome, _SampleTest) else None,
        q_value=q,
        mean_difference=float(difference.mean()) if difference.size else None,
        share_worse=float((sign * difference < 0).mean()) if difference.size else None,
        verdict=verdict,
        why=why if isinstance(outcome, _SampleTest) else str(outcome),
        missed=missed,
    )


def _test_or_reason(
    changed: Floats, original: Floats, sign: int, test: ControlTestName, min_pairs: int
) -> _SampleTest | str:
    if changed.size < min_pairs:
        return f"{changed.size} of at least {min_pairs} pairs"
    result = run_degraded_below_original_test(sign * changed, sign * original, test)
    return "all differences are the same" if result is None else result


def run_degraded_below_original_test(changed: Floats, original: Floats, test: ControlTestName) -> _SampleTest | None:
    """Statistic and p for `changed` being smaller than `original`; None if the test is undefined.

    >>> import numpy as np
    >>> original = np.array([80.0, 72, 65, 90, 55, 77, 83, 68, 71, 60])
    >>> bad = np.array([40.0, 75, 30, 62, 50, 20, 81, 33, 45, 25])
    >>> names = ("signed_rank", "paired_t", "rank_sum")
    >>> [round(run_degraded_below_original_test(bad, original, test).p_value, 10) for test in names]
    [0.0029296875, 0.0009684341, 0.0056648483]
    """
    difference = round_scores(changed - original)
    if test == "rank_sum":
        return _SampleTest(_u(changed, original), wilcoxon_rank_sum(changed, original).less)
    if test == "signed_rank":
        kept = difference[difference != 0][None, :]
        if not kept.size:
            return _SampleTest(0.0, 1.0)
        result = wilcoxon_signed_rank(kept, method="exact" if kept.size <= MOST_EXACT else "asymptotic")
        return _SampleTest(_w_plus(kept[0]), float(result.less[0]))
    return _t(difference)


def _t(difference: Floats) -> _SampleTest | None:
    n = difference.size
    error = float(difference.std(ddof=1)) / np.sqrt(n) if n > 1 else 0.0
    if np.round(error, 10) == 0:
        return None
    t = float(difference.mean()) / error
    return _SampleTest(t, float(scipy.special.stdtr(n - 1, t)))


def _w_plus(difference: Floats) -> float:
    size = np.abs(difference)
    below, up_to = (np.searchsorted(np.sort(size), size, side=side) for side in ("left", "right"))
    ranks = (below + up_to + 1) / 2
    return float(ranks[difference > 0].sum())


def _u(changed: Floats, original: Floats) -> float:
    ordered = np.sort(round_scores(original))
    values = round_scores(changed)
    return float((np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")).sum() / 2)
