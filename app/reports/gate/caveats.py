"""Caveats of a gate's decision: whether raters link the two systems, what few documents can hide, and skewness."""

from __future__ import annotations

from app.domain.recipe import Recipe
from app.reports.inputs.recipe_input import RecipeInput
from app.stats.gate.failures import RARE, compute_chance_of_no_failure, compute_documents_to_see_failure
from app.stats.gate.gate import GateDecision, GateRule
from app.stats.gate.skewness import compute_documents_for_skewness
from app.stats.ranking.design_checks import group_systems_linked_by_raters
from app.stats.selection import select_rows_by_recipe


def list_decision_caveats(decision: GateDecision, rule: GateRule) -> list[str]:
    """Return warnings about a decision that gives a difference, whether or not the claim is accepted."""
    if decision.difference is None:
        return []
    caveats, n, enough = [], decision.documents, compute_documents_to_see_failure(RARE, 0.05)
    if n < enough:
        let = "0.18 to 0.27" if rule.claim != "equivalent" else "0.01"
        caveats.append(
            f"{n} documents can hide rare failures: if {RARE:.0%} of all documents fail, the probability that none of "
            f"these does is {compute_chance_of_no_failure(n):.2f}, and the gate approved a candidate that such "
            f"failures bring down to the baseline in {let} of simulated campaigns of 6 to 30 documents; judge {enough} "
            "documents, or bound the share of documents with a critical error (`max_critical`)"
        )
    if decision.skewness is not None and n < (needed := compute_documents_for_skewness(decision.skewness)):
        caveats.append(
            f"differences of documents are skewed ({decision.skewness:.1f}): Student's t needs about {needed:,} "
            f"documents, and there are {n}; bounds are corrected for the skewness of these documents, so judge more if "
            "the claim is close"
        )
    return caveats


def explain_systems_confounded_with_raters(
    inputs: RecipeInput, recipe: Recipe, candidate: str, baseline: str
) -> str | None:
    """Explain why the two systems cannot be separated from their raters under any recipe; None if raters link them."""
    selection = select_rows_by_recipe(inputs.rows, recipe)
    groups = group_systems_linked_by_raters(selection.ratings.where(selection.ranked))
    of = [next((i for i, group in enumerate(groups) if key in group), None) for key in (candidate, baseline)]
    if None in of or of[0] == of[1]:
        return None
    return (
        f"no rater links {candidate} and {baseline}, even through other systems, so their difference cannot be "
        "distinguished from one between their raters; have some raters judge both"
    )
