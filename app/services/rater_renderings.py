"""Reports on raters as CSV, LaTeX, Markdown or SVG; the same report gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from app.reports.kit import captions
from app.reports.kit.render import csv_text, markup
from app.reports.kit.table import Alignment, Cell, Table
from app.services.pictures.quality import control_plot
from app.services.pictures.timing import rater_bars
from app.services.quality import QualityView
from app.services.timing_report import RevisionsView, TimingView
from app.stats.quality.report import RaterQuality
from app.stats.timing.timing import in_clock

About = Literal["quality", "timing", "revisions"]
View = QualityView | TimingView | RevisionsView
VIEWS: Mapping[About, type[View]] = MappingProxyType(
    {"quality": QualityView, "timing": TimingView, "revisions": RevisionsView}
)
VERDICTS = {"pass": "passed", "fail": "failed", "not_testable": "not testable"}
ORIGIN = ("campaign", "data_version")
_HEADS: Mapping[About, tuple[str, ...]] = MappingProxyType(
    {
        "quality": (
            *("rater", "judgments", "verdict", "completion", "pairs", "statistic", "p_value", "q_value"),
            *("mean_difference", "share_worse", "repeats", "repeat_difference", "repeats_within", "repeat_icc"),
            *("panel_items", "offset", "spread_ratio", "correlation", "seconds_per_word", "speed_ratio"),
            *("longest_run", "expected_run", "round_share", "no_errors", "cusum_alarm", "cusum_chance", "flags"),
            *("checks_found", "checks_missed", "degraded_segments", "marked_where_degraded"),
            *("drift_chance", "within_tasks_q", "alike_with"),
        ),
        "timing": ("rater", "judgments", "hours", "mean_seconds", "sd_seconds", "words_per_hour", "slope", "slope_p"),
        "revisions": (
            *("rater", "segments", "changed_segments", "segment_rate"),
            *("documents", "changed_documents", "document_rate"),
        ),
    }
)


def read(about: About, body: bytes) -> View:
    """A stored report as a value."""
    return VIEWS[about].model_validate_json(body)


def render(about: About, body: bytes, kind: str) -> bytes:
    """As `csv` (full precision, one row a rater), `tex`, `md` or `svg`."""
    view = read(about, body)
    if kind == "svg":
        return control_plot(view) if isinstance(view, QualityView) else rater_bars(view)
    if kind == "csv":
        rows = ((*row, view.campaign, view.data_version) for row in _rows(view))
        return csv_text.as_csv((*_HEADS[about], *ORIGIN), rows)
    shown, said = table(view), caption(view)
    if kind == "md":
        head = f"**{markup.code(view.campaign)}**: {about} of raters"
        return markup.markdown_table(head, shown, names=frozenset({0}), caption=said, warnings=tuple(view.warnings))
    label = f"{view.campaign}-{about}"
    said = f"{view.campaign}: {about} of raters. {said}"
    return markup.latex_table(shown, caption=said, label=label, warnings=tuple(view.warnings))


def table(view: View) -> Table:
    """One row a rater, for people."""
    heads: tuple[str, ...]
    if isinstance(view, QualityView):
        heads = (
            "Rater",
            "Judgments",
            "Verdict",
            "Pairs",
            "Difference",
            "p",
            "q",
            "Repeats differ by",
            "Offset",
            *(("Checks found",) if any(one.attention for one in view.raters) else ()),
            "Flags",
        )
        checked = "Checks found" in heads
        return _table(heads, [_quality_cells(one, checked=checked) for one in view.raters], last_left=True)
    if isinstance(view, TimingView):
        heads = ("Rater", "Judgments", "Hours", "Mean time", "Words per hour", "Slope")
        return _table(heads, [_timing_cells(view, i) for i in range(len(view.raters))])
    heads = ("Rater", "Segments", "Changed", "Rate", "Documents", "Changed", "Rate")
    told = [(one.rater, one.revisions) for one in view.raters] + [("all", view.overall)]
    rows = [
        (
            *(captions.printable(rater), f"{r.segments:,}", f"{r.changed_segments:,}", _share(r.segment_rate)),
            *(f"{r.documents:,}", f"{r.changed_documents:,}", _share(r.document_rate)),
        )
        for rater, r in told
    ]
    return _table(heads, rows)


def caption(view: View) -> str:
    """What the figures are, and from which data."""
    origin = f"Data version {view.data_version}, method {view.method_version}."
    if isinstance(view, QualityView):
        c, n = view.choices, view.counts
        told = ", ".join(f"{n[verdict]} {text}" for verdict, text in VERDICTS.items())
        rule = f"{c.test.replace('_', ' ')} test, one-sided, at least {c.min_pairs} pairs, {c.adjust} at {c.alpha:g}"
        return f"Degraded items against their originals: {rule}. {told}. {origin}"
    if isinstance(view, TimingView):
        times = [
            f"{d.what} {in_clock(d.times.mean)}" + (f" ± {in_clock(d.times.sd)}" if d.times.sd is not None else "")
            for d in view.durations
            if d.times
        ]
        return f"Means ± SD from the 10th to the 90th percentile: {'; '.join(times) or 'none'}. {origin}"
    return f"Answers whose score changed after it was first given. {origin}"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, last_left: bool = False) -> Table:
    sides: list[Alignment] = ["left" if n == 0 else "right" for n in range(len(heads))]
    if last_left:
        sides[-1] = "left"
    return Table(heads, tuple(sides), tuple(rows))


def _quality_cells(one: RaterQuality, *, checked: bool) -> tuple[str, ...]:
    test, again, panel, seen = one.control, one.repeats, one.panel, one.attention
    checks = "–" if seen is None else f"{seen.found} of {seen.found + seen.missed}"
    return (
        captions.printable(one.rater),
        f"{one.n_judgments:,}",
        VERDICTS[one.verdict],
        str(test.n_pairs) if test else "–",
        captions.number(test.mean_difference if test else None, 1),
        captions.p_text(test.p_value if test else None),
        captions.p_text(test.q_value if test else None),
        captions.number(again.mean_difference if again else None, 1),
        captions.number(panel.offset if panel else None, 1),
        *((checks,) if checked else ()),
        "; ".join(one.flags) or "–",
    )


def _timing_cells(view: TimingView, i: int) -> tuple[str, ...]:
    one = view.raters[i]
    words = "–" if one.words_per_hour is None else f"{one.words_per_hour:,.0f}"
    mean = "–" if one.times is None else in_clock(one.times.mean)
    slope = captions.number(one.slope, 2)
    return captions.printable(one.rater), f"{one.n:,}", f"{one.hours:.1f}", mean, words, slope


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _rows(view: View) -> list[tuple[Cell, ...]]:
    if isinstance(view, QualityView):
        return [_quality_row(one, view) for one in view.raters]
    if isinstance(view, TimingView):
        return [
            (
                *(t.rater, t.n, t.hours, t.times.mean if t.times else None, t.times.sd if t.times else None),
                *(t.words_per_hour, t.slope, t.slope_p),
            )
            for t in view.raters
        ]
    told = [(one.rater, one.revisions) for one in view.raters]
    return [
        (
            *(rater, r.segments, r.changed_segments, r.segment_rate),
            *(r.documents, r.changed_documents, r.document_rate),
        )
        for rater, r in told
    ]


def _quality_row(one: RaterQuality, view: QualityView) -> tuple[Cell, ...]:
    t, r, p, s, h, d = one.control, one.repeats, one.panel, one.speed, one.habits, one.drift
    chances = (captions.p_cell(t.p_value), captions.p_cell(t.q_value)) if t else ()
    tested = (t.n_pairs, t.statistic, *chances, t.mean_difference, t.share_worse) if t else (None,) * 6
    again = (r.n, r.mean_difference, r.within, r.icc) if r else (None,) * 4
    beside = (p.n_items, p.offset, p.spread_ratio, p.correlation) if p else (None,) * 4
    pace = (s.seconds_per_word, s.ratio) if s else (None, None)
    ways = (h.longest_run, h.expected_run, h.round_share, h.no_errors)
    moved = (d.alarm, d.chance) if d else (None, None)
    head = (one.rater, one.n_judgments, one.verdict, one.completion)
    checks = (one.attention.found, one.attention.missed) if one.attention else (None, None)
    hits = (one.span_hits.n, one.span_hits.hits) if one.span_hits else (None, None)
    same = [other for pair in view.alike if one.rater in pair.raters for other in pair.raters if other != one.rater]
    last = (d.either if d else None, one.within_tasks.q_value if one.within_tasks else None, "; ".join(same))
    return (*head, *tested, *again, *beside, *pace, *ways, *moved, "; ".join(one.flags), *checks, *hits, *last)
