"""Agreement of one metric with human scores: on systems, on pairs of systems, and on outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from app.stats.aggregate import Indices
from app.stats.agreement.pairs import kendall_tau, pearson
from app.stats.agreement.soft_pairwise import soft_pairwise_accuracy
from app.stats.metrics.separation import MetricSeparation, compute_metric_separation_from_pairs
from app.stats.metrics.system_pair_p_values import SystemPairPValues, compute_system_pair_p_values
from app.stats.metrics.ties import TieCalibratedAccuracy, tie_calibrated_accuracy
from app.stats.ratings import Bools, Floats

MEASURES: Final = ("spa", "accuracy", "pearson", "spearman", "kendall")
"""System-level measures that are tracked over changes of the human ranking."""


@dataclass(frozen=True, slots=True)
class HumanAndMetricScores:
    """Human scores and the scores of one metric; higher is better, and rows are systems.

    human, metric: of outputs, shape (systems, segments), 0 where missing. judged, scored: whether each exists.
    document: of each segment, 0 … D−1. human_system, metric_system: of systems, shape (systems,), NaN where missing.
    """

    human: Floats
    judged: Bools
    metric: Floats
    scored: Bools
    document: Indices
    human_system: Floats
    metric_system: Floats

    @property
    def both_scores_mask(self) -> Bools:
        """Mask of the outputs that have both scores, shape (systems, segments)."""
        return self.judged & self.scored


@dataclass(frozen=True, slots=True)
class SystemLevelAgreement:
    """NaN where undefined. n: systems with both scores. n_pairs: pairs behind `accuracy`. spa_pairs: behind `spa`."""

    spa: float
    accuracy: float
    pearson: float
    spearman: float
    kendall: float
    n: int
    n_pairs: int
    spa_pairs: int


@dataclass(frozen=True, slots=True)
class SegmentLevelAgreement:
    """Correlations over all outputs, and means over segments (items) of correlations within each; NaN if undefined.

    ties: acc*eq, None without a pair.
    """

    n: int
    pearson: float
    kendall: float
    n_items: int
    item_pearson: float
    item_kendall: float
    ties: TieCalibratedAccuracy | None


def compute_system_level_agreement(
    scores: HumanAndMetricScores, *, permutations: int, seed: int, by_document: bool = True
) -> SystemLevelAgreement:
    """Compute SPA, pairwise accuracy and correlations over systems.

    SPA tests both scores on the outputs that have both. Pairwise accuracy and correlations use system scores. Pairs
    with equal human scores have no order, so accuracy leaves them out.

    Sources: Thompson et al. 2024, §3; Kocmi et al. 2021, §4.
    """
    both = np.isfinite(scores.human_system) & np.isfinite(scores.metric_system)
    human, metric = scores.human_system[both], scores.metric_system[both]
    accuracy, n_pairs = compute_pairwise_accuracy_and_count(human, metric)
    spa, spa_pairs = _spa(scores, permutations, seed, by_document=by_document)
    return SystemLevelAgreement(
        spa=spa,
        accuracy=accuracy,
        pearson=pearson(human, metric),
        spearman=spearman(human, metric),
        kendall=kendall_tau(human, metric),
        n=int(both.sum()),
        n_pairs=n_pairs,
        spa_pairs=spa_pairs,
    )


def spearman(x: Floats, y: Floats) -> float:
    """Pearson's correlation of mid-ranks; values equal to 10 decimals are ties. NaN if either is constant."""
    from scipy.stats import rankdata

    return pearson(rankdata(np.round(x, 10)), rankdata(np.round(y, 10)))


def compute_pairwise_accuracy_and_count(human: Floats, metric: Floats) -> tuple[float, int]:
    """Share of pairs that both order alike (a metric tie is wrong), and the number of pairs; NaN without a pair.

    >>> compute_pairwise_accuracy_and_count(np.array([3.0, 2.0, 1.0, 1.0]), np.array([0.9, 0.9, 0.2, 0.1]))
    (0.8, 5)
    """
    first, second = np.triu_indices(human.size, 1)
    order = np.sign(np.round(human[first] - human[second], 10))
    metric_sign = np.sign(np.round(metric[first] - metric[second], 10))
    known = order != 0
    n = int(known.sum())
    return (float((order[known] == metric_sign[known]).mean()) if n else float("nan")), n


def _spa(scores: HumanAndMetricScores, permutations: int, seed: int, *, by_document: bool) -> tuple[float, int]:
    human, metric = compute_human_and_metric_p_values(scores, permutations, seed, by_document=by_document)
    known = np.isfinite(human.p) & np.isfinite(metric.p)
    return soft_pairwise_accuracy(human.p[known], metric.p[known]), int(known.sum())


def compute_metric_separation_from_scores(
    scores: HumanAndMetricScores, *, permutations: int, seed: int, by_document: bool = True
) -> MetricSeparation:
    """Measure how well the metric's system scores separate the pairs of systems that humans separate.

    Human scores are tested on all judged outputs, so a metric that has only system scores gets results too.
    """
    human = compute_system_pair_p_values(
        scores.human, scores.judged, _unit(scores, by_document), permutations=permutations, seed=seed
    )
    return compute_metric_separation_from_pairs(
        human, scores.metric_system[human.first] - scores.metric_system[human.second]
    )


def _unit(scores: HumanAndMetricScores, by_document: bool) -> Indices:
    return scores.document if by_document else np.arange(scores.document.size)


def compute_human_and_metric_p_values(
    scores: HumanAndMetricScores, permutations: int, seed: int, *, by_document: bool
) -> tuple[SystemPairPValues, SystemPairPValues]:
    """p-values of every pair of systems for human scores and for the metric, on the same outputs with the same signs.

    by_document : exchange the systems on whole documents, else on single segments.
    """
    unit = _unit(scores, by_document)
    return (
        compute_system_pair_p_values(scores.human, scores.both_scores_mask, unit, permutations=permutations, seed=seed),
        compute_system_pair_p_values(
            scores.metric, scores.both_scores_mask, unit, permutations=permutations, seed=seed
        ),
    )


def compute_segment_level_agreement(scores: HumanAndMetricScores) -> SegmentLevelAgreement:
    """Compute correlations over outputs and within segments, and accuracy with ties.

    Source: Deutsch, Foster & Freitag 2023, §2 (no grouping, group by item).
    """
    both = scores.both_scores_mask
    human, metric = scores.human[both], scores.metric[both]
    items = [(scores.human[at, g], scores.metric[at, g]) for g, at in enumerate(both.T) if at.sum() > 1]
    within = np.array([(pearson(h, m), kendall_tau(h, m)) for h, m in items]).reshape(-1, 2)
    return SegmentLevelAgreement(
        n=int(both.sum()),
        pearson=pearson(human, metric),
        kendall=kendall_tau(human, metric),
        n_items=len(items),
        item_pearson=_mean(within[:, 0]),
        item_kendall=_mean(within[:, 1]),
        ties=tie_calibrated_accuracy(scores.human, scores.metric, both),
    )


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
