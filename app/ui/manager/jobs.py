"""The jobs of a campaign: how far each is, and a way to cancel it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.ui.access import Reader
from app.ui.manager.shell import shell
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/campaigns/{campaign}/jobs")
def jobs(request: Request, caller: Reader, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """The newest first; only those whose report the reader may see."""
    return shell(request, caller, campaign, database, "jobs")
