"""Documents of the test set, each with its segments and references."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from app.api.models.tasks import TextLayoutOut
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.services.data import test_set_views as views
from app.services.data import test_sets
from app.services.data.test_sets import DocumentInput, SegmentInput, TestSetPutResult
from app.web.access import Manager, Viewer
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Cursor, Limit, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/documents", tags=["test sets"])

DocumentKey = Annotated[
    str,
    Path(alias="document", pattern=KEY_PATTERN, description="Key of the document.", examples=["talk-1"]),
    AfterValidator(reject_dot_segment),
]
DocumentKind = Literal["test", "tutorial", "attention"]
OfKind = Annotated[
    DocumentKind | None,
    Query(
        alias="kind",
        description="Only documents of this kind: of the test set, of the tutorial, or of attention checks.",
    ),
]
Text = Annotated[str, StringConstraints(max_length=100_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=128)]


class SegmentIn(BodyModel):
    """A segment: its source, where there is one, and its references by name."""

    source: Text | None = None
    references: dict[Label, Text] = Field({}, max_length=20)
    meta: dict[str, JsonValue] = Field({}, max_length=100)


class DocumentIn(BodyModel):
    """A document."""

    kind: DocumentKind = "test"
    name: Name | None = Field(None, description="Default: the key.")
    domain: Label | None = None
    origin: Label | None = None
    position: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    segments: list[SegmentIn] = Field(min_length=1, max_length=10_000)

    def to_document_input(self) -> DocumentInput:
        """Return the document in the form that the services take."""
        plain = self.model_dump(exclude={"segments"})
        return DocumentInput(**plain, segments=tuple(SegmentInput(**one.model_dump()) for one in self.segments))


class SegmentOut(ResponseModel):
    """A segment."""

    source: str | None
    references: dict[str, str]
    meta: dict[str, JsonValue]
    markup: TextLayoutOut | None = Field(
        None,
        description="How raters see it; only where the campaign's setting `markup` is on and it has any.",
        exclude_if=lambda layout: layout is None,
    )


class DocumentRow(ResponseModel):
    """A document without its segments."""

    key: str
    name: str
    kind: str
    domain: str | None
    origin: str | None
    position: int | None


class DocumentOut(DocumentRow):
    """A document with its segments, in their order."""

    segments: list[SegmentOut]


class TestSetChangeOut(ResponseModel):
    """Result of storing a part of the test set."""

    created: bool
    changed: bool = Field(description="False if the same content was already stored.")
    repaired: int = Field(description="Texts with white space at their ends, which was removed.")
    data_version: int


STORED: dict[int | str, dict[str, Any]] = example_response(
    200, TestSetChangeOut(created=True, changed=True, repaired=0, data_version=3), "Stored."
)
REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"description": "A task shows the text, outputs stand on it, or the state of the campaign does not allow it."}
}
TALK = {
    "domain": "talks",
    "position": 1,
    "segments": [{"source": "The dog barked.", "references": {"refA": "Der Hund bellte."}}, {"source": "Silence."}],
}
ROW = {"key": "talk-1", "name": "talk-1", "kind": "test", "domain": "talks", "origin": None, "position": 1}
EXAMPLE = DocumentOut.model_validate(
    {
        **ROW,
        "segments": [
            {"source": "The dog barked.", "references": {"refA": "Der Hund bellte."}, "meta": {}},
            {"source": "Silence.", "references": {}, "meta": {}},
        ],
    }
)


@router.put("/{document}", summary="Store a document", responses={**STORED, **REFUSED})
def put_document(
    caller: Manager,
    campaign: CampaignKey,
    document: DocumentKey,
    body: Annotated[DocumentIn, read_json_body_as(DocumentIn, talk=TALK)],
    session: SessionDep,
) -> TestSetChangeOut:
    """Store the whole document. The same content again changes nothing; a text that a task shows cannot change."""
    put: TestSetPutResult = test_sets.put_document(
        session, campaign, document, body.to_document_input(), actor=caller.actor
    )
    return TestSetChangeOut.model_validate(put)


@router.get("/{document}", summary="Get a document", responses=example_response(200, EXAMPLE))
def get_document(caller: Viewer, campaign: CampaignKey, document: DocumentKey, session: SessionDep) -> DocumentOut:  # noqa: ARG001  (says who may call)
    """Return the document with its segments and references."""
    return DocumentOut.model_validate(views.get_document(session, campaign, document))


@router.get(
    "",
    summary="List the documents of a campaign",
    responses=example_response(200, Page[DocumentRow](items=[DocumentRow.model_validate(ROW)], next=None)),
)
def list_documents(
    caller: Viewer,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    kind: OfKind = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[DocumentRow]:
    """List the documents by key, without their segments."""
    documents = views.list_documents(session, campaign, kind=kind, after=cursor, limit=limit + 1)
    return make_page([DocumentRow.model_validate(one) for one in documents], limit, lambda one: one.key)


@router.delete("/{document}", status_code=204, summary="Delete a document", responses=REFUSED)
def delete_document(caller: Manager, campaign: CampaignKey, document: DocumentKey, session: SessionDep) -> Response:
    """Delete a document of a draft if it has no outputs."""
    test_sets.delete_document(session, campaign, document, actor=caller.actor)
    return Response(status_code=204)
