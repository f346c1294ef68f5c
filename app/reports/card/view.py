"""The data card, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Alignment, Cell, Table


class CountRange(FrozenFiniteResultModel):
    """Least, median and most."""

    least: int
    median: float
    most: int


class SystemRatingSummary(FrozenFiniteResultModel):
    """One system. mean: of its scores as they were given, without controls."""

    system: str
    kind: str
    ratings: int
    documents: int
    segments: int
    rated: float | None = Field(description="Share of the test set's segments that are rated at least once.")
    mean: float | None


class RaterRatingCounts(FrozenFiniteResultModel):
    """Ratings of one rater."""

    rater: str
    ratings: int
    judgments: int
    documents: int
    mean: float | None


class DomainRatingCounts(FrozenFiniteResultModel):
    """One domain of the test set."""

    domain: str
    documents: int
    segments: int
    ratings: int


class RoleRatingCounts(FrozenFiniteResultModel):
    """Rows of one role, and how many of them a rejected task holds."""

    role: str
    ratings: int
    rejected: int


class BucketSizeCount(FrozenFiniteResultModel):
    """Documents that the same raters rated."""

    raters: int
    documents: int
    buckets: int = Field(description="Number of buckets with this many raters and documents.")


class DataCardView(ReportHeader):
    """What the data of a campaign consist of."""

    protocol: str
    source_language: str | None
    target_language: str | None
    documents_known: bool
    higher_is_better: bool
    documents: int | None = Field(description="Documents of the test set; null if unknown.")
    segments: int
    words: int | None = Field(
        description="Words of all sources, separated by white space; null if a source is unknown."
    )
    segments_per_document: CountRange | None
    systems: int
    raters: int
    ratings: int = Field(description="Ratings and repeats, one per judgment and system.")
    judgments: int
    ratings_per_output: CountRange | None
    outputs: int = Field(description="Systems that were rated × segments of the test set.")
    rated_outputs: int
    by_system: list[SystemRatingSummary]
    by_rater: list[RaterRatingCounts]
    by_domain: list[DomainRatingCounts]
    by_role: list[RoleRatingCounts]
    buckets: list[BucketSizeCount]
    columns: list[int] = Field(description="Documents in each column of the map, in the order of their keys.")
    map: list[list[float]] = Field(description="Ratings per output, by system and column.")


def make_tables(view: DataCardView) -> Sequence[TableSection]:
    """Make tables of the overview, systems, domains, raters and buckets, as far as they exist."""
    shown = [TableSection("Overview", _overview(view), frozenset())]
    if view.by_system:
        shown.append(TableSection("Systems", _systems(view)))
    if len(view.by_domain) > 1:
        shown.append(TableSection("Domains", _domains(view)))
    if view.by_rater:
        shown.append(TableSection("Raters", _raters(view)))
    if view.buckets:
        shown.append(TableSection("Buckets: documents that the same raters rated", _buckets(view), frozenset()))
    return shown


def list_overview_rows(view: DataCardView) -> list[tuple[str, str]]:
    """List the facts of the overview, each with its name and a text."""
    pair = f"{view.source_language or 'unknown'} → {view.target_language or 'unknown'}"
    rows = [
        ("Languages", pair),
        ("Protocol", view.protocol),
        ("Documents", _format_integer(view.documents)),
        ("Segments", _format_integer(view.segments)),
        ("Segments per document", _format_spread(view.segments_per_document)),
        ("Words of sources", _format_integer(view.words)),
        ("Systems", _format_integer(view.systems)),
        ("Raters", _format_integer(view.raters)),
        ("Ratings", _format_integer(view.ratings)),
        ("Judgments", _format_integer(view.judgments)),
        ("Ratings per rated output", _format_spread(view.ratings_per_output)),
        ("Outputs rated", f"{view.rated_outputs:,} of {view.outputs:,}"),
    ]
    return rows + [(f"Rows: {one.role}", f"{one.ratings:,} ({one.rejected:,} rejected)") for one in view.by_role]


def _overview(view: DataCardView) -> Table:
    return Table(("Property", "Value"), ("left", "right"), tuple(list_overview_rows(view)))


def _systems(view: DataCardView) -> Table:
    heads = ("System", "Kind", "Ratings", "Documents", "Segments", "Segments rated", "Mean score")
    sides: tuple[Alignment, ...] = ("left", "left", "right", "right", "right", "right", "right")
    places = text_formatting.choose_decimals(one.mean for one in view.by_system)
    rows = [
        (
            *(one.system, one.kind, f"{one.ratings:,}", f"{one.documents:,}", f"{one.segments:,}"),
            *("–" if one.rated is None else f"{one.rated:.0%}", text_formatting.format_number(one.mean, places)),
        )
        for one in view.by_system
    ]
    return Table(heads, sides, tuple(rows))


def _domains(view: DataCardView) -> Table:
    rows = [(one.domain, f"{one.documents:,}", f"{one.segments:,}", f"{one.ratings:,}") for one in view.by_domain]
    return Table(("Domain", "Documents", "Segments", "Ratings"), ("left", "right", "right", "right"), tuple(rows))


def _raters(view: DataCardView) -> Table:
    places = text_formatting.choose_decimals(one.mean for one in view.by_rater)
    rows = [
        (
            *(one.rater, f"{one.ratings:,}", f"{one.judgments:,}", f"{one.documents:,}"),
            text_formatting.format_number(one.mean, places),
        )
        for one in view.by_rater
    ]
    heads = ("Rater", "Ratings", "Judgments", "Documents", "Mean score")
    return Table(heads, ("left", "right", "right", "right", "right"), tuple(rows))


def _buckets(view: DataCardView) -> Table:
    rows = [(f"{one.raters:,}", f"{one.documents:,}", f"{one.buckets:,}") for one in view.buckets]
    return Table(("Raters", "Documents", "Buckets"), ("right", "right", "right"), tuple(rows))


def _format_integer(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _format_spread(value: CountRange | None) -> str:
    if value is None:
        return "–"
    same = value.least == value.most
    return f"{value.most:,}" if same else f"{value.least:,}–{value.most:,} (median {value.median:g})"


CSV = ("what", "name", "kind", "ratings", "judgments", "documents", "segments", "rated", "mean", "campaign")


def make_csv_rows(view: DataCardView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row for the whole, and one per system, domain, rater and role."""
    campaign = next(iter(view.campaigns))
    share = view.rated_outputs / view.outputs if view.outputs else None
    head = ("all", "", view.protocol, view.ratings, view.judgments, view.documents, view.segments, share, None)
    rows: list[tuple[Cell, ...]] = [(*head, campaign)]
    for system in view.by_system:
        figures = (system.ratings, None, system.documents, system.segments, system.rated, system.mean)
        rows.append(("system", system.system, system.kind, *figures, campaign))
    for domain in view.by_domain:
        counts = (domain.ratings, None, domain.documents, domain.segments)
        rows.append(("domain", domain.domain, None, *counts, None, None, campaign))
    for rater in view.by_rater:
        rater_counts = (rater.ratings, rater.judgments, rater.documents)
        rows.append(("rater", rater.rater, None, *rater_counts, None, None, rater.mean, campaign))
    rows += [("role", one.role, None, one.ratings, None, None, None, None, None, campaign) for one in view.by_role]
    return CSV, rows


def make_caption(view: DataCardView) -> str:
    """Say what is counted and in which data."""
    version = next(iter(view.campaigns.values()))
    return (
        "There is one rating for each judgment and system. Repeats are counted, control items are not; mean scores are "
        f"not normalized. Data version {version}, method {view.method_version}."
    )
