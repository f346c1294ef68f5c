"""The report of a plan: the work it gives to each rater, its balance, and what it can show, before any cost arises."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from app.design.plan import Plan
from app.design.plan_properties import PlannedRaterLoad, PlanProperties, compute_plan_properties
from app.reports.inputs.campaign import CampaignInfo
from app.services.people import idle_raters
from app.services.plans.plan_chart import MOST_RATERS, MOST_SYSTEMS, PlanChartData, RaterLoad, plot_plan_chart
from app.services.plans.plan_input import PlanInput
from app.stats.planning.forecast_components import ForecastVarianceComponents
from app.stats.planning.plan_forecast import forecast_plan, list_few_documents_warnings
from app.stats.planning.power_and_cost import StudyCostAssumptions

SECONDS_A_WORD = "seconds_per_word"
NAMES = {"degraded": "degraded items", "repeat": "repeats", "reference": "references"}
MOST_NAMED = 10
ENTROPY_DECIMALS = 12  # for evenly dealt work, the sum of logarithms equals 1 to about 16 decimals


def make_plan_report(
    view: CampaignInfo, material: PlanInput, plan: Plan, components: ForecastVarianceComponents
) -> dict[str, object]:
    """Make the report as plain JSON values. components: variance components for the forecast."""
    checks = compute_plan_properties(plan)
    assumptions = choose_study_cost_assumptions(view)
    made = {
        "raters": [_load(load, assumptions, material) for load in checks.loads],
        "total": {**asdict(checks.total), "tasks": len(plan.tasks), "hours": _hours(checks.total.words, assumptions)},
        "balance": {
            "normalized_entropy": round(checks.normalized_entropy, ENTROPY_DECIMALS),
            "spread": [asdict(spread) for spread in checks.spreads],
            "evened": None if plan.evened is None else asdict(plan.evened),
        },
        "rater_system": checks.rater_system,
        "system_system": checks.system_system,
        "least_together": checks.together,
        "position_spread": checks.positions,
        "buckets": [asdict(bucket) for bucket in plan.buckets],
        "connected": [list(raters) for raters in checks.connected],
        "controls": _controls(checks),
        "pairs": _pairs(checks, plan),
        **forecast_plan(
            plan, checks, components, {document.key: document.n_segments for document in material.test_set.documents}
        ),
        "sequence": _sequence(plan),
        "recommendations": [asdict(departure) for departure in checks.departures],
        "estimable": list(checks.estimable),
        "unmet": [asdict(unmet) for unmet in plan.unmet],
        "notes": [
            *plan.notes,
            *_seat_notes(material),
            *_judged_notes(material),
            *_attention_notes(material, plan),
            *_warnings(checks),
            *list_few_documents_warnings(plan),
            *components.notes,
        ],
    }
    plain: dict[str, object] = json.loads(json.dumps(made))  # tuples become lists, as after storing
    return plain


def choose_study_cost_assumptions(view: CampaignInfo) -> StudyCostAssumptions:
    """Return the basis for hours: the campaign's seconds per word if set, else the value with which WMT planned."""
    given = view.settings.get(SECONDS_A_WORD)
    usable = isinstance(given, int | float) and not isinstance(given, bool) and 0 < given < 3600
    return (
        StudyCostAssumptions(seconds_per_word=float(given))
        if usable and isinstance(given, int | float)
        else StudyCostAssumptions()
    )


def _hours(words: int, assumptions: StudyCostAssumptions) -> float:
    """Return the hours for reading and judging: source and output are read, so each source word counts twice."""
    return round(2 * words * assumptions.seconds_per_word / 3600, 2)


def _load(load: PlannedRaterLoad, assumptions: StudyCostAssumptions, material: PlanInput) -> dict[str, object]:
    return {
        "rater": load.rater,
        "seat": load.rater in material.seats,
        "tasks": load.tasks,
        "groups": load.groups,
        **asdict(load.size),
        "hours": _hours(load.size.words, assumptions),
    }


def _controls(checks: PlanProperties) -> dict[str, object] | None:
    density = checks.control_density
    if density is None:
        return None
    return {
        "least_share": density.least,
        "mean_share": density.mean,
        "overall_share": density.overall,
        "asked_share": density.asked,
        "places": {places.kind: list(places.counts) for places in checks.places},
        "places_by_chance": {places.kind: [round(n, 2) for n in places.by_chance] for places in checks.places},
    }


def _pairs(checks: PlanProperties, plan: Plan) -> dict[str, object]:
    met, of = checks.rater_pairs
    systems = len(plan.systems)
    return {
        "system_pairs": systems * (systems - 1) // 2,
        "judgments_of_the_least_compared": checks.pair_judgments,
        "stretches_rated_by_several": checks.rated_twice,
        "rater_pairs_with_common_items": met,
        "rater_pairs": of,
    }


def _sequence(plan: Plan) -> dict[str, object]:
    """Count how often one system directly follows another, which shows an order that raters could learn."""
    counts: dict[str, int] = {}
    for task in plan.tasks:
        shown = [item.system for item in task.items if item.role == "rating" and item.system is not None]
        for first, second in pairwise(shown):
            counts[f"{first} → {second}"] = counts.get(f"{first} → {second}", 0) + 1
    most = max(counts, key=lambda pair: (counts[pair], pair), default=None)
    return {"most_common": most, "times": counts[most] if most else 0, "pairs": len(counts)}


def _seat_notes(material: PlanInput) -> list[str]:
    if not material.seats:
        return []
    return [f"{len(material.seats)} places are for raters who come by invitation; any of them can take these tasks"]


def _judged_notes(material: PlanInput) -> list[str]:
    if not material.judged:
        return []
    which = f"documents that already have judgments, imported or copied: {material.judged}"
    return [
        (
            f"{which}; raters judge them again, perhaps the same raters, and all judgments count; to avoid this, plan "
            "only the others"
        )
    ]


def _attention_notes(material: PlanInput, plan: Plan) -> list[str]:
    """Warn of attention checks that stand out, because no task (or screen) shows as many texts."""
    by_screen = Counter((task.number, item.screen) for task in plan.tasks for item in task.items)
    side_by_side = any(item.column > 1 for task in plan.tasks for item in task.items)
    usual = set(by_screen.values()) if side_by_side else {len(task.items) for task in plan.tasks}
    odd = {key: n for key, n in material.checks.items() if n not in usual}
    if not odd or not usual:
        return []
    where, most = ("a screen" if side_by_side else "a task"), max(usual)
    named = ", ".join(f"{key} ({n})" for key, n in list(odd.items())[:MOST_NAMED])
    shown = f"{min(usual)}" if len(usual) == 1 else f"{min(usual)} to {most}"
    told = f"raters can recognize attention checks by their number of texts: {named}"
    return [f"{told}; {where} shows {shown}, so give each check as many texts as tasks have"]


def _warnings(checks: PlanProperties) -> list[str]:
    notes = []
    if len(checks.connected) > 1:
        notes.append(
            f"{len(checks.connected)} sets of raters share no items, so their scores cannot be compared; plan an "
            "overlap, or fewer buckets"
        )
    if checks.together < 0.5:
        notes.append(
            "some systems share fewer than half of their tasks, so they are compared less precisely; plan with "
            "grouping psxs"
        )
    idle = [load.rater for load in checks.loads if not load.tasks]
    if idle:
        notes.append(idle_raters.make_idle_warning(idle, "rater"))
    return [*notes, *_control_warnings(checks)]


def _control_warnings(checks: PlanProperties) -> Iterator[str]:
    density = checks.control_density
    if density is not None and density.is_far_above_requested:
        told = f"control items are {density.overall:.0%} of all items, and {density.asked:.0%} were requested"
        yield f"{told}: tasks are so short that one control exceeds this share; make tasks longer, or split documents"
    for places in checks.places:
        if places.is_guessable:
            told = f"raters can guess where {NAMES[places.kind]} are in their tasks"
            why = f"{places.misplaced_share:.0%} would have to be elsewhere to be spread evenly"
            what = "allow repeats closer to the original"
            yield f"{told}: {why}; {what}, or let each rater have more tasks, or more documents in one"


def plot_plan_report_chart(campaign: str, version: int | None, report: Mapping[str, Any]) -> bytes:
    """Draw a plan as SVG: work by rater, and the map of rater by system."""
    return plot_plan_chart(_draw_plan(campaign, version, report))


def _draw_plan(campaign: str, version: int | None, report: Mapping[str, Any]) -> PlanChartData:
    total, balance, ahead = report["total"], report["balance"], report["forecast"]
    loads = report["raters"][:MOST_RATERS]
    table = report["rater_system"]
    systems = sorted({system for row in table.values() for system in row})
    asked = (
        f"{total['tasks']:,} tasks of {total['items']:,} items, {total['segments']:,} segments, "
        f"about {total['hours']:,.0f} hours; normalized entropy {balance['normalized_entropy']:.3f}."
    )
    told = [
        asked,
        "Right: items of each system by rater, without control and calibration items.",
    ]
    if ahead["detectable"] is not None:
        told.append(
            f"A difference of {ahead['detectable']:.2f} between two systems is detected with 80 % power, alpha split "
            f"over {ahead['pairs']} pairs ({ahead['source']})."
        )
    srp = report["srp"]
    if srp["value"] is not None:
        told.append(
            f"Forecast SRP {srp['value']:.2f}, with {srp['mean_significant_pairs']:.1f} of {srp['pairs']} pairs "
            f"significant per study ({srp['source']})."
        )
    told += [f"Not met: {unmet['what']}: {unmet['why']}." for unmet in report["unmet"]]
    if len(report["raters"]) > MOST_RATERS or len(systems) > MOST_SYSTEMS:
        told.append(f"The first {MOST_RATERS} raters and {MOST_SYSTEMS} systems are drawn.")
    return PlanChartData(
        campaign=campaign,
        heading="Preview, not stored" if version is None else f"Version {version}",
        raters=tuple(
            RaterLoad(load["rater"], load["segments"], load["hours"], table.get(load["rater"], {})) for load in loads
        ),
        systems=tuple(systems[:MOST_SYSTEMS]),
        notes=tuple(told),
    )
