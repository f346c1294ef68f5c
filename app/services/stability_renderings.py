"""A stability report as CSV, LaTeX, Markdown or SVG."""

from __future__ import annotations

from app.reports.kit import captions
from app.reports.kit.render import csv_text, markup
from app.reports.kit.table import Alignment, Cell, Table
from app.services.pictures.stability import Picture, design_name, stability_plot
from app.services.stability_view import CurveView, PointView, StabilityView

COLUMNS = (
    "documents",
    "studies",
    "document_sets",
    "srp",
    "mc_error",
    "n_pairs",
    "mean_significant_pairs",
    "share_without_significance",
    "kendall_tau",
    "pearson",
    "sign_error_rate",
    "retained_claims",
    "both_significant_srp",
    "full_data_tau",
    "same_claims_as_full_data",
)
DESIGN = ("grouping", "entropy", "ratings_per_item", "normalize")
ORIGIN = ("campaign", "data_version", "seed", "recipe", "recipe_hash")
HEADINGS: tuple[tuple[str, Alignment], ...] = (
    ("Design", "left"),
    ("Documents", "right"),
    ("SRP", "right"),
    ("MC error", "right"),
    ("Significant pairs", "right"),
    ("None significant", "right"),
    ("Kendall", "right"),
    ("Pearson", "right"),
    ("Sign errors", "right"),
    ("Retained claims", "right"),
    ("SRP, both significant", "right"),
    ("Kendall with all ratings", "right"),
    ("Same claims as all ratings", "right"),
)


def render(view: StabilityView, kind: str, picture: Picture = "documents") -> bytes:
    """As `csv` or a table (`md`, `tex`), a line a design and number of documents, or `svg`."""
    if kind == "svg":
        return stability_plot(view, picture)
    if kind == "csv":
        return _csv(view)
    if kind == "md":
        head = f"**{markup.code(view.campaign)}**: would the ranking hold if the study were run again?"
        return markup.markdown_table(
            head, table(view), names=frozenset(), caption=caption(view), warnings=warnings(view)
        )
    said = f"Stability of the ranking of {view.campaign}. {caption(view)}"
    label = f"{view.campaign}-stability"
    return markup.latex_table(table(view), caption=said, label=label, warnings=warnings(view), long=True)


def table(view: StabilityView) -> Table:
    """One row a design and number of documents; a rule above each design."""
    headings, alignments = zip(*HEADINGS, strict=True)
    rows: list[tuple[str, ...]] = []
    breaks = set()
    for curve in view.curves:
        if rows and curve.points:
            breaks.add(len(rows))
        rows.extend(_row(curve, point) for point in curve.points)
    return Table(headings, alignments, tuple(rows), frozenset(breaks))


TERMINAL: tuple[dict[str, str], ...] = (
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
"""Columns of the tables of a design by their short names: one table with all would be wider than 80 columns."""


def narrow_tables(view: StabilityView) -> dict[str, tuple[Table, ...]]:
    """The tables of each design that has points, narrow enough for 80 columns, by the design's name."""
    found = {}
    for curve in view.curves:
        rows = [_row(curve, point) for point in curve.points]
        if rows:
            found[design_name(curve.design)] = tuple(_narrow(rows, short) for short in TERMINAL)
    return found


def _narrow(rows: list[tuple[str, ...]], short: dict[str, str]) -> Table:
    headings = [heading for heading, _ in HEADINGS]
    kept = [headings.index(heading) for heading in short]
    cells = tuple(tuple(row[i] for i in kept) for row in rows)
    return Table(tuple(short.values()), tuple(HEADINGS[i][1] for i in kept), cells)


def _row(curve: CurveView, point: PointView) -> tuple[str, ...]:
    return (
        design_name(curve.design),
        str(point.documents),
        captions.number(point.srp, 3),
        captions.number(point.mc_error, 3),
        captions.number(point.mean_significant_pairs, 1),
        f"{100 * point.share_without_significance:.0f} %",
        captions.number(point.kendall_tau, 2),
        captions.number(point.pearson, 2),
        "–" if point.sign_error_rate is None else f"{100 * point.sign_error_rate:.2f} %",
        captions.number(point.retained_claims, 1),
        captions.number(point.both_significant_srp, 3),
        captions.number(point.full_data_tau, 2),
        f"{100 * point.same_claims_as_full_data:.1f} %",
    )


def caption(view: StabilityView) -> str:
    """What the figures are, and from which data."""
    asked = view.request
    return (
        f"Stable Ranking Probability (SRP) of {asked.studies:,} simulated studies a line, p ≤ {asked.alpha:g} by "
        f"{asked.permutations:,} permutations of documents. "
        f"{view.documents_available} multiply-rated documents in {captions.plural(len(view.buckets), 'bucket')}, "
        f"data version {view.data_version}, recipe {asked.recipe}, seed {view.seed}, method {view.method_version}."
    )


def warnings(view: StabilityView) -> tuple[str, ...]:
    """What is to be known before the figures are used: of the whole, of designs, of points."""
    found = [*view.warnings, *(f"left out: {one.n} documents, {one.reason}" for one in view.left_out)]
    for curve in view.curves:
        name = design_name(curve.design)
        if curve.why:
            found.append(f"{name}: {curve.why}")
        for point in curve.points:
            found.extend(f"{name}, {point.documents} documents: {text}" for text in point.warnings)
    return tuple(found)


def _csv(view: StabilityView) -> bytes:
    origin = (view.campaign, view.data_version, view.seed, view.request.recipe, view.request.recipe_hash)
    rows: list[tuple[Cell, ...]] = []
    for curve in view.curves:
        design = tuple(getattr(curve.design, name) for name in DESIGN)
        rows.extend(
            (*design, *(getattr(point, name) for name in COLUMNS), "; ".join(point.warnings), *origin)
            for point in curve.points
        )
    return csv_text.as_csv((*DESIGN, *COLUMNS, "warnings", *ORIGIN), rows)
