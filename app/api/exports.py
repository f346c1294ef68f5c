"""Exports: everything in a campaign, streamed as a file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse

from app.services.data import bundle, exports
from app.web.access import Manager
from app.web.deps import CampaignKey, DatabaseDep, MediaSettingsDep
from app.web.examples import example_response, non_json_example_response
from app.web.file_streams import stream_response

router = APIRouter(prefix="/v1/campaigns/{campaign}/exports", tags=["exports"])

Format = Annotated[str, Path(pattern="^[a-z0-9-]{1,64}$", examples=["jsonl"])]
LINES = '{"record": "plumbline", "version": 1}\n'
SENT = {ending: (kind.partition(";")[0], "…") for ending, kind in exports.MEDIA_TYPES.items()}
# The last type was documented for all files before each had its own. It stays until a release may remove things.
SENT |= {"jsonl": (exports.MEDIA_TYPES["jsonl"], LINES), "any": ("application/octet-stream", LINES)}


@router.get(
    "/{format}",
    summary="Export a campaign",
    response_class=StreamingResponse,
    responses=non_json_example_response(200, "The file, as it is made.", **SENT),
)
def export_campaign(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    format: Format,
    database: DatabaseDep,
    media: MediaSettingsDep,
) -> StreamingResponse:
    """Stream one consistent state, however long it takes. `jsonl` loses nothing; other formats hold what they can.

    Formats of several files (`mtme`, `appraise`, `pearmut`) come as one tar archive. `bundle` is the release bundle:
    all of them with rankings, figures, data card, data sheet and checksums, without the names of raters.
    """
    if format == bundle.NAME:
        pieces = bundle.stream_bundle_archive(database, campaign, media.store)
        return stream_response(pieces, exports.TAR, filename=f"{campaign}.bundle.tar", heavy=True)  # it ranks
    target = exports.get_export_file_type(format)
    pieces = exports.export_campaign(database, campaign, format)
    return stream_response(pieces, target.media_type, filename=f"{campaign}.{target.suffix}")


@router.get(
    "/{format}/losses",
    summary="Count what an export leaves out",
    response_class=StreamingResponse,
    responses=example_response(200, exports.ExportLosses(format="esa", losses={"domain": 12})),
)
def count_export_losses(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    format: Format,
    database: DatabaseDep,
) -> StreamingResponse:
    """Count what the format cannot hold of the campaign as it is now. This takes as long as the export."""
    counts = exports.stream_export_losses(database, campaign, format)
    return stream_response(counts, "application/json", filename=f"{campaign}.{format}.losses.json", heavy=True)
