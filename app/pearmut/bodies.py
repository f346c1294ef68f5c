"""Requests of Pearmut's pages. They contain more than is needed; the rest is ignored."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from anyio import to_thread
from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, StrictStr, ValidationError, field_validator

from app.domain.errors import Invalid, Place
from app.domain.validation_errors import list_first_validation_errors
from app.services.pearmut.answer_recording import LATEST_TIME
from app.web.request_bodies import read_strict_json_bytes

M = TypeVar("M", bound=BaseModel)
Name = Annotated[str, Field(min_length=1, max_length=1000)]
ItemPlace = StrictInt | Annotated[StrictStr, Field(max_length=40)]


class PearmutRequestBody(BaseModel):
    """A body: members that are not declared are left."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class NextItemIn(PearmutRequestBody):
    """Which annotator asks."""

    campaign_id: Name
    user_id: Name


class AnnotatorItemIn(NextItemIn):
    """Which item of an annotator."""

    item_i: ItemPlace


class AnnotationIn(PearmutRequestBody):
    """Answers to a document or form, and what was done. `item` and `validations` are the server's to know."""

    annotation: Annotated[list[JsonValue], Field(max_length=100_000)]
    actions: Annotated[list[dict[str, JsonValue]], Field(max_length=200_000)] = Field(default_factory=list)
    comment: Annotated[str, Field(max_length=100_000)] | None = None

    @field_validator("actions")
    @classmethod
    def _check_times(cls, actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for action in actions:
            time = action.get("time")
            if not isinstance(time, int | float) or isinstance(time, bool) or not 0 <= time < LATEST_TIME:
                raise ValueError("time must be Unix seconds")
            if not isinstance(action.get("action"), str):
                raise ValueError("action must be a text")
        return actions


class PearmutAnswersIn(AnnotatorItemIn):
    """Answers of an annotator."""

    payload: AnnotationIn


class CampaignTokenIn(PearmutRequestBody):
    """Which campaign, and by which right."""

    campaign_id: Name
    token: Name | None = None


class CampaignUserIn(CampaignTokenIn):
    """Which user of a campaign. note: what a manager says of them."""

    user_id: Name
    note: Annotated[str, Field(max_length=10_000)] | None = None


class NewUserCountIn(CampaignTokenIn):
    """How many users."""

    users: StrictInt = 1


class NewCampaignsIn(PearmutRequestBody):
    """Campaigns to load."""

    campaign_data: dict[str, Any] | list[dict[str, Any]]
    token_main: Name


async def read_body(request: Request, model: type[M]) -> M:
    """Read the body as a model. Raises Invalid, naming each place, and the errors of reading."""
    data = await read_strict_json_bytes(request)
    try:
        return await to_thread.run_sync(model.model_validate_json, data)
    except ValidationError as error:
        places = tuple(Place(tuple(fault["loc"]), fault["msg"]) for fault in list_first_validation_errors(error))
        raise Invalid("the request is not valid", places=places) from None
