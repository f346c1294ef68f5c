"""The table of a stability report: one line per design and number of documents, for people and for files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from app.reports.kit import text_formatting
from app.reports.kit.columns import Column, File, make_csv_headings_and_rows, make_table_section
from app.reports.kit.report import TableSection
from app.reports.stability.charts import describe_design
from app.reports.stability.view import StabilityCurveView, StabilityPointView, StabilityView

TITLE = "Stability by design and number of documents"
EXPLAINED = (
    "±: Monte-Carlo error of SRP. Sig. pairs: mean per study. None: studies without any. Kendall: between "
    "studies. Sign err.: claims that all ratings together order the other way. Retained: claims that another study "
    "orders the same way. SRP, both sig.: where a claim must be significant in both studies. Kendall, all: with the "
    "ranking by all ratings. Same claims, all: studies that claim exactly what all ratings claim."
)


class _CurvePoint(NamedTuple):
    """A point, with its curve and report."""

    report: StabilityView
    curve: StabilityCurveView
    point: StabilityPointView


def _lines(report: StabilityView) -> Iterator[_CurvePoint]:
    for curve in report.curves:
        yield from (_CurvePoint(report, curve, point) for point in curve.points)


def _point_column(
    key: str, heading: str = "", digits: int | None = None, text: Callable[[StabilityPointView], str] | None = None
) -> Column[_CurvePoint]:
    shown = None if text is None else lambda line: text(line.point)
    return Column(heading=heading, key=key, value=attrgetter(f"point.{key}"), digits=digits, text=shown)


def _sign_errors(point: StabilityPointView) -> str:
    return "–" if point.sign_error_rate is None else f"{100 * point.sign_error_rate:.2f} %"


COLUMNS: Sequence[Column[_CurvePoint]] = (
    Column(heading="Design", text=lambda line: describe_design(line.curve.design)),
    Column(key="grouping", value=attrgetter("curve.design.grouping")),
    Column(key="entropy", value=attrgetter("curve.design.work_entropy")),
    Column(key="ratings_per_item", value=attrgetter("curve.design.ratings_per_item")),
    Column(key="normalize", value=attrgetter("curve.design.normalize")),
    _point_column("documents", "Documents", 0, lambda point: str(point.documents)),
    _point_column("studies"),
    _point_column("document_sets"),
    _point_column("srp", "SRP", 3),
    _point_column("mc_error", "MC error", 3),
    _point_column("n_pairs"),
    _point_column("mean_significant_pairs", "Significant pairs", 1),
    _point_column(
        "share_without_significance",
        "None significant",
        0,
        lambda point: f"{100 * point.share_without_significance:.0f} %",
    ),
    _point_column("kendall_tau", "Kendall", 2),
    _point_column("pearson", "Pearson", 2),
    _point_column("sign_error_rate", "Sign errors", 2, _sign_errors),
    _point_column("retained_claims", "Retained claims", 1),
    _point_column("both_significant_srp", "SRP, both significant", 3),
    _point_column("full_data_tau", "Kendall with all ratings", 2),
    _point_column(
        "same_claims_as_full_data",
        "Same claims as all ratings",
        1,
        lambda point: f"{100 * point.same_claims_as_full_data:.1f} %",
    ),
    Column(key="warnings", value=lambda line: "; ".join(line.point.warnings)),
    Column(key="campaign", value=attrgetter("report.campaign")),
    Column(key="data_version", value=attrgetter("report.data_version")),
    Column(key="seed", value=attrgetter("report.seed")),
    Column(key="recipe", value=attrgetter("report.request.recipe")),
    Column(key="recipe_hash", value=attrgetter("report.request.recipe_hash")),
)
NARROW: Sequence[dict[str, str]] = (
    {
        "Documents": "Docs",
        "SRP": "SRP",
        "MC error": "±",
        "Significant pairs": "Sig. pairs",
        "None significant": "None",
        "Kendall": "Kendall",
        "Sign errors": "Sign err.",
        "Retained claims": "Retained",
    },
    {
        "Documents": "Docs",
        "SRP, both significant": "SRP, both sig.",
        "Pearson": "Pearson",
        "Kendall with all ratings": "Kendall, all",
        "Same claims as all ratings": "Same claims, all",
    },
)
"""Short headings for the tables of a design, as a single table would be wider than 80 columns."""


def make_tables(report: StabilityView) -> Sequence[TableSection]:
    """Make one row per design and number of documents, with a rule above each design."""
    return [make_table_section(TITLE, COLUMNS, _lines(report), group_of_row=lambda line: line.curve.design)]


def make_csv_rows(report: StabilityView) -> File:
    """Make the same rows at full precision."""
    return make_csv_headings_and_rows(COLUMNS, _lines(report))


def make_narrow_tables(report: StabilityView) -> Sequence[TableSection]:
    """Make tables of each design that has points, narrow enough for 80 columns."""
    by_heading = {column.heading: column for column in COLUMNS}
    parts = [[replace(by_heading[heading], heading=short) for heading, short in part.items()] for part in NARROW]
    return [
        make_table_section(
            describe_design(curve.design), part, [_CurvePoint(report, curve, point) for point in curve.points]
        )
        for curve in report.curves
        if curve.points
        for part in parts
    ]


def make_caption(report: StabilityView) -> str:
    """Say what the figures are and which data they come from."""
    request = report.request
    return (
        f"Stable Ranking Probability (SRP) of {request.studies:,} simulated studies per line, p ≤ {request.alpha:g} by "
        f"{request.permutations:,} permutations of documents. "
        f"{report.documents_available} multiply-rated documents in "
        f"{text_formatting.pluralize(len(report.buckets), 'bucket')}, "
        f"data version {report.data_version}, recipe {request.recipe}, seed {report.seed}, method "
        f"{report.method_version}."
    )


def list_stability_warnings(report: StabilityView) -> tuple[str, ...]:
    """Return what readers must know before they use the figures: about the whole report, designs and points."""
    texts = [*report.warnings, *(f"left out: {each.n} documents, {each.reason}" for each in report.left_out)]
    for curve in report.curves:
        name = describe_design(curve.design)
        if curve.why:
            texts.append(f"{name}: {curve.why}")
        for point in curve.points:
            texts.extend(f"{name}, {point.documents} documents: {text}" for text in point.warnings)
    return tuple(texts)
