"""The planner's report, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from pydantic import Field

from app.domain.recipe import ClusterRule
from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenResultModel
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.kit.table_making import make_table_from_columns
from app.stats.planning.power_and_cost import Grouping
from app.stats.planning.score_sampling import Scores

GROUPED: dict[Grouping, str] = {
    "psxs": "pSxS",
    "system_balanced": "system-balanced",
    "none": "no grouping",
}


class PowerVarianceComponents(FrozenResultModel):
    """The components that everything is computed from."""

    doc_system: float
    segment_system: float
    rater: float
    rater_system: float
    rater_doc: float
    rater_segment: float
    rater_doc_system: float
    residual: float
    source: str


class StudySizePower(FrozenResultModel):
    """One size of one design. Each power is found in another way; null if that way is not available."""

    documents: int
    standard_error: float
    detectable: float = Field(description="Difference found with the requested power.")
    power: float = Field(description="Power, closed form.")
    interval: tuple[float, float] | None = Field(description="95 % interval from the uncertainty of the components.")
    simulated: float | None = Field(
        description="Power in studies drawn from the components by the campaign's allocator."
    )
    simulated_error: float | None
    size: float | None = Field(
        None, description="Share of simulated studies that claim a difference of equal systems, by the same test."
    )
    size_error: float | None = None
    resampled: float | None = Field(description="Power by resampling documents of the campaign.")
    resampled_error: float | None
    srp: float | None = Field(description="Forecast of Stable Ranking Probability for a fixed rater pool.")
    srp_error: float | None
    significant_pairs: float | None = Field(description="Significant pairs in a study, at alpha, as SRP counts them.")
    hours: float
    price: float | None
    clusters: float | None = Field(None, description="Expected number of clusters of a study, by the chosen rule.")
    clusters_error: float | None = None
    raters_needed: int | None = Field(
        None, description="With this many documents, for the difference at the power; null if no number is enough."
    )


class StudyDesignLine(FrozenResultModel):
    """One design: a grouping and a number of ratings per item."""

    grouping: Grouping
    ratings_per_item: int
    documents_needed: int | None = Field(description="For the difference at the power; null if no number is enough.")
    needed_interval: tuple[int | None, int | None] | None = Field(description="An end is null if no number is enough.")
    hours_needed: float | None
    price_needed: float | None
    raters_needed: int | None = Field(
        None, description="With `planned_documents`, for the difference at the power; null if no number is enough."
    )
    raters_told: str | None = Field(None, description="Why no number of raters is enough, or what more raters change.")
    raters_at_least: int | None = Field(
        None, description="With fewer raters, no number of documents is enough; null above a million."
    )
    floor: float = Field(description="Standard error that remains with any number of documents: rater × system.")
    points: list[StudySizePower]


class PowerView(ReportHeader):
    """How many documents, raters and ratings a difference takes, and what they cost."""

    recipe: str
    higher_is_better: bool | None
    pilot: str | None = Field(None, description="Campaign whose judgments are the pilot, if one was named.")
    difference: float | None
    power: float
    alpha: float
    alpha_each: float | None = Field(None, description="Alpha for each of the pairs.")
    systems: int
    pairs: int
    raters: int
    planned_documents: int | None = Field(
        None, description="Number of the campaign's documents, else the middle one of those asked for."
    )
    segments: float = Field(description="Mean number of segments per document.")
    words_per_segment: float = Field(description="Words of source and output together.")
    seconds_per_word: float
    fixed_panel: bool
    studies: int
    draws: int
    seed: int
    scores: Scores = Field("normal", description="Scale of simulated studies.")
    marginal: str | None = Field(None, description="Model fitted to single ratings, if scores are not normal.")
    clusters: ClusterRule = Field("none", description="Rule for the clusters that are counted in simulated studies.")
    components: PowerVarianceComponents | None = None
    designs: list[StudyDesignLine] = Field(default_factory=list)


def describe_design(design: StudyDesignLine) -> str:
    """Describe a design in words."""
    plural = "s" if design.ratings_per_item > 1 else ""
    return f"{GROUPED[design.grouping]}, {design.ratings_per_item} rating{plural} per item"


def make_tables(view: PowerView) -> Sequence[TableSection]:
    """Make tables of the requirements of each design, of its sizes, and of the components."""
    if view.components is None:
        return [TableSection("Components", Table(("Source",), ("left",), ()), frozenset())]
    return [
        TableSection("Requirements of each design", _needs(view), frozenset()),
        TableSection("By number of documents", _points(view), frozenset()),
        *([] if view.clusters == "none" else [TableSection("Clusters for the budget", _clusters(view), frozenset())]),
        TableSection("Components used", _components(view.components), frozenset()),
    ]


def _share(value: float | None) -> str:
    return "–" if value is None else text_formatting.format_number(value, 2)


def _amount(value: float | None, places: int = 0) -> str:
    return "–" if value is None else f"{value:,.{places}f}"


def _format_needed(value: int | None) -> str:
    return "none is enough" if value is None else f"{value:,}"


def _needs(view: PowerView) -> Table:
    planned = view.planned_documents
    heads: list[tuple[str, Alignment]] = [
        ("Design", "left"),
        ("Documents", "right"),
        ("95 % interval", "left"),
        ("Hours", "right"),
        ("Price", "right"),
        ("Raters" if planned is None else f"Raters for {planned:,} documents", "right"),
        ("Minimum raters", "right"),
        ("Lower limit of the standard error", "right"),
    ]
    rows = []
    for design in view.designs:
        span = design.needed_interval
        ends = "–" if span is None else " to ".join(_format_needed(end) for end in span)
        bill = (_amount(design.hours_needed), _amount(design.price_needed, 2))
        raters = (_format_needed(design.raters_needed), _format_needed(design.raters_at_least))
        floor = text_formatting.format_number(design.floor, 3)
        rows.append((describe_design(design), _format_needed(design.documents_needed), ends, *bill, *raters, floor))
    return make_table_from_columns(heads, rows)


def _points(view: PowerView) -> Table:
    heads: list[tuple[str, Alignment]] = [
        ("Design", "left"),
        ("Documents", "right"),
        ("Power", "right"),
        ("95 % interval", "left"),
        ("Simulated", "right"),
        ("Size", "right"),
        ("Resampled", "right"),
        ("SRP", "right"),
        ("Significant pairs", "right"),
        ("Detectable", "right"),
        ("Raters needed", "right"),
        ("Hours", "right"),
    ]
    rows = []
    for design in view.designs:
        for point in design.points:
            span = "–" if point.interval is None else " to ".join(_share(end) for end in point.interval)
            figures = (
                _share(point.power),
                span,
                _share(point.simulated),
                _size(point),
                _share(point.resampled),
                _share(point.srp),
            )
            pairs = (
                "–" if point.significant_pairs is None else text_formatting.format_number(point.significant_pairs, 1)
            )
            detectable = text_formatting.format_number(
                point.detectable, text_formatting.choose_decimals([point.detectable])
            )
            last = (pairs, detectable, _format_needed(point.raters_needed), _amount(point.hours))
            rows.append((describe_design(design), f"{point.documents:,}", *figures, *last))
    return make_table_from_columns(heads, rows)


def _size(point: StudySizePower) -> str:
    """Format with three decimals, because the value is small."""
    return "–" if point.size is None else text_formatting.format_number(point.size, 3)


def _clusters(view: PowerView) -> Table:
    heads: list[tuple[str, Alignment]] = [
        ("Design", "left"),
        ("Documents", "right"),
        ("Hours", "right"),
        ("Price", "right"),
        ("Clusters expected", "right"),
        ("Standard error", "right"),
    ]
    rows = []
    for design in view.designs:
        for point in design.points:
            figures = tuple(_amount(value, 2) for value in (point.price, point.clusters, point.clusters_error))
            rows.append((describe_design(design), f"{point.documents:,}", _amount(point.hours), *figures))
    return make_table_from_columns(heads, rows)


def _components(line: PowerVarianceComponents) -> Table:
    values = [(name.replace("_", " × "), value) for name, value in line.model_dump(exclude={"source"}).items()]
    places = text_formatting.choose_decimals([max(value for _, value in values) / 10])
    rows = [
        (name, text_formatting.format_number(value, places), text_formatting.format_number(sqrt(value), places))
        for name, value in values
    ]
    return make_table_from_columns([("Source", "left"), ("Variance", "right"), ("Standard deviation", "right")], rows)


CSV = (
    "grouping",
    "ratings_per_item",
    "documents",
    "standard_error",
    "detectable",
    "power",
    "power_low",
    "power_high",
    "simulated",
    "simulated_error",
    "resampled",
    "resampled_error",
    "srp",
    "srp_error",
    "significant_pairs",
    "hours",
    "price",
    "difference",
    "alpha_each",
    "clusters",
    "clusters_error",
    "raters_needed",
    "size",
    "size_error",
)


def make_csv_rows(view: PowerView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per design and number of documents."""
    rows: list[Sequence[Cell]] = []
    for design in view.designs:
        for point in design.points:
            low, high = point.interval or (None, None)
            rows.append(
                (
                    design.grouping,
                    design.ratings_per_item,
                    point.documents,
                    point.standard_error,
                    point.detectable,
                    point.power,
                    low,
                    high,
                    point.simulated,
                    point.simulated_error,
                    point.resampled,
                    point.resampled_error,
                    point.srp,
                    point.srp_error,
                    point.significant_pairs,
                    point.hours,
                    point.price,
                    view.difference,
                    view.alpha_each,
                    point.clusters,
                    point.clusters_error,
                    point.raters_needed,
                    point.size,
                    point.size_error,
                )
            )
    return CSV, rows


def make_caption(view: PowerView) -> str:
    """Say what is planned for, and from which data."""
    campaign, version = next(iter(view.campaigns.items()))
    origin = (
        f"{campaign}, data version {version}, recipe {view.recipe}, seed {view.seed}, method {view.method_version}."
    )
    if view.components is None or view.difference is None:
        return origin
    of = "these raters" if view.fixed_panel else f"{view.raters} new raters"
    return (
        f"A difference of {view.difference:.3g} between two of {view.systems} systems, power {view.power:g}, alpha "
        f"{view.alpha:g}, {view.alpha_each:.2g} each of {view.pairs} pairs; new documents of {view.segments:.3g} "
        f"segments, {of}. Components: {view.components.source}. {_drawn_from(view)}{origin}"
    )


def _drawn_from(view: PowerView) -> str:
    """Describe the scores of simulated studies if they are not normal, and the cluster rule if one is requested."""
    scores = "" if view.marginal is None else f"Simulated scores: {view.scores.replace('_', ' ')}, {view.marginal}. "
    return scores + ("" if view.clusters == "none" else f"Clusters: rule {view.clusters}. ")
