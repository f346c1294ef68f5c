"""A report on the arms of a campaign, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from app.reports.arms import lines
from app.reports.arms.lines import ArmPaceTrend, ArmRevisions, ArmTime, ArmWorkVolume
from app.reports.arms.prefilled_errors import ArmPrefillOutcomes, make_prefill_csv_rows, make_prefill_table
from app.reports.arms.time_model import ArmTimeModel, make_time_model_table
from app.reports.kit import captions
from app.reports.kit.charts.panels import LinePanel, PanelSeries, plot_line_panels
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.table import Cell
from app.stats.arms.times import LENGTHS, format_length_range

RANGES = tuple(format_length_range(low, high) for low, high in LENGTHS)
BRIEF = {
    "segment": "segment",
    "per_word": "word",
    "between_starts": "gap",
    "document_score": "score",
    "document": "document",
    "task": "task",
}
"""Kinds of unit where there is little room: `gap` from one beginning to the next, `score` of a whole document."""
POSITIONS = (("first_third", "first third"), ("last_third", "last third"))


class ArmsView(ReportHeader):
    """Comparison of arms: how long judging takes, how that changes with work, and how often answers are changed."""

    rejected: bool = Field(default=False, description="Tasks that quality control rejected count, too.")
    raters: str = Field("all", description="Or complete: only those who finished their work.")
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
    """Volumes, times, slopes, revisions, prefilled errors."""
    shown = [
        TableSection("Conditions", lines.make_volume_table(view.arms)),
        TableSection("Time", lines.make_time_table(view.times), frozenset({1})),
        TableSection("Learning and fatigue per hundred judgments", lines.make_pace_trend_table(view.pace)),
        TableSection("Effects on judging time, other things being equal", make_time_model_table(view.model)),
        TableSection("Revised answers", lines.make_revision_table(view.revisions)),
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
    """One row a figure: times (seconds), ratios, slopes, rates, shares."""
    origin = next(iter(view.campaigns.items()))
    rows = [
        *make_arm_csv_rows(view.times, view.pace, view.revisions),
        *make_effect_csv_rows(view.model),
        *make_prefill_csv_rows(view.prefill),
    ]
    return CSV, [(*row, *origin) for row in rows]


def make_effect_csv_rows(model: ArmTimeModel | None) -> list[tuple[Cell, ...]]:
    """The effects of the mixed model as figures: times as long."""
    if model is None:
        return []
    return [
        ("model", one.arm, one.what, None, model.n, one.factor, None, *(one.interval or (None, None)), None)
        for one in model.effects
    ]


def make_arm_csv_rows(
    times: Sequence[ArmTime], pace: Sequence[ArmPaceTrend], revisions: Sequence[ArmRevisions]
) -> list[tuple[Cell, ...]]:
    """One row a figure, without where it comes from."""
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
    """What the figures are, and from which data."""
    n = sum(one.judgments for one in view.arms)
    version = next(iter(view.campaigns.values()))
    against = f" Changes against {view.baseline}." if view.baseline and len(view.arms) > 1 else ""
    return (
        f"{captions.pluralize(n, 'judgment')} under {captions.pluralize(len(view.arms), 'condition')}; "
        "times are trimmed "
        f"means (10th to 90th percentile within kind and condition).{against} Data version {version}, "
        f"method {view.method_version}."
    )


def plot_times_by_length(view: ArmsView) -> bytes:
    """Seconds of a segment score and of a document, by length of the document."""
    drawn = [
        _by_length(view, "segment", "Seconds per segment"),
        _by_length(view, "document", "Seconds per document"),
    ]
    return _panels(view, "Trimmed means by number of segments of the document", drawn)


def _by_length(view: ArmsView, what: str, title: str) -> LinePanel:
    return make_curve_panel(title, RANGES, [one.arm for one in view.arms], _means_by_arm(view.times, what))


def make_curve_panel(
    title: str, places: Sequence[str], names: Sequence[str], value: dict[tuple[str, str], float | None]
) -> LinePanel:
    """A panel of the values by (name, place), without places that have none."""
    there = [place for place in places if any(value.get((name, place)) is not None for name in names)]
    return LinePanel(title, there, [PanelSeries(name, [value.get((name, place)) for place in there]) for name in names])


def _means_by_arm(times: Sequence[ArmTime], what: str) -> dict[tuple[str, str], float | None]:
    return {(one.arm, one.documents): one.mean for one in times if one.what == what}


def plot_times_by_position(view: ArmsView) -> bytes:
    """Seconds of a segment score by place in the document, and of whole units as percent of the first condition."""
    names = [one.arm for one in view.arms]
    by_place = {(one.arm, label): one.mean for key, label in POSITIONS for one in view.times if one.what == key}
    base = {one.what: one.mean for one in view.times if one.arm == view.baseline and one.documents == "all"}
    relative = {
        (one.arm, BRIEF[one.what]): 100 * one.mean / base[one.what]
        for one in view.times
        if one.documents == "all" and base.get(one.what) and one.what in BRIEF
    }
    drawn = [
        make_curve_panel("Seconds per segment, by position", [label for _, label in POSITIONS], names, dict(by_place)),
        make_curve_panel(f"Time as a percentage of {view.baseline}", list(BRIEF.values()), names, dict(relative)),
    ]
    return _panels(view, "Trimmed means by position in the document and kind of unit", drawn)


def _panels(view: ArmsView, below: str, drawn: Sequence[LinePanel]) -> bytes:
    there = [panel for panel in drawn if panel.places]
    notes = [*map(captions.make_sentence, view.warnings), make_caption(view)]
    title = f"Time under each condition of {next(iter(view.campaigns))}"
    return plot_line_panels(title, below, there, notes, nothing="no judgment has a duration of its own")
