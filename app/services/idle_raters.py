"""Who has nothing to judge in a plan that is under way, in words, for those who can give them some."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.storage import campaigns, idle_raters, plans
from app.storage.db import Session

MOST_NAMED = 5
UNDER_WAY = ("open", "paused")
"""States in which a plan is worked on; before, it is compiled again."""
SHARE = "share the work anew (`rebalance` in a replan), or have fewer of them"


def told(names: Sequence[str], who: str) -> str:
    """That so many have nothing, the first by name, and what to do."""
    named = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
    return f"{len(names)} {who} have nothing to judge in this plan, and are told so: {named}; {SHARE}"


def warnings(
    session: Session, campaign_id: int, state: str, *, of: Collection[str] | None = None, named: bool
) -> list[str]:
    """Of raters, and of seats where the whole campaign is seen.

    of: raters who may be told of; None for all. named: by their keys.
    """
    if state not in UNDER_WAY:
        return []
    idle = [key for key in idle_raters.keys(session, campaign_id) if of is None or key in of]
    found = []
    if idle:
        found.append(
            told(idle, "raters") if named else f"{len(idle)} raters have nothing to judge in this plan; {SHARE}"
        )
    seats = plans.seats(session, campaign_id) - idle_raters.seats_with_work(session, campaign_id)
    if of is None and seats > 0:
        found.append(f"{seats} seats of invitations have nothing to judge in this plan; {SHARE}")
    return found


def of_enrolled(session: Session, campaign: str, keys: Sequence[str]) -> list[str]:
    """What is said to whoever enrols these. Raises NotFound."""
    row = campaigns.get(session, campaign)
    idle = idle_raters.keys(session, row.id, keys) if row.state in UNDER_WAY else []
    return [told(idle, "raters")] if idle else []
