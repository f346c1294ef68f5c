"""What the plan in force is for: its documents and systems."""

from __future__ import annotations

from dataclasses import dataclass

from app.services.plans.plans import NotCompiled, unpacked
from app.storage import campaigns, plans
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class Planned:
    """Keys, in their order."""

    documents: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()


def planned(session: Session, campaign: str) -> Planned:
    """Of the plan in force; nothing where there is none, or none that was compiled here. Raises NotFound."""
    row = plans.latest(session, campaigns.get(session, campaign).id)
    if row is None:
        return Planned()
    try:
        plan = unpacked(row.compiled)
    except NotCompiled:
        return Planned()
    return Planned(tuple(one.key for one in plan.documents), plan.systems)
