"""Systems of the test set, and their outputs."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response
from pydantic import AfterValidator, BaseModel, Field, JsonValue

from app.api.documents import REFUSED, STORED, DocumentKey, Label, Name, TestSetChangeOut, Text
from app.api.models.tasks import TextLayoutOut
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.protocols.base import Span
from app.services.data import test_set_views as views
from app.services.data import test_sets
from app.services.data.test_sets import SystemInput
from app.web.access import Manager, Viewer
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Cursor, Limit, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/systems", tags=["test sets"])

SystemKey = Annotated[
    str,
    Path(alias="system", pattern=KEY_PATTERN, description="Key of the system.", examples=["Online-W"]),
    AfterValidator(reject_dot_segment),
]


class SystemIn(BodyModel):
    """A system."""

    name: Name | None = Field(None, description="Default: the key.")
    kind: Literal["mt", "human"] = "mt"
    lab: Label | None = None
    tags: list[Label] = Field([], max_length=50)
    state: Literal["active", "withdrawn"] = Field(
        "active", description="Plans and reports leave withdrawn systems out."
    )

    def to_system_input(self) -> SystemInput:
        """Return the system in the form that the services take."""
        return SystemInput(**{**self.model_dump(), "tags": tuple(self.tags)})


class SystemOut(ResponseModel):
    """A system."""

    key: str
    name: str
    kind: str
    lab: str | None
    tags: list[str]
    state: str


class OutputsIn(BodyModel):
    """A system's outputs on a document, one entry per segment."""

    segments: list[Text | None] = Field(
        min_length=1, max_length=10_000, description="null for a segment without an output."
    )
    prefill: list[Annotated[list[Span], Field(fail_fast=True)] | None] | None = Field(
        None,
        max_length=10_000,
        description="Errors that raters are shown with each output, stored as the set `default`, which arms "
        "and the setting `prefill` can name; one without an id in `prefill` gets one.",
    )
    alignment: list[Annotated[str, Field(max_length=400_000)] | None] | None = Field(
        None,
        max_length=10_000,
        description="Word alignment of each output with its source, `0-0 1-2`: the place of a source word, "
        "then of a word of the output, both from 0; white space separates words. Raters are shown"
        " it.",
        examples=[["0-0 1-1 2-2", None]],
    )


class OutputOut(ResponseModel):
    """One output."""

    text: str | None
    sha256: str | None = Field(description="SHA-256 of the text in UTF-8, hexadecimal.")
    prefill: list[dict[str, JsonValue]] | None
    alignment: str | None = Field(None, description="Alignment of its words with those of the source, in order.")
    markup: TextLayoutOut | None = Field(
        None,
        description="How raters see it; only where the campaign's setting `markup` is on and it has any.",
        exclude_if=lambda layout: layout is None,
    )


class OutputsOut(BaseModel):
    """A system's outputs on a document, one entry per segment."""

    segments: list[OutputOut]


class DocumentOutputCountRow(ResponseModel):
    """A document that a system has outputs on."""

    document: str
    segments: int
    outputs: int = Field(description="Segments with an output.")


EXAMPLE = SystemOut(key="Online-W", name="Online-W", kind="mt", lab=None, tags=["online"], state="active")
OUTPUTS = OutputsOut(
    segments=[
        OutputOut(
            text="Der Hund bellte.",
            sha256="5bbd0ce5bb0b1fdd7b4f01c5eb4b2dcf2b0c5b3bc0bf11e25be8b2b9ecb58c5b",
            prefill=None,
        ),
        OutputOut(text=None, sha256=None, prefill=None),
    ]
)


@router.put("/{system}", summary="Store a system", responses={**STORED, **REFUSED})
def put_system(
    caller: Manager,
    campaign: CampaignKey,
    system: SystemKey,
    body: Annotated[SystemIn, read_json_body_as(SystemIn, online={"tags": ["online"]})],
    session: SessionDep,
) -> TestSetChangeOut:
    """Store what is known about a system, not its outputs. A replan takes a late or withdrawn system into account."""
    return TestSetChangeOut.model_validate(
        test_sets.put_system(session, campaign, system, body.to_system_input(), actor=caller.actor)
    )


@router.get("/{system}", summary="Get a system", responses=example_response(200, EXAMPLE))
def get_system(caller: Viewer, campaign: CampaignKey, system: SystemKey, session: SessionDep) -> SystemOut:  # noqa: ARG001  (says who may call)
    """Return what is known about the system."""
    return SystemOut.model_validate(views.get_system(session, campaign, system))


@router.get(
    "",
    summary="List the systems of a campaign",
    responses=example_response(200, Page[SystemOut](items=[EXAMPLE], next=None)),
)
def list_systems(
    caller: Viewer,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[SystemOut]:
    """List the systems by key."""
    systems = views.list_systems(session, campaign, after=cursor, limit=limit + 1)
    return make_page([SystemOut.model_validate(one) for one in systems], limit, lambda one: one.key)


@router.delete("/{system}", status_code=204, summary="Delete a system", responses=REFUSED)
def delete_system(caller: Manager, campaign: CampaignKey, system: SystemKey, session: SessionDep) -> Response:
    """Delete a system of a draft if it has no outputs."""
    test_sets.delete_system(session, campaign, system, actor=caller.actor)
    return Response(status_code=204)


@router.put(
    "/{system}/outputs/{document}",
    summary="Store the outputs of a system on a document",
    responses={**STORED, **REFUSED},
)
def put_outputs(
    caller: Manager,
    campaign: CampaignKey,
    system: SystemKey,
    document: DocumentKey,
    body: Annotated[OutputsIn, read_json_body_as(OutputsIn, two_segments={"segments": ["Der Hund bellte.", None]})],
    session: SessionDep,
) -> TestSetChangeOut:
    """Store all outputs on the document: as many entries as it has segments."""
    given = test_sets.DocumentOutputsInput(body.segments, body.prefill, body.alignment)
    put = test_sets.put_system_outputs_on_document(session, campaign, system, document, given, actor=caller.actor)
    return TestSetChangeOut.model_validate(put)


@router.get(
    "/{system}/outputs",
    summary="Count the outputs of a system by document",
    responses=example_response(
        200,
        Page[DocumentOutputCountRow](
            items=[DocumentOutputCountRow(document="talk-1", segments=12, outputs=12)], next=None
        ),
    ),
)
def count_outputs_by_document(
    caller: Viewer,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    system: SystemKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[DocumentOutputCountRow]:
    """List the documents with outputs by key, with counts. Get the texts document by document."""
    outputs = views.count_system_outputs_by_document(session, campaign, system, after=cursor, limit=limit + 1)
    return make_page([DocumentOutputCountRow.model_validate(one) for one in outputs], limit, lambda one: one.document)


@router.get(
    "/{system}/outputs/{document}",
    summary="Get the outputs of a system on a document",
    responses=example_response(200, OUTPUTS),
)
def get_outputs(
    caller: Viewer,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    system: SystemKey,
    document: DocumentKey,
    session: SessionDep,
) -> OutputsOut:
    """Return the outputs with the spans that raters are shown."""
    return OutputsOut.model_validate(
        {"segments": views.get_system_outputs_on_document(session, campaign, system, document)}
    )


@router.delete(
    "/{system}/outputs/{document}",
    status_code=204,
    summary="Delete the outputs of a system on a document",
    responses=REFUSED,
)
def delete_outputs(
    caller: Manager, campaign: CampaignKey, system: SystemKey, document: DocumentKey, session: SessionDep
) -> Response:
    """Delete outputs of a draft if no task shows them."""
    test_sets.delete_system_outputs_on_document(session, campaign, system, document, actor=caller.actor)
    return Response(status_code=204)
