"""The comparison of two presentations, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.arms import time_and_revision_results
from app.reports.arms.time_and_revision_results import ArmPaceTrend, ArmRevisions, ArmTime, ArmWorkVolume
from app.reports.arms.view import RANGES, make_csv_rows_without_provenance, make_line_panel
from app.reports.document_scores.view import PARTS
from app.reports.document_scores.view import describe_document_length_range as correlated
from app.reports.kit import text_formatting
from app.reports.kit.charts.line_panels import LinePanel, PanelSeries, plot_line_panels
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Cell, Table
from app.reports.kit.table_making import make_table
from app.reports.presentations.score_and_agreement_results import (
    ArmScoreHistogram,
    DocumentSegmentCorrelation,
    PresentationAgreement,
    PresentationScoreSpread,
    SameOutputComparison,
)

PLACES = 3
LEVELS = {"segments": "segments", "documents": "documents", "averaged": "means of segments"}
LENGTHS = {"all": "all", "short": "at most 10 segments", "long": "at least 20 segments"}
MAIN = frozenset({"all", "short", "long"})


class PresentationsView(ReportHeader):
    """Conditions side by side: time, revisions, how scores lie, agreement, document scores, the same outputs."""

    match: str
    controls: str
    rejected: bool = Field(default=False, description="Whether tasks that quality control rejected are included.")
    raters: str = Field("all", description="All raters, or complete: only those who finished their work.")
    baseline: str | None
    higher_is_better: bool
    tolerance: float | None = Field(description="Tolerance of κ; null if the scale has no bounds.")
    bins: list[str]
    arms: list[ArmWorkVolume]
    times: list[ArmTime]
    pace: list[ArmPaceTrend]
    revisions: list[ArmRevisions]
    spread: list[PresentationScoreSpread]
    histograms: list[ArmScoreHistogram]
    agreement: list[PresentationAgreement]
    correlations: list[DocumentSegmentCorrelation]
    shared: list[SameOutputComparison]
    conclusions: list[str]


def make_tables(view: PresentationsView) -> Sequence[TableSection]:
    """Make a table of every part that has data."""
    main = [one for one in view.agreement if one.documents in MAIN]
    by_length = [one for one in view.agreement if one.documents not in MAIN]
    shown = [
        TableSection("Conditions", time_and_revision_results.make_volume_table(view.arms)),
        TableSection("Time", time_and_revision_results.make_time_table(view.times), frozenset({1})),
        TableSection(
            "Learning and fatigue per hundred judgments", time_and_revision_results.make_pace_trend_table(view.pace)
        ),
        TableSection("Revised answers", time_and_revision_results.make_revision_table(view.revisions)),
        TableSection("Segment scores", _spread_table(view.spread)),
        TableSection("Share of segment scores", _histograms(view), frozenset()),
        TableSection("Agreement between raters", _agreement(view, main)),
        TableSection("Agreement between raters, by length", _agreement(view, by_length)),
        TableSection("Document score against its segments", _correlations(view.correlations)),
        TableSection("The same outputs under two conditions", _pair_table(view.shared), frozenset({0, 1})),
    ]
    return [one for one in shown if one.table.rows]


def describe_document_length_range(documents: str) -> str:
    """Say in words which documents are meant."""
    return LENGTHS.get(documents, f"{documents} segments")


def _figure(value: float | None) -> str:
    return text_formatting.format_number(value, PLACES)


def _spread_table(spreads: Sequence[PresentationScoreSpread]) -> Table:
    heads = ("Condition", "Documents", "Scores", "Mean", "SD", "SD within documents", "Documents shown")
    places = text_formatting.choose_decimals([one.sd for one in spreads])
    rows = [
        (
            *(one.arm, describe_document_length_range(one.documents), f"{one.n:,}"),
            *(text_formatting.format_number(value, places) for value in (one.mean, one.sd, one.within)),
            f"{one.shown:,}",
        )
        for one in spreads
    ]
    return make_table(heads, rows, 2)


def _histograms(view: PresentationsView) -> Table:
    heads = ("Score", *(one.arm for one in view.histograms))
    rows = [(label, *(f"{100 * one.shares[i]:.1f} %" for one in view.histograms)) for i, label in enumerate(view.bins)]
    return make_table(heads, rows if view.histograms else [], 1)


def _agreement(view: PresentationsView, agreement: Sequence[PresentationAgreement]) -> Table:
    within = "κ" if view.tolerance is None else f"κ within {view.tolerance:g}"
    heads = ("Condition", "Of", "Documents", "Units", "Pairs", "α", within, "Mean difference")
    rows = [
        (
            *(
                one.arm,
                LEVELS[one.level],
                describe_document_length_range(one.documents),
                f"{one.n_units:,}",
                f"{one.n_pairs:,}",
            ),
            *map(_figure, (one.alpha, one.kappa, one.absolute)),
        )
        for one in agreement
    ]
    return make_table(heads, rows, 3)


def _correlations(correlations: Sequence[DocumentSegmentCorrelation]) -> Table:
    heads = ("Condition", "Documents", "Segments", "n", "Pearson", "Spearman", "Kendall")
    rows = [
        (
            *(one.arm, correlated(one.documents), PARTS[one.part], f"{one.n:,}"),
            *map(_figure, (one.pearson, one.spearman, one.kendall)),
        )
        for one in correlations
    ]
    return make_table(heads, rows, 3)


def _pair_table(pairs: Sequence[SameOutputComparison]) -> Table:
    heads = ("Condition", "Against", "Outputs", "Difference", "Pearson", "Systems", "τ-b of systems")
    rows = [
        (
            *(one.arm, one.baseline, f"{one.n:,}", _figure(one.difference), _figure(one.pearson)),
            *(f"{one.n_systems:,}", _figure(one.tau)),
        )
        for one in pairs
    ]
    return make_table(heads, rows, 2)


CSV = ("what", "arm", "kind", "documents", "n", "value", "sd", "low", "high", "change_percent")


def make_csv_rows(view: PresentationsView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per figure."""
    none = (None, None, None)
    rows = make_csv_rows_without_provenance(view.times, view.pace, view.revisions)
    for spread in view.spread:
        rows.append(("mean", spread.arm, "segment", spread.documents, spread.n, spread.mean, spread.sd, *none))
        rows.append(("sd", spread.arm, "segment", spread.documents, spread.n, spread.sd, None, *none))
        rows.append(("sd", spread.arm, "within", spread.documents, spread.n, spread.within, None, *none))
    for of in view.histograms:
        rows += [
            ("share", of.arm, label, None, None, share, None, *none)
            for label, share in zip(view.bins, of.shares, strict=True)
        ]
    for unit in view.agreement:
        head = (unit.arm, unit.level, unit.documents, unit.n_pairs)
        for what, value in (("alpha", unit.alpha), ("kappa", unit.kappa), ("absolute", unit.absolute)):
            rows.append((what, *head, value, None, *none))
    for line in view.correlations:
        rows.append(("pearson", line.arm, line.part, line.documents, line.n, line.pearson, None, *none))
    for pair in view.shared:
        for what, value in (("difference", pair.difference), ("pearson", pair.pearson), ("tau", pair.tau)):
            rows.append((f"shared_{what}", pair.arm, pair.baseline, None, pair.n, value, None, *none))
    return CSV, rows


def make_caption(view: PresentationsView) -> str:
    """Say what the figures are and which data they come from."""
    versions = ", ".join(f"{key} at {version}" for key, version in view.campaigns.items())
    n = sum(one.judgments for one in view.arms)
    compared = {
        "none": "all judgments of each",
        "documents": "on documents that were judged under every one",
        "outputs": "on outputs that were judged under every one",
    }[view.match]
    return (
        f"{text_formatting.pluralize(n, 'judgment')} under "
        f"{text_formatting.pluralize(len(view.arms), 'condition')}, {compared}. "
        f"Times are trimmed means (10th to 90th percentile). Data versions: {versions}; "
        f"method {view.method_version}."
    )


def plot_scores_and_agreement(view: PresentationsView) -> bytes:
    """Draw score distributions by condition, their SD by document length, and agreement by length."""
    names = [one.arm for one in view.arms]
    sd = {(one.arm, one.documents): one.sd for one in view.spread}
    inside = {(one.arm, one.documents): one.within for one in view.spread}
    alpha = {(one.arm, one.documents): one.alpha for one in view.agreement if one.level == "segments"}
    drawn = [
        LinePanel("Share of segment scores", view.bins, [PanelSeries(one.arm, one.shares) for one in view.histograms]),
        make_line_panel("SD of segment scores, by segments of the document", RANGES, names, sd),
        make_line_panel("SD within documents, by their segments", RANGES, names, inside),
        make_line_panel("Krippendorff's α of segments, by length", RANGES, names, _not_below(alpha)),
    ]
    return _panels(view, "Distribution of scores, by condition", drawn)


def _not_below(values: dict[tuple[str, str], float | None]) -> dict[tuple[str, str], float | None]:
    """Replace negative values by 0, where the curves begin; agreement worse than chance is drawn there."""
    return {key: None if value is None else max(0.0, value) for key, value in values.items()}


def plot_times_by_document_length(view: PresentationsView) -> bytes:
    """Draw the seconds per segment score and per document, by document length."""
    names = [one.arm for one in view.arms]
    drawn = []
    for what in ("segment", "document"):
        means: dict[tuple[str, str], float | None] = {
            (one.arm, one.documents): one.mean for one in view.times if one.what == what
        }
        drawn.append(make_line_panel(f"Seconds per {what}", RANGES, names, means))
    return _panels(view, "Trimmed means by number of segments of the document", drawn)


def _panels(view: PresentationsView, below: str, drawn: Sequence[LinePanel]) -> bytes:
    there = [panel for panel in drawn if panel.places and any(curve.values for curve in panel.curves)]
    notes = [*view.conclusions, *map(text_formatting.make_sentence, view.warnings), make_caption(view)]
    title = f"Conditions compared: {', '.join(view.campaigns)}"
    return plot_line_panels(title, below, there, notes, empty_message="nothing to draw; see the notes below")
