"""The report on preferences as values, tables and words."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.preferences.chart import PreferenceBar, plot_preference_bars

PLACES = 3


class SystemPreferenceLine(BaseModel):
    """One system over all its comparisons."""

    model_config = ConfigDict(frozen=True)

    system: str
    wins: int
    losses: int
    ties: int
    share: float = Field(description="Share of the comparisons: a win counts 1, a tie one half.")


class PairPreferenceLine(BaseModel):
    """Two systems; the better one won more often."""

    model_config = ConfigDict(frozen=True)

    better: str
    worse: str
    wins: int
    losses: int
    ties: int
    n_documents: int
    preference: float = Field(description="(wins − losses) / comparisons.")
    interval: tuple[float, float] | None = Field(
        description="Interval over documents; null with one document, or if all have the same result."
    )
    p_value: float = Field(description="Sign permutation of whole documents, two-sided.")
    p_adjusted: float
    significant: bool


class PreferencesView(ReportHeader):
    """Which of the outputs that stood side by side raters prefer."""

    asked: str | None = Field(description="What raters are asked about a screen: best, ranking, or null for nothing.")
    alpha: float
    adjust: str
    n_screens: int = Field(description="Answers about screens that count.")
    n_raters: int
    n_documents: int
    systems: list[SystemPreferenceLine] = Field(description="Sorted by share of points.")
    pairs: list[PairPreferenceLine]


def make_tables(view: PreferencesView) -> Sequence[TableSection]:
    """Make a table of systems and a table of pairs."""
    headings = ("System", "Wins", "Losses", "Ties", "Share of points")
    sides: tuple[Alignment, ...] = ("left", "right", "right", "right", "right")
    systems = tuple(
        (
            one.system,
            f"{one.wins:,}",
            f"{one.losses:,}",
            f"{one.ties:,}",
            text_formatting.format_number(one.share, PLACES),
        )
        for one in view.systems
    )
    return (
        TableSection("Systems", Table(headings, sides, systems)),
        TableSection("Pairs", _pairs(view), frozenset({0, 1})),
    )


def _pairs(view: PreferencesView) -> Table:
    heads: tuple[tuple[str, Alignment], ...] = (
        ("Better", "left"),
        ("Worse", "left"),
        ("Wins", "right"),
        ("Losses", "right"),
        ("Ties", "right"),
        ("Preference", "right"),
        (f"{1 - view.alpha:.0%} interval", "left"),
        ("p", "right"),
        ("p adjusted", "right"),
        ("Significant", "left"),
    )
    headings, sides = zip(*heads, strict=True)
    rows = tuple(
        (
            *(one.better, one.worse, f"{one.wins:,}", f"{one.losses:,}", f"{one.ties:,}"),
            *(
                text_formatting.format_number(one.preference, PLACES),
                text_formatting.format_interval(one.interval, PLACES),
            ),
            *(
                text_formatting.format_p_value(one.p_value),
                text_formatting.format_p_value(one.p_adjusted),
                "yes" if one.significant else "no",
            ),
        )
        for one in view.pairs
    )
    return Table(headings, sides, rows)


COLUMNS = ("better", "worse", "wins", "losses", "ties", "n_documents", "preference", "interval_low", "interval_high")
TESTED = ("p_value", "p_adjusted", "significant", "campaign", "data_version")


def make_csv_rows(view: PreferencesView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per pair."""
    campaign, version = next(iter(view.campaigns.items()))
    rows: list[Sequence[Cell]] = [
        (
            *(one.better, one.worse, one.wins, one.losses, one.ties, one.n_documents, one.preference),
            *(one.interval or (None, None)),
            *(
                text_formatting.format_p_value_for_csv(one.p_value),
                text_formatting.format_p_value_for_csv(one.p_adjusted),
                one.significant,
                campaign,
                version,
            ),
        )
        for one in view.pairs
    ]
    return (*COLUMNS, *TESTED), rows


def make_caption(view: PreferencesView) -> str:
    """Say what the figures are and which data they come from."""
    campaign, version = next(iter(view.campaigns.items()))
    counted = (
        f"{text_formatting.pluralize(view.n_screens, 'screen')}, {text_formatting.pluralize(view.n_raters, 'rater')}"
    )
    counted += f", {text_formatting.pluralize(view.n_documents, 'document')}"
    return (
        f"Preferences of {campaign}, data version {version}: {counted}; "
        f"exact sign test, {view.adjust} adjustment; intervals of (wins − losses)/comparisons over documents"
    )


def plot_preferences(view: PreferencesView) -> bytes:
    """Draw one bar per pair: wins, ties, losses."""
    bars = [PreferenceBar(one.better, one.worse, one.wins, one.ties, one.losses, one.significant) for one in view.pairs]
    notes = [*view.warnings, make_caption(view)]
    return plot_preference_bars(f"Preferences of {', '.join(view.campaigns)}", bars, notes)
