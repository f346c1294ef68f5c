"""The report on score distributions, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.agreement.view import make_pseudonymizer
from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Cell, Table
from app.reports.kit.table_making import make_table

PLACES = 2


class RaterScoreSpread(FrozenFiniteResultModel):
    """One rater on units that another rater rated too."""

    rater: str
    n: int
    mean: float
    sd: float | None = Field(description="SD with n − 1; null below two ratings.")
    median: float
    others: float = Field(description="Mean of the other raters on the same units.")
    shift: float = Field(description="Mean of the medians of the same units minus the rater's mean.")
    correlation: float | None = Field(description="Pearson correlation with the mean of the others.")
    at_minimum: float = Field(description="Share at the lower end of the scale, or at the lowest score given.")
    at_maximum: float | None = Field(description="Share at the upper end; null if the scale has none.")
    shares: list[float] = Field(description="Shares in the bins of the report.")


class SystemScoreSpread(FrozenFiniteResultModel):
    """One system over everything that was rated."""

    system: str
    n_units: int
    n: int
    mean: float = Field(description="Mean of its units' means over raters.")
    mean_of_medians: float = Field(description="Mean of its units' medians over raters.")
    at_minimum: float
    at_maximum: float | None
    shares: list[float]
    rank: int | None
    per_1000_words: float | None = Field(description="Penalty per 1,000 words of the sources.")
    rank_per_1000_words: int | None


class ScoreDistributionsView(ReportHeader):
    """How raters use the scale on the same units, and what systems get."""

    on: str
    scoring: str
    repeats: str
    unit: str
    higher_is_better: bool
    between: list[str] = Field(description="Raters whose common units alone are used; empty for all.")
    n_units: int
    n_common: int = Field(description="Units that at least two raters rated.")
    consensus: float | None = Field(description="Mean over common units of the median over raters.")
    offset_sd: float | None = Field(description="Standard deviation of the raters' means.")
    bins: list[str]
    discrete: bool = Field(description="Each bin is one score.")
    raters: list[RaterScoreSpread]
    systems: list[SystemScoreSpread]


def pseudonymize_raters(view: ScoreDistributionsView) -> ScoreDistributionsView:
    """Return the view with raters numbered in an order that reveals nothing."""
    name = make_pseudonymizer({one.rater for one in view.raters} | set(view.between), view.data_hash)
    raters = sorted((one.model_copy(update={"rater": name(one.rater)}) for one in view.raters), key=lambda r: r.rater)
    return view.model_copy(update={"raters": raters, "between": sorted(map(name, view.between))})


def make_tables(view: ScoreDistributionsView) -> Sequence[TableSection]:
    """Make a table of raters, one of systems, and one of the score levels if there are few."""
    shown = []
    if view.raters:
        shown.append(TableSection("Raters, on units that others also rated", _raters(view), frozenset({0})))
    if view.systems:
        shown.append(TableSection("Systems", _systems(view), frozenset({0})))
        if view.discrete:
            shown.append(TableSection("Shares of scores by system", _levels(view), frozenset({0})))
    return shown


def _number(value: float | None) -> str:
    return text_formatting.format_number(value, PLACES)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _raters(view: ScoreDistributionsView) -> Table:
    heads = (
        "Rater",
        "Ratings",
        "Mean",
        "SD",
        "Median",
        "Others' mean",
        "Shift to consensus",
        "r with others",
        "Lowest",
        "Highest",
    )
    rows = [
        (
            text_formatting.make_printable(one.rater),
            f"{one.n:,}",
            *map(_number, (one.mean, one.sd, one.median, one.others, one.shift, one.correlation)),
            _share(one.at_minimum),
            _share(one.at_maximum),
        )
        for one in view.raters
    ]
    return make_table(heads, rows)


def _systems(view: ScoreDistributionsView) -> Table:
    heads = ["System", "Units", "Ratings", "Mean", "Mean of medians", "Lowest", "Highest", "Rank"]
    by_words = any(one.per_1000_words is not None for one in view.systems)
    if by_words:
        heads += ["Per 1,000 words", "Rank"]
    rows = []
    for system in view.systems:
        cells = [text_formatting.make_printable(system.system), f"{system.n_units:,}", f"{system.n:,}"]
        cells += [
            _number(system.mean),
            _number(system.mean_of_medians),
            _share(system.at_minimum),
            _share(system.at_maximum),
        ]
        cells += ["–" if system.rank is None else str(system.rank)]
        if by_words:
            cells += [_number(system.per_1000_words)]
            cells += ["–" if system.rank_per_1000_words is None else str(system.rank_per_1000_words)]
        rows.append(tuple(cells))
    return make_table(heads, rows)


def _levels(view: ScoreDistributionsView) -> Table:
    rows = [(text_formatting.make_printable(one.system), *map(_share, one.shares)) for one in view.systems]
    return make_table(("System", *view.bins), rows)


CSV = (
    *("what", "name", "n_units", "n", "mean", "sd", "median", "mean_of_medians", "others", "shift", "correlation"),
    *("at_minimum", "at_maximum", "rank", "per_1000_words", "rank_per_1000_words"),
)


def make_csv_rows(view: ScoreDistributionsView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per rater and one per system; the last columns are the shares of the bins."""
    campaign, version = next(iter(view.campaigns.items()))
    heads = (*CSV, "campaign", "data_version", *(f"share {label}" for label in view.bins))
    rows: list[tuple[Cell, ...]] = []
    for r in view.raters:
        figures: tuple[Cell, ...] = (None, r.n, r.mean, r.sd, r.median, None, r.others, r.shift, r.correlation)
        ends: tuple[Cell, ...] = (r.at_minimum, r.at_maximum, None, None, None)
        rows.append(("rater", r.rater, *figures, *ends, campaign, version, *r.shares))
    for s in view.systems:
        figures = (s.n_units, s.n, s.mean, None, None, s.mean_of_medians, None, None, None)
        ends = (s.at_minimum, s.at_maximum, s.rank, s.per_1000_words, s.rank_per_1000_words)
        rows.append(("system", s.system, *figures, *ends, campaign, version, *s.shares))
    return heads, rows


def make_caption(view: ScoreDistributionsView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(view.campaigns.values()))
    common = f"{view.n_common:,} of {view.n_units:,} units have at least two raters; raters are compared on these only."
    consensus = "" if view.consensus is None else f" Mean of their medians {_number(view.consensus)}."
    return f"{common}{consensus} Data version {version}, method {view.method_version}."
