"""The report on raters against a calibration set, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.charts.before_after import BeforeAfterRow, plot_before_after
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Cell
from app.reports.kit.table_making import make_table

PLACES = 3


class RaterCalibrationOffset(FrozenFiniteResultModel):
    """One rater on calibration items; mean and sd are what z-scores are made with."""

    rater: str
    n: int
    mean: float
    sd: float | None
    consensus: float = Field(description="Mean agreed score of the same items.")
    shift: float = Field(description="Agreed mean minus the rater's own: what moves the rater to the consensus.")
    error: float | None
    interval: tuple[float, float] | None
    lenient: float = Field(description="How far the rater is above the consensus in the direction of better.")
    spread_ratio: float | None
    correlation: float | None = Field(description="Pearson correlation with the mean of the other raters of the item.")


class CalibratedSystemView(FrozenFiniteResultModel):
    """One system: as it was scored, with raters shifted to the consensus, and as z by calibration items."""

    system: str
    n_units: int
    raw: float
    shifted: float | None
    z: float | None
    rank_raw: int
    rank_shifted: int | None
    rank_z: int | None


class RaterSeveritySpreadView(FrozenFiniteResultModel):
    """Means of raters on the calibration items that all of them judged."""

    n_raters: int
    n_items: int
    n_documents: int
    lowest: float | None
    highest: float | None
    sd: float | None
    split_half: float | None = Field(description="Correlation of raters' means between halves of the documents.")


class CalibrationView(ReportHeader):
    """Raters against a calibration set."""

    items: str = Field(description="calibration: items of that role; common: all items that two raters judged.")
    agreed: str = Field(
        description="Source of the agreed scores: set: they came with the set; panel: medians over these raters."
    )
    consensus: float | None = Field(description="Mean agreed score of all these items.")
    n_items: int
    level: float
    higher_is_better: bool
    raters: list[RaterCalibrationOffset]
    unknown: list[dict[str, str]] = Field(description="Raters without calibration items.")
    without_z: list[dict[str, str]] = Field(
        description="Raters who gave one score throughout, or judged a single item."
    )
    systems: list[CalibratedSystemView]
    severity: RaterSeveritySpreadView | None


def _figure(value: float | None) -> str:
    return text_formatting.format_number(value, PLACES)


def make_tables(view: CalibrationView) -> Sequence[TableSection]:
    """Make a table of raters and a table of systems."""
    shown = []
    if view.raters:
        heads = ("Rater", "Items", "Mean", "SD", "Shift", f"{view.level:.0%} interval", "Spread", "r with others")
        rows = []
        for rater in view.raters:
            figures = (
                _figure(rater.mean),
                _figure(rater.sd),
                _figure(rater.shift),
                text_formatting.format_interval(rater.interval, PLACES),
            )
            rows.append(
                (rater.rater, f"{rater.n:,}", *figures, _figure(rater.spread_ratio), _figure(rater.correlation))
            )
        shown.append(TableSection("Raters on calibration items", make_table(heads, rows)))
    if view.systems:
        heads = ("System", "Outputs", "Raw", "Rank", "Shifted", "Rank", "z", "Rank")
        lines = []
        for s in view.systems:
            raw, shifted = (_figure(s.raw), str(s.rank_raw)), (_figure(s.shifted), _format_integer(s.rank_shifted))
            lines.append((s.system, f"{s.n_units:,}", *raw, *shifted, _figure(s.z), _format_integer(s.rank_z)))
        shown.append(TableSection("Systems before and after correction", make_table(heads, lines)))
    return shown


def _format_integer(value: int | None) -> str:
    return "–" if value is None else str(value)


CSV = (
    *("what", "key", "n", "mean", "sd", "consensus", "shift", "error", "interval_low", "interval_high", "spread_ratio"),
    *("correlation", "shifted", "z"),
)


def make_csv_rows(view: CalibrationView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per rater, then one per system."""
    rows: list[tuple[Cell, ...]] = []
    for rater in view.raters:
        ends: tuple[Cell, Cell] = rater.interval or (None, None)
        head = ("rater", rater.rater, rater.n, rater.mean, rater.sd, rater.consensus, rater.shift, rater.error)
        rows.append((*head, *ends, rater.spread_ratio, rater.correlation, None, None))
    none: tuple[Cell, ...] = (None,) * 8
    rows += [("system", s.system, s.n_units, s.raw, *none, s.shifted, s.z) for s in view.systems]
    return CSV, rows


def make_caption(view: CalibrationView) -> str:
    """Say what the figures are and which data they come from."""
    version = next(iter(view.campaigns.values()))
    which = "calibration items" if view.items == "calibration" else "items that several raters judged"
    agreed = "scores that came with the set" if view.agreed == "set" else "medians over these raters"
    spread = ""
    if view.severity is not None and view.severity.sd is not None:
        spread = f" Means of raters on {view.severity.n_items:,} items that all judged: SD {_figure(view.severity.sd)}."
    return (
        f"{view.n_items:,} {which}; agreed scores: {agreed}, mean {_figure(view.consensus)}.{spread} "
        f"Data version {version}, method {view.method_version}."
    )


def plot_rater_means_and_consensus(view: CalibrationView) -> bytes:
    """Draw each rater's mean, and the consensus."""
    rows = [
        BeforeAfterRow(
            one.rater,
            one.mean,
            one.consensus,
            None if one.interval is None else (one.mean + one.interval[0], one.mean + one.interval[1]),
            f"shift {one.shift:+.{PLACES}f}",
        )
        for one in sorted(view.raters, key=lambda one: (one.shift, one.rater))
    ]
    below = f"Hollow: own mean. Filled: agreed mean of the same items, {view.level:.0%} interval of the shift."
    title = f"Raters of {next(iter(view.campaigns))} on calibration items"
    return plot_before_after(title, below, rows, [*view.warnings, make_caption(view)])
