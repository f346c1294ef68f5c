"""How well automatic metrics agree with the human scores of a campaign, and how far that depends on these scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StringConstraints

from app.reports.inputs.recipe_input import NOTHING, RecipeAndSeedOptions, RecipeInput, load_recipe_input
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.metrics.charts import plot_metric_accuracies_under_changes
from app.reports.metrics.evaluator import (
    LINES,
    MetricEvaluator,
    MetricScores,
    hash_metric_scores,
    load_scores_of_all_metrics,
    summarize_metric_robustness,
)
from app.reports.metrics.metric_pairs import (
    MOST_METRICS,
    adjust_metric_pair_p_values,
    compare_metric_pair,
    list_metric_pairs,
)
from app.reports.metrics.view import MetricsView, make_caption, make_csv_rows, make_tables
from app.reports.robustness.report import AT_ONCE, GROUPS_PATTERN, parse_score_change_groups
from app.stats.metrics.metric_comparison import SWAPS
from app.stats.metrics.system_pair_p_values import PERMUTATIONS
from app.stats.ratings import Codes
from app.stats.robustness.reranking import ScoreChangeExperimentsFromRatings
from app.stats.robustness.score_changes import Group
from app.storage.db import Session

NO_METRICS = "no scores of automatic metrics are stored: PUT /v1/campaigns/CAMPAIGN/metrics/NAME stores them"
FEW_SYSTEMS = 5
CHANGES: tuple[Group, ...] = ("references", "lowest", "highest", "degraded", "inflated", "system", "rater", "domain")


class MetricsOptions(RecipeAndSeedOptions):
    """The recipe, and the changes of the human scores that are examined."""

    permutations: int = Field(
        PERMUTATIONS, ge=100, le=20_000, description="Permutations for each p of SPA.", examples=[1000]
    )
    unit: Literal["document", "segment"] = Field("document", description="What is swapped as a whole.")
    humans: bool = Field(
        default=False, description="Also compare human translations, which metrics may use as references."
    )
    swaps: int = Field(
        SWAPS,
        ge=0,
        le=1000,
        description="Number of score permutations for each test between two metrics; 0 for no tests.",
    )
    changes: Annotated[str, StringConstraints(pattern=GROUPS_PATTERN)] | Literal["none"] = Field(
        ",".join(CHANGES), description="Kinds of change, separated by commas, as in the robustness report; or none."
    )


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: MetricsOptions
) -> ReportComputation[MetricsView]:
    groups = () if options.changes == "none" else parse_score_change_groups(options.changes)
    inputs, metrics = (
        load_recipe_input(session, snapshots[0], options),
        load_scores_of_all_metrics(session, snapshots[0]),
    )
    experiments = ScoreChangeExperimentsFromRatings.from_ratings(
        inputs.rows, inputs.recipe, inputs.humans, inputs.documents
    )
    if not metrics or not experiments.facts.order:
        return make_undivided_computation(lambda: _view(inputs, experiments, metrics, options, ()))
    compared = MetricEvaluator(
        inputs=inputs,
        experiments=experiments,
        metrics=metrics,
        domains=_domains(inputs) if inputs.recipe.aggregate == "macro_domain" else None,
        permutations=options.permutations,
        seed=inputs.recipe.seed,
        by_document=options.unit == "document" and inputs.rows.documents_known,
        humans=options.humans,
    )
    changes, _ = experiments.list_changes_and_missing_groups(groups)
    parts = [changes[at : at + AT_ONCE] for at in range(0, len(changes), AT_ONCE)]
    pairs = list_metric_pairs(metrics) if options.swaps else []

    def chunk(n: int) -> bytes:
        if not n:
            return compared.evaluate_on_unchanged_scores()
        at = n - 1 - len(parts)
        return (
            compared.evaluate_on_changed_scores(parts[n - 1])
            if at < 0
            else compare_metric_pair(compared, pairs[at], options.swaps)
        )

    def finish(done: Sequence[bytes]) -> MetricsView:
        view = _view(inputs, experiments, metrics, options, done[: 1 + len(parts)])
        return view.model_copy(update={"between": adjust_metric_pair_p_values(done[1 + len(parts) :])})

    return ReportComputation(1 + len(parts) + len(pairs), chunk, finish)


def _domains(inputs: RecipeInput) -> Codes:
    names = sorted({name or "unknown" for name in inputs.documents.domain})
    return np.array([names.index(name or "unknown") for name in inputs.documents.domain], dtype=np.int32)


def _view(
    inputs: RecipeInput,
    experiments: ScoreChangeExperimentsFromRatings,
    metrics: Sequence[MetricScores],
    options: MetricsOptions,
    done: Sequence[bytes],
) -> MetricsView:
    lines = LINES.validate_json(done[0]) if done else []
    order = [key for key in experiments.facts.order if options.humans or key not in inputs.humans]
    groups = () if options.changes == "none" else parse_score_change_groups(options.changes)
    left = len(experiments.facts.order) - len(order)
    known = inputs.rows.documents_known
    return MetricsView(
        campaigns=inputs.data_version_by_campaign,
        data_hash=f"{inputs.data_hash} {hash_metric_scores(metrics)}",
        basis=inputs.snapshot.campaign.basis,
        dropped=[*map(asdict, experiments.dropped), *([{"reason": "human translation", "n": left}] if left else [])],
        warnings=list(_warnings(order, metrics, known=known or options.unit == "segment")),
        recipe=inputs.recipe.name,
        recipe_hash=inputs.hash_requested_recipe(inputs.recipe),
        permutations=options.permutations,
        unit=options.unit if known else "segment",
        seed=inputs.recipe.seed,
        humans=options.humans,
        swaps=options.swaps,
        systems=order,
        metrics=sorted(lines, key=lambda one: (one.spa is None, -(one.spa or 0.0), one.metric)),
        spread=summarize_metric_robustness(done[1:], metrics, groups),
    )


def _warnings(order: Sequence[str], metrics: Sequence[MetricScores], *, known: bool) -> Iterator[str]:
    if not order:
        yield NOTHING
    if not metrics:
        yield NO_METRICS
        return
    if 0 < len(order) < FEW_SYSTEMS:
        yield (
            f"fewer than {FEW_SYSTEMS} systems: correlations over systems are imprecise; judge more systems before you "
            "choose a metric by them"
        )
    if not known:
        yield (
            "documents are unknown: segments are swapped one by one, so p-values may be too small; import the "
            "documents if there are any"
        )
    if sum(bool(one.outputs) for one in metrics) > MOST_METRICS:
        yield (
            f"only the first {MOST_METRICS} metrics by name that have scores of outputs are tested against each other; "
            "delete metrics that you do not compare"
        )
    partial = [one.name for one in metrics if any(key not in one.systems for key in order) and one.systems]
    if partial:
        yield f"systems without a score of their own get the mean of their outputs: {', '.join(partial)}"


EXAMPLE: dict[str, Any] = {
    "campaigns": {"ende": 9},
    "data_hash": "sha256:" + "5e" * 32 + " sha256:" + "5f" * 32,
    "basis": "source",
    "recipe": "recommended",
    "recipe_hash": "sha256:" + "5e" * 32,
    "permutations": 1000,
    "unit": "document",
    "seed": 20261120,
    "humans": False,
    "systems": ["A", "B"],
    "metrics": [
        {
            "metric": "comet-22",
            "higher_is_better": True,
            "n_systems": 14,
            "n_pairs": 91,
            "spa": 0.86,
            "spa_pairs": 91,
            "accuracy": 0.9,
            "pearson": 0.92,
            "spearman": 0.9,
            "kendall": 0.8,
            "n_outputs": 7406,
            "output_pearson": 0.43,
            "output_kendall": 0.31,
            "n_items": 529,
            "item_pearson": 0.3,
            "item_kendall": 0.25,
            "acc_eq": 0.57,
            "epsilon": 0.021,
            "acc_without": 0.49,
            "tied": 0.2,
            "auc_different": 0.84,
            "auc_better": 0.97,
            "n_apart": 52,
        }
    ],
    "swaps": 200,
    "between": [
        {
            "measure": "spa",
            "first": "bleu",
            "second": "comet-22",
            "value_first": 0.79,
            "value_second": 0.86,
            "p_value": 0.02,
            "p_adjusted": 0.02,
            "n_segments": 529,
        }
    ],
    "spread": [
        {
            "metric": "comet-22",
            "group": "rater",
            "n": 8,
            "spa": [0.84, 0.88],
            "accuracy": [0.87, 0.92],
            "pearson": [0.9, 0.93],
            "spearman": [0.88, 0.91],
            "kendall": [0.78, 0.81],
        }
    ],
}
REPORT: Report[MetricsOptions, MetricsView] = Report(
    name="metrics",
    title="Automatic metrics",
    summary="Metrics compared with human scores: soft and plain pairwise accuracy, correlations, ties, and their "
    "robustness.",
    options=MetricsOptions,
    result=MetricsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_metric_accuracies_under_changes},
    caption=make_caption,
    long=True,
)
