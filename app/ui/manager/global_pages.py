"""Pages that belong to no campaign, besides the campaign list: a new campaign, the audit log of all, and tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from app.domain.languages import KNOWN
from app.services.access.tokens import MANAGES
from app.services.campaigns.campaigns import BASES
from app.services.templates.templates import TEMPLATES
from app.ui.manager.actors import list_actor_names_json
from app.ui.manager.page_table import ALL_AUDIT, NEW_CAMPAIGN, TOKENS, ManagerPageDefinition
from app.ui.manager.page_values import list_protocol_titles
from app.ui.manager.pages import Manager
from app.ui.pages import PageRoute, render_page
from app.web.access import CredentialBoundToCampaign
from app.web.deps import DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(NEW_CAMPAIGN.route_pattern)
def new_campaign_page(request: Request, caller: Manager) -> Response:
    """The form of a new campaign. Raises CredentialBoundToCampaign for whose credential is good for one only."""
    if caller.campaign is not None:
        raise CredentialBoundToCampaign
    brief = [
        {"name": one.name, "protocol": one.protocol, "basis": one.basis, "options": dict(one.options)}
        for one in TEMPLATES.values()
    ]
    values = {
        "script": "new",
        "protocols": list_protocol_titles(),
        "bases": BASES,
        "known_languages": KNOWN,
        "templates": list(TEMPLATES.values()),
        "templates_json": json.dumps(brief),
    }
    return _page(request, NEW_CAMPAIGN, values)


@router.get(ALL_AUDIT.route_pattern)
def audit_page(request: Request, caller: Manager, database: DatabaseDep) -> Response:
    """Who changed what, as far as the caller may know."""
    with database.transaction() as session:
        actors = list_actor_names_json(session, caller, caller.campaign)
    return _page(request, ALL_AUDIT, {"script": "audit", "actors": actors})


@router.get(TOKENS.route_pattern)
def tokens_page(request: Request, caller: Manager) -> Response:
    """The tokens that the caller manages, and a form for a new one."""
    roles = [role for role in ("viewer", "coordinator", "frontend", "manager", "admin") if role in MANAGES[caller.role]]
    return _page(request, TOKENS, {"script": "tokens", "roles": roles, "bound": caller.campaign or ""})


def _page(request: Request, shown: ManagerPageDefinition, values: Mapping[str, object]) -> Response:
    return render_page(request, shown.template, {"heading": shown.name, **values})
