"""Agreement between campaigns on the same outputs: each campaign's mean over raters is treated as one rater's score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, StringConstraints

from app.reports.agreement import computation
from app.reports.agreement.between_campaign_variation import compute_system_variation_over_campaigns
from app.reports.agreement.between_campaigns_charts import plot_campaign_agreement
from app.reports.agreement.between_campaigns_view import (
    CampaignPairAgreement,
    CampaignsAgreementView,
    ComparedCampaign,
    make_caption,
    make_csv_rows,
    make_tables,
)
from app.reports.agreement.coefficients import (
    AgreementCoefficientEstimator,
    CoefficientSettings,
    make_level_agreement_input,
)
from app.reports.agreement.report import NUMBERS, make_coefficient_settings
from app.reports.agreement.view import AgreementStatistic
from app.reports.inputs.raw_ratings import (
    NOTHING,
    BootstrapOptions,
    RawRatings,
    RawRatingsOptions,
    keep_raters_of_every_segment,
    load_raw_ratings,
)
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation
from app.stats.agreement import pairs, rankings
from app.stats.agreement.units import ValuesByUnit, make_segment_units
from app.stats.plain_values import number_or_none
from app.storage.db import Session
from app.storage.segment_words import load_source_digests

Address = tuple[str, int, str]
TOO_MANY_UNITS = (
    "too many shared units: statistics by pair of campaigns are left out; compare fewer systems to get them"
)
NOTHING_SHARED = (
    "no output was rated in two of these campaigns, so agreement is unknown: give matching documents the same key"
)


class CampaignAgreementOptions(RawRatingsOptions, BootstrapOptions):
    """Which scores are compared, and how intervals are computed."""

    tolerance: Annotated[str, StringConstraints(pattern=NUMBERS)] | None = Field(
        None, description="Scores agree if they differ by at most this much; separate several values by commas."
    )
    levels: Annotated[int, Field(ge=2, le=100_000)] | None = Field(
        None,
        description="Number of values in the closed form of chance agreement; default: those of the scale; 100 as "
        "published.",
    )
    bins: Annotated[int, Field(ge=2, le=50)] | None = None
    complete: bool = Field(default=False, description="Only units that all campaigns share.")


@dataclass(frozen=True, slots=True)
class UnitsSharedByCampaigns:
    """The units that campaigns share, with the campaigns as raters.

    differing: number of units left out because their sources differ. negated: scores were negated where lower is
    better. systems: the system names that the codes of the units refer to.
    """

    units: ValuesByUnit
    differing: int
    negated: bool
    systems: tuple[str, ...] = ()


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: CampaignAgreementOptions
) -> ReportComputation[CampaignsAgreementView]:
    campaign_ratings = [
        keep_raters_of_every_segment(load_raw_ratings(session, one, options), options) for one in snapshots
    ]
    texts = [load_source_digests(session, one.campaign_id) for one in snapshots]
    shared = _shared_units(campaign_ratings, texts, options)
    same = len({one.scale for one in campaign_ratings}) == 1 and not shared.negated
    choices = make_coefficient_settings(campaign_ratings[0], options.tolerance, options.levels, options.bins)

    @cache
    def statistics() -> tuple[AgreementCoefficientEstimator, ...]:
        return _statistics(shared.units, choices, same_scale=same)

    def spread() -> computation.AgreementBootstrap:
        return computation.AgreementBootstrap(
            ((shared.units, tuple(one.bootstrap_statistic for one in statistics())),), options.bootstrap, options.seed
        )

    def finish(done: Sequence[bytes]) -> CampaignsAgreementView:
        ends = spread().compute_intervals(done, options.level)[0]
        drawn = options.level if options.bootstrap else None
        shown = [
            computation.make_agreement_statistic(one, e, shared.units, drawn)
            for one, e in zip(statistics(), ends, strict=True)
        ]
        return _view(campaign_ratings, shared, shown, options, choices.levels if same else None)

    return ReportComputation(
        computation.count_bootstrap_chunks([shared.units], options.bootstrap),
        lambda part: spread().compute_chunk(part),
        finish,
    )


def _shared_units(
    campaign_ratings: Sequence[RawRatings],
    texts: Sequence[dict[tuple[str, int], str]],
    options: CampaignAgreementOptions,
) -> UnitsSharedByCampaigns:
    """Return each campaign's mean for each shared unit; leave out units with the same address but different sources."""
    turned = len({one.rows.higher_is_better for one in campaign_ratings}) > 1
    means = [_mean_by_address(one, options, turn=turned and not one.rows.higher_is_better) for one in campaign_ratings]
    counts: dict[Address, int] = {}
    for each in means:
        for address in each:
            counts[address] = counts.get(address, 0) + 1
    least = len(campaign_ratings) if options.complete else 2
    shared = sorted(address for address, n in counts.items() if n >= least)
    held = [address for address in shared if _has_one_text(address, texts)]
    rows = [(i, c, means[c][a]) for i, a in enumerate(held) for c in range(len(campaign_ratings)) if a in means[c]]
    unit, rater, value = zip(*rows, strict=True) if rows else ((), (), ())
    documents, document = _encode_keys([a[0] for a in held])
    systems, system = _encode_keys([a[2] for a in held])
    _, place = _encode_keys([f"{a[0]}\0{a[1]}" for a in held])
    units = ValuesByUnit(
        unit=np.array(unit, dtype=np.int32),
        rater=np.array(rater, dtype=np.int32),
        value=np.array(value, dtype=np.float64),
        document=document,
        system=system,
        place=place,
        n_documents=len(documents),
        raters=tuple(one.snapshot.campaign.key for one in campaign_ratings),
    )
    return UnitsSharedByCampaigns(units, len(shared) - len(held), turned, tuple(systems))


def _encode_keys(keys: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    names = sorted(set(keys))
    code = {name: i for i, name in enumerate(names)}
    return names, np.array([code[key] for key in keys], dtype=np.int32)


def _has_one_text(address: Address, texts: Sequence[dict[tuple[str, int], str]]) -> bool:
    known = {digests[address[:2]] for digests in texts if address[:2] in digests}
    return len(known) < 2


def _mean_by_address(ratings: RawRatings, options: CampaignAgreementOptions, *, turn: bool) -> dict[Address, float]:
    units = make_segment_units(ratings.rows, repeated=options.repeats)
    labels = ratings.rows.labels
    mean = np.bincount(units.unit, weights=units.value, minlength=units.n_units) / np.maximum(
        units.n_values_by_unit(), 1
    )
    mean = np.round(-mean if turn else mean, 10) + 0.0
    addresses = zip(
        (labels.documents[d] for d in units.document.tolist()),
        labels.segment_position[units.place].tolist(),
        (labels.systems[s] for s in units.system.tolist()),
        strict=True,
    )
    return dict(zip(addresses, mean.tolist(), strict=True))


def _statistics(
    units: ValuesByUnit, choices: CoefficientSettings, *, same_scale: bool
) -> tuple[AgreementCoefficientEstimator, ...]:
    """Return all coefficients if the campaigns have the same scale, else those that do not depend on the scale."""
    if not units.n_units:
        return ()
    if same_scale:
        return make_level_agreement_input("segments", units, choices).statistics
    if pairs.has_too_many_value_pairs(units):
        return ()
    return (
        AgreementCoefficientEstimator("mean_pearson", pairs.mean_rater_pair_pearson(units)),
        AgreementCoefficientEstimator("tau_single_documents", rankings.mean_tau_within_documents(units)),
        AgreementCoefficientEstimator(
            "tau_all_documents", rankings.mean_tau_of_overall_rankings(units), jackknife=True
        ),
    )


def _view(
    campaign_ratings: Sequence[RawRatings],
    shared: UnitsSharedByCampaigns,
    statistics: list[AgreementStatistic],
    options: CampaignAgreementOptions,
    levels: int | None,
) -> CampaignsAgreementView:
    dropped = [{**one, "campaign": each.snapshot.campaign.key} for each in campaign_ratings for one in each.dropped]
    if shared.differing:
        dropped.append({"reason": "unit whose source differs between campaigns", "n": shared.differing})
    same = len({one.scale for one in campaign_ratings}) == 1 and not shared.negated
    return CampaignsAgreementView(
        campaigns={one.snapshot.campaign.key: one.snapshot.version for one in campaign_ratings},
        data_hash=" ".join(one.data_hash for one in campaign_ratings),
        basis=", ".join(sorted({one.snapshot.campaign.basis for one in campaign_ratings})),
        dropped=dropped,
        warnings=_warnings(campaign_ratings, shared, same_scale=same),
        complete=options.complete,
        n_units=shared.units.n_units,
        n_documents=np.unique(shared.units.document).size,
        same_scale=same,
        chance_levels=levels,
        draws=options.bootstrap,
        interval_level=options.level,
        seed=options.seed,
        each=[_campaign_line(one, shared) for one in campaign_ratings],
        statistics=statistics,
        pairs=_pairs(shared.units, same_scale=same),
        repeated=compute_system_variation_over_campaigns(shared.units, shared.systems, campaign_ratings[0].scale)
        if same
        else [],
    )


def _campaign_line(ratings: RawRatings, shared: UnitsSharedByCampaigns) -> ComparedCampaign:
    rows = ratings.rows.segment_ratings()
    return ComparedCampaign(
        campaign=ratings.snapshot.campaign.key,
        protocol=ratings.snapshot.campaign.protocol,
        n_units=np.unique(rows.segment.astype(np.int64) * max(rows.n_systems, 1) + rows.system).size,
        n_raters=np.unique(rows.rater).size,
        mean=number_or_none(float(rows.score.mean())) if len(rows) else None,
        turned=shared.negated and not rows.higher_is_better,
    )


def _pairs(units: ValuesByUnit, *, same_scale: bool) -> list[CampaignPairAgreement]:
    if not units.n_units or pairs.has_too_many_value_pairs(units):
        return []
    ranked = rankings.compare_rater_rankings(units)
    matched = pairs.list_value_pairs(units)
    lines = []
    for g, (a, b) in enumerate(matched.raters.tolist()):
        x, y = matched.first[matched.pair == g], matched.second[matched.pair == g]
        names = (units.raters[a], units.raters[b])
        lines.append(
            CampaignPairAgreement(
                campaign=names,
                n_units=x.size,
                pearson=number_or_none(pairs.pearson(x, y)),
                tau_b=number_or_none(pairs.kendall_tau(x, y)),
                tau_c=number_or_none(pairs.kendall_tau(x, y, variant="c")),
                tau_systems=ranked[names].shared,
                absolute=float(np.abs(x - y).mean()) if same_scale else None,
            )
        )
    return lines


def _warnings(campaign_ratings: Sequence[RawRatings], shared: UnitsSharedByCampaigns, *, same_scale: bool) -> list[str]:
    if not any(len(one.rows) for one in campaign_ratings):
        return [NOTHING]
    if not shared.units.n_units:
        return [NOTHING_SHARED]
    warnings = []
    if pairs.has_too_many_value_pairs(shared.units):
        warnings.append(TOO_MANY_UNITS)
    if not same_scale:
        warnings.append("the scales differ, so only correlations and rankings are compared")
    if shared.negated:
        warnings.append("penalties are negated so that higher is better throughout")
    if np.unique(shared.units.document).size < computation.FEW_DOCUMENTS:
        warnings.append("few documents, so intervals are imprecise; judge more documents in both campaigns")
    return warnings


_STATISTIC = {"statistic": "mean_pearson", "value": 0.48, "interval": [0.4, 0.55], "expected": 0.5}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"esa-1": 3, "esa-2": 3},
    "data_hash": "sha256:" + "5e" * 32 + " sha256:" + "5f" * 32,
    "basis": "source",
    "complete": False,
    "n_units": 2691,
    "n_documents": 71,
    "same_scale": True,
    "chance_levels": 101,
    "draws": 1000,
    "interval_level": 0.95,
    "seed": 0,
    "each": [
        {"campaign": "esa-1", "protocol": "esa", "n_units": 2691, "n_raters": 8, "mean": 83.1, "turned": False},
        {"campaign": "esa-2", "protocol": "esa", "n_units": 2691, "n_raters": 10, "mean": 85.5, "turned": False},
    ],
    "statistics": [_STATISTIC],
    "pairs": [
        {
            "campaign": ["esa-1", "esa-2"],
            "n_units": 2691,
            "pearson": 0.48,
            "tau_b": 0.28,
            "tau_c": 0.26,
            "tau_systems": 0.8,
            "absolute": 13.0,
        }
    ],
    "repeated": [
        {"system": "ONLINE-W", "n_campaigns": 2, "n_units": 207, "scores": {"esa-1": 88.0, "esa-2": 86.0}, "cv": 2.3}
    ],
}
REPORT: Report[CampaignAgreementOptions, CampaignsAgreementView] = Report(
    name="agreement",
    title="Agreement between campaigns",
    summary="Several campaigns on the same outputs, each treated as one rater: correlations, κ with tolerance, α, "
    "rankings.",
    options=CampaignAgreementOptions,
    result=CampaignsAgreementView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_campaign_agreement},
    caption=make_caption,
    over="campaigns",
    long=True,
)
