"""Which segments count as failures for a gate: those with an error of the gravest severity, or with a low score."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from app.domain.errors import Invalid, Place
from app.domain.recipe import Recipe
from app.protocols.base import SpansWidget
from app.reports.gate.view import FailuresView, SystemFailuresView
from app.reports.inputs.recipe_input import RecipeInput
from app.stats.gate.failures import count_system_failures
from app.stats.gate.gate import GateDecision
from app.stats.ratings import Bools
from app.stats.selection import select_rows_by_recipe
from app.storage import rating_metadata
from app.storage.db import Session

CRITICAL, MAJOR = "critical", "major"


@dataclass(frozen=True, slots=True, eq=False)
class FailingRatings:
    """Rows that fail, shape (rows,), and the criterion in words."""

    failed: Bools
    by: str


def find_failing_ratings(session: Session, inputs: RecipeInput, failing_score: float | None) -> FailingRatings | None:
    """Find failures by a score at least as bad as `failing_score` if given, else by errors; None if none are marked."""
    rows, marked = inputs.rows, inputs.marked
    if failing_score is not None:
        failed = rows.score <= failing_score if rows.higher_is_better else rows.score >= failing_score
        return FailingRatings(failed, f"a rating of {failing_score:g} or {'less' if rows.higher_is_better else 'more'}")
    widget = (
        None if marked is None else next((w for w in marked.reading.protocol.form if isinstance(w, SpansWidget)), None)
    )
    if marked is None or widget is None or (rows.n_errors < 0).all():
        return None
    errors = rating_metadata.load_marked_error_table(
        session, inputs.snapshot.campaign_id, marked.ids, field=widget.field, weigh={}
    )
    there = {name.casefold() for name in (*widget.severities, *errors.severities)}
    worst = CRITICAL if CRITICAL in there else MAJOR
    grave = np.array([name.casefold() == worst for name in errors.severities] or [False], dtype=np.bool_)
    failed = np.zeros(len(rows), dtype=np.bool_)
    if errors.row.size:
        failed[errors.row[grave[errors.severity]]] = True
    return FailingRatings(failed, f"an error of severity {worst}")


def make_missing_failure_definition_error() -> Invalid:
    """Make the error for a limit on failures in a campaign where nothing defines a failure."""
    what = "this campaign marks no errors: define with `critical` which rating is a failure"
    return Invalid("the query is not valid", places=(Place(("query", "max_critical"), what),))


def make_failures_view(
    inputs: RecipeInput, recipe: Recipe, failing: FailingRatings, systems: tuple[str, str], alpha: float
) -> FailuresView:
    """Make the view of the failures of candidate and baseline among the ratings that the recipe ranks."""
    selection = select_rows_by_recipe(inputs.rows.with_scores(failing.failed.astype(np.float64)), recipe)
    ranked = selection.ratings.where(selection.ranked)
    codes = [ranked.labels.systems.index(key) for key in systems]
    candidate, baseline = (
        SystemFailuresView.from_failures(count_system_failures(ranked, ranked.score > 0, code, alpha)) for code in codes
    )
    return FailuresView(by=failing.by, candidate=candidate, baseline=baseline)


def withhold_claim_above_failure_limit(
    decision: GateDecision, failures: FailuresView | None, max_share: float | None
) -> tuple[GateDecision, list[str]]:
    """Reject a claim about the mean if the candidate may fail on more documents than are allowed."""
    if max_share is None or failures is None or not decision.holds:
        return decision, []
    share = failures.candidate.documents
    if share.high <= max_share:
        return decision, []
    why = (
        f"the claim about the mean would hold, but {share.found} of {share.n} documents of the candidate have "
        f"{failures.by}, so up to {share.high:.1%} of all may have one, and at most {max_share:.1%} are allowed"
    )
    return replace(decision, holds=False, verdict="inconclusive"), [why]
