"""How far a campaign is set up: what it has, from which the pages tell what comes next."""

from __future__ import annotations

from app.storage.db import Session
from app.storage.setup_facts import SetupFacts, load_judged_campaigns, load_setup_facts

__all__ = ["SetupFacts", "get_setup_facts", "load_judged_campaigns"]


def get_setup_facts(session: Session, campaign: str) -> SetupFacts:
    """What the campaign with this key has; nothing where there is no such campaign."""
    return load_setup_facts(session, campaign)
