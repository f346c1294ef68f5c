"""The states of a campaign: draft → planned → open ⇄ paused → closed, and open again for documents that are bought."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from app.domain.errors import Conflict, Place
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.services.plans import staleness
from app.services.webhooks.events import record_webhook_event
from app.storage import campaigns
from app.storage.db import Session
from app.storage.media import media_queries

StateChange = Literal["open", "pause", "close"]
# For each step, the states that it may start from and the state that it leads to.
STEPS: Mapping[StateChange, tuple[frozenset[str], str]] = MappingProxyType(
    {
        "open": (frozenset({"planned", "paused", "closed"}), "open"),
        "pause": (frozenset({"open"}), "paused"),
        "close": (frozenset({"open", "paused"}), "closed"),
    }
)


class CampaignStateConflict(Conflict):
    """The campaign cannot go from its present state to that one."""

    published = "NotFromHere"


MOST_PLACES = 20


class StalePlan(Conflict):
    """The campaign has changed since the plan was compiled; compile it again."""


class MediaMissing(Conflict):
    """Texts name media that the campaign does not have; add the files, then open it."""


def change_campaign_state(
    session: Session, campaign: str, step: StateChange, *, actor: str, media_follow: bool = False
) -> CampaignInfo:
    """Bring a campaign into another state. If it already has this state, nothing changes.

    media_follow: whether media files that texts name may be added after the opening. The first opening requires a plan
    that fits the current data; later changes need a replan.

    Raises NotFound, CampaignStateConflict with the required states, StalePlan naming what changed, MediaMissing naming
    files.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    sources, target = STEPS[step]
    if row.state == target:
        return get_campaign(session, campaign)
    if row.state not in sources:
        need = " or ".join(sorted(sources))
        hint = "; compile a plan first" if step == "open" and row.state == "draft" else ""
        raise CampaignStateConflict(f"it is {row.state} and would have to be {need}{hint}")
    if step == "open" and row.state == "planned":
        _check_plan(session, campaign, row.id)
        if not media_follow:
            _check_media(session, row.id)
    campaigns.update_campaign(session, row.id, {"state": target, "settings_version": row.settings_version + 1})
    audit.record_action(session, row.id, actor=actor, action=f"campaign {target}", what={"before": row.state})
    record_webhook_event(session, row.id, "campaign.state_changed", {"from": row.state, "to": target})
    return get_campaign(session, campaign)


def _check_media(session: Session, campaign_id: int) -> None:
    """Raise MediaMissing if texts name files that do not exist."""
    used: dict[str, str] = {}
    for place, name in media_queries.load_media_uses(session, campaign_id):
        used.setdefault(name, place)
    missing = sorted(set(used) - set(media_queries.load_named_media(session, campaign_id, sorted(used))))
    if missing:
        places = tuple(Place(("media", name), f"{used[name]} names it") for name in missing[:MOST_PLACES])
        raise MediaMissing(f"{len(missing)} missing", places=places)


def _check_plan(session: Session, campaign: str, campaign_id: int) -> None:
    changes = staleness.list_changes_since_plan(session, get_campaign(session, campaign), campaign_id)
    if changes:
        raise StalePlan(f"since then: {'; '.join(changes)}")
