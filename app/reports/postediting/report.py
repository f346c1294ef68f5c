"""How much outputs were edited, in which ways, and which post-edits are closest to which outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.reports.inputs.post_edits import (
    PostEdit,
    PostEdits,
    PostEditsOptions,
    load_post_edits,
    unpack_segment_edit_chunks,
)
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.postediting.charts import (
    plot_closest_reference_shares,
    plot_edit_rates,
    plot_mean_ter_by_reference_count,
)
from app.reports.postediting.view import (
    ClosestPostEditLine,
    ClosestReferenceLine,
    EditOperationsLine,
    EditRateView,
    PostEditedSystem,
    PosteditingView,
    SufficientReferenceCount,
    TERByReferencesPoint,
    make_caption,
    make_csv_rows,
    make_tables,
)
from app.stats.plain_values import number_or_none
from app.stats.postediting import rates
from app.stats.postediting.closest import ClosestReferenceCount, compute_closest_shares_by_lab, count_closest_references
from app.stats.postediting.edit_matrix import EXTERNAL, OutputReferenceEditMatrix
from app.stats.postediting.operations import chrf, chrf_signature
from app.stats.postediting.ter_by_reference_count import TERByReferenceCountCurve, compute_ter_by_reference_count
from app.storage.db import Session

NO_EXTERNAL = "no segment has an external reference: TER external is missing; import references to get it"
NO_CURVE = (
    "no curve: no segment has a post-edit of the output of every post-edited system; have all outputs of some segments "
    "edited"
)
PARTIAL = (
    "the curve uses only segments in which every post-edited output was edited: {0:,} of {1:,}; have the others edited"
)
ONE_DOCUMENT = "one document, so there are no intervals; collect post-edits of more documents"


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: PostEditsOptions
) -> ReportComputation[PosteditingView]:
    post_edits = load_post_edits(session, snapshots[0], options)
    if not post_edits.texts:
        return make_undivided_computation(lambda: _view(post_edits, options, []))
    return ReportComputation(
        post_edits.n_chunks,
        post_edits.compute_chunk,
        lambda done: _view(post_edits, options, unpack_segment_edit_chunks(done)),
    )


def _view(
    post_edits: PostEdits, options: PostEditsOptions, segments: Sequence[OutputReferenceEditMatrix]
) -> PosteditingView:
    edited = sorted({one.system for one in post_edits.edits})
    codes = [post_edits.systems.index(key) for key in edited]
    judged = [
        post_edits.systems.index(key) for key in sorted({post_edits.systems[c] for at in segments for c in at.systems})
    ]
    lines = count_closest_references(segments, judged)
    drawn = compute_ter_by_reference_count(segments, codes)
    systems = [_system(post_edits, segments, code, options.level) for code in judged]
    return PosteditingView(
        **post_edits.report_header_fields,
        warnings=[*post_edits.warnings, *_warnings(post_edits, segments, drawn)],
        tokens=post_edits.tokens.signature,
        chrf_signature=chrf_signature(),
        reference=post_edits.reference,
        interval_level=options.level,
        n_segments=len(segments),
        n_post_edits=len({one.judgment for one in post_edits.edits}),
        n_raters=len({one.rater for one in post_edits.edits}),
        systems=sorted(systems, key=lambda one: (one.mter.value is None, one.mter.value or 0.0, one.system)),
        operations=[_operations(post_edits, segments, code) for code in codes],
        closest=[_make_closest_reference_line(post_edits, one) for one in lines],
        labs=_group_by_lab(post_edits, lines),
        curve=[] if drawn is None else _points(drawn),
        curve_segments=0 if drawn is None else drawn.n_segments,
        enough=None if drawn is None else drawn.enough,
        enough_by_system=[] if drawn is None else _list_sufficient_references(post_edits, drawn),
    )


def _system(
    post_edits: PostEdits, segments: Sequence[OutputReferenceEditMatrix], code: int, level: float
) -> PostEditedSystem:
    key = post_edits.systems[code]
    edits = [one for one in post_edits.edits if one.system == key]
    own = [one for _, one in rates.iterate_own_post_edit_distances(segments, code)]
    return PostEditedSystem(
        system=key,
        lab=post_edits.labs[code],
        n_post_edits=len(edits),
        hter=_rate(rates.collect_hter_edits(segments, code), level),
        mter=_rate(rates.collect_mter_edits(segments, code), level),
        ter_external=_rate(rates.collect_external_ter_edits(segments, code), level),
        words=_per_hundred(sum(one.words for one in own), sum(one.operations.length for one in own)),
        characters=_per_hundred(sum(one.characters for one in own), sum(one.n_characters for one in own)),
        chrf=number_or_none(chrf([(_output(post_edits, one), one.text) for one in edits])),
        unchanged=_mean([one.characters == 0 for one in own]),
        critical_mean=_mean([one.critical for one in edits]),
        critical_share=_mean([one.critical > 0 for one in edits]),
    )


def _output(post_edits: PostEdits, edit: PostEdit) -> str:
    return post_edits.outputs[edit.system, *edit.address]


def _rate(edits: rates.TextEditCounts, level: float) -> EditRateView:
    rate = edits.estimate_rate(level)
    return EditRateView(value=rate.value, interval=rate.interval, n=rate.n)


def _per_hundred(n: int, length: int) -> float | None:
    return 100.0 * n / length if length else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _operations(post_edits: PostEdits, segments: Sequence[OutputReferenceEditMatrix], code: int) -> EditOperationsLine:
    own = [one.operations for _, one in rates.iterate_own_post_edit_distances(segments, code)]
    return EditOperationsLine(
        system=post_edits.systems[code],
        insertions=sum(one.insertions for one in own),
        deletions=sum(one.deletions for one in own),
        substitutions=sum(one.substitutions for one in own),
        shifts=sum(one.shifts for one in own),
        tokens=sum(one.length for one in own),
    )


def _make_closest_reference_line(post_edits: PostEdits, counts: ClosestReferenceCount) -> ClosestReferenceLine:
    return ClosestReferenceLine(
        system=post_edits.systems[counts.system],
        origin=None if counts.origin == EXTERNAL else post_edits.systems[counts.origin],
        own=counts.system == counts.origin,
        n=counts.n,
        unique=counts.unique,
        tied=counts.tied,
    )


def _group_by_lab(post_edits: PostEdits, lines: Sequence[ClosestReferenceCount]) -> list[ClosestPostEditLine]:
    return [
        ClosestPostEditLine(
            system=post_edits.systems[one.system],
            lab=post_edits.labs[one.system] or "",
            same_lab=one.same,
            n_same_lab=one.n_same,
            other_labs=one.other,
            n_other_labs=one.n_other,
        )
        for one in compute_closest_shares_by_lab(lines, post_edits.labs)
    ]


def _points(drawn: TERByReferenceCountCurve) -> list[TERByReferencesPoint]:
    others = len(drawn.systems) - 1
    return [
        TERByReferencesPoint(
            n=n + 1,
            what="other" if n < others else "targeted" if n == others else "external",
            single=single,
            growing=growing,
        )
        for n, (single, growing) in enumerate(zip(drawn.single, drawn.growing, strict=True))
    ]


def _list_sufficient_references(
    post_edits: PostEdits, drawn: TERByReferenceCountCurve
) -> list[SufficientReferenceCount]:
    others = len(drawn.systems) - 1
    return [
        SufficientReferenceCount(system=post_edits.systems[one.system], hter=one.single[others], enough=one.enough)
        for one in drawn.systems
    ]


def _warnings(
    post_edits: PostEdits, segments: Sequence[OutputReferenceEditMatrix], drawn: TERByReferenceCountCurve | None
) -> Sequence[str]:
    if not segments:
        return []
    warnings = []
    if not any(EXTERNAL in at.origin for at in segments):
        warnings.append(NO_EXTERNAL)
    if drawn is None:
        warnings.append(NO_CURVE)
    elif drawn.n_segments < len(segments):
        warnings.append(PARTIAL.format(drawn.n_segments, len(segments)))
    if len({at.document for at in segments}) < 2:
        warnings.append(ONE_DOCUMENT)
    if len(post_edits.labs) > 1 and not any(post_edits.labs):
        warnings.append(
            "the labs of the systems are unknown, so post-edits from the same lab are not reported; set `lab` of "
            "the systems"
        )
    return warnings


_RATE = {"value": 23.8, "interval": [22.9, 24.7], "n": 603}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"nlde": 12},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "tokens": "nrefs:1|case:mixed|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0|unit:word",
    "chrf_signature": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
    "reference": "ref",
    "interval_level": 0.95,
    "n_segments": 603,
    "n_post_edits": 5427,
    "n_raters": 9,
    "systems": [
        {
            "system": "ZS.lab3",
            "lab": "lab3",
            "n_post_edits": 603,
            "hter": {"value": 29.96, "interval": [28.8, 31.1], "n": 603},
            "mter": _RATE,
            "ter_external": {"value": 66.1, "interval": [64.9, 67.3], "n": 603},
            "words": 32.1,
            "characters": 22.4,
            "chrf": 78.2,
            "unchanged": 0.06,
            "critical_mean": 0.31,
            "critical_share": 0.24,
        }
    ],
    "operations": [
        {
            "system": "ZS.lab3",
            "insertions": 610,
            "deletions": 480,
            "substitutions": 1900,
            "shifts": 350,
            "tokens": 11400,
        }
    ],
    "closest": [{"system": "ZS.lab3", "origin": "ZS.lab3", "own": True, "n": 603, "unique": 201, "tied": 200}],
    "labs": [
        {
            "system": "ZS.lab3",
            "lab": "lab3",
            "same_lab": 0.11,
            "n_same_lab": 1206,
            "other_labs": 0.12,
            "n_other_labs": 3618,
        }
    ],
    "curve": [{"n": 1, "what": "other", "single": 47.2, "growing": 47.2}],
    "curve_segments": 603,
    "enough": 7,
    "enough_by_system": [{"system": "ZS.lab3", "hter": 29.96, "enough": 7}],
}
REPORT: Report[PostEditsOptions, PosteditingView] = Report(
    name="postediting",
    title="Post-edits",
    summary="How much and how outputs were edited, whose post-edits are closest, and how many post-edits approximate "
    "targeted references.",
    options=PostEditsOptions,
    result=PosteditingView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={
        "default": plot_edit_rates,
        "closest": plot_closest_reference_shares,
        "curve": plot_mean_ter_by_reference_count,
    },
    caption=make_caption,
    long=True,
)
