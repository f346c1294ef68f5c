"""Who is meant where a page says who did something: a token by what it is for."""

from __future__ import annotations

import json

from app.services.access.tokens import Caller
from app.storage.campaigns import load_campaign
from app.storage.db import Session
from app.storage.tokens import load_staff_token_names

MOST = 500
"""Tokens whose names a page is given; the newest are most often looked for."""


def list_actor_names_json(session: Session, caller: Caller, campaign: str | None) -> str:
    """Names by actor, as JSON: for managers only, as a name can be that of a person. campaign: that of the page."""
    if not caller.has_rights_of("manager"):
        return "{}"
    only = None if campaign is None else load_campaign(session, campaign).id
    rows = load_staff_token_names(session, only, MOST)
    return json.dumps({f"token:{row.prefix}": row.name or row.role for row in rows})
