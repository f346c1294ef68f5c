"""Does one metric agree with human scores better than another? The permutation test PERM-BOTH.

Under the null hypothesis it does not matter which metric gave a score, so the two scores of each output can be
exchanged independently. Metrics have different scales, so both are standardised first. The observed difference in a
measure is compared with its distribution over such exchanges.

Sources: Deutsch, Dror & Roth 2021, *A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
Methods*, §4.2; used by the WMT metrics shared tasks since 2021. Soft pairwise accuracy: Thompson et al. 2024.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from app.stats.aggregate import Indices
from app.stats.metrics.system_pair_p_values import PERMUTATIONS
from app.stats.ratings import Bools, Floats
from app.stats.testing.permutation import sample_sign_patterns

Measure = Literal["spa", "accuracy", "pearson", "output_pearson"]
MEASURES: Final[tuple[Measure, ...]] = get_args(Measure)
SWAPS = 200
FEWEST_SYSTEMS = 3
_EXCHANGES = 0x5A11  # separates the random stream of exchanges from that of signs under the same seed
_HELD = 500_000
"""Most scores, or permuted sums, of exchanges held at once."""
_SIGNS, _FEWEST_SIGNS = 16_000_000, 100
"""Most signs held, over all permutations and units; fewest permutations."""


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """Two metrics compared by one measure. first, second: values on the common outputs; NaN if undefined.

    p_value: two-sided, (1 + number of exchanges with a difference at least as large)/(B + 1); NaN if a value is NaN.
    Half of it is approximately the one-sided p of the better metric, because exchanges are symmetric.
    """

    measure: Measure
    first: float
    second: float
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class CommonSegmentScores:
    """Scores of the segments for which every system has a human score and both metric scores; higher is better.

    human, first, second: shape (S, G). unit: segments of a unit change sign together in SPA; 0 … U−1, not decreasing,
    shape (G,).
    """

    human: Floats
    first: Floats
    second: Floats
    unit: Indices

    @classmethod
    def from_scores(
        cls, human: Floats, first: Floats, second: Floats, present: Bools, unit: Indices
    ) -> CommonSegmentScores:
        """Select the common segments of scores of shape (S, G); standardise both metrics over all their outputs.

        present : whether an output has all three scores. unit : not decreasing.
        """
        held = present.all(axis=0)
        codes = np.unique(unit[held], return_inverse=True)[1].astype(np.intp)
        return cls(human[:, held], _z_scores(first[:, held]), _z_scores(second[:, held]), codes)

    @property
    def n_segments(self) -> int:
        """Number of common segments, G."""
        return int(self.unit.size)


def _z_scores(scores: Floats) -> Floats:
    if not scores.size:
        return scores
    off = scores - scores.mean()
    spread = float(off.std())
    return np.asarray(off / spread if spread > 1e-12 else off * 0.0, dtype=np.float64)


def compare_two_metrics(
    common: CommonSegmentScores, *, permutations: int, seed: int, swaps: int = SWAPS
) -> tuple[MetricComparison, ...]:
    """Test two metrics by every measure; returns () below three systems or without a common segment.

    `spa`: soft pairwise accuracy. `accuracy`: share of system pairs that are ordered as by humans. `pearson`: over
    system means. `output_pearson`: over all outputs.

    Parameters
    ----------
    permutations : number of sign patterns behind each p of SPA; humans, both metrics and all exchanges share them. At
        most 1,000 are used, and fewer if there are very many units. swaps : number of exchanges.
    """
    if len(common.human) < FEWEST_SYSTEMS or not common.n_segments:
        return ()
    measured = _SwapMeasures(common, permutations, seed)
    first, second = (measured.values(scores[None]) for scores in (common.first, common.second))
    observed = {name: float(first[name][0] - second[name][0]) for name in MEASURES}
    beyond = dict.fromkeys(MEASURES, 0)
    for masks in sample_swap_masks(common.human.shape, swaps, seed, measured.at_once):
        mine, theirs = (measured.values(scores) for scores in swap_metric_scores(common, masks))
        for name in MEASURES:
            distance = np.abs(np.nan_to_num(mine[name]) - np.nan_to_num(theirs[name]))
            beyond[name] += int((distance >= abs(observed[name]) - 1e-9).sum())
    return tuple(
        MetricComparison(
            measure=name,
            first=float(first[name][0]),
            second=float(second[name][0]),
            p_value=(1 + beyond[name]) / (1 + swaps) if np.isfinite(observed[name]) else float("nan"),
        )
        for name in MEASURES
    )


def sample_swap_masks(shape: tuple[int, ...], swaps: int, seed: int, at_once: int) -> Iterator[Bools]:
    """Yield masks of the outputs whose scores are swapped in each exchange, in blocks of shape (b, S, G).

    Every exchange uses whole 64-bit words of one generator, so the block size does not change the result. The signs of
    SPA come from another generator; with the same bits, exchanges would depend on the signs that evaluate them.
    """
    outputs = int(np.prod(shape))
    own = int(np.random.SeedSequence([seed, _EXCHANGES]).generate_state(1, np.uint64)[0])
    for drawn in sample_sign_patterns(outputs, swaps, own, at_once):
        yield np.asarray(drawn > 0, dtype=np.bool_).reshape(-1, *shape)


def swap_metric_scores(common: CommonSegmentScores, masks: Bools) -> tuple[Floats, Floats]:
    """Return the scores of the two metrics after each exchange, shape (b, S, G) each."""
    return (
        np.where(masks, common.second, common.first),
        np.where(masks, common.first, common.second),
    )


class _SwapMeasures:
    """Computes the measures of many scorings of the same outputs at once, against the same human scores."""

    def __init__(self, common: CommonSegmentScores, permutations: int, seed: int) -> None:
        self.human, self.means = common.human, common.human.mean(axis=1)
        self.pairs = np.triu_indices(len(self.means), 1)
        self.starts = np.flatnonzero(np.diff(common.unit, prepend=-1))
        signs = min(permutations, PERMUTATIONS, max(_FEWEST_SIGNS, _SIGNS // self.starts.size))
        self.flips = next(sample_sign_patterns(self.starts.size, signs, seed, signs))
        systems, segments = common.human.shape
        self.at_once = max(1, _HELD // (systems * max(segments, signs)))
        self.ordered = np.sign(np.round(self.means[self.pairs[0]] - self.means[self.pairs[1]], 10))
        self.p_human = self._p_values(common.human[None])[0]

    def values(self, scores: Floats) -> dict[Measure, Floats]:
        """Compute every measure for scorings of shape (b, S, G); shape (b,), NaN if undefined."""
        means = scores.mean(axis=2)
        known = self.ordered != 0
        metric_sign = np.sign(np.round(means[:, self.pairs[0]] - means[:, self.pairs[1]], 10))
        alike = (metric_sign == self.ordered)[:, known]
        flat = scores.reshape(len(scores), -1)
        return {
            "spa": 1 - np.abs(self._p_values(scores) - self.p_human).mean(axis=1),
            "accuracy": alike.mean(axis=1) if known.any() else np.full(len(scores), np.nan),
            "pearson": _pearson_of_rows(means, self.means),
            "output_pearson": _pearson_of_rows(flat, self.human.ravel()),
        }

    def _p_values(self, scores: Floats) -> Floats:
        """One-sided p of every pair for each scoring, shape (b, pairs); see `compute_system_pair_p_values`."""
        sums = np.add.reduceat(scores, self.starts, axis=2).transpose(1, 0, 2)
        whole = sums.sum(axis=2)
        # One product for all; systems come first, so that the rows subtracted below are contiguous.
        kept = (sums.reshape(-1, self.starts.size) @ self.flips.T).reshape(*whole.shape, -1)
        p_values = np.empty((len(scores), self.pairs[0].size))
        for k, (i, j) in enumerate(zip(*self.pairs, strict=True)):
            observed = whole[i] - whole[j]
            # The permuted sum of a system is twice the part that keeps its sign minus the total.
            least = observed - 1e-9 * np.maximum(1.0, np.abs(observed))
            p_values[:, k] = np.count_nonzero(kept[i] - kept[j] >= (least + observed)[:, None] / 2, axis=1)
        return np.asarray(p_values / len(self.flips), dtype=np.float64)


def _pearson_of_rows(rows: Floats, human: Floats) -> Floats:
    """Pearson's correlation of each row with the human scores, NaN if either is constant."""
    x, y = rows - rows.mean(axis=1, keepdims=True), human - human.mean()
    size = np.sqrt((x * x).sum(axis=1) * float(y @ y))
    return np.asarray(np.divide(x @ y, size, out=np.full(len(x), np.nan), where=size > 1e-10), dtype=np.float64)
