"""Tests between two metrics of a campaign at a time, with p-values adjusted for the number of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from pydantic import TypeAdapter

from app.reports.metrics.evaluator import MetricEvaluator, MetricScores, pair_with_human_scores
from app.reports.metrics.view import MetricComparisonLine
from app.stats.metrics.metric_comparison import MEASURES, CommonSegmentScores, compare_two_metrics
from app.stats.plain_values import number_or_none
from app.stats.testing.adjust import holm

MOST_METRICS = 12
"""Number of metrics that are tested against one another; the number of pairs grows with its square."""
Two = tuple[MetricScores, MetricScores]
LINES: TypeAdapter[list[MetricComparisonLine]] = TypeAdapter(list[MetricComparisonLine])


def list_metric_pairs(metrics: Sequence[MetricScores]) -> list[Two]:
    """Return the pairs of metrics that have output scores, for the first twelve metrics by name."""
    able = sorted((one for one in metrics if one.outputs), key=lambda one: one.name)[:MOST_METRICS]
    return list(combinations(able, 2))


def compare_metric_pair(evaluator: MetricEvaluator, pair: Two, swaps: int) -> bytes:
    """Test two metrics on the outputs that have a human score and a score of each."""
    panel = evaluator.make_human_score_matrix(evaluator.experiments.rows, frozenset())
    first, second = (
        pair_with_human_scores(panel, evaluator.experiments.rows, metric, evaluator.human_better_sign)
        for metric in pair
    )
    unit = first.document if evaluator.by_document else np.arange(first.document.size)
    common = CommonSegmentScores.from_scores(
        first.human, first.metric, second.metric, first.both_scores_mask & second.scored, unit
    )
    tests = compare_two_metrics(common, permutations=evaluator.permutations, seed=evaluator.seed, swaps=swaps)
    lines = [
        MetricComparisonLine(
            measure=each.measure,
            first=pair[0].name,
            second=pair[1].name,
            value_first=number_or_none(each.first),
            value_second=number_or_none(each.second),
            p_value=number_or_none(each.p_value),
            p_adjusted=None,
            n_segments=common.n_segments,
        )
        for each in tests
    ]
    return LINES.dump_json(lines)


def adjust_metric_pair_p_values(chunks: Iterable[bytes]) -> list[MetricComparisonLine]:
    """Return all tests by measure, with p-values adjusted over the pairs of metrics for each measure."""
    tests = [one for part in chunks for one in LINES.validate_json(part)]
    lines = []
    for measure in MEASURES:
        own = [one for one in tests if one.measure == measure]
        known = [one for one in own if one.p_value is not None]
        adjusted = holm(np.array([one.p_value for one in known], dtype=np.float64)).tolist()
        lines += [one.model_copy(update={"p_adjusted": p}) for one, p in zip(known, adjusted, strict=True)]
        lines += [one for one in own if one.p_value is None]
    return lines
