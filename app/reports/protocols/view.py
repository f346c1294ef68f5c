"""The comparison of protocols on the same outputs, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.charts.before_after import BeforeAfterRow, plot_before_after
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.reports.kit.table import Cell
from app.reports.kit.table_making import make_table

PLACES = 3
IN_WORDS = {
    "segment": "one segment",
    "document_score": "one document score",
    "all_segments": "all segments, by a rater who rated every one",
}
Ends = tuple[float, float] | None


class KnownOrderGapView(FrozenFiniteResultModel):
    """One system that should stand above another."""

    better: str
    worse: str
    n: int
    gap: float = Field(
        description=(
            "In the protocol's unit, positive if the better system scores better, whichever direction is better."
        )
    )
    interval: Ends
    standardized: float | None = Field(description="Divided by the SD of the segment differences: without a unit.")
    found: bool | None = Field(
        description="Whether the interval excludes 0 on the expected side; null without an interval."
    )


class JudgingDuration(FrozenFiniteResultModel):
    """Durations of one kind of work, in seconds; mean and SD of those from the 10th to the 90th percentile."""

    what: Literal["segment", "document_score", "all_segments"] = Field(
        description="One segment's rating, one document's score, or all segments of a rater who rated every one."
    )
    n: int
    kept: int
    low: float
    median: float | None
    high: float
    mean: float
    sd: float | None


class ComparedProtocolView(FrozenFiniteResultModel):
    """One campaign: what its protocol tells apart, how far its raters agree, what it costs."""

    campaign: str
    protocol: str
    n_units: int
    n_raters: int
    gaps: list[KnownOrderGapView]
    separates: bool | None = Field(description="Whether all gaps are found; null if none could be tested.")
    separation: float | None = Field(description="Mean standardized gap.")
    alpha: float | None = Field(description="Krippendorff's α, interval metric, over segments.")
    alpha_interval: Ends
    pearson: float | None = Field(description="Mean Pearson correlation over rater pairs.")
    n_pairs: int = Field(description="Pairs of ratings of one output.")
    seconds: float | None = Field(description="Trimmed mean (10 to 90 %) of the seconds of a rating.")
    seconds_sd: float | None
    n_timed: int
    times: list[JudgingDuration] = Field(default_factory=list, description="Times by kind of unit, where known.")
    why: list[str] = Field(description="Figures that are missing, and why.")


class ScorePredictionView(FrozenFiniteResultModel):
    """Scores of one campaign predicted from another's on the same outputs."""

    source: str
    target: str
    n: int
    n_documents: int
    r_squared: float | None = Field(description="R² on documents not used for the curve.")
    interval: Ends
    inside: float | None = Field(description="R² on the data to which the curve was fitted.")
    curve: list[tuple[float, float]] = Field(description="Points of the monotone curve, at most 101.")
    why: str | None = None


class ProtocolComparisonView(ReportHeader):
    """Comparison of protocols."""

    order: list[str] = Field(description="Expected order of systems; empty: human translations above systems.")
    draws: int
    level: float
    seed: int
    protocols: list[ComparedProtocolView]
    bridges: list[ScorePredictionView]


def _figure(value: float | None) -> str:
    return text_formatting.format_number(value, PLACES)


def _quantities(times: JudgingDuration) -> tuple[float | None, ...]:
    return times.median, times.low, times.high, times.mean, times.sd


def _yes_or_no(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"


def make_tables(view: ProtocolComparisonView) -> Sequence[TableSection]:
    """Make tables of the three criteria, of the gaps, and of the predictions between campaigns."""
    heads = ("Campaign", "Protocol", "Separates", "Separation", "α", f"{view.level:.0%} interval", "Pearson", "Seconds")
    rows = []
    for protocol in view.protocols:
        agree = (
            _figure(protocol.alpha),
            text_formatting.format_interval(protocol.alpha_interval, PLACES),
            _figure(protocol.pearson),
        )
        seconds = text_formatting.format_number(protocol.seconds, 1)
        rows.append(
            (
                protocol.campaign,
                protocol.protocol,
                _yes_or_no(protocol.separates),
                _figure(protocol.separation),
                *agree,
                seconds,
            )
        )
    shown = [TableSection("Separation, agreement and cost", make_table(heads, rows, 2))]
    times = [(one, spent) for one in view.protocols for spent in one.times]
    if times:
        of_times = ("Campaign", "Unit", "Number", "Median", "10 %", "90 %", "Trimmed mean", "SD")
        spent = [
            (one.campaign, IN_WORDS[t.what], f"{t.n:,}", *(text_formatting.format_number(x, 1) for x in _quantities(t)))
            for one, t in times
        ]
        shown.append(TableSection("Seconds", make_table(of_times, spent, 2)))
    gaps = [(one, gap) for one in view.protocols for gap in one.gaps]
    if gaps:
        ends = f"{view.level:.0%} interval"
        of_gaps = ("Campaign", "Better", "Worse", "Segments", "Gap", ends, "Standardized", "Confirmed")
        lines = []
        for protocol, gap in gaps:
            figures = (
                f"{gap.n:,}",
                _figure(gap.gap),
                text_formatting.format_interval(gap.interval, PLACES),
                _figure(gap.standardized),
                _yes_or_no(gap.found),
            )
            lines.append((protocol.campaign, gap.better, gap.worse, *figures))
        shown.append(TableSection("Expected order of systems", make_table(of_gaps, lines, 3), frozenset({0, 1, 2})))
    if view.bridges:
        names = ("From", "To", "Outputs", "R²", f"{view.level:.0%} interval", "Coverage")
        bridges = [
            (
                b.source,
                b.target,
                f"{b.n:,}",
                _figure(b.r_squared),
                text_formatting.format_interval(b.interval, PLACES),
                _figure(b.inside),
            )
            for b in view.bridges
        ]
        shown.append(
            TableSection("Prediction of one protocol from another", make_table(names, bridges, 2), frozenset({0, 1}))
        )
    return shown


CSV = ("what", "campaign", "other", "name", "value", "interval_low", "interval_high", "n", "why")


def make_csv_rows(view: ProtocolComparisonView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per figure."""
    rows: list[tuple[Cell, ...]] = []
    for protocol in view.protocols:
        agree: tuple[Cell, Cell] = protocol.alpha_interval or (None, None)
        rows.append(
            ("agreement", protocol.campaign, None, "alpha_interval", protocol.alpha, *agree, protocol.n_pairs, None)
        )
        rows.append(
            ("agreement", protocol.campaign, None, "mean_pearson", protocol.pearson, None, None, protocol.n_pairs, None)
        )
        rows.append(("cost", protocol.campaign, None, "seconds", protocol.seconds, None, None, protocol.n_timed, None))
        for spent in protocol.times:
            ends: tuple[Cell, Cell] = (spent.low, spent.high)
            rows.append(("time", protocol.campaign, None, f"{spent.what} median", spent.median, *ends, spent.n, None))
            rows.append(
                ("time", protocol.campaign, None, f"{spent.what} trimmed mean", spent.mean, *ends, spent.n, None)
            )
        for gap in protocol.gaps:
            ends = gap.interval or (None, None)
            rows.append(("gap", protocol.campaign, None, f"{gap.better} > {gap.worse}", gap.gap, *ends, gap.n, None))
    for b in view.bridges:
        ends = b.interval or (None, None)
        rows.append(("bridge", b.source, b.target, "r_squared", b.r_squared, *ends, b.n, b.why))
    return CSV, rows


def make_caption(view: ProtocolComparisonView) -> str:
    """Say what the figures are and which data they come from."""
    versions = ", ".join(f"{key} at {version}" for key, version in view.campaigns.items())
    return (
        f"Gaps are measured on segments that both systems have; {view.draws:,} draws of documents. Data "
        f"versions: {versions}; "
        f"seed {view.seed}, method {view.method_version}."
    )


def plot_protocol_gaps(view: ProtocolComparisonView) -> bytes:
    """Draw every standardized gap by protocol."""
    rows = []
    for protocol in view.protocols:
        for gap in protocol.gaps:
            scale = None if not gap.standardized or not gap.gap else gap.standardized / gap.gap
            ends = None if gap.interval is None or scale is None else (gap.interval[0] * scale, gap.interval[1] * scale)
            text = f"{_figure(gap.standardized)}  {'' if gap.found else 'not confirmed'}"
            rows.append(
                BeforeAfterRow(f"{protocol.campaign}: {gap.better} > {gap.worse}", 0.0, gap.standardized, ends, text)
            )
    below = f"Filled: gap over the SD of segment differences, {view.level:.0%} interval; hollow: no difference."
    title = f"Separation of systems in {', '.join(one.campaign for one in view.protocols)}"
    return plot_before_after(title, below, rows, [*view.warnings, make_caption(view)])
