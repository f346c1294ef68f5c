"""Back-translations: texts that raters wrote in a campaign become outputs of another, with the raters' keys."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.services.data import back_translations
from app.web.access import Manager, UnboundManager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.pagination import Limit, Number, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/back-translations", tags=["test sets"])

LARGEST = 2**31 - 1
Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN), AfterValidator(reject_dot_segment)]
After = Number
REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"description": "Its raters write no texts, in another language, or the other campaign is closed."}
}


class BackTranslationsCopyIn(BodyModel):
    """Destination of the texts."""

    to: Key = Field(description="Key of the campaign whose outputs they become, such as one of protocol `bt_msts`.")
    rater: Key | None = Field(
        None, description="Rater whose texts are copied; null: for each output, the first back-translator by key."
    )


class BackTranslationsCopyOut(ResponseModel):
    """Texts that became outputs."""

    outputs: int = Field(description="Outputs that are new.")
    unchanged: int
    systems: int
    documents: int = Field(description="Documents created there, with the sources as the reference.")
    raters: int = Field(description="Back-translators whose texts were taken.")
    left: dict[str, int] = Field(description="Texts that were not copied, by reason.")
    data_version: int = Field(description="Data version of the other campaign.")


class OutputAuthorOut(ResponseModel):
    """Who wrote an output."""

    model_config = ConfigDict(populate_by_name=True)

    system: str
    document: str
    position: int
    rater: str = Field(description="Key of the rater in the campaign in which it was written.")
    link: str | None = Field(description="Where the work is also kept.")
    source: str = Field(alias="from", description="The campaign in which it was written.")


EXAMPLE = BackTranslationsCopyOut(outputs=529, unchanged=0, systems=3, documents=5, raters=4, left={}, data_version=1)
AUTHOR = OutputAuthorOut.model_validate(
    {"system": "A", "document": "d1", "position": 1, "rater": "bt1", "link": None, "from": "bt"}
)


@router.post(
    "",
    summary="Make raters' texts outputs of another campaign",
    responses={**example_response(200, EXAMPLE), **REFUSED},
)
def copy_back_translations(
    caller: UnboundManager,
    campaign: CampaignKey,
    body: Annotated[
        BackTranslationsCopyIn, read_json_body_as(BackTranslationsCopyIn, second_campaign={"to": "ende-msts"})
    ],
    session: SessionDep,
) -> BackTranslationsCopyOut:
    """Copy them for the same systems and segments. A repeated request adds new ones; texts that a task shows stay."""
    outcome = back_translations.copy_back_translations_as_outputs(
        session, campaign, body.to, rater=body.rater, actor=caller.actor
    )
    return BackTranslationsCopyOut.model_validate(outcome)


@router.get(
    "",
    summary="List the authors of outputs",
    responses=example_response(200, Page[OutputAuthorOut](items=[AUTHOR], next=None)),
)
def list_rater_written_outputs(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: After = 0,
) -> Page[OutputAuthorOut]:
    """List outputs that raters of another campaign wrote, with that campaign, the rater and any link to the work."""
    authors = back_translations.list_rater_written_outputs(session, campaign, after=cursor, limit=limit + 1)
    page = make_page(authors, limit, lambda one: str(one.cursor))
    return Page[OutputAuthorOut](items=[OutputAuthorOut.model_validate(one) for one in page.items], next=page.next)
