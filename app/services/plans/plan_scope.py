"""The scope of the plan in force: its documents and systems."""

from __future__ import annotations

from dataclasses import dataclass

from app.services.plans.plans import PlanNotCompiledHere, decode_plan
from app.storage import campaigns, plans
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class PlanScope:
    """The keys of a plan's documents and systems, in their order."""

    documents: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()


def load_plan_scope(session: Session, campaign: str) -> PlanScope:
    """Return the scope of the plan in force; an empty one if no plan was compiled here. Raises NotFound."""
    row = plans.find_plan_in_force(session, campaigns.load_campaign(session, campaign).id)
    if row is None:
        return PlanScope()
    try:
        plan = decode_plan(row.compiled)
    except PlanNotCompiledHere:
        return PlanScope()
    return PlanScope(tuple(one.key for one in plan.documents), plan.systems)
