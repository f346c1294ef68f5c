"""How far a campaign is set up: what it has, from which the pages derive the next step."""

from __future__ import annotations

from app.storage.db import Session
from app.storage.setup_facts import SetupFacts, load_judged_campaigns, load_setup_facts

__all__ = ["SetupFacts", "get_setup_facts", "load_judged_campaigns"]


def get_setup_facts(session: Session, campaign: str) -> SetupFacts:
    """Return what the campaign with this key has; nothing if it does not exist."""
    return load_setup_facts(session, campaign)
