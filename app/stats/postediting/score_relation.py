"""Post-edits and direct scores of the same outputs: correlation, reference bias, and where they disagree.

Source: Bentivogli et al. 2018, §5, table 2 and figure 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from app.stats.agreement.pairs import pearson
from app.stats.ratings import Bools, Floats

FEWEST = 3
"""With fewer segments no correlation is given."""
NEAREST = 1 - 1e-12
FAR_RESIDUAL = 2.0
Rule = Literal["median", "tercile", "residual"]


def correlate_rates_and_scores(rates: Floats, scores: Floats) -> float:
    """Pearson's r over segments that have both; NaN with fewer than FEWEST, or if either does not vary.

    rates, scores : NaN where missing, shape (segments,).
    """
    both = np.isfinite(rates) & np.isfinite(scores)
    return float(pearson(rates[both], scores[both])) if both.sum() >= FEWEST else float("nan")


def compute_fisher_mean_correlation(correlations: Floats, n: Floats | None = None) -> float:
    """Mean of correlations by Fisher's z, NaN if there is none; those that are NaN are left out.

    n : numbers of cases behind them, for weights n − 3; None gives equal weights. r = ±1 counts as ±(1 − 1e-12).

    Source: Fisher 1921; Bentivogli et al. 2018, §5.

    >>> round(compute_fisher_mean_correlation(np.array([-0.5812, -0.50, -0.54])), 7)
    -0.5412427
    """
    known = np.isfinite(correlations)
    weights = np.ones(correlations.size) if n is None else np.maximum(n - 3.0, 0.0)
    weights = weights * known
    if not weights.sum():
        return float("nan")
    z = np.arctanh(np.clip(np.where(known, correlations, 0.0), -NEAREST, NEAREST))
    return float(np.tanh((z * weights).sum() / weights.sum()))


@dataclass(frozen=True, slots=True)
class ReferenceBiasOfHumanScores:
    """Effect of a reference on scores.

    mter: |r(source-based, mTER)| − |r(reference-based, mTER)|. external: |r(reference-based, TER external)| −
    |r(source-based, TER external)|. If they are above 0, reference-based scores reflect the quality that post-edits
    show less well than source-based ones, and follow the reference more.
    """

    mter: float
    external: float


def compute_reference_bias(source: tuple[float, float], reference: tuple[float, float]) -> ReferenceBiasOfHumanScores:
    """Compute the reference bias from (r with mTER, r with TER external) of each; NaN if one of them is.

    >>> found = compute_reference_bias((-0.5466, -0.1918), (-0.4491, -0.3579))  # Bentivogli et al. 2018, table 2, NlDe
    >>> round(found.mter, 4), round(found.external, 4)
    (0.0975, 0.1661)
    """
    return ReferenceBiasOfHumanScores(abs(source[0]) - abs(reference[0]), abs(reference[1]) - abs(source[1]))


@dataclass(frozen=True, slots=True)
class ScoreEditConflicts:
    """Segments of one system with few edits and a low score, or many edits and a high one; arrays of shape (n,).

    low: few edits and a low score. high: many edits and a high score. residual: of the score given the rate, in
    standard deviations; 0 if there is no regression line.
    """

    low: Bools
    high: Bools
    residual: Floats


def find_score_edit_conflicts(rates: Floats, scores: Floats, rule: Rule) -> ScoreEditConflicts:
    """Find segments where post-edits and scores of one system disagree.

    rule : `median`: both strictly on one side of their medians; `tercile`: both in their outer thirds; `residual`: more
        than 2 standard deviations from the line of scores on rates.
    rates, scores : of segments that have both; higher scores are better.
    """
    residual = compute_standardized_residuals(rates, scores)
    if rule == "residual":
        return ScoreEditConflicts(residual < -FAR_RESIDUAL, residual > FAR_RESIDUAL, residual)
    if not rates.size:
        return ScoreEditConflicts(np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_), residual)
    ends = (50.0, 50.0) if rule == "median" else (100 / 3, 200 / 3)
    few, many = np.percentile(rates, ends)
    low, high = np.percentile(scores, ends)
    return ScoreEditConflicts(
        cast("Bools", (rates < few) & (scores < low)), cast("Bools", (rates > many) & (scores > high)), residual
    )


def compute_standardized_residuals(rates: Floats, scores: Floats) -> Floats:
    """Residuals of the regression of scores on rates over their standard deviation (n − 2 degrees of freedom).

    0 if there is no regression line: fewer than FEWEST segments, rates that do not vary, or no residuals.
    """
    nothing = np.zeros(rates.size)
    if rates.size < FEWEST:
        return nothing
    apart = rates - rates.mean()
    spread = float(apart @ apart)
    if spread <= 0:
        return nothing
    residual = scores - scores.mean() - apart * (float(apart @ (scores - scores.mean())) / spread)
    sd = float(np.sqrt(residual @ residual / (rates.size - 2)))
    return np.asarray(residual / sd, dtype=np.float64) if sd > NEAREST * 1e-9 else nothing
