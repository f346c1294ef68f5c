"""The media of a rater's task: addresses that work for this rater for a short time, and the bytes behind them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from app.api.models.media import CONTENT
from app.api.models.tasks import TaskId
from app.api.models.times import Time
from app.services.media.signing import SignedMediaQuery
from app.services.tasks import task_media
from app.web.access import RaterCaller
from app.web.deps import DatabaseDep, MediaSettingsDep, SessionDep
from app.web.examples import example_response
from app.web.media_content import media_content_response

router = APIRouter(prefix="/v1/tasks/{task}/media", tags=["tasks"])

MediaId = Annotated[str, Path(alias="media", pattern="^m_[0-9a-f]{32}$", examples=["m_" + "0" * 32])]


class TaskMediaOut(BaseModel):
    """A file that the task shows."""

    media: str = Field(description="Id used in the task.")
    address: str = Field(description="Send the rater's credential with it.")
    heard: bool = Field(description="It has been played to the end.")
    plays_left: int | None = Field(description="Number of plays left; null for no limit.")


class TaskMediaListOut(BaseModel):
    """All media of the task, each once."""

    expires_at: Time = Field(description="When the addresses stop working; request them again before then.")
    hear_all: bool = Field(description="All audio and video must be played to the end before the task is handed in.")
    most_plays: int | None = Field(description="How often each may be played, counted in full lengths.")
    media: list[TaskMediaOut]


_ID = "m_" + "0" * 32
EXAMPLE = TaskMediaListOut(
    expires_at="2026-11-20T14:15:00Z",
    media=[
        TaskMediaOut(
            media=_ID,
            address=f"/v1/tasks/t_{'0' * 32}/media/{_ID}?expires=1795184100&signature={'A' * 32}",
            heard=False,
            plays_left=None,
        )
    ],
    hear_all=True,
    most_plays=None,
)


@router.get("", summary="Get addresses of the media of a task", responses=example_response(200, EXAMPLE))
def list_task_media(
    rater: RaterCaller, task: TaskId, session: SessionDep, media_settings: MediaSettingsDep
) -> TaskMediaListOut:
    """Each address works only for this rater's credential and this task, and for a short time."""
    signed = task_media.sign_task_media(session, media_settings, task, rater=rater)
    return TaskMediaListOut.model_validate(
        {
            "expires_at": signed.expires_at,
            "hear_all": signed.rules.hear_all,
            "most_plays": signed.rules.most_plays,
            "media": [
                {
                    "media": one.media,
                    "address": f"/v1/tasks/{task}/media/{one.media}?{one.signed.query_string}",
                    "heard": one.heard,
                    "plays_left": one.plays_left,
                }
                for one in signed.media
            ],
        }
    )


@router.get(
    "/{media}",
    summary="Get a media file of a task",
    response_class=Response,
    responses={**CONTENT, 403: {"description": "It has run out, is another rater's, or the plays are used up."}},
)
def get_task_media(
    rater: RaterCaller,
    request: Request,
    task: TaskId,
    media: MediaId,
    database: DatabaseDep,
    media_settings: MediaSettingsDep,
    expires: Annotated[int, Query(ge=0, le=2**53, description="Value from the address.")] = 0,
    signature: Annotated[str, Query(pattern="^[A-Za-z0-9_-]{0,32}$", description="Value from the address.")] = "",
) -> Response:
    """Return the bytes, or a part of them with `Range`. The name of the file is not revealed."""
    with database.transaction() as session:
        signed = SignedMediaQuery(expires, signature)
        content = task_media.open_task_media(session, media_settings, task, media, signed, rater=rater)
    return media_content_response(request, content)
