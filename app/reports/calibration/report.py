"""The report on raters' deviations from the agreed scores of a calibration set, and their effect on system scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from pydantic import Field

from app.reports.calibration.view import (
    CalibratedSystemView,
    CalibrationView,
    RaterCalibrationOffset,
    RaterSeveritySpreadView,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_rater_means_and_consensus,
)
from app.reports.inputs.calibration import (
    UNAGREED,
    CampaignCalibrationSplit,
    ScoreSelectionOptions,
    find_agreed_scores,
    format_raters_for_warning,
    load_campaign_calibration_split,
    make_comparison_header_fields,
    make_values_by_unit,
)
from app.reports.inputs.raw_ratings import NOTHING, IntervalLevel, Seed
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.stats.aggregate import round_scores
from app.stats.agreement.score_distributions import select_raters_of_every_unit
from app.stats.agreement.units import ValuesByUnit
from app.stats.calibration.rater_severity import estimate_rater_severity_spread
from app.stats.calibration.raters import (
    RaterOffset,
    compute_median_consensus_by_unit,
    compute_rater_offsets,
    standardize_raters_by_calibration,
)
from app.stats.ratings import Floats
from app.storage.db import Session

FEW = 20


class CalibrationOptions(ScoreSelectionOptions):
    """Which items and which raters are used."""

    items: Literal["auto", "calibration", "common"] = Field(
        "auto",
        description="Items of the calibration set, or all items that two raters judged; auto: the set if there is one.",
    )
    raters: Literal["all", "complete"] = Field(
        "all", description="All raters, or only those who judged all of these items."
    )
    level: IntervalLevel = 0.95
    seed: Seed = Field(0, description="Seed for splitting the documents into halves.")


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: CalibrationOptions
) -> ReportComputation[CalibrationView]:
    parts = load_campaign_calibration_split(session, snapshots[0], options)
    return make_undivided_computation(lambda: _view(parts, options))


def _items(parts: CampaignCalibrationSplit, options: CalibrationOptions) -> tuple[str, ValuesByUnit, str, Floats]:
    """Return the kind of items used, the raters' scores for them, the source of the agreed scores, and these scores."""
    known = bool(parts.calibration.any())
    which = "calibration" if options.items == "calibration" or (options.items == "auto" and known) else "common"
    units = make_values_by_unit(parts, parts.calibration if which == "calibration" else parts.test, options.repeats)
    if which == "common":
        units = units.with_two_or_more_values()
    if options.raters == "complete":
        units = select_raters_of_every_unit(units)
    agreed = find_agreed_scores(parts, units)
    if np.isfinite(agreed).any():
        return which, units, "set", agreed
    return which, units, "panel", compute_median_consensus_by_unit(units)


def _view(parts: CampaignCalibrationSplit, options: CalibrationOptions) -> CalibrationView:
    which, units, source, agreed = _items(parts, options)
    rater_offsets = compute_rater_offsets(units, agreed, level=options.level)
    test = make_values_by_unit(parts, parts.test, options.repeats)
    if options.raters == "complete":
        test = test.where(np.isin(test.rater, np.unique(units.rater)))
    names = [test.raters[code] for code in np.unique(test.rater).tolist()]
    unknown = sorted(set(names) - {one.rater for one in rater_offsets})
    scaled, lost = standardize_raters_by_calibration(test, units)
    constant = sorted(set(lost) - set(unknown))
    shared = (
        estimate_rater_severity_spread(units, rng=np.random.default_rng(options.seed))
        if len(rater_offsets) > 1
        else None
    )
    head = make_comparison_header_fields([parts])
    if n := int((~np.isfinite(agreed)).sum()):
        head["dropped"].append({"reason": UNAGREED, "n": n, "campaign": parts.campaign_key})
    return CalibrationView(
        **head,
        warnings=_warnings(parts, which, source, rater_offsets, unknown, constant, options),
        items=which,
        agreed=source,
        consensus=float(agreed[np.isfinite(agreed)].mean()) if np.isfinite(agreed).any() else None,
        n_items=int(np.isfinite(agreed).sum()),
        level=options.level,
        higher_is_better=parts.better_sign > 0,
        raters=[
            RaterCalibrationOffset(lenient=-one.shift * parts.better_sign + 0.0, **asdict(one)) for one in rater_offsets
        ],
        unknown=[{"rater": name} for name in unknown],
        without_z=[{"rater": name} for name in constant],
        systems=_systems(parts, test, rater_offsets, scaled),
        severity=None if shared is None else RaterSeveritySpreadView(**asdict(shared)),
    )


def _systems(
    parts: CampaignCalibrationSplit, test: ValuesByUnit, rater_offsets: tuple[RaterOffset, ...], scaled: ValuesByUnit
) -> list[CalibratedSystemView]:
    """Return each system's mean over outputs of the mean over raters: raw, shifted, and as z-score."""
    by_rater = {one.rater: one.shift for one in rater_offsets}
    shift = np.array([by_rater.get(name, np.nan) for name in test.raters] or [np.nan])
    held = np.isfinite(shift)[test.rater]
    moved = test.with_replaced_values(test.value + np.nan_to_num(shift)[test.rater]).where(held)
    raw, shifted, z = (_unit_means(units) for units in (test, moved, scaled))
    ranks = [_ranks(values, parts.better_sign) for values in (raw, shifted, z)]
    labels, n = parts.ratings.rows.labels.systems, np.bincount(test.system, minlength=len(parts.kinds) + 1)
    lines = [
        CalibratedSystemView(
            system=labels[code],
            n_units=int(n[code]),
            raw=value,
            shifted=shifted.get(code),
            z=z.get(code),
            rank_raw=ranks[0][code],
            rank_shifted=ranks[1].get(code),
            rank_z=ranks[2].get(code),
        )
        for code, value in raw.items()
    ]
    return sorted(lines, key=lambda one: (one.rank_shifted or one.rank_raw, one.system))


def _unit_means(units: ValuesByUnit) -> dict[int, float]:
    size = np.maximum(units.n_values_by_unit(), 1)
    mean = np.bincount(units.unit, weights=units.value, minlength=units.n_units) / size
    return {code: float(mean[units.system == code].mean()) for code in np.unique(units.system).tolist()}


def _ranks(values: Mapping[int, float], sign: int) -> dict[int, int]:
    even = {code: float(round_scores(np.asarray(value))) * sign for code, value in values.items()}
    return {code: 1 + sum(other > value for other in even.values()) for code, value in even.items()}


def _warnings(
    parts: CampaignCalibrationSplit,
    which: str,
    source: str,
    rater_offsets: tuple[RaterOffset, ...],
    unknown: list[str],
    constant: list[str],
    options: CalibrationOptions,
) -> list[str]:
    if not rater_offsets:
        nobody = "no rater judged every one of these items"
        some = "no item was judged by two raters" if which == "common" else "no rater judged a calibration item"
        return [NOTHING if not len(parts.ratings.rows) else nobody if options.raters == "complete" else some]
    warnings = []
    if which == "common":
        warnings.append(
            "no calibration set: raters are compared on shared items, which may differ between raters; let all "
            "raters judge the same calibration set"
        )
    if source == "panel":
        warnings.append(
            "the items have no agreed scores, so the consensus is the median over these raters; store agreed "
            "scores if there are any"
        )
    if unknown:
        warnings.append(
            "these raters judged no calibration items, so they are not shifted and are left out of z; let them "
            f"judge the set: {format_raters_for_warning(unknown)}"
        )
    if constant:
        warnings.append(
            "these raters gave every calibration item the same score, so they have no z and are left out; check "
            f"their work: {format_raters_for_warning(constant)}"
        )
    few = [one.rater for one in rater_offsets if one.n < FEW]
    if few:
        warnings.append(
            f"these raters judged fewer than {FEW} calibration items, so their shifts are imprecise; let them judge "
            f"more: {format_raters_for_warning(few)}"
        )
    return warnings


EXAMPLE: dict[str, Any] = {
    "campaigns": {"en-hi": 4},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "items": "calibration",
    "agreed": "set",
    "consensus": 3.0,
    "n_items": 500,
    "level": 0.95,
    "higher_is_better": True,
    "raters": [
        {
            "rater": "r1",
            "n": 500,
            "mean": 3.2,
            "sd": 1.21,
            "consensus": 3.0,
            "shift": -0.2,
            "error": 0.02,
            "interval": [-0.24, -0.16],
            "lenient": 0.2,
            "spread_ratio": 0.97,
            "correlation": 0.81,
        }
    ],
    "unknown": [],
    "without_z": [],
    "systems": [
        {
            "system": "mt",
            "n_units": 1012,
            "raw": 3.9,
            "shifted": 3.7,
            "z": 0.58,
            "rank_raw": 1,
            "rank_shifted": 1,
            "rank_z": 1,
        }
    ],
    "severity": {
        "n_raters": 3,
        "n_items": 500,
        "n_documents": 500,
        "lowest": 2.9,
        "highest": 3.2,
        "sd": 0.15,
        "split_half": 0.93,
    },
}
REPORT: Report[CalibrationOptions, CalibrationView] = Report(
    name="calibration",
    title="Raters compared with a calibration set",
    summary="Each rater's offset on calibration items, the moments for z-scores from these items, and the systems "
    "after both corrections.",
    options=CalibrationOptions,
    result=CalibrationView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_rater_means_and_consensus},
    caption=make_caption,
)
