"""How many documents, raters and ratings a difference takes, and what they cost."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from app.domain.errors import Invalid, Place
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.inputs.variance_model_input import load_ratings_with_variance_model
from app.reports.kit import text_formatting
from app.reports.kit.charts.curves import LinePoint, LineSeries, plot_line_chart
from app.reports.kit.report import Report, ReportComputation
from app.reports.power.options import PowerOptions
from app.reports.power.planner import PowerPlanner
from app.reports.power.view import PowerView, StudyDesignLine, describe_design, make_caption, make_csv_rows, make_tables
from app.storage.db import Session

RECOMMENDED = (
    "Riley et al. 2024, §3: all systems of a document by the same rater (strong), equal work for all raters, "
    "one rating per item, z-scores (weak)"
)


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: PowerOptions
) -> ReportComputation[PowerView]:
    options.list_designs(), options.parse_given_components()
    data, *pilots = (load_ratings_with_variance_model(session, one, options, options.draws) for one in snapshots)
    for pilot in pilots:
        _check_pilot(snapshots[0], pilot.inputs.snapshot)
    planner = PowerPlanner(options, data, snapshots[0].campaign.protocol, *pilots)
    return ReportComputation(planner.n_chunks, planner.compute_chunk, lambda parts: _view(planner, parts))


def _check_pilot(snapshot: CampaignSnapshot, pilot: CampaignSnapshot) -> None:
    """Raise Invalid if the pilot's judgments are on another scale."""
    own, other = snapshot.campaign.protocol, pilot.campaign.protocol
    if own != other:
        what = f"{pilot.campaign.key} is judged by {other}, this campaign by {own}, so the units differ"
        raise Invalid("the query is not valid", places=(Place(("query", "pilot"), what),))


def _view(planner: PowerPlanner, parts: Sequence[bytes]) -> PowerView:
    options, data = planner.options, planner.data
    known = not isinstance(planner.components, str)
    return PowerView(
        campaigns={**data.inputs.data_version_by_campaign, **planner.planning_ratings.inputs.data_version_by_campaign},
        data_hash=_hash(planner),
        basis=data.inputs.snapshot.campaign.basis,
        dropped=[asdict(one) for one in data.dropped],
        warnings=_warnings(planner, parts),
        recipe=data.inputs.recipe.name,
        higher_is_better=planner.planning_ratings.ratings.higher_is_better
        if len(planner.planning_ratings.ratings)
        else None,
        pilot=None if planner.pilot is None else planner.pilot.inputs.snapshot.campaign.key,
        difference=planner.difference_to_detect
        if known and (planner.feasible_designs or options.difference is not None)
        else None,
        power=options.power,
        alpha=options.alpha,
        alpha_each=planner.alpha_per_pair,
        systems=planner.n_systems,
        pairs=planner.n_pairs,
        raters=planner.n_raters,
        planned_documents=planner.n_planned_documents if known else None,
        segments=planner.segments_per_document,
        words_per_segment=planner.words_per_segment,
        seconds_per_word=options.seconds_per_word,
        fixed_panel=options.fixed_panel,
        studies=options.studies,
        draws=len(planner.decode_component_draws(parts)) if known else 0,
        seed=data.inputs.recipe.seed,
        scores=options.scores,
        marginal=planner.score_simulator.shape.description
        if known and planner.score_simulator.shape is not None
        else None,
        clusters=options.clusters,
        components=planner.make_variance_components_view(),
        designs=planner.make_design_lines(parts),
    )


def _hash(planner: PowerPlanner) -> str:
    own = planner.data.inputs.data_hash
    if planner.pilot is None:
        return own
    return "sha256:" + hashlib.sha256(f"{own}\n{planner.pilot.inputs.data_hash}".encode()).hexdigest()


def _warnings(planner: PowerPlanner, parts: Sequence[bytes]) -> list[str]:
    if isinstance(planner.components, str):
        own = planner.data.no_fit_reason if planner.pilot is None else None
        return [planner.components, *([own] if own else [])]
    warnings = []
    if planner.pilot is not None:
        warnings.append(
            f"components and resampled documents come from the pilot {planner.pilot.inputs.snapshot.campaign.key}"
        )
    elif not planner.uses_campaign_components:
        warnings.append(
            f"components: {planner.components.source}, not the campaign's own, so they have no interval; run a "
            "pilot to measure them"
        )
    if planner.options.difference is None and planner.feasible_designs:
        warnings.append(
            "no difference was given, so the planner uses the one that the first design detects at the campaign's "
            "size; give the `difference` that matters to you"
        )
    if planner.has_measured_components and planner.fewest_ratings_of_any_output < 2:
        warnings.append(
            "some outputs were rated once, so rater variance is confounded with that of outputs; have some rated twice"
        )
    if planner.has_measured_components:
        warnings += planner.planning_ratings.list_imbalance_warnings()
    warnings += planner.score_simulator.warnings
    left = [design for design in planner.options.list_designs() if design not in planner.feasible_designs]
    if left:
        warnings.append(
            f"{text_formatting.pluralize(len(left), 'design')} left out for needing "
            "more ratings per item than there are raters; plan more raters"
        )
    lines = planner.make_design_lines(parts)
    if planner.score_simulator.why is None and any(
        one.simulated is None and one.documents > 1 for line in lines for one in line.points
    ):
        warnings.append("the largest designs were not simulated; use their closed form, or plan smaller designs")
    warnings += _warn_limits(planner, lines)
    warnings += [
        RECOMMENDED,
        (
            "SRP is forecast for a fixed rater pool, which cannot show rater × system variance, so other raters may "
            "agree less; plan more raters"
        ),
    ]
    return warnings


def _warn_limits(planner: PowerPlanner, lines: Sequence[StudyDesignLine]) -> list[str]:
    """Warn of sizes at which the ranking can claim nothing, and of tests that exceed their nominal level."""
    warnings, points = [], [one for line in lines for one in line.points]
    if any(one.documents < planner.fewest_documents_for_any_claim for one in points):
        named = planner.data.inputs.recipe.name
        warnings.append(
            f"below {planner.fewest_documents_for_any_claim} documents no pair can be significant under {named}: "
            "power is 0 there; plan more documents"
        )
    each = planner.alpha_per_pair
    over = [one.size for one in points if one.size is not None and one.size - 3 * (one.size_error or 0.0) > 1.2 * each]
    if over:
        warnings.append(
            f"the test allows for documents only, so with new raters it claims up to {max(over):.3f} of equal pairs "
            f"instead of {each:.2g}, and the power is that of this test; plan more raters, or claim for "
            "these raters only"
        )
    return warnings


def plot_power_by_documents(view: PowerView) -> bytes:
    """Draw power by closed form against documents; bars show the uncertainty of the components."""
    lines = [
        LineSeries(
            describe_design(design),
            tuple(LinePoint(one.documents, one.power, *(one.interval or (None, None))) for one in design.points),
        )
        for design in view.designs
    ]
    notes = [*view.warnings, make_caption(view)]
    heading = "Power by documents; bars: 95 % from the uncertainty of the components"
    return plot_line_chart(
        _title(view), heading, "documents", lines, notes, dashed_line_at=view.power if lines else None
    )


def plot_power_by_hours(view: PowerView) -> bytes:
    """Draw power against hours of work."""
    lines = [
        LineSeries(describe_design(design), tuple(LinePoint(one.hours, one.power) for one in design.points))
        for design in view.designs
    ]
    notes = [*view.warnings, make_caption(view)]
    return plot_line_chart(
        _title(view), "Power by hours", "hours", lines, notes, dashed_line_at=view.power if lines else None
    )


def plot_srp_by_documents(view: PowerView) -> bytes:
    """Draw forecast SRP against documents."""
    lines = [
        LineSeries(
            f"{describe_design(design)}; {_pairs([one.significant_pairs for one in design.points])}",
            tuple(
                LinePoint(one.documents, one.srp, *_bar(one.srp, one.srp_error))
                for one in design.points
                if one.srp is not None
            ),
        )
        for design in view.designs
    ]
    notes = [*view.warnings, make_caption(view)]
    heading = "Forecast of Stable Ranking Probability by documents; bars: one Monte-Carlo standard error"
    return plot_line_chart(_title(view), heading, "documents", [line for line in lines if line.steps], notes)


def plot_expected_clusters(view: PowerView) -> bytes:
    """Draw the expected number of clusters against hours of work."""
    lines = [
        LineSeries(
            describe_design(design),
            tuple(
                LinePoint(one.hours, one.clusters, *_error_bar(one.clusters, one.clusters_error, view.systems))
                for one in design.points
                if one.clusters is not None
            ),
        )
        for design in view.designs
    ]
    notes = [*view.warnings, make_caption(view)]
    if view.clusters == "none":
        notes.insert(0, "No clusters were asked for: name a rule with `clusters`.")
    heading = f"Clusters expected of {view.systems} systems by hours; bars: two Monte-Carlo standard errors each way"
    shown = [line for line in lines if line.steps]
    return plot_line_chart(_title(view), heading, "hours", shown, notes, y_max=float(view.systems))


def _error_bar(value: float, error: float | None, most: int) -> tuple[float, float] | tuple[None, None]:
    return (None, None) if error is None else (max(1.0, value - 2 * error), min(float(most), value + 2 * error))


def _bar(value: float, error: float | None) -> tuple[float, float] | tuple[None, None]:
    return (None, None) if error is None else (max(0.0, value - error), min(1.0, value + error))


def _pairs(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{min(known):.1f}–{max(known):.1f} significant pairs" if known else "not simulated"


def _title(view: PowerView) -> str:
    return f"Study size for a difference: {', '.join(view.campaigns)}"


EXAMPLE: dict[str, Any] = {
    "campaigns": {"ende": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "higher_is_better": False,
    "difference": 2.0,
    "power": 0.8,
    "alpha": 0.05,
    "alpha_each": 0.0011,
    "systems": 10,
    "pairs": 45,
    "raters": 10,
    "planned_documents": 30,
    "segments": 3.47,
    "words_per_segment": 40.0,
    "seconds_per_word": 0.8,
    "fixed_panel": False,
    "studies": 200,
    "draws": 0,
    "seed": 20261120,
    "components": {
        "doc_system": 0.112,
        "segment_system": 9.811,
        "rater": 7.854,
        "rater_system": 0.153,
        "rater_doc": 0.37,
        "rater_segment": 7.365,
        "rater_doc_system": 1.511,
        "residual": 10.34,
        "source": "ende, own judgments",
    },
    "designs": [
        {
            "grouping": "psxs",
            "ratings_per_item": 1,
            "documents_needed": 69,
            "needed_interval": None,
            "hours_needed": 23.2,
            "price_needed": None,
            "raters_needed": None,
            "raters_told": "with 30 documents no number of raters is enough: differences up to 3.07 are not detected",
            "raters_at_least": 2,
            "floor": 0.175,
            "points": [],
        }
    ],
}
REPORT: Report[PowerOptions, PowerView] = Report(
    name="power",
    title="Study size for a difference",
    summary="Documents, raters, ratings and hours needed to detect a difference with a given power: closed form, "
    "simulated, resampled.",
    options=PowerOptions,
    result=PowerView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={
        "default": plot_power_by_documents,
        "hours": plot_power_by_hours,
        "srp": plot_srp_by_documents,
        "clusters": plot_expected_clusters,
    },
    caption=make_caption,
    long=True,
    other_campaigns=PowerOptions.list_pilot_campaigns,
)
