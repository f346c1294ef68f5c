"""Judgments in the interface: the union of all protocols' payloads, distinguished by `protocol`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Discriminator, Field, RootModel, Tag

from app.domain.errors import Invalid, Place
from app.protocols import ALL, PreferencePayload
from app.protocols.base import Payload
from app.web.request_bodies import BodyModel, JsonBodyReader

MOST = 2000
if TYPE_CHECKING:
    AnyPayload = Payload
else:
    AnyPayload = Annotated[reduce(or_, (one.payload for one in ALL.values())), Field(discriminator="protocol")]


class JudgmentPayload(RootModel[AnyPayload]):
    """A rater's answer, as the protocol that it names has it."""


class TaskJudgmentIn(BodyModel):
    """One of many answers. segment: null for the item as a whole."""

    item: Annotated[int, Field(ge=1, le=2**31 - 1)]
    segment: Annotated[int, Field(ge=1, le=2**31 - 1)] | None
    payload: AnyPayload
    if_match: Annotated[int, Field(ge=0, le=2**31 - 2)] | None = Field(
        None, description="The revision that you saw, 0 for none yet; null lets the last write win."
    )


class TaskComparisonIn(BodyModel):
    """One of many answers: about the columns of a screen together."""

    screen: Annotated[int, Field(ge=1, le=2**31 - 1)]
    payload: PreferencePayload
    if_match: Annotated[int, Field(ge=0, le=2**31 - 2)] | None = Field(
        None, description="The revision that you saw, as for an answer about a segment."
    )


ON_SCREEN, ON_ITEM = "of_screen", "of_item"


def _kind_of(widget: object) -> str:
    """Return which of the two an answer is: it names a screen or an item."""
    return (
        ON_SCREEN
        if isinstance(widget, TaskComparisonIn) or (isinstance(widget, dict) and "screen" in widget)
        else ON_ITEM
    )


OneOfMany = Annotated[
    Annotated[TaskJudgmentIn, Tag(ON_ITEM)] | Annotated[TaskComparisonIn, Tag(ON_SCREEN)],
    Discriminator(_kind_of),
]


class TaskJudgmentsIn(RootModel[Annotated[list[OneOfMany], Field(min_length=1, max_length=MOST)]]):
    """Answers, all or none."""


class JudgmentPayloadBodyReader(JsonBodyReader[Any]):
    """A body with payloads in it, whose errors are named without the protocol that the union took them for."""

    async def __call__(self, request: Request) -> Any:
        """Return the body as the model. Raises as `JsonBodyReader` does."""
        try:
            return await super().__call__(request)
        except RequestValidationError as error:
            raise RequestValidationError([_locate_fault(fault) for fault in error.errors()]) from None


def read_judgment_payload_body_as(
    model: type[BaseModel], examples: Mapping[str, Any], *, without_slot: bool = False
) -> Any:
    """Declare a body of payloads, with worked examples by name. without_slot: see `JsonBodyReader`."""
    return Depends(
        JudgmentPayloadBodyReader(
            model, {name: {"value": value} for name, value in examples.items()}, without_slot=without_slot
        )
    )


def list_payload_examples() -> dict[str, Any]:
    """Return the first worked example of each protocol."""
    return {name: one.examples[0].payload.model_dump(mode="json") for name, one in ALL.items()}


def _locate_fault(fault: Mapping[str, Any]) -> dict[str, Any]:
    """Move a fault to the place that the sender knows: for a missing or unknown protocol, to the field `protocol`."""
    loc = _drop_union_tags(fault["loc"])
    if fault.get("type") in ("union_tag_not_found", "union_tag_invalid"):
        return {**fault, "loc": (*loc, "protocol"), "msg": f"must name the protocol: {', '.join(ALL)}"}
    return {**fault, "loc": loc}


def _drop_union_tags(loc: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return a path without the tags that unions add to it."""
    if len(loc) > 2 and loc[2] in (ON_SCREEN, ON_ITEM):
        loc = (*loc[:2], *loc[3:])
    for at in (1, 3):
        if len(loc) > at and loc[at] in ALL and (at == 1 or loc[at - 1] == "payload"):
            return (*loc[:at], *loc[at + 1 :])
    return loc


SeenRevision = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=64,
        description='The revision that you saw, or `"0"` if there was none. Without it, the last write wins.',
        examples=['"0"'],
    ),
]


async def parse_if_match_revision(request: Request, if_match: SeenRevision = None) -> int | None:  # noqa: ARG001  (declares the header)
    """Return the revision that the sender saw. Raises Invalid if the tag names none."""
    given = request.headers.getlist("if-match")
    if not given:
        return None
    tag = given[0].strip()
    digits = tag[1:-1] if len(tag) > 2 and tag[0] == tag[-1] == '"' else ""
    if len(given) > 1 or not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise Invalid(places=(Place(("header", "If-Match"), 'must be one revision, such as "2"'),))
    return int(digits)


Seen = Annotated[int | None, Depends(parse_if_match_revision)]
