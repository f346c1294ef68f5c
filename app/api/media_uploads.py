"""Large media files in parts, as in tus: an interruption loses at most one part."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Response
from pydantic import Field, StringConstraints

from app.api.media import REFUSED, Name
from app.api.models.media import MEDIA, MediaOut
from app.services.access.idempotency import IdempotentResponse
from app.services.media import uploads
from app.services.media.uploads import UploadView
from app.web.access import Manager
from app.web.deps import CampaignKey, DatabaseDep, MediaSettingsDep, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.request_bodies import BodyModel, UploadDep, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/media-uploads", tags=["media"])

UploadId = Annotated[
    str, Path(alias="upload", pattern="^u_[0-9a-f]{32}$", examples=["u_0f3a9c51d27e4b6f8a1c2d3e4f506172"])
]
Offset = Annotated[
    int,
    Header(alias="Upload-Offset", ge=0, le=2**53, description="Where the part begins, in bytes.", examples=[8388608]),
]


class MediaUploadIn(BodyModel):
    """A file that will come in parts."""

    name: Name = Field(examples=["talk-1.mp4"])
    size: int = Field(ge=1, le=2**53, description="Size of the whole file, in bytes.")
    sha256: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")] | None = Field(
        None, description="Hash of the whole file. A file that arrives with another hash is not stored."
    )


class MediaUploadOut(ResponseModel):
    """How much of a file has arrived."""

    upload: str
    name: str
    size: int
    offset: int = Field(description="Where the next part begins.")
    media: MediaOut | None = Field(description="The stored file, once all of it has arrived.")


UPLOAD = MediaUploadOut(upload="u_" + "0" * 32, name="talk-1.mp4", size=314_572_800, offset=8_388_608, media=None)
WHOLE = UPLOAD.model_copy(update={"offset": UPLOAD.size, "media": MEDIA})


class MediaUploadsOut(ResponseModel):
    """All uploads in progress; there are at most 10,000."""

    uploads: list[MediaUploadOut]


@router.post("", status_code=201, summary="Start a media upload", responses=example_response(201, UPLOAD, "Announced."))
def create_media_upload(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[MediaUploadIn, read_json_body_as(MediaUploadIn, talk={"name": "talk-1.mp4", "size": 314_572_800})],
    session: SessionDep,
    media_settings: MediaSettingsDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Send the parts to the address in the response. An upload is deleted after a week without a part."""

    def create() -> IdempotentResponse:
        sha256 = None if body.sha256 is None else bytes.fromhex(body.sha256)
        view = uploads.create_upload(
            session, media_settings, campaign, name=body.name, size=body.size, sha256=sha256, actor=caller.actor
        )
        location = f"/v1/campaigns/{campaign}/media-uploads/{view.upload}"
        return created_response(MediaUploadOut.model_validate(view), location=location)

    return idempotent_creation(session, caller, create)


@router.get("", summary="List media uploads", responses=example_response(200, MediaUploadsOut(uploads=[UPLOAD])))
def list_media_uploads(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    media_settings: MediaSettingsDep,
) -> MediaUploadsOut:
    """List the uploads in progress."""
    views = uploads.list_uploads(session, media_settings, campaign)
    return MediaUploadsOut(uploads=[MediaUploadOut.model_validate(view) for view in views])


@router.get("/{upload}", summary="Get the progress of an upload", responses=example_response(200, UPLOAD))
def get_media_upload(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    upload: UploadId,
    session: SessionDep,
    media_settings: MediaSettingsDep,
    response: Response,
) -> MediaUploadOut:
    """`offset` and the header `Upload-Offset` say where to continue."""
    return _out(response, uploads.get_upload(session, media_settings, campaign, upload))


@router.patch(
    "/{upload}",
    summary="Send a part of an upload",
    responses={
        **example_response(200, UPLOAD, "The part is stored; with the last one the file."),
        409: {"description": "The part begins elsewhere, another is being sent, or the name is taken."},
        422: REFUSED[422],
    },
)
def patch_media_upload(
    caller: Manager,
    campaign: CampaignKey,
    upload: UploadId,
    offset: Offset,
    part: UploadDep,
    database: DatabaseDep,
    media_settings: MediaSettingsDep,
    response: Response,
) -> MediaUploadOut:
    """Store the whole part or nothing; 8 MiB is a good size. An empty part completes a file that has fully arrived."""
    view = uploads.add_upload_part(
        database, media_settings, campaign, upload, offset=offset, pieces=part.pieces(), actor=caller.actor
    )
    return _out(response, view)


@router.delete("/{upload}", status_code=204, summary="Cancel an upload")
def delete_partial_upload(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    upload: UploadId,
    session: SessionDep,
    media_settings: MediaSettingsDep,
) -> Response:
    """Delete what has arrived."""
    uploads.abandon_upload(session, media_settings, campaign, upload)
    return Response(status_code=204)


def _out(response: Response, view: UploadView) -> MediaUploadOut:
    response.headers["Upload-Offset"] = str(view.offset)
    return MediaUploadOut.model_validate(view)
