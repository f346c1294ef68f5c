"""Warnings about raters who have nothing to judge in a running plan, for those who can give them work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from app.reports.kit.text_formatting import pluralize
from app.storage import campaigns, idle_raters, plans
from app.storage.db import Session

MOST_NAMED = 5
UNDER_WAY = ("open", "paused")
"""States in which raters work on a plan; before these, the plan is compiled again."""
SHARE = "redistribute the work in a replan, or enrol fewer"


def make_idle_warning(names: Sequence[str], who: str) -> str:
    """Make a warning that gives the number of idle raters, names the first ones, and says what to do.

    who: the noun for them.
    """
    named = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
    return f"{_idle(len(names), who)}, and {'is' if len(names) == 1 else 'are'} told so: {named}; {SHARE}"


def _idle(n: int, who: str) -> str:
    return f"{pluralize(n, who)} {'has' if n == 1 else 'have'} nothing to judge in this plan"


def list_idle_warnings(
    session: Session,
    campaign_id: int,
    state: str,
    find_idle: Callable[[], Sequence[str]],
    *,
    visible_raters: Collection[str] | None = None,
    with_keys: bool,
) -> list[str]:
    """List warnings about raters, and about places of invitations if the whole campaign is visible.

    find_idle: returns the keys of idle raters. visible_raters: raters who may be mentioned; None for all.
    with_keys: whether keys are shown.
    """
    if state not in UNDER_WAY:
        return []
    idle = [key for key in find_idle() if visible_raters is None or key in visible_raters]
    sentences = []
    if idle:
        sentences.append(make_idle_warning(idle, "rater") if with_keys else f"{_idle(len(idle), 'rater')}; {SHARE}")
    seats = plans.count_invitation_seats(session, campaign_id) - idle_raters.count_invitation_seats_with_tasks(
        session, campaign_id
    )
    if visible_raters is None and seats > 0:
        sentences.append(f"{_idle(seats, 'invitation place')}; {SHARE}")
    return sentences


def list_idle_warnings_on_enrolment(session: Session, campaign: str, keys: Sequence[str]) -> list[str]:
    """List the warnings for a manager who enrols these raters. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign)
    idle = idle_raters.load_unassigned_rater_keys(session, row.id, keys) if row.state in UNDER_WAY else []
    return [make_idle_warning(idle, "rater")] if idle else []
