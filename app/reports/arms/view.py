"""The report on the arms of a campaign, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.arms import time_and_revision_results
from app.reports.arms.prefilled_errors import ArmPrefillOutcomes, make_prefill_csv_rows, make_prefill_table
from app.reports.arms.time_and_revision_results import ArmPaceTrend, ArmRevisions, ArmTime, ArmWorkVolume
from app.reports.arms.time_model import ArmTimeModel, make_time_model_table
from app.reports.kit import text_formatting
from app.reports.kit.charts.line_panels import LinePanel, PanelSeries, plot_line_panels
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Cell
from app.stats.document_lengths import LENGTHS, format_segment_count_range

RANGES = tuple(format_segment_count_range(low, high) for low, high in LENGTHS)
BRIEF = {
    "segment": "segment",
    "per_word": "word",
    "between_starts": "gap",
    "document_score": "score",
    "document": "document",
    "task": "task",
}
"""Short names for kinds of unit: `gap` is the time between two starts, `score` belongs to a whole document."""
POSITIONS = (("first_third", "first third"), ("last_third", "last third"))


class ArmsView(ReportHeader):
    """Comparison of arms: how long judging takes, how that changes with work, and how often answers are changed."""

    rejected: bool = Field(default=False, description="Whether tasks that quality control rejected are included.")
    raters: str = Field("all", description="All raters, or complete: only those who finished their work.")
    baseline: str | None
    arms: list[ArmWorkVolume]
    times: list[ArmTime]
    pace: list[ArmPaceTrend]
    revisions: list[ArmRevisions]
    model: ArmTimeModel | None = None
    prefill: list[ArmPrefillOutcomes] = Field(
        default_factory=list, description="Prefilled errors and what raters did with them."
    )


def make_tables(view: ArmsView) -> Sequence[TableSection]:
    """Make tables of volumes, times, slopes, revisions and prefilled errors."""
    shown = [
        TableSection("Conditions", time_and_revision_results.make_volume_table(view.arms)),
        TableSection("Time", time_and_revision_results.make_time_table(view.times), frozenset({1})),
        TableSection(
            "Learning and fatigue per hundred judgments", time_and_revision_results.make_pace_trend_table(view.pace)
        ),
        TableSection("Effects on judging time, other things being equal", make_time_model_table(view.model)),
        TableSection("Revised answers", time_and_revision_results.make_revision_table(view.revisions)),
        TableSection("Prefilled errors", make_prefill_table(view.prefill), frozenset({0, 1})),
    ]
    return [one for one in shown if one.table.rows]


CSV = (
    "what",
    "arm",
    "kind",
    "documents",
    "n",
    "value",
    "sd",
    "low",
    "high",
    "change_percent",
    "campaign",
    "data_version",
)


def make_csv_rows(view: ArmsView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per figure: times (seconds), ratios, slopes, rates and shares."""
    origin = next(iter(view.campaigns.items()))
    rows = [
        *make_csv_rows_without_provenance(view.times, view.pace, view.revisions),
        *make_time_effect_csv_rows(view.model),
        *make_prefill_csv_rows(view.prefill),
    ]
    return CSV, [(*row, *origin) for row in rows]


def make_time_effect_csv_rows(model: ArmTimeModel | None) -> list[tuple[Cell, ...]]:
    """Return the effects of the mixed model as factors on time."""
    if model is None:
        return []
    return [
        ("model", one.arm, one.what, None, model.n, one.factor, None, *(one.interval or (None, None)), None)
        for one in model.effects
    ]


def make_csv_rows_without_provenance(
    times: Sequence[ArmTime], pace: Sequence[ArmPaceTrend], revisions: Sequence[ArmRevisions]
) -> list[tuple[Cell, ...]]:
    """Return one row per figure, without the columns that say which data it comes from."""
    none = (None, None)
    rows: list[tuple[Cell, ...]] = [
        ("time", one.arm, one.what, one.documents, one.n, one.mean, one.sd, one.low, one.high, one.change)
        for one in times
    ]
    rows += [
        (
            "ratio",
            one.arm,
            one.what,
            one.documents,
            one.ratio_raters,
            one.ratio,
            None,
            *(one.ratio_interval or none),
            None,
        )
        for one in times
        if one.ratio is not None
    ]
    rows += [
        (one.what, one.arm, "per_word", None, one.n_raters, one.slope, None, *(one.interval or none), None)
        for one in pace
    ]
    for of in revisions:
        rows.append(("revised", of.arm, "segment", None, of.segments, of.segment_rate, None, *none, of.segment_change))
        rows.append(
            ("revised", of.arm, "document", None, of.documents, of.document_rate, None, *none, of.document_change)
        )
    return rows


def make_caption(view: ArmsView) -> str:
    """Say what the figures are and which data they come from."""
    n = sum(one.judgments for one in view.arms)
    version = next(iter(view.campaigns.values()))
    against = f" Changes against {view.baseline}." if view.baseline and len(view.arms) > 1 else ""
    return (
        f"{text_formatting.pluralize(n, 'judgment')} under {text_formatting.pluralize(len(view.arms), 'condition')}; "
        "times are trimmed "
        f"means (10th to 90th percentile within kind and condition).{against} Data version {version}, "
        f"method {view.method_version}."
    )


def plot_times_by_document_length(view: ArmsView) -> bytes:
    """Draw the seconds per segment score and per document, by document length."""
    drawn = [
        _by_length(view, "segment", "Seconds per segment"),
        _by_length(view, "document", "Seconds per document"),
    ]
    return _panels(view, "Trimmed means by number of segments of the document", drawn)


def _by_length(view: ArmsView, what: str, title: str) -> LinePanel:
    return make_line_panel(title, RANGES, [one.arm for one in view.arms], _means_by_arm(view.times, what))


def make_line_panel(
    title: str, x_labels: Sequence[str], series_names: Sequence[str], values: dict[tuple[str, str], float | None]
) -> LinePanel:
    """Make a panel of the values by (series name, x label), leaving out labels without values."""
    there = [place for place in x_labels if any(values.get((name, place)) is not None for name in series_names)]
    return LinePanel(
        title, there, [PanelSeries(name, [values.get((name, place)) for place in there]) for name in series_names]
    )


def _means_by_arm(times: Sequence[ArmTime], what: str) -> dict[tuple[str, str], float | None]:
    return {(one.arm, one.documents): one.mean for one in times if one.what == what}


def plot_times_by_position(view: ArmsView) -> bytes:
    """Draw the seconds per segment score by position in the document, and times of whole units as % of the baseline."""
    names = [one.arm for one in view.arms]
    by_place = {(one.arm, label): one.mean for key, label in POSITIONS for one in view.times if one.what == key}
    base = {one.what: one.mean for one in view.times if one.arm == view.baseline and one.documents == "all"}
    relative = {
        (one.arm, BRIEF[one.what]): 100 * one.mean / base[one.what]
        for one in view.times
        if one.documents == "all" and base.get(one.what) and one.what in BRIEF
    }
    drawn = [
        make_line_panel("Seconds per segment, by position", [label for _, label in POSITIONS], names, dict(by_place)),
        make_line_panel(f"Time as a percentage of {view.baseline}", list(BRIEF.values()), names, dict(relative)),
    ]
    return _panels(view, "Trimmed means by position in the document and kind of unit", drawn)


def _panels(view: ArmsView, below: str, drawn: Sequence[LinePanel]) -> bytes:
    there = [panel for panel in drawn if panel.places]
    notes = [*map(text_formatting.make_sentence, view.warnings), make_caption(view)]
    title = f"Time under each condition of {next(iter(view.campaigns))}"
    return plot_line_panels(title, below, there, notes, empty_message="no judgment has a duration of its own")
