"""Repeats: how well a rater agrees with their own scores of the same output."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from app.stats.document_draws import iterate_draw_block_sizes
from app.stats.plain_values import number_or_none
from app.stats.quality.monte_carlo_p_values import ExceedanceCount, refine_p_values
from app.stats.quality.pairing import RatingsPairedWithOriginals, pair_with_originals
from app.stats.rating_metadata import RepeatAndDegradedLinks
from app.stats.ratings import Bools, Floats, RatingRole, Ratings, ScoreScale
from app.stats.testing.adjust import benjamini_hochberg

SLACK = 1e-9
"""|a − b| ≤ t + SLACK counts as within t, so that rounding does not decide."""
MARGIN = 1.3
"""Largest noise of an honest rater, as a multiple of the others' noise."""
MIN_OTHERS = 20
DRAWS = 9_999
SEED = 2013
SHARE_OF_SCALE = 0.1
"""Default tolerance: a tenth of the scale, rounded down to whole steps, but at least one step."""


@dataclass(frozen=True, slots=True)
class RepeatConsistency:
    """Repeats of one rater.

    n: pairs of a repeat and its original. mean_difference: mean |Δ| in the protocol's unit. icc: ICC(1) of single
    ratings, None below two pairs or without any variation. within: share of pairs with |Δ| ≤ tolerance. usual: mean |Δ|
    of the other raters; q_value: chance of a mean as large for a rater with up to 1.3 times their distances, over all
    raters (Benjamini–Hochberg); both None where the others have too few repeats.
    """

    n: int
    mean_difference: float
    icc: float | None
    within: float
    tolerance: float
    usual: float | None = None
    q_value: float | None = None


def summarize_repeats(
    ratings: Ratings, links: RepeatAndDegradedLinks, *, tolerance: float | None = None
) -> dict[int, RepeatConsistency]:
    """Agreement of each rater (by code) with their own scores; raters without a repeat are left out.

    Sources: Graham et al. 2013 (repeats); Shrout & Fleiss 1979 (ICC(1), two ratings per item).
    """
    within = choose_default_repeat_tolerance(ratings.scale) if tolerance is None else tolerance
    pairs = pair_with_originals(ratings, links, RatingRole.REPEAT)
    return {
        int(rater): _agreement(*pairs.paired_scores_of_rater(int(rater)), within) for rater in np.unique(pairs.rater)
    }


def add_repeat_q_values(
    by_rater: dict[int, RepeatConsistency],
    pairs: RatingsPairedWithOriginals,
    trusted: Bools,
    *,
    margin: float = MARGIN,
    least: int = 5,
) -> dict[int, RepeatConsistency]:
    """Add a test of each rater who has at least `least` repeats against the repeats of the other raters.

    How far apart two scores of one rater for one output are depends on the scale and the texts, not on a tenth of the
    scale: in the model that raters share, an honest rater has the residual of the others. Honest raters differ in their
    noise, hence the margin. One-sided; chances are from drawing as many distances from those of the others, which
    assumes no distribution.

    Parameters
    ----------
    trusted : by rater code, whose repeats define what is usual.

    Source: Searle, Casella & McCulloch 1992 (the residual of the mixed model); Efron & Tibshirani 1993, ch. 16.
    """
    distance = np.abs(pairs.changed - pairs.original)
    tested = {}
    for rater, agreement in by_rater.items():
        others = distance[(pairs.rater != rater) & trusted[pairs.rater]]
        if agreement.n >= least and others.size >= MIN_OTHERS:
            tested[rater] = (distance[pairs.rater == rater], others)
    chances = refine_p_values(
        {r: _tally(own, margin * others, r) for r, (own, others) in tested.items()},
        lambda r, part: _draws_as_far(tested[r][0], margin * tested[r][1], (SEED, r, part)),
        DRAWS,
    )
    q_values = benjamini_hochberg(np.array(list(chances.values()))).tolist()
    compared = {
        r: replace(by_rater[r], usual=float(others.mean()), q_value=q)
        for (r, (_, others)), q in zip(tested.items(), q_values, strict=True)
    }
    return by_rater | compared


def _tally(own: Floats, others: Floats, rater: int) -> ExceedanceCount:
    near = own.mean() <= others.mean()
    return ExceedanceCount(DRAWS if near else _draws_as_far(own, others, (SEED, rater)), DRAWS)


def _draws_as_far(own: Floats, others: Floats, seed: tuple[int, ...]) -> int:
    rng, reached = np.random.default_rng(seed), own.mean() - SLACK
    return sum(
        int((rng.choice(others, (n, own.size)).mean(axis=1) >= reached).sum())
        for n in iterate_draw_block_sizes(DRAWS, own.size)
    )


def choose_default_repeat_tolerance(scale: ScoreScale | None) -> float:
    """A tenth of the scale in whole steps, at least one step; 1 if the scale has no ends.

    >>> [choose_default_repeat_tolerance(scale) for scale in (ScoreScale(0, 100, 1), ScoreScale(1, 5, 1), None)]
    [10.0, 1.0, 1.0]
    """
    if scale is None or not np.isfinite(scale.maximum - scale.minimum):
        return 1.0
    step = scale.step or 0.0
    wide = SHARE_OF_SCALE * (scale.maximum - scale.minimum)
    return float(max(step, np.floor(wide / step + SLACK) * step)) if step else wide


def _agreement(second: Floats, first: Floats, tolerance: float) -> RepeatConsistency:
    distance = np.abs(second - first)
    return RepeatConsistency(
        n=distance.size,
        mean_difference=float(distance.mean()),
        icc=number_or_none(compute_icc_of_pairs(first, second)),
        within=float((distance <= tolerance + SLACK).mean()),
        tolerance=tolerance,
    )


def compute_icc_of_pairs(first: Floats, second: Floats) -> float:
    """ICC(1) of n items rated twice: (MSB − MSW)/(MSB + MSW); NaN below two items or without variation.

    >>> import numpy as np
    >>> round(compute_icc_of_pairs(np.array([1.0, 2, 3]), np.array([1.0, 3, 3])), 6)
    0.857143
    """
    n = first.size
    if n < 2:
        return float("nan")
    means = (first + second) / 2
    between = 2 * float(((means - means.mean()) ** 2).sum()) / (n - 1)
    inside = float(((first - second) ** 2).sum()) / (2 * n)
    return (between - inside) / (between + inside) if between + inside > SLACK else float("nan")
