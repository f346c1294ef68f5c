"""Webhooks: create, list and delete them, send a test, replay events, and see the results of deliveries."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from app.api.models.times import Time
from app.services.access.idempotency import IdempotentResponse
from app.services.webhooks import webhooks
from app.services.webhooks.addresses import LONGEST_URL
from app.services.webhooks.events import EVENT_KINDS, MEANINGS, DeliveredKind, EventKind
from app.web.access import Manager
from app.web.deps import CampaignKey, ServiceOptions, SessionDep, get_service_options
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.pagination import NUMBER, Cursor, Limit, Page, make_page, parse_number_cursor
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/campaigns/{campaign}/webhooks", tags=["campaigns"])

ID = "w_" + "0f" * 16
LARGEST = 2**63 - 1
WebhookId = Annotated[
    str, Path(alias="webhook", pattern="^w_[0-9a-f]{32}$", description="Id of the webhook.", examples=[ID])
]
Before = Annotated[
    int,
    Query(alias="cursor", ge=0, le=LARGEST, description="`next` from the previous page.", examples=[NUMBER]),
    AfterValidator(parse_number_cursor),
]
Taken = Annotated[
    bool | None, Query(description="Only those answered with a status from 200 to 299, or only the others.")
]
OfKind = Annotated[DeliveredKind | None, Query(alias="kind", description="Of this kind of event only.")]
KINDS = "; ".join(f"`{kind}`: {meaning}" for kind, meaning in MEANINGS.items())
TOO_MANY: dict[int | str, dict[str, Any]] = {409: {"description": "The campaign has 20 webhooks."}}


class WebhookIn(BodyModel):
    """A webhook to create."""

    url: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_URL)] = Field(
        description="Where events are posted: https, and a public address unless the installation allows another."
    )
    events: Annotated[list[EventKind], Field(min_length=1, max_length=len(EVENT_KINDS))] = Field(
        list(EVENT_KINDS), description=f"Which events. {KINDS}."
    )


class WebhookOut(ResponseModel):
    """A webhook, without its secret."""

    webhook: str = Field(validation_alias="public_id", serialization_alias="webhook")
    url: str
    events: list[EventKind] = Field(validation_alias="kinds", serialization_alias="events")
    created_at: Time
    next_event: int = Field(description="Number of the first event that was not delivered.")
    attempts: int = Field(description="Failed attempts to deliver that event.")
    failing_since: Time | None
    stopped_at: Time | None = Field(description="When deliveries stopped.")
    stopped_because: str | None = Field(
        description="`gone`: it answered 410. `failing`: it accepted nothing for 3 days."
    )


class CreatedWebhookOut(WebhookOut):
    """A new webhook with its secret, which is shown this once."""

    secret: str = Field(description="Signs each request according to the Standard Webhooks specification.")


class WebhookReplayIn(BodyModel):
    """Where to start sending again."""

    model_config = ConfigDict(validate_by_name=True)

    event: Annotated[int, Field(ge=1, le=LARGEST)] | None = Field(
        None, alias="from", description="Number of the first event; null: the first that was not delivered."
    )


class TestEventOut(ResponseModel):
    """A test event."""

    event: int = Field(description="Its number; the deliveries show the result.")


class WebhookDeliveryOut(ResponseModel):
    """One attempt to deliver an event."""

    id: int
    event: int = Field(validation_alias="n", serialization_alias="event")
    kind: str
    attempt: int = Field(description="Number of the attempt, from 1.")
    status: int | None = Field(description="Status of the response; null if there was none.")
    error: str | None = Field(description="Why there was no response.")
    milliseconds: int
    at: Time


PLAIN = {
    "public_id": ID,
    "url": "https://hooks.example.org/plumbline",
    "kinds": ["task.handed_in", "campaign.done"],
    "created_at": "2026-11-20T12:00:00Z",
    "next_event": 1,
    "attempts": 0,
    "failing_since": None,
    "stopped_at": None,
    "stopped_because": None,
}
EXAMPLE = WebhookOut.model_validate(PLAIN)
CREATED = CreatedWebhookOut.model_validate({**PLAIN, "secret": "whsec_" + "x" * 43 + "="})
DELIVERED = WebhookDeliveryOut.model_validate(
    {
        "id": 12,
        "n": 8,
        "kind": "task.handed_in",
        "attempt": 1,
        "status": 200,
        "error": None,
        "milliseconds": 84,
        "at": "2026-11-20T12:00:00Z",
    }
)


@router.post(
    "",
    status_code=201,
    summary="Create a webhook",
    responses={**example_response(201, CREATED, "Made; the secret is shown once."), **TOO_MANY},
)
def create_webhook(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[
        WebhookIn,
        read_json_body_as(WebhookIn, some={"url": PLAIN["url"], "events": PLAIN["kinds"]}, all={"url": PLAIN["url"]}),
    ],
    session: SessionDep,
    options: Annotated[ServiceOptions, Depends(get_service_options)],
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Post each event from now on to the address, in order, until it answers with a status from 200 to 299.

    An event that is not accepted is sent again for three days, at growing intervals.
    """

    def make() -> IdempotentResponse:
        made = webhooks.create_webhook(
            session,
            campaign,
            url=body.url,
            kinds=body.events,
            allowed=options.webhook_addresses,
            actor=caller.actor,
        )
        plain = {name: getattr(made.webhook, name) for name in PLAIN}
        out = CreatedWebhookOut.model_validate({**plain, "secret": made.secret})
        here = f"/v1/campaigns/{campaign}/webhooks/{made.webhook.public_id}"
        return created_response(out, location=here, secret=True)

    return idempotent_creation(session, caller, make)


@router.get("", summary="List webhooks", responses=example_response(200, Page[WebhookOut](items=[EXAMPLE], next=None)))
def list_webhooks(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[WebhookOut]:
    """List the webhooks without their secrets."""
    views = webhooks.list_webhooks(session, campaign, after=cursor, limit=limit + 1)
    return make_page([WebhookOut.model_validate(view) for view in views], limit, lambda one: one.webhook)


@router.delete("/{webhook}", status_code=204, summary="Delete a webhook")
def delete_webhook(caller: Manager, campaign: CampaignKey, webhook: WebhookId, session: SessionDep) -> None:
    """Nothing more is sent to it. The list of its deliveries is deleted, too."""
    webhooks.delete_webhook(session, campaign, webhook, actor=caller.actor)


@router.post(
    "/{webhook}/test",
    status_code=202,
    summary="Send a test event",
    responses=example_response(202, TestEventOut(event=9), "It is sent after the events before it."),
)
def send_test_event(caller: Manager, campaign: CampaignKey, webhook: WebhookId, session: SessionDep) -> TestEventOut:  # noqa: ARG001  (says who may call)
    """Send an event `webhook.test` to this webhook only."""
    return TestEventOut(event=webhooks.queue_test_event(session, campaign, webhook))


@router.post(
    "/{webhook}/replay",
    summary="Send events again",
    responses=example_response(200, EXAMPLE, "They are sent again from there."),
)
def replay_events(
    caller: Manager,
    campaign: CampaignKey,
    webhook: WebhookId,
    body: Annotated[WebhookReplayIn, read_json_body_as(WebhookReplayIn, fourth={"from": 4}, rest={"from": None})],
    session: SessionDep,
) -> WebhookOut:
    """Send them in order with the same ids, and restart a webhook that has stopped. Events are kept for 7 days."""
    return WebhookOut.model_validate(
        webhooks.replay_events(session, campaign, webhook, event=body.event, actor=caller.actor)
    )


@router.get(
    "/{webhook}/deliveries",
    summary="List the deliveries of a webhook",
    responses=example_response(200, Page[WebhookDeliveryOut](items=[DELIVERED], next=None)),
)
def list_webhook_deliveries(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    webhook: WebhookId,
    session: SessionDep,
    taken: Taken = None,
    kind: OfKind = None,
    limit: Limit = 50,
    cursor: Before = 0,
) -> Page[WebhookDeliveryOut]:
    """List the last 7 days, newest first. A filtered page may be short or empty although there is a next one."""
    views, reached = webhooks.list_webhook_deliveries(
        session, campaign, webhook, before=cursor or None, limit=limit + 1, taken=taken, kind=kind
    )
    page = make_page(views, limit, lambda one: str(one.id), reached=None if reached is None else str(reached))
    return Page(items=[WebhookDeliveryOut.model_validate(view) for view in page.items], next=page.next)
