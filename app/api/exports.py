"""Exports: everything that a campaign holds, streamed as a file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse

from app.services import bundle, exports
from app.web.access import Manager
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import sends
from app.web.streams import stream

router = APIRouter(prefix="/v1/campaigns/{campaign}/exports", tags=["exports"])

Format = Annotated[str, Path(pattern="^[a-z0-9-]{1,64}$", examples=["jsonl"])]
LINES = '{"record": "plumbline", "version": 1}\n'


@router.get(
    "/{format}",
    summary="Export a campaign",
    response_class=StreamingResponse,
    responses=sends(200, "The file, as it is made.", any=("application/octet-stream", LINES)),
)
def export_campaign(caller: Manager, campaign: CampaignKey, format: Format, database: DatabaseDep) -> StreamingResponse:  # noqa: ARG001  (says who may call)
    """One consistent state, however long it takes. `jsonl` loses nothing; other formats hold what they can.

    Formats that are several files (`mtme`, `appraise`, `pearmut`) come as one tar archive. `bundle` is the release
    bundle: all of them with rankings, figures, data card, data sheet and checksums, without what raters are called.
    """
    if format == bundle.NAME:
        pieces = bundle.archive(database, campaign)
        return stream(pieces, "application/x-tar", filename=f"{campaign}.bundle.tar", heavy=True)  # it ranks
    target = exports.target(format)
    pieces = exports.export(database, campaign, format)
    return stream(pieces, "application/octet-stream", filename=f"{campaign}.{target.suffix}")
