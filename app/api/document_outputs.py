"""The outputs of several systems for one document, in one request."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, Field

from app.api.documents import DocumentKey
from app.api.models.recipe import Key
from app.api.systems import OUTPUTS, OutputOut
from app.services.data import test_set_views as views
from app.web.access import Viewer
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response

router = APIRouter(prefix="/v1/campaigns/{campaign}/documents", tags=["test sets"])

MOST = 100  # systems


class DocumentOutputsOut(BaseModel):
    """Outputs on a document, by system."""

    systems: dict[str, list[OutputOut]] = Field(description="By system that was asked for, one entry per segment.")


EXAMPLE = DocumentOutputsOut(systems={"Online-W": OUTPUTS.segments})
SystemKeys = Annotated[
    list[Key],
    Query(alias="system", min_length=1, max_length=MOST, description="Keys of systems.", examples=[["Online-W"]]),
    AfterValidator(lambda keys: list(dict.fromkeys(keys))),
]


@router.get("/{document}/outputs", summary="Get the outputs for a document", responses=example_response(200, EXAMPLE))
def get_document_outputs(
    caller: Viewer,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    document: DocumentKey,
    systems: SystemKeys,
    session: SessionDep,
) -> DocumentOutputsOut:
    """Return the outputs of the named systems, with the spans that raters are shown."""
    return DocumentOutputsOut.model_validate(
        {"systems": views.get_outputs_of_systems(session, campaign, document, systems)}
    )
