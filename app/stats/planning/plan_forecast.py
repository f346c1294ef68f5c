"""What a plan can detect and whether its ranking would hold: forecast from variance components, before any rating."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from app.design.plan import Plan
from app.design.plan_properties import PlanProperties
from app.domain.errors import Invalid
from app.stats.planning.forecast_components import ForecastVarianceComponents
from app.stats.planning.pilot import estimate_power_by_resampling, prepare_pilot_ratings
from app.stats.planning.power_and_cost import (
    PowerForecast,
    StudyLayout,
    compute_fewest_documents_for_significance,
    forecast_power,
)
from app.stats.planning.simulated_studies import (
    PlannedClaimRule,
    RankingStabilityForecast,
    RaterPools,
    forecast_ranking_stability,
    make_rater_pools,
)

ALPHA = 0.05
WORLDS = 6
STUDIES = 100
ONCE = "the pilot's outputs were not rated often enough to be reassigned under this design"
TOO_LITTLE = "a difference requires two systems and two documents"
UNSPREAD = "the variance between systems is unknown: give a pilot, or `system` in the setting components"


def forecast_plan(
    plan: Plan, checks: PlanProperties, variances: ForecastVarianceComponents, lengths: Mapping[str, int]
) -> dict[str, dict[str, object]]:
    """Forecast `forecast`, the smallest difference found with 80 % power, `srp` and `pilot`; null with the reason.

    lengths: number of segments of each document.
    """
    layout = _layout(plan, checks, lengths)
    reason = (variances.why or "") if variances.components is None else TOO_LITTLE
    if variances.components is None or layout is None:
        unknown: dict[str, dict[str, object]] = {
            "forecast": {"detectable": None, "reason": reason},
            "srp": {"value": None, "reason": reason},
        }
        return unknown if variances.pilot_report is None else {**unknown, "pilot": dict(variances.pilot_report)}
    made = forecast_power(variances.components, layout, systems=len(plan.systems))
    floor = _PValueFloor.of(layout.documents, made.pairs)
    laid = {name: value for name, value in asdict(layout).items() if name != "lengths"}
    told = {
        **asdict(made),
        "smallest_p_adjusted": floor.smallest,
        "documents_for_a_claim": floor.needed,
        "layout": {**laid, "uneven": layout.length_imbalance},
        "components": asdict(variances.components),
    }
    both = {"forecast": told, "srp": _srp(plan, layout, variances)}
    if variances.pilot_report is None:
        return both
    return {**both, "pilot": _forecast_from_pilot(plan, layout, variances, made)}


@dataclass(frozen=True, slots=True)
class _PValueFloor:
    """The smallest adjusted p of `recommended`, and the documents needed for a claim; None if there are enough."""

    smallest: float
    needed: int | None

    @classmethod
    def of(cls, documents: int, pairs: int) -> _PValueFloor:
        needed = compute_fewest_documents_for_significance(pairs, ALPHA)
        return cls(min(1.0, pairs * 2.0 ** (1 - documents)), needed if documents < needed else None)


def list_few_documents_warnings(plan: Plan) -> list[str]:
    """Return the ranking's warning before any rating is bought: so few documents cannot give a claim."""
    documents, systems = sum(document.bucket is not None for document in plan.documents), len(plan.systems)
    if systems < 2 or not documents:
        return []
    pairs = systems * (systems - 1) // 2
    floor = _PValueFloor.of(documents, pairs)
    if floor.needed is None:
        return []
    smallest = f"the smallest p that {documents} documents can reach over {pairs} pairs is {floor.smallest:.3g}"
    return [f"no pair can be significant: {smallest} after adjustment; plan at least {floor.needed} documents"]


def _forecast_from_pilot(
    plan: Plan, layout: StudyLayout, basis: ForecastVarianceComponents, made: PowerForecast
) -> dict[str, object]:
    """Return the report on the pilot, and the share of studies with resampled documents that find such a difference.

    Unlike the power of the forecast, this assumes nothing about the distribution of scores.
    """
    told = {"resampled": None, "resampled_error": None, "why_not_resampled": None, **(basis.pilot_report or {})}
    if basis.pilot_ratings is None:
        return told
    try:
        source = prepare_pilot_ratings(
            basis.pilot_ratings, grouping=layout.grouping, ratings_per_item=layout.ratings_per_item
        )
    except Invalid as error:
        return {**told, "why_not_resampled": error.detail or error.title()}
    if not source.rated_anew and (layout.grouping != "psxs" or layout.ratings_per_item > 1):
        return {**told, "why_not_resampled": ONCE}
    power, error_of_it = estimate_power_by_resampling(
        source,
        difference=made.detectable,
        documents=layout.documents,
        alpha=made.alpha_each,
        studies=STUDIES,
        rng=np.random.default_rng([plan.seed, zlib.crc32(b"pilot")]),
    )
    return {**told, "resampled": power, "resampled_error": error_of_it}


def _layout(plan: Plan, checks: PlanProperties, lengths: Mapping[str, int]) -> StudyLayout | None:
    documents = [document.key for document in plan.documents if document.bucket is not None]
    if len(plan.systems) < 2 or len(documents) < 2:
        return None
    used = sum(load.groups > 0 for load in checks.loads)
    return StudyLayout(
        documents=len(documents),
        segments=sum(lengths[key] for key in documents) / len(documents),
        lengths=tuple(lengths[key] for key in documents),
        raters=max(used, 1),
        ratings_per_item=plan.design.ratings_per_item,
        grouping=plan.design.grouping,
    )


def _srp(plan: Plan, layout: StudyLayout, basis: ForecastVarianceComponents) -> dict[str, object]:
    """Forecast SRP of studies reassigned within the plan's buckets, with systems as far apart as the components say."""
    if basis.components is None or basis.between_systems is None:
        return {"value": None, "reason": UNSPREAD}
    try:
        made = forecast_ranking_stability(
            basis.components,
            layout,
            between=basis.between_systems,
            systems=len(plan.systems),
            panel=_panel(plan),
            rule=PlannedClaimRule(),
            worlds=WORLDS,
            rng=np.random.default_rng([plan.seed, zlib.crc32(b"srp")]),
        )
    except Invalid as error:
        return {"value": None, "reason": error.detail or error.title()}
    return _forecast_as_json(made, basis, len(plan.systems))


def _forecast_as_json(
    made: RankingStabilityForecast, basis: ForecastVarianceComponents, systems: int
) -> dict[str, object]:
    told = asdict(made)
    source = basis.components.source if basis.components else ""
    return {
        "value": told.pop("srp"),
        **told,
        "pairs": systems * (systems - 1) // 2,
        "method": "forecast",
        "source": source,
        "between_systems": basis.between_systems,
        "notes": [
            "claims as in `recommended`: Holm over all pairs, and the smallest p of sign flips by document",
            "forecast from variance components, not simulated from judgments",
            "a fixed rater pool cannot show rater × system variance",
            "balance other than full, overlap and control items are ignored",
        ],
    }


def _panel(plan: Plan) -> RaterPools:
    """Return the plan's buckets with raters numbered by key."""
    number = {rater: i for i, rater in enumerate(sorted({r for bucket in plan.buckets for r in bucket.raters}))}
    pools = [[number[rater] for rater in bucket.raters] for bucket in plan.buckets]
    place = {bucket.number: i for i, bucket in enumerate(plan.buckets)}
    buckets = [place[document.bucket] for document in plan.documents if document.bucket is not None]
    return make_rater_pools(pools, buckets, len(number))
