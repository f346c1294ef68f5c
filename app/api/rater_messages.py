"""Messages to raters."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field, StringConstraints

from app.api.models.raters import Key, RaterKey
from app.api.models.times import Time
from app.services.access.idempotency import IdempotentResponse
from app.services.people import rater_messages
from app.services.people.enrolment import MOST
from app.web.access import Coordinator, RaterCaller
from app.web.deps import CampaignKey, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep
from app.web.pagination import Limit, Number, Page, make_page
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1", tags=["raters"])

MessageNumber = Annotated[
    int, Path(alias="message", ge=1, le=2**63 - 1, description="Number of the message.", examples=[7])
]

Read = Annotated[bool | None, Query(description="Only those that the rater read, or only the others.")]


class MessageToRatersIn(BodyModel):
    """A message to several raters."""

    raters: Annotated[list[Key], Field(min_length=1, max_length=MOST)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]


class MessagesSentOut(BaseModel):
    """How many raters were sent a message."""

    sent: int


class MessageOwn(ResponseModel):
    """A message as its rater sees it."""

    id: int
    text: str
    at: Time
    read_at: Time | None


class MessagesOwn(BaseModel):
    """The newest messages, newest first."""

    items: list[MessageOwn]


class MessageOut(MessageOwn):
    """A message as managers see it."""

    actor: str


class MessagesOut(Page[MessageOut]):
    """Messages to a rater, newest first."""


WHAT = {"raters": ["r1", "r2"], "text": "Please read the new guidelines, and ask if anything is unclear."}
EXAMPLE = MessageOut.model_validate(
    {"id": 7, "text": WHAT["text"], "at": "2026-11-20T12:00:00Z", "read_at": None, "actor": "token plb_0f3a9c51d27e"}
)
OWN = MessageOwn.model_validate(EXAMPLE.model_dump(exclude={"actor"}))


@router.post(
    "/campaigns/{campaign}/messages",
    status_code=201,
    summary="Send a message to raters",
    responses=example_response(201, MessagesSentOut(sent=2), "Sent."),
)
def send_messages(
    caller: Coordinator,
    campaign: CampaignKey,
    body: Annotated[MessageToRatersIn, read_json_body_as(MessageToRatersIn, two=WHAT)],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Their pages show it until they mark it as read. All of them get it, or nobody if one of them cannot."""

    def make() -> IdempotentResponse:
        sent = rater_messages.send_messages(session, campaign, body.raters, text=body.text, by=caller)
        return IdempotentResponse(201, MessagesSentOut(sent=sent).model_dump_json().encode())

    return idempotent_creation(session, caller, make)


@router.get(
    "/campaigns/{campaign}/raters/{rater}/messages",
    summary="List the messages to a rater",
    responses=example_response(200, MessagesOut(items=[EXAMPLE], next=None)),
)
def list_messages(
    caller: Coordinator,
    campaign: CampaignKey,
    rater: RaterKey,
    session: SessionDep,
    read: Read = None,
    limit: Limit = 100,
    cursor: Number = 0,
) -> MessagesOut:
    """List messages, newest first, with the times at which they were read."""
    messages = rater_messages.list_messages(
        session, campaign, rater, by=caller, before=cursor or None, limit=limit + 1, read=read
    )
    page = make_page(messages, limit, lambda one: str(one.id))
    return MessagesOut(items=[MessageOut.model_validate(one) for one in page.items], next=page.next)


@router.get("/me/messages", summary="List your messages", responses=example_response(200, MessagesOwn(items=[OWN])))
def list_own_messages(rater: RaterCaller, session: SessionDep) -> MessagesOwn:
    """Return the newest 100."""
    messages = rater_messages.list_own_messages(session, rater)
    return MessagesOwn(items=[MessageOwn.model_validate(one) for one in messages])


@router.post("/me/messages/{message}/read", status_code=204, summary="Mark a message as read")
def mark_own_message_read(rater: RaterCaller, message: MessageNumber, session: SessionDep) -> None:
    """A repeated request changes nothing."""
    rater_messages.mark_own_message_read(session, rater, message)
