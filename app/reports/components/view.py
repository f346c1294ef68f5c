"""The report on variance components, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenResultModel
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.kit.table_making import make_table_from_columns

Interval = tuple[float, float]


class VarianceComponentLine(FrozenResultModel):
    """One source of variance."""

    term: str
    name: str
    variance: float | None = Field(description="Null for a term that the design cannot identify.")
    share: float | None = Field(description="Share of the variance of a single rating.")
    interval: Interval | None = Field(description="95 % interval, parametric bootstrap; null if none was drawn.")
    why: str | None = None


class AdjustedMeanLine(FrozenResultModel):
    """One system. mean: adjusted for who rated what; error: of new documents and raters."""

    system: str
    rank: int
    mean: float
    raw: float = Field(description="Plain mean of the segment scores.")
    error: float
    n_ratings: int


class SystemContrastLine(FrozenResultModel):
    """Difference of two adjusted means, positive if `better` is better."""

    better: str
    worse: str
    difference: float
    error: float
    interval: Interval
    degrees: float | None = Field(None, description="Satterthwaite's degrees of freedom of t.")
    p_value: float
    p_adjusted: float = Field(description="p adjusted by Holm over all pairs.")


class RaterSeverityLine(FrozenResultModel):
    """How far a rater's scores lie from those of the others on the same outputs (BLUP, shrunk towards 0)."""

    rater: str
    severity: float
    interval: Interval
    n_ratings: int


class RaterSystemEffectLine(FrozenResultModel):
    """What a rater gives one system beyond severity (BLUP)."""

    rater: str
    system: str
    tendency: float
    error: float


class DecisionStudyLine(FrozenResultModel):
    """Reliability of a study of this size."""

    documents: int
    ratings: int
    raters: int
    relative: float
    absolute: float
    generalizability: float | None
    dependability: float | None


class VarianceComponentsView(ReportHeader):
    """Where the noise of ratings comes from."""

    recipe: str
    recipe_hash: str
    higher_is_better: bool
    n_ratings: int
    n_documents: int
    n_segments: int
    n_raters: int
    ratings_per_item: float | None = None
    draws: int
    seed: int
    components: list[VarianceComponentLine] = Field(default_factory=list)
    system_variance: float | None = None
    typical_error: float | None = Field(
        None, description="Root mean square standard error of a difference of two systems."
    )
    degrees: int | None = Field(None, description="Fewest degrees of freedom of any pair, rounded down.")
    systems: list[AdjustedMeanLine] = Field(default_factory=list)
    pairs: list[SystemContrastLine] = Field(default_factory=list)
    raters: list[RaterSeverityLine] = Field(default_factory=list)
    rater_system: list[RaterSystemEffectLine] = Field(default_factory=list)
    study: DecisionStudyLine | None = Field(None, description="Reliability of the study at hand.")
    decisions: list[DecisionStudyLine] = Field(default_factory=list)


def make_tables(view: VarianceComponentsView) -> Sequence[TableSection]:
    """Make tables of components, systems, pairs, raters, and reliability by size."""
    sections = [TableSection("Variance components", _components(view.components), frozenset())]
    if view.systems:
        sections.append(TableSection("Systems, adjusted for who rated what", _systems(view.systems)))
    if view.pairs:
        sections.append(TableSection("Differences", _pairs(view.pairs), frozenset({0, 1})))
    if view.raters:
        sections.append(TableSection("Raters", _raters(view.raters)))
    if view.decisions:
        sections.append(TableSection("Reliability of studies of other sizes", _decisions(view.decisions), frozenset()))
    return sections


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else text_formatting.format_number(value, places)


def _span(interval: Interval | None, places: int) -> str:
    return "–" if interval is None else f"{_number(interval[0], places)} to {_number(interval[1], places)}"


def _components(lines: Sequence[VarianceComponentLine]) -> Table:
    known = [abs(line.variance) for line in lines if line.variance]
    places = text_formatting.choose_decimals([max(known, default=1.0) / 10])
    heads: list[tuple[str, Alignment]] = [
        ("Source", "left"),
        ("Variance", "right"),
        ("Share", "right"),
        ("95 % interval", "left"),
        ("Not estimated because", "left"),
    ]
    rows = [
        (
            line.name,
            _number(line.variance, places),
            "–" if line.share is None else f"{line.share:.1%}",
            _span(line.interval, places),
            line.why or "",
        )
        for line in lines
    ]
    return make_table_from_columns(heads, rows)


def _systems(lines: Sequence[AdjustedMeanLine]) -> Table:
    places = text_formatting.choose_decimals(line.error for line in lines)
    heads: list[tuple[str, Alignment]] = [
        ("Rank", "right"),
        ("System", "left"),
        ("Adjusted mean", "right"),
        ("Standard error", "right"),
        ("Plain mean", "right"),
        ("Ratings", "right"),
    ]
    rows = [
        (
            str(one.rank),
            one.system,
            _number(one.mean, places),
            _number(one.error, places),
            _number(one.raw, places),
            f"{one.n_ratings:,}",
        )
        for one in lines
    ]
    return make_table_from_columns(heads, rows)


def _pairs(lines: Sequence[SystemContrastLine]) -> Table:
    places = text_formatting.choose_decimals(line.error for line in lines)
    heads: list[tuple[str, Alignment]] = [
        ("Better", "left"),
        ("Worse", "left"),
        ("Difference", "right"),
        ("Standard error", "right"),
        ("95 % interval", "left"),
        ("p", "right"),
        ("p adjusted", "right"),
    ]
    rows = [
        (
            one.better,
            one.worse,
            _number(one.difference, places),
            _number(one.error, places),
            _span(one.interval, places),
            text_formatting.format_p_value(one.p_value),
            text_formatting.format_p_value(one.p_adjusted),
        )
        for one in lines
    ]
    return make_table_from_columns(heads, rows)


def _raters(lines: Sequence[RaterSeverityLine]) -> Table:
    places = text_formatting.choose_decimals(abs(line.severity) for line in lines)
    heads: list[tuple[str, Alignment]] = [
        ("Rater", "left"),
        ("Severity", "right"),
        ("95 % interval", "left"),
        ("Ratings", "right"),
    ]
    rows = [
        (one.rater, _number(one.severity, places), _span(one.interval, places), f"{one.n_ratings:,}") for one in lines
    ]
    return make_table_from_columns(heads, rows)


def _decisions(lines: Sequence[DecisionStudyLine]) -> Table:
    heads: list[tuple[str, Alignment]] = [
        ("Documents", "right"),
        ("Raters per item", "right"),
        ("Raters", "right"),
        ("Generalizability", "right"),
        ("Dependability", "right"),
    ]
    rows = [
        (
            str(one.documents),
            str(one.ratings),
            str(one.raters),
            _number(one.generalizability, 3),
            _number(one.dependability, 3),
        )
        for one in lines
    ]
    return make_table_from_columns(heads, rows)


CSV = ("what", "name", "of", "value", "error", "low", "high", "share", "why")


def make_csv_rows(view: VarianceComponentsView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per figure: components, systems, pairs, raters, rater × system, reliability."""
    rows: list[Sequence[Cell]] = []
    for c in view.components:
        low, high = c.interval or (None, None)
        rows.append(("component", c.term, None, c.variance, None, low, high, c.share, c.why))
    rows += [("system", s.system, None, s.mean, s.error, None, None, None, None) for s in view.systems]
    rows += [("pair", p.better, p.worse, p.difference, p.error, *p.interval, None, None) for p in view.pairs]
    rows += [("rater", r.rater, None, r.severity, None, *r.interval, None, None) for r in view.raters]
    rows += [
        ("rater_system", t.rater, t.system, t.tendency, t.error, None, None, None, None) for t in view.rater_system
    ]
    for d in view.decisions:
        size = f"{d.documents} documents, {d.ratings} of {d.raters} raters per item"
        rows.append(("generalizability", size, None, d.generalizability, None, None, None, None, None))
        rows.append(("dependability", size, None, d.dependability, None, None, None, None, None))
    return CSV, rows


def make_caption(view: VarianceComponentsView) -> str:
    """Say what the figures are and which data they come from."""
    campaign, version = next(iter(view.campaigns.items()))
    size = f"{view.n_ratings:,} ratings of {view.n_segments:,} segments of {view.n_documents:,} documents"
    by = f"by {view.n_raters:,} raters"
    model = "Mixed model of single segment ratings, systems fixed and all else random, fitted by REML"
    way = "higher is better" if view.higher_is_better else "lower is better"
    test = "t with Satterthwaite's degrees of freedom"
    return (
        f"{model}; {size} {by}; {way}. Standard errors are for new documents and new raters; differences by {test}, "
        f"adjusted by Holm. {campaign}, data version {version}, recipe {view.recipe}, seed {view.seed}, "
        f"method {view.method_version}."
    )
