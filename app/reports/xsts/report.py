"""Systems of several language pairs on one scale, by a calibration set, by human references, or by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.reports.inputs.calibration import (
    CampaignCalibrationSplit,
    format_raters_for_warning,
    list_items_dropped_without_consensus,
    load_campaign_calibration_split,
    make_comparison_header_fields,
)
from app.reports.inputs.raw_ratings import NOTHING
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.standing_exclusions import drop_excluded_rows
from app.reports.kit import text_formatting
from app.reports.kit.charts.before_after import BeforeAfterRow, plot_before_after
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.xsts.automatic_scores import collect_automatic_scores_by_campaign, correlate_with_automatic_scores
from app.reports.xsts.language_pairs import (
    CampaignsByLanguage,
    XstsOptions,
    check_fixed_point_order,
    check_shared_scale,
    list_unlinked_shared_rater_key_warnings,
    pool_calibration_by_language,
)
from app.reports.xsts.view import (
    ATTRIBUTES,
    IN_WORDS,
    CalibratedScoreView,
    CalibrationEquation,
    LanguageDirectionView,
    RaterFixedPoints,
    XstsSystemView,
    XstsView,
    format_score,
    label_system,
    make_caption,
    make_csv_rows,
    make_tables,
)
from app.stats.aggregate import round_scores
from app.stats.agreement.units import ValuesByUnit
from app.stats.calibration import language_pairs
from app.stats.calibration.calibration_lines import (
    METHODS,
    NARROW,
    CalibrationFixedPoints,
    Method,
    explain_unavailable_method,
    make_calibration_line,
)
from app.stats.calibration.language_pairs import CalibratedSystemScores, LanguagePairRatings
from app.storage.db import Session

ENOUGH = 0.9


@dataclass(frozen=True, slots=True)
class CampaignToCalibrate:
    """A campaign ready to be put on the scale. own: fixed points by rater; left: raters whose scores are not moved."""

    parts: CampaignCalibrationSplit
    language: str
    judged: LanguagePairRatings
    own: Mapping[str, CalibrationFixedPoints]
    left: tuple[str, ...]


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: XstsOptions
) -> ReportComputation[XstsView]:
    parts = [drop_excluded_rows(session, load_campaign_calibration_split(session, one, options)) for one in snapshots]
    check_shared_scale(parts, options)
    automatic = collect_automatic_scores_by_campaign(parts, options.automatic)
    grouped = pool_calibration_by_language(parts, options)
    check_fixed_point_order(grouped, options)
    return make_undivided_computation(lambda: _view(parts, grouped, automatic, options))


def _view(
    parts: Sequence[CampaignCalibrationSplit],
    grouped: CampaignsByLanguage,
    automatic: Mapping[str, float],
    options: XstsOptions,
) -> XstsView:
    ready, target = grouped.ready, grouped.target
    directions = [
        CampaignToCalibrate(part, language, *_calibrate_scores(part, one, options, target))
        for part, language, one in zip(parts, grouped.languages, ready, strict=True)
    ]
    sizes = [_set_size(group) for group in grouped.groups]
    direction_views = [
        _direction(one, before, target, size, automatic, options)
        for one, before, size in zip(directions, ready, sizes, strict=True)
    ]
    systems = _rank_systems(
        _systems(directions, ready, target, grouped.n_pairs, options), options, parts[0].better_sign
    )
    head = make_comparison_header_fields(parts)
    head["dropped"] += [line for one in parts for line in list_items_dropped_without_consensus(one, options.repeats)]
    view = XstsView(
        **head,
        warnings=[
            *_warnings(directions, direction_views, systems, options),
            *list_unlinked_shared_rater_key_warnings(grouped),
        ],
        method=options.method,
        by=options.by,
        target=target,
        target_from="asked for" if options.target is not None else "mean of the human references of these directions",
        pivot=grouped.pivot,
        higher_is_better=parts[0].better_sign > 0,
        draws=options.bootstrap if options.by == "language" else 0,
        level=options.level,
        seed=options.seed,
        directions=direction_views,
        systems=systems,
        raters=[line for one in directions for line in _raters(one)],
        external=[],
    )
    return view.model_copy(update={"external": correlate_with_automatic_scores(view, options.seed)})


def _calibrate_scores(
    part: CampaignCalibrationSplit, judged: LanguagePairRatings, options: XstsOptions, target: float | None
) -> tuple[LanguagePairRatings, Mapping[str, CalibrationFixedPoints], tuple[str, ...]]:
    """Return the scores, moved by rater if requested, with fixed points and unmoved raters by their keys here."""
    if options.by == "language" or options.method == "raw":
        return judged, {}, ()
    moved, points, left = language_pairs.calibrate_by_rater(judged, options.method, target)
    accounts = part.account_keys_by_person
    judging = [judged.systems.raters[code] for code in np.unique(judged.systems.rater).tolist()]
    return moved, {accounts[who]: points[who] for who in judging}, tuple(sorted(accounts[who] for who in left))


def _set_size(group: Sequence[CampaignCalibrationSplit]) -> int:
    return len({key for one in group for key, item in one.items.items() if item.consensus is not None})


def _systems(
    directions: Sequence[CampaignToCalibrate],
    ready: Sequence[LanguagePairRatings],
    target: float | None,
    n_pairs: int,
    options: XstsOptions,
) -> list[XstsSystemView]:
    shown = []
    for number, (direction, before) in enumerate(zip(directions, ready, strict=True)):
        draws = options.bootstrap if options.by == "language" else 0
        drawn = language_pairs.draw_language_pair_bootstrap(
            before, n_pairs, draws=draws, seed=options.seed, number=number
        )
        here = language_pairs.compute_language_pair_fixed_points(before, target)
        whys = {method: explain_unavailable_method(method, here) for method in METHODS}
        moved = language_pairs.calibrate_systems(before, target, whys, drawn, level=options.level)
        labels = direction.parts.ratings.rows.labels.systems
        by_rater = {
            system: language_pairs.compute_mean_of_medians(_select_system(direction.judged, system))
            for system in (m.system for m in moved)
        }
        shown += [_system(direction, m, labels[m.system], by_rater[m.system], options) for m in moved]
    return shown


def _select_system(judged: LanguagePairRatings, system: int) -> ValuesByUnit:
    units = judged.systems
    return units.where(units.system[units.unit] == system)


def _system(
    direction: CampaignToCalibrate, system: CalibratedSystemScores, key: str, by_rater: float, options: XstsOptions
) -> XstsSystemView:
    scores = []
    for method, moved in system.moved.items():
        value, ends = moved.value, moved.interval
        if options.by == "rater" and method == options.method and value is not None and method != "raw":
            value, ends = by_rater, None
        scores.append(CalibratedScoreView(method=method, value=value, interval=ends, rank=None, why=moved.why))
    return XstsSystemView(
        campaign=direction.parts.campaign_key,
        system=key,
        n_units=system.n_units,
        n_ratings=system.n_ratings,
        scores=scores,
    )


def _rank_systems(systems: list[XstsSystemView], options: XstsOptions, sign: int) -> list[XstsSystemView]:
    """Add each system's rank under every method; sort by the chosen method, systems without a score last."""
    ranks: dict[Method, dict[int, int]] = {}
    for method in METHODS:
        values = {i: one.score_under_method(method).value for i, one in enumerate(systems)}
        known = {i: float(round_scores(np.asarray(v))) * sign for i, v in values.items() if v is not None}
        ranks[method] = {i: 1 + sum(other > v for other in known.values()) for i, v in known.items()}
    shown = [
        one.model_copy(update={"scores": [s.model_copy(update={"rank": ranks[s.method].get(i)}) for s in one.scores]})
        for i, one in enumerate(systems)
    ]
    last = len(systems) + 1
    return sorted(
        shown, key=lambda one: (one.score_under_method(options.method).rank or last, one.campaign, one.system)
    )


def _direction(
    direction: CampaignToCalibrate,
    before: LanguagePairRatings,
    target: float | None,
    size: int,
    automatic: Mapping[str, float],
    options: XstsOptions,
) -> LanguageDirectionView:
    campaign, here = (
        direction.parts.ratings.snapshot.campaign,
        language_pairs.compute_language_pair_fixed_points(before, target),
    )
    n_pairs, stored = before.anchors.units.n_units, campaign.settings.get("language")
    attributes = stored if isinstance(stored, Mapping) else {}
    return LanguageDirectionView(
        campaign=campaign.key,
        source_language=campaign.source_language,
        target_language=campaign.target_language,
        language=direction.language,
        consensus=here.consensus,
        c=here.anchors,
        n_pairs=n_pairs,
        share_of_set=n_pairs / size if size else None,
        h=here.human,
        n_human=before.humans.n_units,
        n_raters=len(np.unique(np.concatenate((before.systems.rater, before.humans.rater)))),
        lines=[_line(method, here, options) for method in METHODS],
        attributes={k: attributes[k] for k in ATTRIBUTES if isinstance(attributes.get(k), str | int | float)},
        automatic=automatic.get(campaign.key),
    )


def _line(method: Method, here: CalibrationFixedPoints, options: XstsOptions) -> CalibrationEquation:
    why = explain_unavailable_method(method, here)
    if why is not None:
        return CalibrationEquation(method=method, slope=None, intercept=None, why=why)
    if options.by == "rater" and method == options.method and method != "raw":
        return CalibrationEquation(method=method, slope=None, intercept=None, why="one line per rater")
    fit = make_calibration_line(method, here)
    return CalibrationEquation(method=method, slope=fit.slope, intercept=fit.intercept)


def _raters(direction: CampaignToCalibrate) -> list[RaterFixedPoints]:
    return [
        RaterFixedPoints(
            rater=name,
            campaign=direction.parts.campaign_key,
            consensus=points.consensus,
            anchors=points.anchors,
            human=points.human,
            moved=name not in direction.left,
        )
        for name, points in sorted(direction.own.items())
    ]


def _warnings(
    directions: Sequence[CampaignToCalibrate],
    direction_views: Sequence[LanguageDirectionView],
    systems: Sequence[XstsSystemView],
    options: XstsOptions,
) -> list[str]:
    if not systems:
        return [NOTHING]
    warnings = []
    for direction, shown in zip(directions, direction_views, strict=True):
        why = next(line.why for line in shown.lines if line.method == options.method)
        if why is not None and why != "one line per rater":
            warnings.append(
                f"{shown.campaign}: no score by {IN_WORDS[options.method]}, because {why}; use another `method`"
            )
        if shown.share_of_set is not None and 0 < shown.share_of_set < ENOUGH:
            warnings.append(
                f"{shown.campaign}: only {shown.share_of_set:.0%} of the calibration set was judged, so its line "
                "is imprecise; have the rest judged"
            )
        width = None if shown.h is None or shown.c is None else (shown.h - shown.c) * direction.parts.better_sign
        if width is not None and 0 < width < NARROW:
            warnings.append(
                f"{shown.campaign}: its fixed points differ by only {width:.2f}, so the line is sensitive "
                "to their error; add calibration pairs"
            )
        if direction.left:
            warnings.append(
                f"{shown.campaign}: these raters have no usable fixed points, so they are not adjusted; let them "
                f"judge the calibration set: {format_raters_for_warning(direction.left)}"
            )
    if options.by == "rater" and options.method != "raw":
        warnings.append("lines by rater have no interval; use by=language for one")
    if len({one.consensus for one in direction_views if one.consensus is not None}) > 1:
        warnings.append(
            "languages judged different calibration pairs, so C is computed over different pairs for each; let "
            "all judge the same pairs"
        )
    return warnings


def _picture(view: XstsView) -> bytes:
    rows = []
    for system in view.systems:
        raw, main = system.score_under_method("raw"), system.score_under_method(view.method)
        text = "no score" if main.value is None else f"{main.rank}. (raw {raw.rank}.)  {format_score(main.value)}"
        rows.append(BeforeAfterRow(label_system(view, system), raw.value, main.value, main.interval, text))
    below = f"Hollow: raw. Filled: by {IN_WORDS[view.method]}, {view.level:.0%} interval. Best first."
    title = f"{text_formatting.pluralize(len(view.campaigns), 'campaign')} on one scale"
    return plot_before_after(title, below, rows, [*view.warnings, make_caption(view)])


EXAMPLE: dict[str, Any] = {
    "campaigns": {"en-hi": 4},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "method": "cs_ht",
    "by": "language",
    "target": 4.687,
    "target_from": "asked for",
    "pivot": "en",
    "higher_is_better": True,
    "draws": 1000,
    "level": 0.95,
    "seed": 0,
    "directions": [
        {
            "campaign": "en-hi",
            "source_language": "en",
            "target_language": "hi",
            "language": "hi",
            "consensus": 2.97,
            "c": 3.26,
            "n_pairs": 500,
            "share_of_set": 1.0,
            "h": 4.967,
            "n_human": 1012,
            "n_raters": 3,
            "lines": [{"method": "cs_ht", "slope": 1.0059, "intercept": -0.3091}],
            "attributes": {"family": "Indo-Aryan", "script": "Devanagari"},
            "automatic": 34.2,
        }
    ],
    "systems": [
        {
            "campaign": "en-hi",
            "system": "mt",
            "n_units": 1012,
            "n_ratings": 3036,
            "scores": [{"method": "cs_ht", "value": 4.67, "interval": [4.61, 4.72], "rank": 1}],
        }
    ],
    "raters": [],
    "external": [],
}
REPORT: Report[XstsOptions, XstsView] = Report(
    name="xsts",
    title="Language pairs on a common scale",
    summary="Systems of several language pairs, raw and calibrated by a calibration set and human references.",
    options=XstsOptions,
    result=XstsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": _picture},
    caption=make_caption,
    over="campaigns",
    settings=frozenset({"automatic_score", "language"}),
)
