"""The forecast of stability, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenResultModel
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.kit.table_making import make_table_from_columns

Method = Literal["document_bootstrap", "components_same_raters", "components_new_raters"]
IN_WORDS: dict[Method, str] = {
    "document_bootstrap": "documents drawn again",
    "components_same_raters": "from components, same raters",
    "components_new_raters": "from components, new raters",
}


class StudyForecastLine(FrozenResultModel):
    """What studies would find by one method, and whether they would agree; null with a reason."""

    method: Method
    what: str
    srp: float | None = None
    low: float | None = Field(
        None, description="With `high`: range of nine in ten SRPs, given uncertain components and true scores."
    )
    high: float | None = None
    mc_error: float | None = None
    mean_significant_pairs: float | None = None
    share_without_significance: float | None = None
    kendall_tau: float | None = None
    retained_claims: float | None = None
    studies: int = 0
    why: str | None = None


class PairForecastLine(FrozenResultModel):
    """One pair: what a study of the same size on new documents would find."""

    better: str
    worse: str
    difference: float | None = Field(
        description="Positive if `better` is better; on the segments that both have, if any two systems share some."
    )
    error: float | None
    documents: int
    same_direction: float | None = Field(description="Probability that the same system is better again, closed form.")
    significant_again: float | None = Field(description="Probability that it is significantly better, closed form.")
    bootstrap_same_direction: float | None = Field(description="The same, by resampling documents twice.")
    bootstrap_significant_again: float | None
    why: str | None = None


class RankingForecastView(ReportHeader):
    """Whether the ranking would be found again: a forecast, not a simulation from repeated judgments."""

    method: Literal["forecast"] = "forecast"
    recipe: str
    alpha: float
    documents: int = Field(
        description="Mean number of documents on which a system was judged; segments if documents are unknown."
    )
    ratings_per_item: float | None
    rated_twice: bool = Field(description="Several raters rated all documents, so use the simulation instead.")
    components_source: str | None
    seed: int
    studies: list[StudyForecastLine] = Field(default_factory=list)
    pairs: list[PairForecastLine] = Field(default_factory=list)


def make_tables(view: RankingForecastView) -> Sequence[TableSection]:
    """Make tables of studies by method, and of pairs."""
    sections = [TableSection("Studies", _studies(view.studies), frozenset())]
    if view.pairs:
        sections.append(TableSection("Pairs", _pairs(view.pairs), frozenset({0, 1})))
    return sections


def _share(value: float | None, places: int = 2) -> str:
    return "–" if value is None else text_formatting.format_number(value, places)


def _studies(lines: Sequence[StudyForecastLine]) -> Table:
    heads: list[tuple[str, Alignment]] = [
        ("Forecast by", "left"),
        ("SRP", "right"),
        ("90 % interval", "left"),
        ("MC error", "right"),
        ("Significant pairs", "right"),
        ("Studies without any", "right"),
        ("Kendall", "right"),
        ("Not forecast because", "left"),
    ]
    rows = [
        (
            one.what,
            _share(one.srp, 3),
            "–" if one.low is None else f"{_share(one.low, 3)} to {_share(one.high, 3)}",
            _share(one.mc_error, 3),
            _share(one.mean_significant_pairs, 1),
            _share(one.share_without_significance),
            _share(one.kendall_tau),
            one.why or "",
        )
        for one in lines
    ]
    return make_table_from_columns(heads, rows)


def _pairs(lines: Sequence[PairForecastLine]) -> Table:
    places = text_formatting.choose_decimals(one.difference for one in lines)
    heads: list[tuple[str, Alignment]] = [
        ("Better", "left"),
        ("Worse", "left"),
        ("Difference", "right"),
        ("Same direction", "right"),
        ("Significant again", "right"),
        ("Drawn: same direction", "right"),
        ("Drawn: significant again", "right"),
        ("Not forecast because", "left"),
    ]
    rows = [
        (
            one.better,
            one.worse,
            text_formatting.format_number(one.difference, places),
            _share(one.same_direction),
            _share(one.significant_again),
            _share(one.bootstrap_same_direction),
            _share(one.bootstrap_significant_again),
            one.why or "",
        )
        for one in lines
    ]
    return make_table_from_columns(heads, rows)


PAIR_COLUMNS = tuple(PairForecastLine.model_fields)


def make_csv_rows(view: RankingForecastView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per pair; rows without a pair are the methods, with `srp` in the column `difference`."""
    rows: list[Sequence[Cell]] = [tuple(one.model_dump().values()) for one in view.pairs]
    heads = (*PAIR_COLUMNS, "forecast_by", "srp", "mc_error", "mean_significant_pairs")
    filled = [(*row, None, None, None, None) for row in rows]
    blank = (None,) * (len(PAIR_COLUMNS) - 1)
    filled += [(*blank, one.why, one.method, one.srp, one.mc_error, one.mean_significant_pairs) for one in view.studies]
    return heads, filled


def make_caption(view: RankingForecastView) -> str:
    """Say what was forecast, and from which data."""
    campaign, version = next(iter(view.campaigns.items()))
    source = f" Components: {view.components_source}." if view.components_source else ""
    return (
        f"A forecast, not a simulation from repeated judgments: studies of {view.documents:,} documents, claims by the "
        f"paired t-test over documents at {view.alpha:g}, unadjusted.{source} {campaign}, data version {version}, "
        f"recipe {view.recipe}, seed {view.seed}, method {view.method_version}."
    )
