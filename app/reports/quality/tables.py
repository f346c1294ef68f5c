"""The table of the report on quality: one line per rater, for people and for files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from app.reports.kit import text_formatting
from app.reports.kit.columns import NONE, Column, File, make_csv_headings_and_rows, make_table_section
from app.reports.kit.report import TableSection
from app.reports.quality.view import RaterQualityView
from app.stats.quality.report import RaterQuality

VERDICTS = {"pass": "passed", "fail": "failed", "not_testable": "not testable"}


class _RaterEvidence(NamedTuple):
    """The evidence on a rater, with the report that contains it."""

    report: RaterQualityView
    rater: RaterQuality


def _lines(report: RaterQualityView) -> Iterator[_RaterEvidence]:
    return (_RaterEvidence(report, rater) for rater in report.raters)


def _evidence_value(
    evidence: str, name: str, change: Callable[[Any], Any] = lambda value: value
) -> Callable[[_RaterEvidence], Any]:
    """Return a function that gives a figure from one kind of evidence on a rater; None if there is no such evidence."""

    def value(line: _RaterEvidence) -> Any:
        part = getattr(line.rater, evidence)
        return None if part is None else change(getattr(part, name))

    return value


def _p_text(name: str) -> Callable[[_RaterEvidence], str]:
    p_value = _evidence_value("control", name)
    return lambda line: text_formatting.format_p_value(p_value(line))


def _n_pairs(line: _RaterEvidence) -> str:
    return NONE if line.rater.control is None else str(line.rater.control.n_pairs)


def _checks(line: _RaterEvidence) -> str:
    checks = line.rater.attention
    return NONE if checks is None else f"{checks.found} of {checks.found + checks.missed}"


def _alike_with(line: _RaterEvidence) -> str:
    pairs = [pair.raters for pair in line.report.alike if line.rater.rater in pair.raters]
    return "; ".join(other for pair in pairs for other in pair if other != line.rater.rater)


CHECKS: Column[_RaterEvidence] = Column(heading="Checks found", digits=0, text=_checks)
COLUMNS: Sequence[Column[_RaterEvidence]] = (
    Column(
        heading="Rater",
        key="rater",
        value=attrgetter("rater.rater"),
        text=lambda line: text_formatting.make_printable(line.rater.rater),
        names=True,
    ),
    Column(heading="Judgments", key="judgments", value=attrgetter("rater.n_judgments"), digits=0),
    Column(
        heading="Verdict",
        key="verdict",
        value=attrgetter("rater.verdict"),
        digits=0,
        text=lambda line: VERDICTS[line.rater.verdict],
    ),
    Column(key="completion", value=attrgetter("rater.completion")),
    Column(heading="Pairs", key="pairs", value=_evidence_value("control", "n_pairs"), digits=0, text=_n_pairs),
    Column(heading="Difference", value=_evidence_value("control", "mean_difference"), digits=1),
    Column(key="statistic", value=_evidence_value("control", "statistic")),
    Column(
        heading="p",
        key="p_value",
        value=_evidence_value("control", "p_value", text_formatting.format_p_value_for_csv),
        digits=4,
        text=_p_text("p_value"),
    ),
    Column(
        heading="q",
        key="q_value",
        value=_evidence_value("control", "q_value", text_formatting.format_p_value_for_csv),
        digits=4,
        text=_p_text("q_value"),
    ),
    Column(key="mean_difference", value=_evidence_value("control", "mean_difference")),
    Column(key="share_worse", value=_evidence_value("control", "share_worse")),
    Column(key="repeats", value=_evidence_value("repeats", "n")),
    Column(
        heading="Repeats differ by",
        key="repeat_difference",
        value=_evidence_value("repeats", "mean_difference"),
        digits=1,
    ),
    Column(key="repeats_within", value=_evidence_value("repeats", "within")),
    Column(key="repeat_icc", value=_evidence_value("repeats", "icc")),
    Column(key="panel_items", value=_evidence_value("panel", "n_items")),
    Column(heading="Offset", key="offset", value=_evidence_value("panel", "offset"), digits=1),
    Column(key="spread_ratio", value=_evidence_value("panel", "spread_ratio")),
    Column(key="correlation", value=_evidence_value("panel", "correlation")),
    Column(key="seconds_per_word", value=_evidence_value("speed", "seconds_per_word")),
    Column(key="speed_ratio", value=_evidence_value("speed", "ratio")),
    Column(key="longest_run", value=attrgetter("rater.habits.longest_run")),
    Column(key="expected_run", value=attrgetter("rater.habits.expected_run")),
    Column(key="round_share", value=attrgetter("rater.habits.round_share")),
    Column(key="no_errors", value=attrgetter("rater.habits.no_errors")),
    Column(key="cusum_alarm", value=_evidence_value("drift", "alarm")),
    Column(key="cusum_chance", value=_evidence_value("drift", "chance")),
    Column(key="flags", value=lambda line: "; ".join(line.rater.flags)),
    Column(key="checks_found", value=_evidence_value("attention", "found")),
    Column(key="checks_missed", value=_evidence_value("attention", "missed")),
    Column(key="degraded_segments", value=_evidence_value("span_hits", "n")),
    Column(key="marked_where_degraded", value=_evidence_value("span_hits", "hits")),
    Column(key="drift_chance", value=_evidence_value("drift", "either")),
    Column(key="within_tasks_q", value=_evidence_value("within_tasks", "q_value")),
    Column(key="alike_with", value=_alike_with),
    Column(key="campaign", value=attrgetter("report.campaign")),
    Column(key="data_version", value=attrgetter("report.data_version")),
    CHECKS,
    Column(heading="Flags", text=lambda line: "; ".join(line.rater.flags) or NONE),
)


def make_tables(report: RaterQualityView) -> Sequence[TableSection]:
    """Make one row per rater; checks are shown if any rater had some."""
    checked = any(rater.attention for rater in report.raters)
    columns = [column for column in COLUMNS if checked or column is not CHECKS]
    return [make_table_section(f"{report.campaign}: quality", columns, _lines(report))]


def make_csv_rows(report: RaterQualityView) -> File:
    """Make one row per rater at full precision."""
    return make_csv_headings_and_rows(COLUMNS, _lines(report))


def make_caption(report: RaterQualityView) -> str:
    """Say what the figures are and which data they come from."""
    choices, counts = report.choices, report.counts
    verdicts = ", ".join(f"{counts[verdict]} {text}" for verdict, text in VERDICTS.items())
    test = choices.test.replace("_", " ")
    rule = f"{test} test, one-sided, at least {choices.min_pairs} pairs, {choices.adjust} at {choices.alpha:g}"
    return (
        f"Degraded items against their originals: {rule}. {verdicts}. "
        f"Data version {report.data_version}, method {report.method_version}."
    )
