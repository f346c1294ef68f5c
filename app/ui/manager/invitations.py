"""Invitations for crowd platforms: made, looked at and ended; and the codes of completion to pay by."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.ui.manager.pages import Manager
from app.ui.manager.shell import shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

PLATFORMS = (("prolific", "Prolific"), ("mturk", "Mechanical Turk"), ("toloka", "Toloka"))

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/invitations")
def invitations(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Who may come by a link, how many did, and what they were told at the end."""
    return shell(request, caller, campaign, database, "invitations", {"platforms": PLATFORMS})
