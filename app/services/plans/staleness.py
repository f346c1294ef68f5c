"""Whether a plan still fits the current documents, systems, outputs and raters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from app.design.buckets import keep_one_account_per_person
from app.design.compile import hash_design_inputs
from app.design.plan import Plan
from app.domain.keys import SEAT
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns.campaigns import get_campaign
from app.services.plans import plan_input, plan_prefills, plans
from app.services.plans.plan_input import CalibrationSetMissing, NoRaterEnrolled, NothingToJudge, PlanInput
from app.services.plans.plans import PlanView
from app.storage import campaigns
from app.storage import plans as stored
from app.storage.db import Session

MOST_NAMED = 5
CAME = "raters added"
IDLE = "raters who joined since have nothing to judge until a replan; `rebalance` shares the open work evenly"
UNNAMED = "properties of the documents or of the raters (their capacity, buckets, team, person) have changed"


def get_plan_with_staleness(session: Session, campaign: str) -> PlanView:
    """Return the plan in force with what has changed since it was compiled. Raises NotFound."""
    plan, view = plans.get_plan(session, campaign), get_campaign(session, campaign)
    try:
        reasons = list_changes_since_plan(session, view, campaigns.load_campaign(session, campaign).id)
    except (NothingToJudge, NoRaterEnrolled, CalibrationSetMissing) as error:
        reasons = (str(error),)
    return replace(plan, stale=reasons)


def list_changes_since_plan(session: Session, view: CampaignInfo, campaign_id: int) -> tuple[str, ...]:
    """List what has changed since the plan in force was compiled, in words; nothing if no plan was compiled here.

    Raises NothingToJudge, NoRaterEnrolled, CalibrationSetMissing.
    """
    row = stored.find_plan_in_force(session, campaign_id)
    if row is None or not row.compiled:
        return ()
    plan = plans.decode_plan(row.compiled)
    calibration = plan.design.calibration
    material = plan_input.load_plan_input(session, view, campaign_id)
    material = plan_input.restrict_to_calibration_set(material, calibration.set if calibration else None)
    reasons = _changes(plan, material, row.hash)
    if view.state == "planned":  # tasks that have begun continue as before
        reasons = (*reasons, *plan_prefills.list_prefill_change_messages(session, campaign_id, view, plan.arms))
    elif any(line.startswith(CAME) for line in reasons):
        reasons = (*reasons, IDLE)
    return reasons


def _changes(plan: Plan, material: PlanInput, frozen: bytes) -> tuple[str, ...]:
    there = {system.key for system in material.systems}
    systems = there if plan.design.systems is None else there & set(plan.design.systems)
    if not plan.inputs or hash_design_inputs(material.test_set, sorted(systems), material.raters) == plan.inputs:
        return ()
    able = {rater.key for rater in keep_one_account_per_person(material.raters)[0]}
    reasons = [
        *_came_and_went("documents", _documents(plan), _documents_now(plan, material)),
        *_came_and_went("systems", set(plan.systems), systems),
        *_came_and_went("raters", _without_seats(plan.raters) - _left_before(plan), _without_seats(able)),
    ]
    before, now = len(set(plan.raters) - _without_seats(plan.raters)), len(material.seats)
    if before != now:
        reasons.append(f"seats of invited raters: {now} instead of {before}")
    if not reasons:
        reasons.append("outputs have changed" if plans.hash_plan(plan, material) != frozen else UNNAMED)
    return tuple(reasons)


def _documents(plan: Plan) -> set[str]:
    return {document.key for document in plan.documents}


def _documents_now(plan: Plan, material: PlanInput) -> set[str]:
    """Return the documents that the plan would cover now. If it chose some, others do not matter."""
    there = {document.key for document in material.test_set.documents}
    choice = plan.design.documents
    chose = choice.keys is not None or choice.sample is not None or plan.design.buckets.kind == "explicit"
    return there & _documents(plan) if chose else there


def _left_before(plan: Plan) -> set[str]:
    """Return raters in no bucket: a replan keeps the tasks that they handed in, and gives them no others."""
    return set(plan.raters) - {rater for bucket in plan.buckets for rater in bucket.raters}


def _without_seats(raters: Collection[str]) -> set[str]:
    return {key for key in raters if not key.startswith(SEAT)}


def _came_and_went(what: str, before: Collection[str], now: Collection[str]) -> list[str]:
    came, went = sorted(set(now) - set(before)), sorted(set(before) - set(now))
    return [f"{what} {how}: {_format_keys(keys)}" for how, keys in (("added", came), ("gone", went)) if keys]


def _format_keys(keys: list[str]) -> str:
    return ", ".join(keys[:MOST_NAMED]) + (" …" if len(keys) > MOST_NAMED else "")
