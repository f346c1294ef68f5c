"""Setting a campaign up and steering it: texts, raters, design, quality control, items, tokens and the audit log.

These pages read and write over the interface that every front-end uses, as their modules say; what is served here is
the page, and what its forms offer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from app import formats, protocols
from app.domain.languages import KNOWN
from app.domain.recipe import NAMED
from app.services.access.tokens import MANAGES, Caller
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import BASES
from app.storage.db import Database
from app.ui.manager.pages import Coordinator, Manager, desk
from app.ui.pages import PageRoute, page
from app.web.access import BoundToCampaign
from app.web.deps import CampaignKey, DatabaseDep

# What a design begins with: the side-by-side design of Riley et al. 2024 with the control items of WMT.
DESIGN: Mapping[str, object] = {
    "grouping": "psxs",
    "balance": "full",
    "ratings_per_item": 1,
    "overlap": {"share": 0.15, "ratings_per_item": 2},
    "task": {"max_segments": 100},
    "seed": 1,
}

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/new-campaign")
def new_campaign(request: Request, caller: Manager) -> Response:
    """The form of a new campaign. Raises BoundToCampaign for whose credential is good for one only."""
    if caller.campaign is not None:
        raise BoundToCampaign
    offered = [(one.name, one.title) for one in protocols.ALL.values()]
    return page(
        request, "manager/new.html", {"script": "new", "protocols": offered, "bases": BASES, "known_languages": KNOWN}
    )


@router.get("/campaigns/{campaign}/texts")
def texts(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Files with texts or judgments, and what the campaign holds of them."""
    readable = [one for one in formats.ALL.values() if one.read is not None]
    known = {one.name: dict(one.options) for one in readable}
    values = {"formats": readable, "options": json.dumps(known)}
    return _shell(request, caller, campaign, database, "texts", values)


@router.get("/campaigns/{campaign}/raters")
def raters(request: Request, caller: Coordinator, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Who judges, and their links. Coordinators see their team."""
    return _shell(request, caller, campaign, database, "raters", {})


@router.get("/campaigns/{campaign}/design")
def design(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """A design, the report on its plan before anything is spent, and the plan in force."""
    values = {"design": json.dumps(DESIGN, indent=2)}
    return _shell(request, caller, campaign, database, "design", values)


@router.get("/campaigns/{campaign}/quality")
def quality(request: Request, caller: Coordinator, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """The work of each rater with the evidence behind its verdict; coordinators get verdicts without scores."""
    return _shell(request, caller, campaign, database, "quality", {"recipes": list(NAMED)})


@router.get("/campaigns/{campaign}/problems")
def problems(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """What raters report: problems with items, and hours that they miss; each with an answer."""
    return _shell(request, caller, campaign, database, "problems", {})


@router.get("/campaigns/{campaign}/items")
def items(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Texts with all their judgments, and the marked errors drawn where they were marked."""
    return _shell(request, caller, campaign, database, "items", {})


@router.get("/campaigns/{campaign}/audit")
def campaign_audit(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Who changed what in a campaign."""
    return _shell(request, caller, campaign, database, "audit", {})


@router.get("/audit")
def audit(request: Request, caller: Manager) -> Response:  # noqa: ARG001  (says who may call)
    """Who changed what, as far as the caller may know."""
    return page(request, "manager/all_audit.html", {"script": "audit"})


@router.get("/tokens")
def tokens(request: Request, caller: Manager) -> Response:
    """The tokens that the caller manages, and a form for a new one."""
    roles = [role for role in ("viewer", "coordinator", "frontend", "manager", "admin") if role in MANAGES[caller.role]]
    values = {"script": "tokens", "roles": roles, "bound": caller.campaign or ""}
    return page(request, "manager/tokens.html", values)


def _shell(
    request: Request,
    caller: Caller,
    campaign: str,
    database: Database,
    script: str,
    values: Mapping[str, object],
) -> Response:
    with database.transaction(snapshot=True) as session:
        about = campaigns.get(session, campaign)
    return desk(request, f"manager/{script}.html", about, caller, {"script": script, **values})
