"""The report on automatic metrics, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Alignment, Cell, Table
from app.stats.metrics.metric_comparison import Measure
from app.stats.robustness.score_changes import Group

PLACES = 3
Range = tuple[float, float]
MEASURES = ("spa", "accuracy", "pearson", "spearman", "kendall")
NAMES = {"spa": "SPA", "accuracy": "Accuracy", "pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}


class MetricLine(BaseModel):
    """One metric compared with human scores. Null: not defined on these scores."""

    model_config = ConfigDict(frozen=True)

    metric: str
    higher_is_better: bool
    n_systems: int = Field(description="Systems with both scores.")
    n_pairs: int = Field(description="Pairs of these that human scores order.")
    spa: float | None = Field(description="Soft pairwise accuracy.")
    spa_pairs: int = Field(description="Pairs that share outputs with both scores.")
    accuracy: float | None = Field(description="Share of the pairs that the metric orders alike.")
    pearson: float | None
    spearman: float | None
    kendall: float | None
    n_outputs: int = Field(description="Outputs with both scores.")
    output_pearson: float | None = Field(description="Pearson correlation over all outputs together.")
    output_kendall: float | None
    n_items: int = Field(description="Segments with two or more such outputs.")
    item_pearson: float | None = Field(description="Mean over segments of the Pearson correlation within each.")
    item_kendall: float | None
    acc_eq: float | None = Field(description="acc*eq: pairs of outputs of a segment ordered or tied alike.")
    epsilon: float | None = Field(
        description="Scores that differ by at most this much are ties; chosen to maximize acc*eq."
    )
    acc_without: float | None = Field(description="The same if only equal scores are ties.")
    tied: float | None = Field(description="Share of these pairs that human scores tie.")
    auc_different: float | None = Field(
        None, description="Area under the ROC curve: do pairs that differ for humans have larger differences?"
    )
    auc_better: float | None = Field(
        None, description="AUC for which system of such a pair is better, by the sign of the difference."
    )
    n_apart: int = Field(0, description="Pairs that differ for humans: two-sided p ≤ .05, not adjusted.")


class MetricRobustnessLine(BaseModel):
    """How far the figures of one metric move under the changes of one group; least and most over them."""

    model_config = ConfigDict(frozen=True)

    metric: str
    group: Group
    n: int = Field(description="Changes after which a comparison was possible.")
    spa: Range | None
    accuracy: Range | None
    pearson: Range | None
    spearman: Range | None
    kendall: Range | None


class MetricComparisonLine(BaseModel):
    """Two metrics on outputs that all systems have both scores of, by one measure. Null: not defined there."""

    model_config = ConfigDict(frozen=True)

    measure: Measure
    first: str
    second: str
    value_first: float | None
    value_second: float | None
    p_value: float | None = Field(description="p of the test PERM-BOTH, two-sided.")
    p_adjusted: float | None = Field(description="p adjusted by Holm over all pairs of metrics by this measure.")
    n_segments: int


class MetricsView(ReportHeader):
    """Automatic metrics compared with human scores."""

    recipe: str
    recipe_hash: str
    permutations: int
    unit: str
    seed: int
    humans: bool = Field(description="Whether human translations are compared, too.")
    systems: list[str] = Field(description="Systems compared, by human score, best first.")
    metrics: list[MetricLine] = Field(description="Sorted by soft pairwise accuracy.")
    spread: list[MetricRobustnessLine]
    swaps: int = 0
    between: list[MetricComparisonLine] = Field(default_factory=list, description="Tests between metrics.")


def make_tables(view: MetricsView) -> Sequence[TableSection]:
    """Make tables of systems, of outputs, and of the effects of changes of the human scores."""
    shown = [TableSection("Of systems", _systems(view)), TableSection("Of outputs", _outputs(view))]
    if view.between:
        shown.append(TableSection("Between metrics", _metric_pairs_table(view), frozenset({1, 2})))
    if view.spread:
        shown.append(TableSection("Under changes to the human scores", _spread_table(view)))
    return shown


def _table(heads: Sequence[tuple[str, Alignment]], rows: Sequence[tuple[str, ...]]) -> Table:
    headings, alignments = zip(*heads, strict=True)
    return Table(headings, alignments, tuple(rows))


def _systems(view: MetricsView) -> Table:
    heads: list[tuple[str, Alignment]] = [("Metric", "left"), ("Systems", "right"), ("Pairs", "right")]
    heads += [(NAMES[name], "right") for name in MEASURES]
    heads += [("Different pairs", "right"), ("AUC different", "right"), ("AUC better", "right")]
    rows = [
        (
            *(one.metric, str(one.n_systems), f"{one.n_pairs:,}"),
            *(text_formatting.format_number(getattr(one, name), PLACES) for name in MEASURES),
            str(one.n_apart),
            *(text_formatting.format_number(getattr(one, name), PLACES) for name in ("auc_different", "auc_better")),
        )
        for one in view.metrics
    ]
    return _table(heads, rows)


OUTPUTS = ("output_pearson", "output_kendall", "item_pearson", "item_kendall", "acc_eq", "acc_without", "tied")


def _outputs(view: MetricsView) -> Table:
    heads: list[tuple[str, Alignment]] = [("Metric", "left"), ("Outputs", "right")]
    names = ("Pearson", "Kendall", "Pearson by item", "Kendall by item", "acc*eq", "ε = 0", "Human ties", "ε")
    heads += [(name, "right") for name in names]
    rows = [
        (
            *(one.metric, f"{one.n_outputs:,}"),
            *(text_formatting.format_number(getattr(one, name), PLACES) for name in OUTPUTS),
            text_formatting.format_number(one.epsilon, 4),
        )
        for one in view.metrics
    ]
    return _table(heads, rows)


MEASURED = {"spa": "SPA", "accuracy": "Accuracy", "pearson": "Pearson", "output_pearson": "Pearson over outputs"}


def _metric_pairs_table(view: MetricsView) -> Table:
    heads: list[tuple[str, Alignment]] = [("Measure", "left"), ("Metric", "left"), ("Against", "left")]
    heads += [(name, "right") for name in ("Segments", "First", "Second", "p", "p adjusted")]
    rows = [
        (
            *(MEASURED[one.measure], one.first, one.second, f"{one.n_segments:,}"),
            *(text_formatting.format_number(value, PLACES) for value in (one.value_first, one.value_second)),
            *(text_formatting.format_p_value(value, view.permutations) for value in (one.p_value, one.p_adjusted)),
        )
        for one in view.between
    ]
    return _table(heads, rows)


def _spread_table(view: MetricsView) -> Table:
    heads: list[tuple[str, Alignment]] = [("Metric", "left"), ("Change", "left"), ("Rankings", "right")]
    heads += [(NAMES[name], "left") for name in MEASURES]
    rows = [
        (
            *(one.metric, one.group.replace("_", " "), str(one.n)),
            *(_range(getattr(one, name)) for name in MEASURES),
        )
        for one in view.spread
    ]
    return _table(heads, rows)


def _range(ends: Range | None) -> str:
    return (
        "–"
        if ends is None
        else f"{text_formatting.format_number(ends[0], PLACES)} to {text_formatting.format_number(ends[1], PLACES)}"
    )


def make_csv_rows(view: MetricsView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per metric."""
    campaign, version = next(iter(view.campaigns.items()))
    names = tuple(MetricLine.model_fields)
    origin = (view.recipe, view.recipe_hash, view.permutations, view.seed, campaign, version)
    heads = (*names, "recipe", "recipe_hash", "permutations", "seed", "campaign", "data_version")
    return heads, [(*(getattr(one, name) for name in names), *origin) for one in view.metrics]


def make_caption(view: MetricsView) -> str:
    """Say what the figures are and which data they come from."""
    campaign, version = next(iter(view.campaigns.items()))
    return (
        f"Automatic metrics and the human scores of {campaign} under recipe {view.recipe}, data version {version}. "
        f"SPA: 1 minus the mean distance of one-sided p over pairs, {view.permutations:,} permutations by {view.unit} "
        f"with the same signs for all, seed {view.seed}; method {view.method_version}."
    )
