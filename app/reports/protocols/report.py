"""Protocols on the same outputs: whether they separate humans from machines, how well raters agree, what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, permutations
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.reports.inputs.calibration import (
    Address,
    CampaignCalibrationSplit,
    ScoreSelectionOptions,
    load_campaign_calibration_split,
    make_comparison_header_fields,
    make_values_by_unit,
    may_have_same_source_text,
    replace_unknown_documents_by_segments,
)
from app.reports.inputs.raw_ratings import NOTHING, BootstrapDraws, IntervalLevel, Seed
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.timed_ratings import load_ratings_with_times
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.protocols.view import (
    ComparedProtocolView,
    JudgingDuration,
    KnownOrderGapView,
    ProtocolComparisonView,
    ScorePredictionView,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_protocol_gaps,
)
from app.reports.robustness.report import KEYS_PATTERN
from app.stats.agreement import alpha, bootstrap, pairs
from app.stats.agreement.units import Repeated, ValuesByUnit
from app.stats.calibration import score_prediction
from app.stats.calibration.campaign_linking import percentile_interval_of_draws
from app.stats.calibration.separation import estimate_system_gap, list_pairs_expected_to_differ
from app.stats.plain_values import number_or_none
from app.stats.quality.pairing import mask_first_rows_of_judgments
from app.stats.ratings import Bools, Floats, RatingRole, Ratings
from app.stats.ratings import RatingLevel as Level
from app.stats.timing.work_time import summarize_trimmed_durations
from app.storage.db import Session

MOST_POINTS = 101
Timed = Literal["segment", "document_score", "all_segments"]


class ProtocolComparisonOptions(ScoreSelectionOptions):
    """Which systems should rank above which, and how intervals are computed."""

    order: Annotated[str, StringConstraints(pattern=KEYS_PATTERN)] = Field(
        "", description="Systems, best first, separated by commas; default: humans above every system."
    )
    bootstrap: BootstrapDraws = 1_000
    level: IntervalLevel = 0.95
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class CampaignScoresAndTimes:
    """A campaign: its judged units, the mean over raters of each, and the seconds of its ratings."""

    parts: CampaignCalibrationSplit
    units: ValuesByUnit
    mean: Floats
    seconds: Mapping[Timed, Floats]
    addresses: list[Address]


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: ProtocolComparisonOptions
) -> ReportComputation[ProtocolComparisonView]:
    protocols = [_protocol_ratings(session, one, options) for one in snapshots]
    _check_order([one.parts for one in protocols], options)
    return make_undivided_computation(lambda: _view(protocols, options))


def _check_order(parts: Sequence[CampaignCalibrationSplit], options: ProtocolComparisonOptions) -> None:
    known = {key for one in parts for key in one.kinds}
    for key in filter(None, options.order.split(",")):
        if key not in known:
            what = f"none of these campaigns has a system {key!r}"
            raise Invalid("the query is not valid", places=(Place(("query", "order"), what),))


def _protocol_ratings(
    session: Session, snapshot: CampaignSnapshot, options: ProtocolComparisonOptions
) -> CampaignScoresAndTimes:
    parts = load_campaign_calibration_split(session, snapshot, options)
    units = replace_unknown_documents_by_segments(parts, make_values_by_unit(parts, parts.test, options.repeats))
    total = np.bincount(units.unit, weights=units.value, minlength=units.n_units)
    mean = np.asarray(total / np.maximum(units.n_values_by_unit(), 1), dtype=np.float64)
    labels = parts.ratings.rows.labels
    addresses = []
    for place, system in zip(units.place.tolist(), units.system.tolist(), strict=True):
        key = labels.documents[labels.segment_document[place]]
        position = int(labels.segment_position[place])
        addresses.append((key, position, labels.systems[system]))
    return CampaignScoresAndTimes(parts, units, mean, _seconds(session, snapshot, options.repeats), addresses)


def _seconds(session: Session, snapshot: CampaignSnapshot, repeats: Repeated) -> dict[Timed, Floats]:
    """Return the seconds of each rating whose start and end are known; of repeats, only those that count."""
    read = load_ratings_with_times(session, snapshot)
    rows, started, submitted = read.rows, read.events.started, read.events.submitted
    known = (started >= 0) & (submitted > started) & mask_first_rows_of_judgments(rows)
    known &= np.isin(rows.role, (RatingRole.RATING, RatingRole.REPEAT))
    if repeats != "average":
        known &= _keep_last_or_first(rows, last=repeats == "latest")
    segment = np.asarray(rows.kind == Level.SEGMENT)
    spent = np.asarray((submitted - started) / 1e6, dtype=np.float64)
    return {
        "segment": spent[known & segment],
        "document_score": spent[known & ~segment],
        "all_segments": _seconds_of_complete_raters(rows.where(known & segment), spent[known & segment]),
    }


def _seconds_of_complete_raters(rows: Ratings, spent: Floats) -> Floats:
    """Return the total seconds of each rater who rated every output."""
    n = max(rows.n_systems, 1)
    output = np.unique(rows.segment.astype(np.int64) * n + rows.system, return_inverse=True)[1].ravel()
    n_outputs = int(output.max(initial=-1)) + 1
    pairs = np.unique(rows.rater.astype(np.int64) * max(n_outputs, 1) + output)
    n_of = np.bincount(pairs // max(n_outputs, 1), minlength=len(rows.labels.raters))
    total = np.bincount(rows.rater, weights=spent, minlength=len(rows.labels.raters))
    return np.asarray(total[n_of == n_outputs] if n_outputs else np.empty(0), dtype=np.float64)


def _keep_last_or_first(rows: Ratings, *, last: bool) -> Bools:
    """Return the last, or first, rating of each output by each rater."""
    order = np.lexsort((rows.nth if last else -rows.nth, rows.rater, rows.segment, rows.document, rows.system))
    address = np.stack([column[order] for column in (rows.rater, rows.segment, rows.document, rows.system)])
    ends_here = (
        np.append((address[:, 1:] != address[:, :-1]).any(axis=0), True) if order.size else np.ones(0, dtype=bool)
    )
    keep = np.zeros(order.size, dtype=np.bool_)
    keep[order[ends_here]] = True
    return keep


def _view(protocols: Sequence[CampaignScoresAndTimes], options: ProtocolComparisonOptions) -> ProtocolComparisonView:
    shown = [_protocol(one, options) for one in protocols]
    crossed = [
        _bridge(one, other, np.random.default_rng([options.seed, 7, n]), options)
        for n, (one, other) in enumerate(permutations(protocols, 2))
    ]
    warnings = [f"{one.campaign}: {why}" for one in shown for why in one.why]
    warnings += [f"{one.source} to {one.target}: {one.why}" for one in crossed if one.why]
    head = make_comparison_header_fields([one.parts for one in protocols])
    head["dropped"] += [
        line for one, other in combinations(protocols, 2) for line in _count_unbridged_outputs(one, other)
    ]
    return ProtocolComparisonView(
        **head,
        warnings=warnings if any(one.units.n_units for one in protocols) else [NOTHING],
        order=[key for key in options.order.split(",") if key],
        draws=options.bootstrap,
        level=options.level,
        seed=options.seed,
        protocols=shown,
        bridges=crossed,
    )


def _protocol(protocol: CampaignScoresAndTimes, options: ProtocolComparisonOptions) -> ComparedProtocolView:
    gaps, spent = _gaps(protocol, options), summarize_trimmed_durations(protocol.seconds["segment"])
    paired = protocol.units.with_two_or_more_values()
    agreed = _alpha(paired, options)
    verdicts = [g.found for g in gaps if g.found is not None]
    sizes = [g.standardized for g in gaps if g.standardized is not None]
    why = []
    if not gaps:
        why.append("no system is expected to be better than another: mark human translations, or set order=")
    if not paired.n_units:
        why.append("no item was rated by two raters, so agreement is unknown; have some rated twice")
    elif not np.ptp(paired.value):
        why.append("all scores are equal, so agreement is undefined and no system is better than another")
    too_many = pairs.has_too_many_value_pairs(paired)
    if too_many:
        why.append(pairs.TOO_MANY_PAIRS)
    if spent is None:
        why.append(
            "no times of ratings are known, so protocols cannot be compared by time; import times if they are known"
        )
    return ComparedProtocolView(
        campaign=protocol.parts.campaign_key,
        protocol=protocol.parts.ratings.snapshot.campaign.protocol,
        n_units=protocol.units.n_units,
        n_raters=int(np.unique(protocol.units.rater).size),
        gaps=gaps,
        separates=all(verdicts) if verdicts else None,
        separation=float(np.mean(sizes)) if sizes else None,
        alpha=agreed[0],
        alpha_interval=agreed[1],
        pearson=number_or_none(float(pairs.mean_rater_pair_pearson(paired)(paired.equal_document_weights())[0]))
        if paired.n_units and not too_many
        else None,
        n_pairs=pairs.count_value_pairs(paired) if paired.n_units else 0,
        seconds=None if spent is None else spent.mean,
        seconds_sd=None if spent is None else spent.sd,
        n_timed=int(protocol.seconds["segment"].size),
        times=[line for what, seconds in protocol.seconds.items() for line in _time(what, seconds)],
        why=why,
    )


def _time(what: Timed, seconds: Floats) -> Iterator[JudgingDuration]:
    trimmed_times = summarize_trimmed_durations(seconds)
    if trimmed_times is not None:
        yield JudgingDuration(what=what, **asdict(trimmed_times))


def _alpha(units: ValuesByUnit, options: ProtocolComparisonOptions) -> tuple[float | None, tuple[float, float] | None]:
    if not units.n_units:
        return None, None
    of = alpha.krippendorff_alpha(units, "interval")
    value = number_or_none(float(of(units.equal_document_weights())[0]))
    if value is None or not options.bootstrap:
        return value, None
    return value, percentile_interval_of_draws(
        bootstrap.bootstrap_distribution(of, units, options.bootstrap, seed=options.seed), options.level
    )


def _gaps(protocol: CampaignScoresAndTimes, options: ProtocolComparisonOptions) -> list[KnownOrderGapView]:
    labels, campaign = protocol.parts.ratings.rows.labels.systems, protocol.parts
    code = {key: i for i, key in enumerate(labels)}
    there = np.unique(protocol.units.system).tolist()
    humans = [i for i in there if campaign.kinds.get(labels[i]) == "human"]
    order = [code[key] for key in options.order.split(",") if key in code and code[key] in there]
    wanted = list_pairs_expected_to_differ(order, humans, [i for i in there if i not in humans])
    shown = []
    for n, (better, worse) in enumerate(wanted):
        rng = np.random.default_rng([options.seed, 5, n])
        system_gap = estimate_system_gap(
            protocol.mean,
            protocol.units,
            better,
            worse,
            sign=campaign.better_sign,
            draws=options.bootstrap,
            level=options.level,
            rng=rng,
        )
        if system_gap is not None:
            shown.append(
                KnownOrderGapView(
                    better=labels[better],
                    worse=labels[worse],
                    n=system_gap.n,
                    gap=system_gap.gap,
                    interval=system_gap.interval,
                    standardized=system_gap.standardized,
                    found=system_gap.found,
                )
            )
    return shown


def _match_shared_outputs(protocol: CampaignScoresAndTimes, other: CampaignScoresAndTimes) -> list[tuple[int, int]]:
    """Return the positions of outputs that both campaigns judged with the same source."""
    theirs = {address: i for i, address in enumerate(other.addresses)}
    return [
        (i, theirs[a])
        for i, a in enumerate(protocol.addresses)
        if a in theirs and may_have_same_source_text(protocol.parts, other.parts, a)
    ]


def _count_unbridged_outputs(
    protocol: CampaignScoresAndTimes, other: CampaignScoresAndTimes
) -> Iterator[dict[str, Any]]:
    n = len(set(protocol.addresses) & set(other.addresses)) - len(_match_shared_outputs(protocol, other))
    if n:
        reason = f"output whose source differs from that in {other.parts.campaign_key}: not bridged"
        yield {"reason": reason, "n": n, "campaign": protocol.parts.campaign_key}


def _bridge(
    source: CampaignScoresAndTimes,
    target: CampaignScoresAndTimes,
    rng: np.random.Generator,
    options: ProtocolComparisonOptions,
) -> ScorePredictionView:
    shared = _match_shared_outputs(source, target)
    first, second = (np.array([p[side] for p in shared], dtype=np.intp) for side in (0, 1))
    rising = source.parts.better_sign == target.parts.better_sign
    bridge = score_prediction.fit_score_prediction(
        source.mean[first],
        target.mean[second],
        source.units.document[first],
        rng=rng,
        draws=options.bootstrap,
        level=options.level,
        rising=rising,
    )
    return ScorePredictionView(
        source=source.parts.campaign_key,
        target=target.parts.campaign_key,
        n=bridge.n,
        n_documents=bridge.n_documents,
        r_squared=bridge.r_squared,
        interval=bridge.interval,
        inside=bridge.inside,
        curve=_points(bridge.curve),
        why=bridge.why,
    )


def _points(curve: score_prediction.MonotoneCurve | None) -> list[tuple[float, float]]:
    if curve is None:
        return []
    at = np.unique(np.linspace(0, curve.x.size - 1, min(MOST_POINTS, curve.x.size)).round().astype(int))
    return list(zip(curve.x[at].tolist(), curve.y[at].tolist(), strict=True))


EXAMPLE: dict[str, Any] = {
    "campaigns": {"esa": 4, "mqm": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "order": [],
    "draws": 1000,
    "level": 0.95,
    "seed": 0,
    "protocols": [
        {
            "campaign": "esa",
            "protocol": "esa",
            "n_units": 2000,
            "n_raters": 12,
            "gaps": [
                {
                    "better": "refA",
                    "worse": "mt",
                    "n": 200,
                    "gap": 4.2,
                    "interval": [1.9, 6.6],
                    "standardized": 0.22,
                    "found": True,
                }
            ],
            "separates": True,
            "separation": 0.22,
            "alpha": 0.34,
            "alpha_interval": [0.29, 0.39],
            "pearson": 0.41,
            "n_pairs": 900,
            "seconds": 28.4,
            "seconds_sd": 17.2,
            "n_timed": 2400,
            "why": [],
        }
    ],
    "bridges": [
        {
            "source": "esa",
            "target": "mqm",
            "n": 2000,
            "n_documents": 40,
            "r_squared": 0.21,
            "interval": [0.14, 0.28],
            "inside": 0.24,
            "curve": [[0.0, 14.0], [100.0, 0.6]],
        }
    ],
}
REPORT: Report[ProtocolComparisonOptions, ProtocolComparisonView] = Report(
    name="protocols",
    title="Comparison of protocols",
    summary="Separation of human and machine translations, agreement and time of several protocols; prediction of "
    "one from another.",
    options=ProtocolComparisonOptions,
    result=ProtocolComparisonView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_protocol_gaps},
    caption=make_caption,
    over="campaigns",
)
