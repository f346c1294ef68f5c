"""Comments of raters on an output or a screen of their task."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints

from app.api.models.tasks import ItemNumber, ScreenNumber, SegmentNumber, TaskId
from app.domain.comments import LONGEST_COMMENT
from app.services.tasks import comments
from app.services.tasks.comments import CommentTarget
from app.web.access import RaterCaller
from app.web.deps import SessionDep
from app.web.examples import example_response
from app.web.request_bodies import BodyModel, read_json_body_as

router = APIRouter(prefix="/v1/tasks/{task}/comments", tags=["tasks"])


class CommentIn(BodyModel):
    """A comment. An empty text removes it."""

    text: Annotated[str, StringConstraints(max_length=LONGEST_COMMENT)]


class CommentRevisionOut(BaseModel):
    """A comment that is on disk."""

    revision: int = Field(description="How often it was written; 0 after its removal.")


STORED = CommentRevisionOut(revision=1)
Body = Annotated[CommentIn, read_json_body_as(CommentIn, plain={"text": "The name is spelt in two ways."})]


@router.put(
    "/screens/{screen}",
    summary="Comment on a screen",
    responses={
        **example_response(200, STORED, "Stored on disk."),
        409: {"description": "The task is handed in, or the campaign closed."},
    },
)
def put_screen_comment(
    rater: RaterCaller, task: TaskId, screen: ScreenNumber, body: Body, session: SessionDep
) -> CommentRevisionOut:
    """The campaign's setting `screen_comments` must be on. The comment replaces an earlier one."""
    place = CommentTarget(screen=screen)
    return CommentRevisionOut(revision=comments.put_comment(session, task, place, body.text, rater=rater))


@router.put(
    "/{item}/{segment}",
    summary="Comment on an output",
    responses={
        **example_response(200, STORED, "Stored on disk."),
        409: {"description": "The task is handed in, or the campaign closed."},
    },
)
def put_output_comment(
    rater: RaterCaller, task: TaskId, item: ItemNumber, segment: SegmentNumber, body: Body, session: SessionDep
) -> CommentRevisionOut:
    """Segments must be judged, and `output_comments` must be on. The comment replaces an earlier one."""
    place = CommentTarget(item=item, segment=segment)
    return CommentRevisionOut(revision=comments.put_comment(session, task, place, body.text, rater=rater))


@router.put(
    "/{item}",
    summary="Comment on the output of a whole document",
    responses={
        **example_response(200, STORED, "Stored on disk."),
        409: {"description": "The task is handed in, or the campaign closed."},
    },
)
def put_document_comment(
    rater: RaterCaller, task: TaskId, item: ItemNumber, body: Body, session: SessionDep
) -> CommentRevisionOut:
    """Whole documents must be judged, and `output_comments` must be on. The comment replaces an earlier one."""
    place = CommentTarget(item=item)
    return CommentRevisionOut(revision=comments.put_comment(session, task, place, body.text, rater=rater))
