"""Several campaigns on the scale of the first one, by items that they share, with the error of the link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

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
from app.reports.inputs.standing_exclusions import drop_excluded_rows
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.linking.view import (
    ScaleLinkedSystem,
    ScaleLinkingView,
    ScaleLinkView,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_linked_scores,
)
from app.stats.aggregate import round_scores
from app.stats.agreement.units import ValuesByUnit
from app.stats.calibration.campaign_linking import (
    CampaignLinkAnchors,
    Link,
    ScaleLink,
    fit_scale_link,
    percentile_interval_of_draws,
)
from app.stats.document_draws import bootstrap_document_sums
from app.stats.ratings import Bools, Floats
from app.storage.db import Session


class ScaleLinkingOptions(ScoreSelectionOptions):
    """Which items link the campaigns, and how."""

    method: Link = Field("mean", description="Matches the mean of the anchors; mean_sigma also matches their spread.")
    anchors: Literal["auto", "calibration", "common"] = Field(
        "auto",
        description="Link by calibration items, or by outputs of one system for one source; auto: calibration items "
        "if shared.",
    )
    bootstrap: BootstrapDraws = 1_000
    level: IntervalLevel = 0.95
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class CampaignOutputMeans:
    """The means over raters in a campaign.

    test: the units of systems; mean: the mean of each. common, items: mean of each output and of each calibration item,
    and whether it is a human translation, by address. parts: the campaign.
    """

    parts: CampaignCalibrationSplit
    test: ValuesByUnit
    mean: Floats
    common: dict[Address, tuple[float, bool]]
    items: dict[Address, tuple[float, bool]]

    @property
    def n_raters(self) -> int:
        """The number of raters who judged a system."""
        return int(np.unique(self.test.rater).size)


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: ScaleLinkingOptions
) -> ReportComputation[ScaleLinkingView]:
    parts = [drop_excluded_rows(session, load_campaign_calibration_split(session, one, options)) for one in snapshots]
    if len({one.better_sign for one in parts}) > 1:
        what = "higher is better in one of these campaigns and worse in another"
        raise Invalid("the campaigns do not fit together", places=(Place(("query", "campaigns"), what),))
    return make_undivided_computation(lambda: _view(parts, options))


def _view(parts: Sequence[CampaignCalibrationSplit], options: ScaleLinkingOptions) -> ScaleLinkingView:
    means = [_load_campaign_means(one, options) for one in parts]
    links, systems, head = [], [], make_comparison_header_fields(parts)
    warnings: list[str] = []
    for n, (part, part_means) in enumerate(zip(parts, means, strict=True)):
        if n == 0:
            systems += _systems(part, part_means, None, options, n)
            continue
        anchored, which, differing = _choose_anchors(means[0], part_means, options)
        if differing:
            reason = f"anchor whose source differs from that in {parts[0].campaign_key}"
            head["dropped"].append({"reason": reason, "n": differing, "campaign": part.campaign_key})
        rng = np.random.default_rng([options.seed, n])
        linked = fit_scale_link(anchored, options.method, draws=options.bootstrap, level=options.level, rng=rng)
        warnings += _link_warnings(parts[0], part, anchored, linked, options)
        links.append(_link_view(part.campaign_key, linked, which, options))
        systems += _systems(part, part_means, linked, options, n)
    alone = [one.parts.campaign_key for one in means if one.n_raters == 1]
    warnings += [
        f"{key} has only one rater, so the link holds for this rater's scores only; let others rate the anchors"
        for key in alone
    ]
    if not systems:
        warnings = [NOTHING]
    return ScaleLinkingView(
        **head,
        warnings=warnings,
        base=parts[0].campaign_key,
        method=options.method,
        higher_is_better=parts[0].better_sign > 0,
        draws=options.bootstrap,
        level=options.level,
        seed=options.seed,
        links=links,
        systems=_sort_systems(systems, parts[0].better_sign),
    )


def _link_warnings(
    base: CampaignCalibrationSplit,
    part: CampaignCalibrationSplit,
    anchored: CampaignLinkAnchors,
    linked: ScaleLink,
    options: ScaleLinkingOptions,
) -> Iterator[str]:
    """Yield the warnings about one link."""
    if linked.why:
        yield (
            f"{part.campaign_key} is not comparable with {base.campaign_key}: {linked.why}; let both judge "
            "the same items of different quality"
        )
    if options.method == "mean" and part.ratings.scale != base.ratings.scale:
        yield (
            f"{part.campaign_key} is on another scale, and a link by the mean does not adjust its spread; "
            "use method=mean_sigma"
        )
    if linked.n > 1:
        for campaign, values in ((base, anchored.base), (part, anchored.other)):
            if not np.ptp(values):
                yield (
                    f"all anchors have the same score in {campaign.campaign_key}, so the link cannot be checked; "
                    "add anchors of other quality"
                )


def _load_campaign_means(parts: CampaignCalibrationSplit, options: ScaleLinkingOptions) -> CampaignOutputMeans:
    test = make_values_by_unit(parts, parts.test, options.repeats)
    human = np.array([parts.kinds.get(key) == "human" for key in parts.ratings.rows.labels.systems] or [False])
    pairs = make_values_by_unit(parts, parts.calibration, options.repeats)
    items = _means_by_address(parts, pairs, np.zeros_like(human))
    return CampaignOutputMeans(
        parts,
        replace_unknown_documents_by_segments(parts, test),
        _mean(test),
        _means_by_address(parts, test, human),
        items,
    )


def _mean(units: ValuesByUnit) -> Floats:
    total = np.bincount(units.unit, weights=units.value, minlength=units.n_units)
    return np.asarray(total / np.maximum(units.n_values_by_unit(), 1), dtype=np.float64)


def _means_by_address(
    parts: CampaignCalibrationSplit, units: ValuesByUnit, human: Bools
) -> dict[Address, tuple[float, bool]]:
    labels, mean = parts.ratings.rows.labels, _mean(units)
    position = labels.segment_position[units.place].tolist()
    outputs: dict[Address, tuple[float, bool]] = {}
    for document, n, system, value in zip(
        units.document.tolist(), position, units.system.tolist(), mean.tolist(), strict=True
    ):
        key = labels.documents[document]
        outputs[key, n, labels.systems[system]] = (value, bool(human[system]))
    return outputs


def _choose_anchors(
    base: CampaignOutputMeans, other: CampaignOutputMeans, options: ScaleLinkingOptions
) -> tuple[CampaignLinkAnchors, str, int]:
    """Return the anchors of a link, their kind, and how many were left out because their sources differ.

    The anchors are calibration items if both campaigns share some or they are requested, else common outputs.
    """
    items = {a for a in base.items.keys() & other.items.keys() if may_have_same_source_text(base.parts, other.parts, a)}
    calibration = options.anchors == "calibration" or (options.anchors == "auto" and bool(items))
    ours, theirs = (base.items, other.items) if calibration else (base.common, other.common)
    both = ours.keys() & theirs.keys()
    chosen = sorted(a for a in both if may_have_same_source_text(base.parts, other.parts, a))
    documents = {key: i for i, key in enumerate(sorted({a[0] for a in chosen}))}
    anchors = CampaignLinkAnchors(
        base=np.array([ours[a][0] for a in chosen], dtype=np.float64),
        other=np.array([theirs[a][0] for a in chosen], dtype=np.float64),
        document=np.array([documents[a[0]] for a in chosen], dtype=np.int32),
        human=np.array([ours[a][1] for a in chosen], dtype=np.bool_),
    )
    return anchors, "calibration" if calibration else "common", len(both) - len(chosen)


def _link_view(campaign: str, linked: ScaleLink, which: str, options: ScaleLinkingOptions) -> ScaleLinkView:
    slopes, intercepts = (
        percentile_interval_of_draws(values, options.level) for values in (linked.slopes, linked.intercepts)
    )
    return ScaleLinkView(
        campaign=campaign,
        anchors=which,
        n=linked.n,
        pearson=linked.pearson,
        slope=linked.slope,
        slope_interval=slopes if options.method == "mean_sigma" else None,
        intercept=linked.intercept,
        intercept_interval=intercepts,
        residual=linked.residual,
        by_kind=linked.by_kind,
        by_kind_interval=linked.by_kind_interval,
        comparable=linked.why is None,
        why=linked.why,
    )


def _systems(
    parts: CampaignCalibrationSplit,
    means: CampaignOutputMeans,
    linked: ScaleLink | None,
    options: ScaleLinkingOptions,
    n: int,
) -> list[ScaleLinkedSystem]:
    """Return every system as scored and on the base's scale, with the error from documents and that with the link."""
    units, labels, shown = means.test, parts.ratings.rows.labels.systems, []
    held, code = np.unique(units.document, return_inverse=True)
    there = [units.system == system for system in np.unique(units.system).tolist()]
    sums = [
        np.bincount(code[own], weights=values, minlength=held.size).astype(np.float64)
        for own in there
        for values in (None, means.mean[own])
    ]
    rng = np.random.default_rng([options.seed, n, 1])
    drawn = iter(bootstrap_document_sums(rng, held.size, options.bootstrap, sums))
    for system, own in zip(np.unique(units.system).tolist(), there, strict=True):
        raw = float(means.mean[own].mean())
        total, summed = next(drawn), next(drawn)
        again = np.divide(summed, total, out=np.full(total.size, np.nan), where=total > 0)
        value, error, interval = _place_on_scale(raw, again, linked, options)
        shown.append(
            ScaleLinkedSystem(
                campaign=parts.campaign_key,
                system=labels[system],
                n_units=int(own.sum()),
                raw=raw,
                linked=value,
                link_error=error,
                interval=interval,
                rank=None,
            )
        )
    return shown


def _place_on_scale(
    raw: float, again: Floats, linked: ScaleLink | None, options: ScaleLinkingOptions
) -> tuple[float | None, float | None, tuple[float, float] | None]:
    if linked is None:
        return raw, 0.0, percentile_interval_of_draws(again, options.level)
    if linked.slope is None or linked.intercept is None or linked.why is not None:
        return None, None, None
    moved = linked.slopes * raw + linked.intercepts
    known = moved[np.isfinite(moved)]
    error = float(known.std(ddof=1)) if known.size > 1 else None
    return (
        linked.slope * raw + linked.intercept,
        error,
        percentile_interval_of_draws(linked.slopes * again + linked.intercepts, options.level),
    )


def _sort_systems(systems: list[ScaleLinkedSystem], sign: int) -> list[ScaleLinkedSystem]:
    values = [None if s.linked is None else float(round_scores(np.asarray(s.linked))) * sign for s in systems]
    known = [v for v in values if v is not None]
    ranked = [
        one.model_copy(update={"rank": None if v is None else 1 + sum(other > v for other in known)})
        for one, v in zip(systems, values, strict=True)
    ]
    return sorted(ranked, key=lambda one: (one.rank or len(systems) + 1, one.campaign, one.system))


EXAMPLE: dict[str, Any] = {
    "campaigns": {"spring": 4, "autumn": 6},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "base": "spring",
    "method": "mean",
    "higher_is_better": True,
    "draws": 1000,
    "level": 0.95,
    "seed": 0,
    "links": [
        {
            "campaign": "autumn",
            "anchors": "calibration",
            "n": 100,
            "pearson": 0.83,
            "slope": 1.0,
            "slope_interval": None,
            "intercept": -0.41,
            "intercept_interval": [-0.52, -0.3],
            "residual": 0.44,
            "by_kind": None,
            "by_kind_interval": None,
            "comparable": True,
        }
    ],
    "systems": [
        {
            "campaign": "autumn",
            "system": "mt",
            "n_units": 400,
            "raw": 4.1,
            "linked": 3.69,
            "link_error": 0.056,
            "interval": [3.55, 3.83],
            "rank": 1,
        }
    ],
}
REPORT: Report[ScaleLinkingOptions, ScaleLinkingView] = Report(
    name="linking",
    title="Campaigns linked by shared items",
    summary="Systems of several campaigns on the scale of the first, linked by shared items, with the error of the "
    "link.",
    options=ScaleLinkingOptions,
    result=ScaleLinkingView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_linked_scores},
    caption=make_caption,
    over="campaigns",
)
