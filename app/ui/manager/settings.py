"""The settings of a campaign: its name, series and languages, notes, and the deadline."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.domain.languages import KNOWN
from app.ui.manager.pages import Manager
from app.ui.manager.shell import shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/settings")
def settings(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """A draft can be changed in all; later the name, the notes and the deadline."""
    return shell(request, caller, campaign, database, "settings", {"known_languages": KNOWN})
