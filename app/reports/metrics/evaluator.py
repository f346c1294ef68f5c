"""Compares the human scores of a campaign with those of its metrics, before and after each change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import TypeAdapter

from app.domain.errors import Invalid
from app.reports.inputs.recipe_input import RecipeInput
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.metrics.view import MEASURES, MetricLine, MetricRobustnessLine
from app.stats.aggregate import ScoreMatrix
from app.stats.metrics.agreement import (
    HumanAndMetricScores,
    SystemLevelAgreement,
    compute_metric_separation_from_scores,
    compute_segment_level_agreement,
    compute_system_level_agreement,
)
from app.stats.plain_values import number_or_none
from app.stats.ratings import Codes, Ratings
from app.stats.robustness.reranking import ScoreChangeExperimentsFromRatings, make_score_matrix_in_ranking_order
from app.stats.robustness.score_changes import Group, ScoreChange, apply_score_change
from app.storage import metric_scores as stored
from app.storage.db import Session

Output = tuple[str, str, int]
Found = tuple[str, Group, list[float | None]]
LINES: TypeAdapter[list[MetricLine]] = TypeAdapter(list[MetricLine])
CHANGED: TypeAdapter[list[Found]] = TypeAdapter(list[Found])


@dataclass(frozen=True, slots=True)
class MetricScores:
    """The scores of one metric, oriented so that higher is better.

    systems: scores of whole systems. outputs: scores of outputs. means: over the outputs of each system.
    """

    name: str
    higher_is_better: bool
    systems: Mapping[str, float]
    outputs: Mapping[Output, float]
    means: Mapping[str, float]


def load_scores_of_all_metrics(session: Session, snapshot: CampaignSnapshot) -> tuple[MetricScores, ...]:
    """Load the metrics of a campaign as they were at the data version."""
    return tuple(
        _metric(session, snapshot, row)
        for row in stored.load_metrics_with_score_counts(session, snapshot.campaign_id, snapshot.version)
    )


def _metric(session: Session, snapshot: CampaignSnapshot, row: stored.Row) -> MetricScores:
    sign = 1.0 if row.higher_is_better else -1.0
    systems: dict[str, float] = {}
    outputs: dict[Output, float] = {}
    for score_row in stored.load_metric_score_set(session, snapshot.campaign_id, row.metric, row.version):
        if score_row.document is None:
            systems[score_row.system] = sign * score_row.score
        else:
            outputs[score_row.system, score_row.document, score_row.position] = sign * score_row.score
    return MetricScores(row.metric, row.higher_is_better, systems, outputs, _system_means(outputs))


def _system_means(outputs: Mapping[Output, float]) -> dict[str, float]:
    scores_by_system: dict[str, list[float]] = {}
    for (system, _, _), score in outputs.items():
        scores_by_system.setdefault(system, []).append(score)
    return {system: sum(scores) / len(scores) for system, scores in scores_by_system.items()}


def hash_metric_scores(metrics: Iterable[MetricScores]) -> str:
    """Return the hash of all scores, independent of their storage format."""
    content = [
        [one.name, one.higher_is_better, sorted(one.systems.items()), sorted(one.outputs.items())] for one in metrics
    ]
    return "sha256:" + hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class MetricEvaluator:
    """What is compared, and how. domains: of documents if the recipe weights by domain, else None."""

    inputs: RecipeInput
    experiments: ScoreChangeExperimentsFromRatings
    metrics: tuple[MetricScores, ...]
    domains: Codes | None
    permutations: int
    seed: int
    by_document: bool
    humans: bool

    def evaluate_on_unchanged_scores(self) -> bytes:
        """Compare every metric with the unchanged human scores."""
        panel = self.make_human_score_matrix(self.experiments.rows, frozenset())
        return LINES.dump_json([self._line(one, panel) for one in self.metrics])

    def evaluate_on_changed_scores(self, changes: Sequence[ScoreChange]) -> bytes:
        """Return the figures for systems after each change, without changes that leave nothing to compare."""
        figures: list[Found] = []
        for change in changes:
            try:
                rows = apply_score_change(self.experiments.rows, change, self.experiments.facts.documents)
                panel = self.make_human_score_matrix(rows, change.unshown)
            except Invalid:
                continue
            if panel.systems.size < 2:
                continue
            for metric in self.metrics:
                accuracies = self._system_agreement(pair_with_human_scores(panel, rows, metric, self.human_better_sign))
                figures.append(
                    (metric.name, change.group, [number_or_none(getattr(accuracies, name)) for name in MEASURES])
                )
        return CHANGED.dump_json(figures)

    @property
    def human_better_sign(self) -> float:
        """1 if a higher human score is better, else −1."""
        return float(self.experiments.rows.better_sign)

    def make_human_score_matrix(self, rows: Ratings, unshown: frozenset[str]) -> ScoreMatrix:
        """Return the human scores of systems and segments; human translations are included only if requested."""
        panel = make_score_matrix_in_ranking_order(rows, self.experiments.recipe, self.domains)
        out = unshown | (frozenset() if self.humans else self.inputs.humans)
        keep = [n for n, code in enumerate(panel.systems.tolist()) if rows.labels.systems[code] not in out]
        return panel.reorder_systems(np.array(keep, dtype=np.intp))

    def _system_agreement(self, scores: HumanAndMetricScores) -> SystemLevelAgreement:
        return compute_system_level_agreement(
            scores, permutations=self.permutations, seed=self.seed, by_document=self.by_document
        )

    def _line(self, metric: MetricScores, panel: ScoreMatrix) -> MetricLine:
        scores = pair_with_human_scores(panel, self.experiments.rows, metric, self.human_better_sign)
        systems, outputs = self._system_agreement(scores), compute_segment_level_agreement(scores)
        ties = outputs.ties
        separation = compute_metric_separation_from_scores(
            scores, permutations=self.permutations, seed=self.seed, by_document=self.by_document
        )
        return MetricLine(
            metric=metric.name,
            higher_is_better=metric.higher_is_better,
            n_systems=systems.n,
            n_pairs=systems.n_pairs,
            spa=number_or_none(systems.spa),
            spa_pairs=systems.spa_pairs,
            accuracy=number_or_none(systems.accuracy),
            pearson=number_or_none(systems.pearson),
            spearman=number_or_none(systems.spearman),
            kendall=number_or_none(systems.kendall),
            n_outputs=outputs.n,
            output_pearson=number_or_none(outputs.pearson),
            output_kendall=number_or_none(outputs.kendall),
            n_items=outputs.n_items,
            item_pearson=number_or_none(outputs.item_pearson),
            item_kendall=number_or_none(outputs.item_kendall),
            acc_eq=None if ties is None else ties.accuracy,
            epsilon=None if ties is None else ties.epsilon,
            acc_without=None if ties is None else ties.plain,
            tied=None if ties is None else ties.n_ties / ties.n_pairs,
            auc_different=number_or_none(separation.different),
            auc_better=number_or_none(separation.better),
            n_apart=separation.n_apart,
        )


def pair_with_human_scores(
    human_scores: ScoreMatrix, rows: Ratings, metric: MetricScores, better_sign: float
) -> HumanAndMetricScores:
    """Pair human and metric scores; a metric without a score for a system uses the mean over its scored outputs."""
    names = rows.labels
    keys = [names.systems[code] for code in human_scores.systems.tolist()]
    places = [
        (names.documents[names.segment_document[g]], int(names.segment_position[g]))
        for g in human_scores.segments.tolist()
    ]
    score = np.array([[metric.outputs.get((key, *at), np.nan) for at in places] for key in keys], dtype=np.float64)
    score = score.reshape(len(keys), len(places))
    scored = np.isfinite(score)
    return HumanAndMetricScores(
        human=better_sign * human_scores.score,
        judged=human_scores.present,
        metric=np.where(scored, score, 0.0),
        scored=scored,
        document=human_scores.document,
        human_system=better_sign * human_scores.system_means(),
        metric_system=np.array([_system_score(metric, key) for key in keys], dtype=np.float64),
    )


def _system_score(metric: MetricScores, key: str) -> float:
    return metric.systems.get(key, metric.means.get(key, float("nan")))


def summarize_metric_robustness(
    chunks: Iterable[bytes], metrics: Sequence[MetricScores], groups: Sequence[Group]
) -> list[MetricRobustnessLine]:
    """Return the minimum and maximum of every figure, by metric and group."""
    figures = [one for part in chunks for one in CHANGED.validate_json(part)]
    lines = []
    for metric in metrics:
        for group in groups:
            own = [values for name, of, values in figures if (name, of) == (metric.name, group)]
            if own:
                ends = {name: _value_range([values[n] for values in own]) for n, name in enumerate(MEASURES)}
                lines.append(MetricRobustnessLine(metric=metric.name, group=group, n=len(own), **ends))
    return lines


def _value_range(values: Sequence[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None
