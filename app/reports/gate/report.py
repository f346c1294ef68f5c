"""The gate: may the candidate replace the baseline? It is a report like any other, but has an address of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.domain.recipe import Normalize, Recipe
from app.reports.gate.caveats import explain_systems_confounded_with_raters, list_decision_caveats
from app.reports.gate.earlier_looks import NEVER, EarlierLooks, load_earlier_looks, make_earlier_looks_cache_key
from app.reports.gate.failures import (
    FailingRatings,
    find_failing_ratings,
    make_failures_view,
    make_missing_failure_definition_error,
    withhold_claim_above_failure_limit,
)
from app.reports.gate.ranking_of_pair import find_pair_row, make_recipe_pair_verdict, orient_interval_to_candidate
from app.reports.gate.view import (
    GateView,
    ReplicationView,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_gate_interval,
)
from app.reports.inputs import named_recipes
from app.reports.inputs.expected_time import AT_ONCE, CampaignTestSetSize, estimate_resampling_seconds
from app.reports.inputs.recipe_input import RecipeAndSeedOptions, RecipeInput, load_recipe_input
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.stats.gate import replication as gate_replication
from app.stats.gate.gate import (
    Claim,
    GateDecision,
    GateRule,
    SystemDifferenceByDocument,
    compute_system_difference_by_document,
    decide_claim,
    make_no_data_gate_decision,
)
from app.stats.ranking.pair_rows import uses_common_segments
from app.stats.ranking.ranking import rank_systems
from app.stats.ranking.result import Ranking
from app.stats.ratings import Codes, Ratings
from app.stats.replication_forecast import ReplicationChances
from app.stats.robustness.reranking import make_score_matrix_in_ranking_order
from app.stats.selection import select_rows_by_recipe
from app.stats.stability.curves import StabilityPoint
from app.stats.testing.common_segments import reduce_pairs_to_common_segments
from app.storage.db import Session

SystemKey = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
LARGEST_MARGIN = 1e9


class GateOptions(RecipeAndSeedOptions):
    """One claim about two systems."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidate: SystemKey = Field(description="Key of the system to approve.", examples=["new"])
    baseline: SystemKey = Field(description="Key of the system to compare with.", examples=["old"])
    claim: Claim = Field("better", description="The claim about the candidate.")
    margin: Annotated[float, Field(gt=0, le=LARGEST_MARGIN)] | None = Field(
        None,
        description="Margin of the claims “not worse” and “equivalent”, in the unit of the recipe's scores.",
        examples=[0.5],
    )
    min_replication: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="The claim holds only if a repeated study would show it with at least this probability.",
        examples=[0.8],
    )
    documents: Annotated[int, Field(ge=6, le=1_000_000)] | None = Field(
        None,
        description="The number of documents fixed in advance. With fewer, no result is shown, so repeated requests "
        "do not raise the error rate.",
        examples=[60],
    )
    critical: Annotated[float, Field(ge=-1e9, le=1e9)] | None = Field(
        None,
        description="A rating at least as bad as this is a failure; default: an error of the highest severity.",
    )
    max_critical: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="The claim holds only if the candidate fails on at most this share of documents, by an exact "
        "bound at alpha.",
        examples=[0.1],
    )
    normalize: Normalize | None = Field(None, description="Overrides the recipe; none keeps the protocol's unit.")
    alpha: Annotated[float, Field(ge=1e-6, lt=0.5)] | None = Field(None, description="Overrides the recipe.")

    def make_rule(self, recipe: Recipe) -> GateRule:
        """Return the rule by which the claim is decided."""
        return GateRule(self.claim, self.margin or 0.0, recipe.alpha)


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: GateOptions
) -> ReportComputation[GateView]:
    if options.candidate == options.baseline:
        raise _invalid_option("baseline", "must not be the candidate")
    if (options.margin is None) != (options.claim == "better"):
        raise _invalid_option("margin", "is required for the claims “not worse” and “equivalent”, and only for these")
    inputs = load_recipe_input(session, snapshots[0], options)
    for field in ("candidate", "baseline"):
        if getattr(options, field) not in inputs.names:
            raise _invalid_option(field, f"there is no system {getattr(options, field)!r} in this campaign")
    recipe = inputs.recipe
    if options.normalize is not None:
        recipe = replace(recipe, normalize=options.normalize, name=f"{recipe.name}+normalize"[:128])
    if options.alpha is not None:
        recipe = replace(recipe, alpha=options.alpha, name=f"{recipe.name}+alpha"[:128])
    inputs = replace(inputs, recipe=recipe)
    failed = find_failing_ratings(session, inputs, options.critical)
    if failed is None and options.max_critical is not None:
        raise make_missing_failure_definition_error()
    evidence = FailuresAndEarlierLooks(
        failed, load_earlier_looks(session, snapshots[0], options.candidate, options.baseline)
    )
    return make_undivided_computation(partial(_view, inputs, options, evidence))


@dataclass(frozen=True, slots=True)
class FailuresAndEarlierLooks:
    """What a gate loads besides the ratings: failures (None if nothing defines them) and earlier looks."""

    failures: FailingRatings | None = None
    looks: EarlierLooks = NEVER


def _takes_long(session: Session, snapshots: Sequence[CampaignSnapshot], options: GateOptions) -> bool:
    """Decide by the size of the campaign; the gate ranks without rank sets."""
    recipe = replace(named_recipes.resolve_recipe(session, snapshots[0].campaign.key, options.recipe), rank_sets=False)
    return estimate_resampling_seconds(CampaignTestSetSize.load(session, snapshots[0].campaign_id), recipe) > AT_ONCE


def _invalid_option(field: str, message: str) -> Invalid:
    return Invalid("the query is not valid", places=(Place(("query", field), message),))


def _view(inputs: RecipeInput, options: GateOptions, evidence: FailuresAndEarlierLooks) -> GateView:
    asked_of = replace(inputs.recipe, influence=False, rank_sets=False)
    ranking = rank_systems(inputs.rows, asked_of, inputs.documents, inputs.errors_without_weight)
    recipe = ranking.recipe
    rule = options.make_rule(recipe)
    differences, decision = _decide(inputs, recipe, options, rule)
    again, point = _forecast_replication(inputs, recipe, options, rule, differences, decision)
    row, tails = find_pair_row(ranking, options.candidate, options.baseline), None
    if evidence.failures is not None and decision.difference is not None:
        tails = make_failures_view(inputs, recipe, evidence.failures, (options.candidate, options.baseline), rule.alpha)
    held, why = withhold_claim_above_failure_limit(decision, tails, options.max_critical)
    holds, verdict, refused = _with_replication(held, again, options)
    return GateView(
        campaigns=inputs.data_version_by_campaign,
        data_version=inputs.snapshot.version,
        data_hash=inputs.data_hash,
        basis=inputs.snapshot.campaign.basis,
        dropped=[{"reason": d.reason, "n": d.n} for d in ranking.dropped if d.n],
        warnings=[
            *ranking.warnings,
            *_warnings(options, ranking, decision, again),
            *list_decision_caveats(decision, rule),
            *([] if decision.difference is None else evidence.looks.list_warnings()),
            *[*why, *refused],
        ],
        candidate=options.candidate,
        baseline=options.baseline,
        claim=options.claim,
        margin=options.margin,
        alpha=rule.alpha,
        holds=holds,
        verdict=verdict,
        p_value=decision.p_value,
        difference=decision.difference,
        interval=None if decision.low is None or decision.high is None else [decision.low, decision.high],
        interval_level=1 - 2 * rule.alpha,
        new_raters_interval=None
        if decision.difference is None
        else orient_interval_to_candidate(row, options.candidate, "new_raters_interval"),
        new_domains_interval=None
        if decision.difference is None
        else orient_interval_to_candidate(row, options.candidate, "new_domains_interval"),
        unit=ranking.unit,
        higher_is_better=ranking.higher_is_better,
        paired=differences is not None and differences.paired,
        n_documents=decision.documents,
        n_segments=0 if differences is None else differences.segments,
        skewness=decision.skewness,
        failures=tails,
        max_critical=options.max_critical,
        planned_documents=options.documents,
        earlier_looks=list(evidence.looks.earlier),
        promise=evidence.looks.alpha_guarantee,
        replication=None if again is None else _replication(again),
        min_replication=options.min_replication,
        srp=None if point is None else point.srp,
        srp_mc_error=None if point is None else point.mc_error,
        srp_significant_pairs=None if point is None else point.mean_significant_pairs,
        by_recipe=None if _is_interim_look(options, decision) else make_recipe_pair_verdict(ranking, row),
        recipe=recipe.name,
        recipe_hash=inputs.hash_requested_recipe(recipe),
        normalize=recipe.normalize,
        seed=recipe.seed,
        population=ranking.population,
    )


def _decide(
    inputs: RecipeInput, recipe: Recipe, options: GateOptions, rule: GateRule
) -> tuple[SystemDifferenceByDocument | None, GateDecision]:
    """Return the difference by document and the decision; None and no decision if it is impossible or not yet due."""
    differences = _document_differences(inputs, recipe, options)
    if differences is None:
        return None, _make_undecided(inputs)
    if why := explain_systems_confounded_with_raters(inputs, recipe, options.candidate, options.baseline):
        return None, make_no_data_gate_decision(int(differences.sums.size), why=why)
    there = int(differences.sums.size)
    if options.documents is not None and there < options.documents:
        why = f"the look was fixed at {options.documents} documents, but only {there} are judged: judge the rest first"
        return None, make_no_data_gate_decision(there, why=why)
    return differences, decide_claim(differences.sums, differences.weights, rule, differences.precision)


def _is_interim_look(options: GateOptions, decision: GateDecision) -> bool:
    """Whether the look fixed in advance is still to come."""
    return options.documents is not None and decision.difference is None


def _document_differences(
    inputs: RecipeInput, recipe: Recipe, options: GateOptions
) -> SystemDifferenceByDocument | None:
    """Return the difference by document; None if there is nothing to compare or documents are unknown."""
    rows = inputs.rows
    if not rows.documents_known:
        return None
    matrix = make_score_matrix_in_ranking_order(rows, recipe, _domains(inputs))
    names = [rows.labels.systems[code] for code in matrix.systems]
    if options.candidate not in names or options.baseline not in names:
        return None
    pair = names.index(options.candidate), names.index(options.baseline)
    shared = reduce_pairs_to_common_segments(matrix, rows.better_sign, unit="document")
    paired = uses_common_segments(recipe, shared)
    return compute_system_difference_by_document(matrix, *pair, rows.better_sign, paired=paired)


def _make_undecided(inputs: RecipeInput) -> GateDecision:
    """Make the decision for the case that there is nothing to compare or documents are unknown."""
    decision = make_no_data_gate_decision()
    unknown = len(inputs.rows) and not inputs.rows.documents_known
    return (
        replace(decision, why="documents are unknown, so systems cannot be compared by document")
        if unknown
        else decision
    )


def _domains(inputs: RecipeInput) -> Codes | None:
    return inputs.documents.domain_codes_and_labels()[0] if any(inputs.documents.domain) else None


def _forecast_replication(
    inputs: RecipeInput,
    recipe: Recipe,
    options: GateOptions,
    rule: GateRule,
    differences: SystemDifferenceByDocument | None,
    decision: GateDecision,
) -> tuple[ReplicationChances | None, StabilityPoint | None]:
    """Forecast whether the claim would hold in a repeated study, and the SRP.

    Studies are simulated if outputs were rated several times; the SRP is None otherwise.
    """
    if differences is None or decision.difference is None:
        return None, None
    selection = select_rows_by_recipe(inputs.rows, recipe)
    used: Ratings = selection.ratings.where(selection.ranked)
    # Simulated studies weight all segments equally, so they cannot replicate a mean over domains.
    alike = recipe.aggregate != "macro_domain"
    data = gate_replication.select_multiply_rated_documents(used, decision.documents) if alike else None
    method = recipe.normalize
    if data is None or method == "auto" or not {options.candidate, options.baseline} <= set(data.systems):
        return gate_replication.forecast_claim_replication(differences.sums, differences.weights, rule), None
    pair = data.systems.index(options.candidate), data.systems.index(options.baseline)
    again = gate_replication.simulate_replication_chances(
        data, pair, method, rule, difference=decision.difference, seed=recipe.seed
    )
    return again, gate_replication.simulate_ranking_stability(data, method, alpha=recipe.alpha, seed=recipe.seed)


def _with_replication(
    decision: GateDecision, again: ReplicationChances | None, options: GateOptions
) -> tuple[bool, Any, list[str]]:
    """Withhold a claim that would hold again too rarely; this makes it inconclusive, not false."""
    if not decision.holds or options.min_replication is None:
        return decision.holds, decision.verdict, []
    chance = None if again is None else again.significant_again
    if chance is not None and chance >= options.min_replication:
        return True, decision.verdict, []
    known_chance = "unknown" if chance is None else f"{chance:.2f}"
    why = (
        f"the claim would hold, but the probability that it holds again is {known_chance}, "
        f"and at least {options.min_replication:g} is required"
    )
    return False, "inconclusive", [why]


def _warnings(
    options: GateOptions, ranking: Ranking, decision: GateDecision, again: ReplicationChances | None
) -> list[str]:
    warnings = [] if decision.why is None else [decision.why]
    if options.margin is not None and ranking.unit != "raw":
        warnings.append(
            "scores are normalized, so the margin is in standard deviations of a rater: use normalize=none for the "
            "protocol's unit"
        )
    if again is not None and again.method == gate_replication.SIMULATED:
        warnings.append(
            "simulated studies resample documents and have one rating per item by the same raters: a fixed rater "
            "pool cannot show rater × system variance, so a re-run by other raters may agree less; have other raters "
            "judge a part"
        )
    elif again is not None:
        few = ranking.recipe.aggregate != "macro_domain"
        rated = "too few documents were rated by several raters; have more rated twice to simulate studies"
        why = rated if few else "simulated studies do not weight domains"
        warnings.append(f"replication is a forecast from one study: {why}")
    return warnings


def _replication(again: ReplicationChances) -> ReplicationView:
    simulated = again.method == gate_replication.SIMULATED
    return ReplicationView(
        same_direction=again.same_direction,
        significant_again=again.significant_again,
        method=again.method,
        documents=again.documents,
        studies=gate_replication.STUDIES if simulated else None,
        why=again.why,
    )


EXAMPLE: dict[str, Any] = {
    "campaigns": {"ende-2026": 7},
    "data_version": 7,
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "candidate": "new",
    "baseline": "old",
    "claim": "not_worse",
    "margin": 0.5,
    "alpha": 0.05,
    "holds": True,
    "verdict": "not_worse",
    "p_value": 0.0031,
    "difference": 0.12,
    "interval": [-0.25, 0.49],
    "interval_level": 0.9,
    "unit": "raw",
    "higher_is_better": False,
    "paired": True,
    "n_documents": 30,
    "n_segments": 104,
    "skewness": -0.4,
    "failures": {
        "by": "an error of severity major",
        "candidate": {
            "documents": {"found": 4, "n": 30, "high": 0.28},
            "segments": {"found": 5, "n": 104, "high": 0.099},
        },
        "baseline": {
            "documents": {"found": 6, "n": 30, "high": 0.357},
            "segments": {"found": 7, "n": 104, "high": 0.1231},
        },
    },
    "max_critical": None,
    "planned_documents": 30,
    "earlier_looks": [],
    "promise": "one look",
    "replication": {
        "same_direction": 0.67,
        "significant_again": 0.91,
        "method": "simulated",
        "documents": 30,
        "studies": 250,
    },
    "min_replication": 0.8,
    "srp": 0.95,
    "srp_mc_error": 0.01,
    "srp_significant_pairs": 32.6,
    "by_recipe": {
        "test": "permutation by document, adjustment holm",
        "better": "new",
        "p_value": 0.61,
        "p_reverse": None,
        "p_adjusted": 1.0,
        "significant": False,
        "significantly_better": None,
    },
    "recipe": "recommended",
    "recipe_hash": "sha256:" + "5e" * 32,
    "normalize": "none",
    "seed": 20261120,
    "population": "documents=new, raters=these",
}
REPORT: Report[GateOptions, GateView] = Report(
    name="gate",
    title="Gate",
    summary="May the candidate replace the baseline? One claim, decided by confidence bounds.",
    options=GateOptions,
    result=GateView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_gate_interval},
    caption=make_caption,
    takes_long=_takes_long,
    extra_key=make_earlier_looks_cache_key,
    own_routes=True,
)
