"""The report on MQM 2.0 scores, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Cell
from app.reports.kit.table_making import make_table
from app.reports.mqm2.chart import PenaltyRow, plot_penalty_bars

PLACES = 2
VERDICT = {True: "passes", False: "fails", None: "–"}
COLUMNS = (
    *("system", "name", "words", "n_segments", "n_ratings", "critical", "penalty", "per_word", "normed", "raw"),
    *("calibrated", "passed", "weights", "passing", "points", "critical_fails", "campaign", "data_version"),
)


class MQM2SystemScore(FrozenFiniteResultModel):
    """One system."""

    system: str
    name: str
    words: int = Field(description="EWC: words of the sources of its segments, separated by white space.")
    n_segments: int
    n_ratings: int
    critical: int = Field(description="Errors that any rater marked as critical.")
    penalty: float = Field(description="APT: mean penalty of each segment over its raters, summed over segments.")
    per_word: float = Field(description="PWPT: penalty / words.")
    normed: float = Field(description="NPT: penalty points per 1,000 words.")
    raw: float = Field(description="100·(1 − per_word).")
    calibrated: float | None = Field(description="100 − normed·(100 − passing)/points; null without a threshold.")
    passed: bool | None = Field(description="Null without a threshold.")


class MQM2View(ReportHeader):
    """Scores of systems as used in contracts, fewest penalty points first."""

    weights: str = Field(description="The weight profile.")
    maximum: float = Field(description="MSV, the score without penalty.")
    reference_words: int = Field(description="RWC, the number of words to which penalties are normalized.")
    passing: float | None = Field(description="PT, the passing threshold.")
    points: float | None = Field(description="APP, the acceptable penalty points per 1,000 words.")
    critical_fails: bool
    systems: list[MQM2SystemScore]


def make_tables(view: MQM2View) -> Sequence[TableSection]:
    """Make one row per system."""
    if not view.systems:
        return []
    heads = ("System", "Words", "Critical", "APT", "Per 1,000 words", "Raw", "Calibrated", "Verdict")
    rows = [
        (
            text_formatting.make_printable(one.name),
            *(f"{one.words:,}", f"{one.critical:,}"),
            *(text_formatting.format_number(v, PLACES) for v in (one.penalty, one.normed, one.raw, one.calibrated)),
            VERDICT[one.passed],
        )
        for one in view.systems
    ]
    return (TableSection("MQM 2.0 scores", make_table(heads, rows)),)


def make_csv_rows(view: MQM2View) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per system."""
    campaign, version = next(iter(view.campaigns.items()))
    settings = (view.weights, view.passing, view.points, view.critical_fails, campaign, version)
    figures = COLUMNS[: -len(settings)]
    return COLUMNS, [(*(getattr(one, name) for name in figures), *settings) for one in view.systems]


def _threshold(view: MQM2View) -> str:
    if view.passing is None or view.points is None:
        return "No threshold"
    critical = ", and without a critical error" if view.critical_fails else ""
    return f"Passes at {view.passing:g}, {view.points:g} points per {view.reference_words:,} words{critical}"


def make_caption(view: MQM2View) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(view.campaigns.values()))
    return (
        f"{text_formatting.pluralize(len(view.systems), 'system')}, weights {view.weights}. {_threshold(view)}. "
        f"Data version {version}, method {view.method_version}."
    )


def plot_penalties(view: MQM2View) -> bytes:
    """Draw the penalty points per 1,000 words of each system, with the acceptable number."""
    rows = [
        PenaltyRow(one.name, one.normed, _format_raw_and_calibrated(one), failed=one.passed is False)
        for one in view.systems
    ]
    title = f"MQM 2.0 scores: {next(iter(view.campaigns))}"
    notes = [*view.warnings, make_caption(view)]
    return plot_penalty_bars(title, f"Penalty points per {view.reference_words:,} words", rows, view.points, notes)


def _format_raw_and_calibrated(score: MQM2SystemScore) -> str:
    text = f"raw {text_formatting.format_number(score.raw, PLACES)}"
    if score.calibrated is None:
        return text
    serious = f" ({score.critical:,} critical)" if score.critical else ""
    calibrated = text_formatting.format_number(score.calibrated, PLACES)
    return f"{text}, calibrated {calibrated}: {VERDICT[score.passed]}{serious}"
