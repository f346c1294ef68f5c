"""How far a campaign is set up: what it has, from which the pages derive the next step."""

from __future__ import annotations

from app.storage.db import Session
from app.storage.setup_facts import CampaignSetupFacts, filter_judged_campaign_keys, load_campaign_setup_facts

__all__ = ["CampaignSetupFacts", "filter_judged_campaign_keys", "get_setup_facts"]


def get_setup_facts(session: Session, campaign: str) -> CampaignSetupFacts:
    """Return what the campaign with this key has; nothing if it does not exist."""
    return load_campaign_setup_facts(session, campaign)
