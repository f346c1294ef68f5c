"""Media of a campaign: audio, video and pictures that are sources or outputs, and their captions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import AfterValidator, Field, StringConstraints

from app.api.models.media import CONTENT, MEDIA, MediaOut
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.services.media import library
from app.web.access import Manager, Viewer
from app.web.deps import CampaignKey, DatabaseDep, MediaSettingsDep, SessionDep
from app.web.examples import example_response
from app.web.media_content import media_content_response
from app.web.pagination import Cursor, Limit, Page, make_page
from app.web.request_bodies import BodyModel, UploadDep, read_json_body_as

router = APIRouter(prefix="/v1/campaigns/{campaign}/media", tags=["media"])

MediaName = Annotated[
    str,
    Path(alias="media", pattern=KEY_PATTERN, description="Name of the file.", examples=["talk-1.wav"]),
    AfterValidator(reject_dot_segment),
]
Name = Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"description": "There are other media of this name."},
    422: {"description": "The file is of no type that is taken, too large, cut, or two things at once."},
}


class MediaFromFolderIn(BodyModel):
    """A file in the installation's folder of media."""

    path: str = Field(
        min_length=1,
        max_length=1000,
        description="Relative to the folder; for a PDF with a page: `report.pdf#page=3`.",
        examples=["talks/1.wav"],
    )
    name: Name | None = Field(None, description="Default: made from the path: `talks:1.wav`.")


class MediaPatch(BodyModel):
    """Captions and transcript of a file."""

    captions: Name | None = Field(None, description="Name of a WebVTT file of the campaign; null removes the captions.")
    transcript: Annotated[str, StringConstraints(max_length=library.LONGEST_TRANSCRIPT)] | None = Field(
        None, description="What is said, as text; null removes it."
    )


@router.get("", summary="List media", responses=example_response(200, Page[MediaOut](items=[MEDIA], next=None)))
def list_media(
    caller: Viewer,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[MediaOut]:
    """List media files by name."""
    media = library.list_media(session, campaign, after=cursor, limit=limit + 1)
    return make_page([MediaOut.model_validate(one) for one in media], limit, lambda one: one.name)


@router.post(
    "",
    status_code=201,
    summary="Store media from the installation's folder",
    responses={**example_response(201, MEDIA, "Stored."), **REFUSED, 404: {"description": "No such file there."}},
)
def store_media_from_folder(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[MediaFromFolderIn, read_json_body_as(MediaFromFolderIn, talk={"path": "talks/1.wav"})],
    database: DatabaseDep,
    media_settings: MediaSettingsDep,
) -> MediaOut:
    """Store a copy. The same file again changes nothing, so the request may be repeated."""
    media = library.store_media_file_from_folder(
        database, media_settings, campaign, body.path, name=body.name, actor=caller.actor
    )
    return MediaOut.model_validate(media)


@router.put("/{media}", summary="Store a media file", responses={**example_response(200, MEDIA, "Stored."), **REFUSED})
def put_media(
    caller: Manager,
    campaign: CampaignKey,
    name: MediaName,
    upload: UploadDep,
    database: DatabaseDep,
    media_settings: MediaSettingsDep,
) -> MediaOut:
    """The body is the bytes of the file, and its content determines the type. Send large files in parts instead.

    One page of a PDF is stored as a picture: the third page under a name such as `report.pdf~page3`, which texts call
    `report.pdf#page=3`; the only page under any other name. The same file again changes nothing.
    """
    return MediaOut.model_validate(
        library.store_media_file_from_pieces(
            database, media_settings, campaign, name, upload.pieces(), actor=caller.actor
        )
    )


@router.get("/{media}", summary="Get the metadata of a media file", responses=example_response(200, MEDIA))
def get_media_metadata(caller: Viewer, campaign: CampaignKey, name: MediaName, session: SessionDep) -> MediaOut:  # noqa: ARG001  (says who may call)
    """Return what was read from the file when it arrived."""
    return MediaOut.model_validate(library.get_media_metadata(session, campaign, name))


@router.get("/{media}/content", summary="Get the content of a media file", response_class=Response, responses=CONTENT)
def get_media_content(
    caller: Viewer,  # noqa: ARG001  (says who may call)
    request: Request,
    campaign: CampaignKey,
    name: MediaName,
    database: DatabaseDep,
    media_settings: MediaSettingsDep,
) -> Response:
    """Return the bytes, or a part of them with `Range`."""
    with database.transaction() as session:
        content = library.open_media(session, media_settings, campaign, name)
    return media_content_response(request, content)


@router.patch("/{media}", summary="Set captions or transcript of a media file", responses=example_response(200, MEDIA))
def patch_media(
    caller: Manager,
    campaign: CampaignKey,
    name: MediaName,
    body: Annotated[MediaPatch, read_json_body_as(MediaPatch, captions={"captions": "talk-1.vtt"})],
    session: SessionDep,
) -> MediaOut:
    """Fields that the body does not name stay as they are."""
    changes = body.model_dump(exclude_unset=True)
    return MediaOut.model_validate(library.change_media_metadata(session, campaign, name, changes, actor=caller.actor))


@router.delete(
    "/{media}",
    status_code=204,
    summary="Delete media",
    responses={409: {"description": "A segment or an output refers to it; `errors` names them."}},
)
def delete_media(caller: Manager, campaign: CampaignKey, name: MediaName, session: SessionDep) -> Response:
    """The bytes are deleted a day later, unless another campaign has the same file."""
    library.delete_media(session, campaign, name, actor=caller.actor)
    return Response(status_code=204)
