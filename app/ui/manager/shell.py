"""A page of a campaign whose module reads and writes over the interface: what is served is the page itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fastapi import Request
from fastapi.responses import HTMLResponse

from app.domain.recipe import NAMED
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns, recipes
from app.storage.db import Database, Session
from app.ui.manager.pages import desk

NOTHING: Mapping[str, object] = MappingProxyType({})
MOST_OWN = 200


def shell(
    request: Request,
    caller: Caller,
    campaign: str,
    database: Database,
    name: str,
    values: Mapping[str, object] = NOTHING,
) -> HTMLResponse:
    """The page `manager/NAME.html` with its module `manager/NAME.js`. Raises NotFound."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get(session, campaign)
    return desk(request, f"manager/{name}.html", about, caller, {"script": name, **values})


def recipe_names(session: Session, campaign: str) -> list[str]:
    """What a campaign can be ranked by: its own recipes, then those that come with the service. Raises NotFound."""
    own = [one.name for one in recipes.page(session, campaign, after=None, limit=MOST_OWN)]
    return list(dict.fromkeys((*own, *NAMED)))
