"""May the candidate replace the baseline? One claim about one pair, decided by confidence bounds.

better: the one-sided lower bound of the difference is above 0. not_worse: it is above −margin. equivalent: both
bounds are within ±margin, which amounts to two one-sided tests (TOST). Bounds use Student's t, or Hall's correction for
skewness over documents if that is more conservative.

Sources: Schuirmann 1987 (J. Pharmacokin. Biopharm. 15, TOST); Wellek 2010, ch. 1; Hall 1992 (skewness).
docs/gate.md explains the claims, docs/statistics.md the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from app.domain.errors import Invalid
from app.stats.aggregate import Indices, ScoreMatrix, round_scores
from app.stats.gate.skewness import SkewCorrectedMean, skewness
from app.stats.inference.by_document import EstimatePrecision, estimate_difference_precision, estimate_ratio_precision
from app.stats.ratings import Floats
from app.stats.testing.pair_tests import FEWEST_DOCUMENTS

Claim = Literal["better", "not_worse", "equivalent"]
Verdict = Literal["better", "worse", "not_worse", "equivalent", "inconclusive", "no_data"]
CONSTANT = "the difference is the same on every document, so it has no standard error and cannot be tested"


@dataclass(frozen=True, slots=True)
class GateRule:
    """A claim about the candidate. margin: above 0, for not_worse and equivalent. alpha: of each one-sided test.

    Raises Invalid if alpha is not between 0 and 0.5, or if a claim that needs a margin has none above 0.
    """

    claim: Claim = "better"
    margin: float = 0.0
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:
            raise Invalid("alpha must lie between 0 and 0.5")
        if self.claim != "better" and not (isfinite(self.margin) and self.margin > 0):
            raise Invalid(f"the claim {self.claim} needs a margin above 0")


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The verdict of the data on a claim.

    holds: whether the data support the claim. p_value: the smallest level at which they do; None if the standard error
    is 0. difference: candidate minus baseline, positive if the candidate is better. low, high: one-sided bounds at
    alpha, that is the ends of the 1 − 2·alpha interval. documents: number behind the difference. skewness: of the
    differences by document. why: the reason for no_data or for a missing p-value.
    """

    verdict: Verdict
    holds: bool
    p_value: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    documents: int = 0
    why: str | None = None
    skewness: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SystemDifferenceByDocument:
    """The difference of two systems by document; Σsums/Σweights is the overall difference.

    precision: of the overall difference. segments: number behind it. paired: whether they are common segments.
    """

    sums: Floats
    weights: Floats
    precision: EstimatePrecision
    segments: int
    paired: bool


def compute_system_difference_by_document(
    panel: ScoreMatrix, candidate: int, baseline: int, sign: int, *, paired: bool
) -> SystemDifferenceByDocument:
    """Compute how far the candidate is ahead on each document.

    Parameters
    ----------
    candidate, baseline : rows of the panel. sign : +1 if a larger score is better, else −1.
    paired : use common segments: sums d_D with the number (or weight) of the segments. Otherwise each system keeps its
        own score; each value is the difference of the scores plus the deviation of the document, with weight 1.
    """
    if paired:
        both = panel.present[candidate] & panel.present[baseline]
        weights = panel.segment_weights(both)
        ahead = np.where(both, sign * (panel.score[candidate] - panel.score[baseline]) * weights, 0.0)
        sums, held = (np.add.reduceat(x, panel.starts) for x in (ahead, weights))
        sums, held = sums[held > 0], held[held > 0]
        return SystemDifferenceByDocument(
            sums, held, estimate_ratio_precision(sums, held), int(both.sum()), paired=True
        )
    sums, counts = sign * panel.document_sums(), panel.document_weights()
    either = (counts[candidate] > 0) | (counts[baseline] > 0)
    n = int(either.sum())
    deviation = np.zeros(n)
    for row, turn in ((candidate, 1), (baseline, -1)):
        total = counts[row].sum()
        deviation += turn * n * ((sums[row] - counts[row] * (sums[row].sum() / total)) / total)[either]
    means = sign * panel.system_means()
    known = estimate_difference_precision((sums[candidate], sums[baseline]), (counts[candidate], counts[baseline]))
    segments = int(panel.present[candidate].sum() + panel.present[baseline].sum())
    return SystemDifferenceByDocument(
        means[candidate] - means[baseline] + deviation, np.ones(n), known, segments, paired=False
    )


def decide_claim(
    sums: Floats, weights: Indices | Floats, rule: GateRule, precision: EstimatePrecision | None = None
) -> GateDecision:
    """Decide a claim by Student's t over documents, corrected for skewness if that is more conservative.

    Parameters
    ----------
    sums, weights : from `compute_system_difference_by_document`, shape (D,).
    precision : precision of the difference, from the same function; None computes it from sums and weights.

    With fewer than six documents the verdict is no_data. If every document has the same difference, the standard error
    is 0: a margin is then compared with the difference itself, and the claim `better` is inconclusive.

    Examples
    --------
    >>> found = decide_claim(np.array([3.0, 1, 2, 4, 2, 3, 1, 2]), np.ones(8), GateRule("not_worse", 0.5))
    >>> found.verdict, round(found.p_value, 6), round(found.low, 3)
    ('not_worse', 6.8e-05, 1.557)
    """
    documents = int((np.asarray(weights) > 0).sum())
    if documents < FEWEST_DOCUMENTS:
        return make_no_data_gate_decision(documents)
    counts = np.asarray(weights, dtype=np.float64)
    difference = float(round_scores(np.asarray(sums.sum() / counts.sum())))
    precision = estimate_ratio_precision(sums, counts) if precision is None else precision
    error = float(precision.error)
    if round(error, 10) == 0:
        verdict: Verdict = "inconclusive" if rule.claim == "better" else _verdict(difference, difference, rule)
        ends = difference, difference
        return GateDecision(verdict, verdict == rule.claim, None, difference, *ends, error, documents, CONSTANT)
    skew = skewness(sums - counts * difference)
    bounds = SkewCorrectedMean(difference, error, float(precision.degrees), documents, skew)
    low, high = bounds.lower_bound(rule.alpha), bounds.upper_bound(rule.alpha)
    verdict = _verdict(low, high, rule)
    p = _p_value(bounds, rule)
    return GateDecision(verdict, verdict == rule.claim, p, difference, low, high, error, documents, None, bounds.skew)


def make_no_data_gate_decision(documents: int = 0, why: str | None = None) -> GateDecision:
    """Return no_data because there are too few documents, or for the given reason."""
    if why is not None:
        return GateDecision("no_data", holds=False, documents=documents, why=why)
    have = f"{documents or 'no'} document{'' if documents < 2 else 's'}"
    why = f"{have} to compare on: at least {FEWEST_DOCUMENTS} are needed"
    return GateDecision("no_data", holds=False, documents=documents, why=why)


def _verdict(low: float, high: float, rule: GateRule) -> Verdict:
    """What the bounds show; unless inconclusive, a verdict other than the claim contradicts it."""
    margin = rule.margin
    if rule.claim == "better":
        return "better" if low > 0 else "worse" if high < 0 else "inconclusive"
    if rule.claim == "not_worse":
        return "not_worse" if low > -margin else "worse" if high < -margin else "inconclusive"
    if -margin < low and high < margin:
        return "equivalent"
    return "better" if low > margin else "worse" if high < -margin else "inconclusive"


def _p_value(mean: SkewCorrectedMean, rule: GateRule) -> float:
    if rule.claim == "better":
        return mean.p_value_above(0.0)
    from_below = mean.p_value_above(-rule.margin)
    return from_below if rule.claim == "not_worse" else max(from_below, mean.p_value_below(rule.margin))
