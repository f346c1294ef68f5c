"""A task as raters would see it, with the present texts of the campaign."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from app.api.models.tasks import EXAMPLE, TaskOut
from app.api.tasks import FORMS, JudgmentFormOut
from app.design.design_choices import MOST_COLUMNS
from app.domain.keys import KEY_PATTERN
from app.services.tasks.preview import make_task_preview
from app.web.access import Manager
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response

router = APIRouter(prefix="/v1/campaigns/{campaign}", tags=["campaigns"])


class TaskPreviewOut(BaseModel):
    """A sample task, and what it asks."""

    task: TaskOut
    forms: list[JudgmentFormOut]


@router.get(
    "/preview",
    summary="Preview a task",
    responses={
        **example_response(200, TaskPreviewOut(task=EXAMPLE, forms=FORMS.forms)),
        409: {"description": "The campaign has no outputs yet."},
    },
)
def get_task_preview(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    document: Annotated[
        str | None, Query(pattern=KEY_PATTERN, description="Key of a document; the first by default.")
    ] = None,
    presentation: Annotated[
        Literal["document", "segment", "side_by_side"] | None, Query(description="Default: the campaign's own.")
    ] = None,
    columns: Annotated[
        int, Query(ge=2, le=MOST_COLUMNS, description="Systems side by side, where the campaign has as many.")
    ] = 3,
) -> TaskPreviewOut:
    """Show at most 30 segments of the first system, or of the first `columns` systems side by side.

    Nothing is stored or counted.
    """
    view, forms = make_task_preview(session, campaign, document=document, presentation=presentation, columns=columns)
    return TaskPreviewOut(task=TaskOut.from_view(view), forms=[JudgmentFormOut.from_form(form) for form in forms])
