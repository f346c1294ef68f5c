"""The report on document scores beside segment scores, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.agreement.view import Interval
from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Alignment, Cell, Table

PLACES = 3
PARTS = {
    "mean": "mean of all segments",
    "median": "median",
    "min": "lowest",
    "max": "highest",
    "first5": "mean of the first five",
    "last5": "mean of the last five",
    "first": "first",
    "last": "last",
}


class DocumentScoreCorrelation(FrozenFiniteResultModel):
    """Document score against one summary of its segments, over some documents."""

    documents: str = Field(description="all, short, long, or a range of segments.")
    part: str
    n: int
    pearson: float | None
    interval: Interval | None = Field(
        description="Interval of Pearson's correlation: percentiles of draws of documents."
    )
    spearman: float | None
    kendall: float | None


class DocumentScoresView(ReportHeader):
    """How the score of a document goes with those of its segments."""

    scoring: str
    controls: str
    n: int = Field(description="Triples of rater, system and document with both scores.")
    draws: int
    interval_level: float
    seed: int
    correlations: list[DocumentScoreCorrelation]
    mean_difference: float | None = Field(description="Document score minus mean of its segments.")
    points: list[tuple[float, float]] = Field(
        description="Mean of segments and document score, for the picture: an even selection if there are many."
    )


def describe_document_length_range(documents: str) -> str:
    """Say in words which documents are meant."""
    known = {"all": "all", "short": "at most 10 segments", "long": "more than 20 segments"}
    return known.get(documents, f"{documents} segments")


def make_tables(view: DocumentScoresView) -> Sequence[TableSection]:
    """Make tables of every summary over all, short and long documents, and of the mean by length."""
    if not view.correlations:
        return []
    main = [one for one in view.correlations if one.documents in {"all", "short", "long"}]
    lengths = [one for one in view.correlations if one.documents not in {"all", "short", "long"}]
    shown = [TableSection("Document score against its segments", _table(view, main), frozenset())]
    if lengths:
        shown.append(TableSection("Against the mean of all segments, by length", _table(view, lengths), frozenset()))
    return shown


def _table(view: DocumentScoresView, lines: Sequence[DocumentScoreCorrelation]) -> Table:
    interval = f"{view.interval_level:.0%} interval"
    heads = ("Documents", "Segments", "n", "Pearson", interval, "Spearman", "Kendall")
    sides: tuple[Alignment, ...] = ("left", "left", "right", "right", "right", "right", "right")
    rows = [
        (
            describe_document_length_range(one.documents),
            PARTS[one.part],
            f"{one.n:,}",
            text_formatting.format_number(one.pearson, PLACES),
            text_formatting.format_interval(one.interval, PLACES),
            text_formatting.format_number(one.spearman, PLACES),
            text_formatting.format_number(one.kendall, PLACES),
        )
        for one in lines
    ]
    return Table(heads, sides, tuple(rows))


CSV = (
    *("documents", "part", "n", "pearson", "interval_low", "interval_high", "spearman", "kendall"),
    *("campaign", "data_version"),
)


def make_csv_rows(view: DocumentScoresView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per correlation."""
    campaign, version = next(iter(view.campaigns.items()))
    rows: list[tuple[Cell, ...]] = [
        (
            *(one.documents, one.part, one.n, one.pearson, *(one.interval or (None, None))),
            *(one.spearman, one.kendall, campaign, version),
        )
        for one in view.correlations
    ]
    return CSV, rows


def make_caption(view: DocumentScoresView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(view.campaigns.values()))
    drawn = f"Intervals from {view.draws:,} draws of documents, seed {view.seed}. " if view.draws else ""
    return (
        f"{view.n:,} documents that one rater scored both as a whole and segment by segment; scores are not "
        f"standardized. {drawn}Data version {version}, method {view.method_version}."
    )
