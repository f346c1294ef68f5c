"""Everything that a campaign holds, to be taken away: the release bundle, and every format that can be written."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from app import formats
from app.services.campaigns import campaigns
from app.services.data import exports
from app.ui.manager.pages import Manager, desk
from app.ui.pages import PageRoute
from app.web.deps import CampaignKey, DatabaseDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class OfferedFormat:
    """A format that a campaign can be written in. title: empty where it is no format of files, but a table of ours."""

    name: str
    title: str
    suffix: str
    files: bool


@router.get("/campaigns/{campaign}/exports")
def exports_page(request: Request, caller: Manager, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """Formats that fit the campaign's protocol, each by its address."""
    with database.transaction(snapshot=True) as session:
        about = campaigns.get(session, campaign)
    return desk(request, "manager/exports.html", about, caller, {"offered": offered_formats(about.protocol)})


def offered_formats(protocol: str) -> list[OfferedFormat]:
    """The formats that judgments by a protocol can be written in, those that lose nothing first."""
    formats_offered = []
    for name in exports.writable():
        form = formats.ALL.get(name)
        if form is None or not form.judged_by or protocol in form.judged_by:
            target = exports.target(name)
            formats_offered.append(OfferedFormat(name, form.title if form else "", target.suffix, target.files))
    return sorted(formats_offered, key=lambda one: (one.name != "jsonl", one.name))
