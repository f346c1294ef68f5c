"""The public archive of a finished campaign: its address, and what everybody can read there."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN
from app.services.data import public_archive
from app.services.data.public_archive_media import add_media_addresses
from app.web.access import Manager, Public
from app.web.cookies import own_origin
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.organizations import ArchiveAddress
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1", tags=["campaigns"])


class ArchiveLinkOut(BaseModel):
    """Link to the archive."""

    address: str = Field(description="Last part of the link.")
    link: str = Field(description="Anybody who has it can read the campaign while it is closed.")
    created_at: Time


class ArchivedJudgmentOut(ResponseModel):
    """The last answer of a rater."""

    rater: int = Field(description="A number in place of the name, the same in all documents of the campaign.")
    score: float | None
    payload: dict[str, Any] = Field(
        description="The answer without notes, comments and links, in which raters write freely."
    )


class ArchivedOutputOut(ResponseModel):
    """A system's output for a segment."""

    system: str
    text: str | None
    judgments: list[ArchivedJudgmentOut]


class ArchivedSegmentOut(ResponseModel):
    """A segment with the outputs of all systems."""

    position: int
    source: str | None
    outputs: list[ArchivedOutputOut]


class ArchivedDocumentScoreOut(ResponseModel):
    """A judgment of a whole document."""

    systems: list[str]
    judgment: ArchivedJudgmentOut


class ArchivedMediaOut(ResponseModel):
    """A file that a text such as `<audio src="talk.wav">` stands for, or the captions of one."""

    name: str
    kind: str
    media_type: str
    duration_ms: int | None
    width: int | None
    height: int | None
    captions: str | None = Field(description="Name of the captions file.")
    transcript: str | None
    address: str = Field(description="Address at which anybody with the archive's address can read the file.")


class ArchivedDocumentOut(ResponseModel):
    """A document with all judgments that count."""

    document: str
    name: str
    segments: list[ArchivedSegmentOut]
    document_scores: list[ArchivedDocumentScoreOut]
    media: list[ArchivedMediaOut] = Field(description="Files that texts refer to, and their captions.")


class ArchivedDocumentName(BaseModel):
    """A document in the list."""

    document: str
    name: str


class ArchiveOut(BaseModel):
    """A campaign that everybody may look at."""

    campaign: str
    name: str
    protocol: str
    source_language: str | None
    target_language: str | None
    documents: list[ArchivedDocumentName]
    next: str | None = Field(description="Value of `?after=` for the rest of the list; null if these are all.")


LINK = ArchiveLinkOut.model_validate(
    {
        "address": "x" * 22,
        "link": f"https://plumbline.example.org/archive/{'x' * 22}",
        "created_at": "2026-11-20T12:00:00Z",
    }
)
INDEX = ArchiveOut(
    campaign="ted-ende",
    name="TED",
    protocol="mqm",
    source_language="en",
    target_language="de",
    documents=[ArchivedDocumentName(document="talk.1", name="talk.1")],
    next=None,
)
DOCUMENT = ArchivedDocumentOut.model_validate(
    {
        "document": "talk.1",
        "name": "talk.1",
        "segments": [
            {
                "position": 1,
                "source": "The dog barked.",
                "outputs": [
                    {
                        "system": "A",
                        "text": "Der Hund bellte.",
                        "judgments": [{"rater": 1, "score": 0.0, "payload": {"protocol": "mqm", "errors": []}}],
                    }
                ],
            }
        ],
        "document_scores": [],
        "media": [],
    }
)


@router.put(
    "/campaigns/{campaign}/archive",
    summary="Open a closed campaign to anybody with the link",
    responses={
        **example_response(200, LINK, "The link, the same until it is taken back."),
        409: {"description": "The campaign is not closed."},
    },
)
def put_archive_link(caller: Manager, request: Request, campaign: CampaignKey, session: SessionDep) -> Response:
    """The archive shows texts, systems, scores and marked errors, but no names of raters."""
    return json_response(_link(request, public_archive.publish_archive(session, campaign, actor=caller.actor)))


@router.get(
    "/campaigns/{campaign}/archive",
    summary="Get the public link",
    responses=example_response(200, LINK),
)
def get_archive_link(caller: Manager, request: Request, campaign: CampaignKey, session: SessionDep) -> ArchiveLinkOut:  # noqa: ARG001  (says who may call)
    """Return the link to the archive, or 404 if there is none."""
    return _link(request, public_archive.get_archive_link(session, campaign))


@router.delete("/campaigns/{campaign}/archive", status_code=204, summary="Disable the public link")
def delete_archive_link(caller: Manager, campaign: CampaignKey, session: SessionDep) -> None:
    """The address stops working for good. You can create a new one."""
    public_archive.unpublish_archive(session, campaign, actor=caller.actor)


@router.get(
    "/archive/{archive}",
    summary="Get the archive of a finished campaign",
    responses={404: {}, **example_response(200, INDEX)},
)
def get_archive(
    caller: Public,  # noqa: ARG001  (says who may call)
    address: ArchiveAddress,
    session: SessionDep,
    after: Annotated[
        str | None, Query(pattern=KEY_PATTERN, description="The document after which the list goes on.")
    ] = None,
) -> ArchiveOut:
    """Anybody who has the address can read it. It lists at most 200 documents at a time."""
    index = public_archive.load_archive_index_page(
        session, public_archive.get_archived_campaign_key(session, address), after=after
    )
    about = index.campaign
    return ArchiveOut(
        campaign=about.key,
        name=about.name,
        protocol=about.protocol,
        source_language=about.source_language,
        target_language=about.target_language,
        documents=[ArchivedDocumentName(document=key, name=name) for key, name in index.documents],
        next=index.next,
    )


@router.get(
    "/archive/{archive}/documents/{document}",
    summary="Get a document of a finished campaign",
    responses={404: {}, **example_response(200, DOCUMENT)},
)
def get_archived_document(
    caller: Public,  # noqa: ARG001  (says who may call)
    address: ArchiveAddress,
    document: Annotated[str, Path(pattern=KEY_PATTERN, examples=["talk.1"])],
    session: SessionDep,
) -> ArchivedDocumentOut:
    """Return its texts with all judgments that count, to anybody who has the address."""
    campaign = public_archive.get_archived_campaign_key(session, address)
    shown = public_archive.load_archived_document(session, campaign, document)
    page = f"/archive/{address}/documents/{quote(document, safe='')}"
    media = add_media_addresses(shown.media, lambda name: f"{page}/media/{quote(name, safe='')}")
    return ArchivedDocumentOut.model_validate(replace(shown, media=media))


def _link(request: Request, link: public_archive.ArchiveLink) -> ArchiveLinkOut:
    address = f"{own_origin(request)}/archive/{link.address}"
    return ArchiveLinkOut.model_validate({"address": link.address, "link": address, "created_at": link.created_at})
