"""Names for the actors that a page mentions: a token appears by its purpose."""

from __future__ import annotations

import json

from app.services.access.tokens import Caller
from app.storage.campaigns import load_campaign
from app.storage.db import Session
from app.storage.tokens import load_staff_token_names

MOST = 500
"""The most tokens whose names a page gets; the newest ones, because readers look for these most often."""


def list_actor_names_json(session: Session, caller: Caller, campaign: str | None) -> str:
    """Return names by actor as JSON, to managers only, because a name can be a person's. campaign: of the page."""
    if not caller.has_rights_of("manager"):
        return "{}"
    only = None if campaign is None else load_campaign(session, campaign).id
    rows = load_staff_token_names(session, only, MOST)
    return json.dumps({f"token:{row.prefix}": row.name or row.role for row in rows})
