"""Invitations for crowd platforms: create, list and end them, and claim a seat."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from app.api.models.raters import Key
from app.api.models.times import Time, TimeIn
from app.services.access import sessions, tokens
from app.services.access.idempotency import IdempotentResponse
from app.services.people import invitations
from app.services.people.invitations import InvitationSort
from app.storage.db import Session
from app.web.access import Manager, Public
from app.web.cookies import check_not_cross_site, read_session_cookie, set_session_cookie
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.landing_links import make_landing_link
from app.web.organizations import use_organization_of_credential
from app.web.pagination import Limit, Number, Page, SortedCursor, format_sort_cursor, make_page, parse_sort_cursor
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel, json_response

router = APIRouter(prefix="/v1", tags=["raters"])

STAYS = 90  # days
ID = "i_" + "0f" * 16
NO_SECRET = "x" * 43
# The queries in which platforms fill in their id of a participant.
QUERIES = {"prolific": "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"}
PublicId = Annotated[str, Path(alias="invitation", pattern="^i_[0-9a-f]{32}$", examples=[ID])]
Place = Number
Live = Annotated[bool | None, Query(description="Only those that can still be used, or only the others.")]
SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of id, platform or team, in any case.",
        examples=["prolific"],
    ),
]
CompletionWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of rater, external id, code or platform, in any case.",
        examples=["C7Q2"],
    ),
]
Sort = Annotated[InvitationSort, Query(description="By id or by creation time; `-` reverses the order.")]
ENDED: dict[int | str, dict[str, Any]] = {
    403: {"description": "The request comes from another site, or the platform did not sign the id."},
    404: {"description": "No such invitation, another secret, or it has ended."},
    409: {"description": "All places are taken, the campaign is closed, the rater was erased, or the id is another's."},
    429: {"description": "As many have come lately as may in an hour."},
}


class InvitationIn(BodyModel):
    """An invitation to create."""

    count: Annotated[int, Field(ge=1, le=100_000)] = Field(description="Number of places.")
    platform: Literal["prolific", "mturk", "toloka"] | None = None
    team: Key | None = None
    completion_url: Annotated[str, StringConstraints(min_length=1, max_length=invitations.LONGEST_URL)] | None = Field(
        None, description="Address that the last page links to; the code replaces `{code}`, or is appended."
    )
    expires_at: TimeIn | None = Field(None, description="When enrolment ends; null for never.")
    signed: bool = Field(
        default=False, description="The platform signs its ids with a key, which the response shows once."
    )
    per_hour: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None,
        description="New raters per hour at most; null: half of `count`, or no limit if ids are signed.",
    )


class InvitationOut(ResponseModel):
    """An invitation, without its secret."""

    invitation: str = Field(validation_alias="public_id", serialization_alias="invitation")
    platform: str | None
    count: int = Field(validation_alias="seats", serialization_alias="count")
    taken: int = Field(description="Places taken.")
    team: str | None
    completion_url: str | None
    created_at: Time
    expires_at: Time | None
    revoked_at: Time | None
    live: bool = Field(description="Neither expired nor revoked.")
    per_hour: int | None = Field(description="New raters per hour at most; null for no limit.")
    signed: bool = Field(description="Whether ids must be signed.")


class CreatedInvitationOut(InvitationOut):
    """A new invitation with its link, which is shown this once."""

    link: str = Field(description="For the platform; the secret is in the fragment.")
    secret: str = Field(description="For front-ends of your own, which use it to claim a seat.")
    signing_key: str | None = Field(
        description="Hexadecimal key. `signature` is the hexadecimal HMAC-SHA256 of the id under this key."
    )


class SeatClaimIn(BodyModel):
    """A seat to take."""

    secret: Annotated[str, StringConstraints(pattern="^(o[1-9][0-9]{0,3}-)?[A-Za-z0-9_-]{43}$")]
    external_id: Annotated[str, StringConstraints(pattern="^[!-~]{1,200}$")] = Field(
        description="The rater's id on the platform: PROLIFIC_PID, workerId. The same id is the same rater."
    )
    signature: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")] | None = Field(
        None, description="Signature of `external_id` with the signing key; required if the invitation is `signed`."
    )
    want: Literal["session", "token"] = Field("session", description="A cookie for a browser, or a token.")


class SeatClaimOut(BaseModel):
    """A seat that was taken."""

    campaign: str
    rater: str = Field(description="A generated key; the platform's id is stored separately and can be erased.")
    expires_at: Time
    csrf: str | None = Field(description="With a session: send it as `X-CSRF-Token` with every change.")
    token: str | None = Field(description="If requested; send it as `Authorization: Bearer …`.")


class TaskWithCompletionCodeOut(ResponseModel):
    """A task that was handed in with a code."""

    task: str
    code: str
    handed_in_at: Time | None
    rater: str
    external_id: str | None
    invitation: str | None
    platform: str | None
    attention_check: bool = Field(
        description="Whether the task was an attention check, which has a code but is not work."
    )


NEW = {"count": 40, "platform": "prolific", "completion_url": "https://app.prolific.com/submissions/complete?cc={code}"}
PLAIN = {
    "public_id": ID,
    "platform": "prolific",
    "seats": 40,
    "taken": 0,
    "team": None,
    "completion_url": NEW["completion_url"],
    "created_at": "2026-11-20T12:00:00Z",
    "expires_at": None,
    "revoked_at": None,
    "live": True,
    "per_hour": 20,
    "signed": False,
}
EXAMPLE = InvitationOut.model_validate(PLAIN)
INVITED = CreatedInvitationOut.model_validate(
    {
        **PLAIN,
        "link": f"https://plumbline.example.org/#invitation={ID}.{NO_SECRET}",
        "secret": NO_SECRET,
        "signing_key": None,
    }
)
CLAIMED = SeatClaimOut.model_validate(
    {
        "campaign": "ted-ende",
        "rater": "prolific-5e1f0c2ab7d4",
        "expires_at": "2026-11-21T00:00:00Z",
        "csrf": "5e" * 32,
        "token": None,
    }
)
DONE = TaskWithCompletionCodeOut.model_validate(
    {
        "task": "t_" + "0f" * 16,
        "code": "C7Q2M9XK",
        "handed_in_at": "2026-11-20T12:00:00Z",
        "rater": "prolific-5e1f0c2ab7d4",
        "external_id": "5f1b2c3d4e5f6a7b8c9d0e1f",
        "invitation": ID,
        "platform": "prolific",
        "attention_check": False,
    }
)


@router.post(
    "/campaigns/{campaign}/invitations",
    status_code=201,
    summary="Create an invitation for a number of raters",
    responses=example_response(201, INVITED, "Made; the secret is shown once."),
)
def create_invitation(
    caller: Manager,
    campaign: CampaignKey,
    body: Annotated[InvitationIn, read_json_body_as(InvitationIn, prolific=NEW, any={"count": 3})],
    request: Request,
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Anybody with the link can enrol until all places are taken. Publish it on the platform and nowhere else."""

    def make() -> IdempotentResponse:
        given = body.model_dump(exclude={"count"})
        made = invitations.create_invitation(session, campaign, seats=body.count, by=caller, **given)
        plain = {name: getattr(made.invitation, name) for name in PLAIN}
        name = f"{made.invitation.public_id}.{made.secret}"
        address = make_landing_link(request, query=QUERIES.get(body.platform or "", ""), invitation=name)
        out = CreatedInvitationOut.model_validate(
            {**plain, "link": address, "secret": made.secret, "signing_key": made.signing_key}
        )
        here = f"/v1/campaigns/{campaign}/invitations/{made.invitation.public_id}"
        return created_response(out, location=here, secret=True)

    return idempotent_creation(session, caller, make)


@router.get(
    "/campaigns/{campaign}/invitations",
    summary="List invitations",
    responses=example_response(200, Page[InvitationOut](items=[EXAMPLE], next=None)),
)
def list_invitations(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    live: Live = None,
    q: SearchWords = "",
    sort: Sort = "invitation",
    limit: Limit = 50,
    cursor: SortedCursor = None,
) -> Page[InvitationOut]:
    """List all invitations, including ended ones, without their secrets."""
    after = parse_sort_cursor(cursor, by_value=sort.endswith("made"))
    views = invitations.list_invitations(session, campaign, after=after, limit=limit + 1, live=live, sort=sort, q=q)
    page = make_page(views, limit, lambda view: format_sort_cursor(*invitations.make_invitation_cursor(view, sort)))
    return Page(items=[InvitationOut.model_validate(view) for view in page.items], next=page.next)


@router.get(
    "/campaigns/{campaign}/invitations/{invitation}",
    summary="Get an invitation",
    responses=example_response(200, EXAMPLE),
)
def get_invitation(caller: Manager, campaign: CampaignKey, invitation: PublicId, session: SessionDep) -> InvitationOut:  # noqa: ARG001  (says who may call)
    """Return its settings and how many raters have used it."""
    return InvitationOut.model_validate(invitations.get_invitation(session, campaign, invitation))


@router.delete(
    "/campaigns/{campaign}/invitations/{invitation}",
    status_code=204,
    summary="Revoke an invitation",
    response_description="Ended, at once.",
)
def revoke_invitation(caller: Manager, campaign: CampaignKey, invitation: PublicId, session: SessionDep) -> None:
    """Nobody else can use it. Raters who have joined stay enrolled."""
    invitations.revoke_invitation(session, campaign, invitation, by=caller)


@router.get(
    "/campaigns/{campaign}/completions",
    summary="List completion codes",
    responses=example_response(200, Page[TaskWithCompletionCodeOut](items=[DONE], next=None)),
)
def list_completion_codes(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    q: CompletionWords = "",
    limit: Limit = 50,
    cursor: Place = 0,
) -> Page[TaskWithCompletionCodeOut]:
    """List who was given which code for which task, in the order of the tasks, for payment on the platform.

    A page of a search may be short or empty although there is a next one.
    """
    completions, reached = invitations.list_completion_codes(session, campaign, after=cursor, limit=limit + 1, q=q)
    page = make_page(completions, limit, lambda one: str(one.id), reached=None if reached is None else str(reached))
    return Page[TaskWithCompletionCodeOut](
        items=[TaskWithCompletionCodeOut.model_validate(one) for one in page.items], next=page.next
    )


@router.post(
    "/invitations/{invitation}/claim",
    status_code=201,
    summary="Enrol by an invitation",
    responses={**ENDED, **example_response(201, CLAIMED, "Enrolled, or known from before.")},
)
def claim_invitation(
    _: Public,
    invitation: PublicId,
    body: Annotated[
        SeatClaimIn,
        read_json_body_as(SeatClaimIn, prolific={"secret": NO_SECRET, "external_id": "5f1b2c3d4e5f6a7b8c9d0e1f"}),
    ],
    request: Request,
    database: DatabaseDep,
) -> Response:
    """The only credential needed is the invitation's secret. An earlier credential of the rater with this id ends.

    For an id that is already known, also send its earlier credential, as cookie or token, or the platform's signature.
    """
    check_not_cross_site(request)
    use_organization_of_credential(request, body.secret)
    with database.transaction() as session:
        held_by = _held_by(request, session)
        given = invitations.SeatClaim(body.secret, body.external_id, body.signature, held_by=held_by)
        made = invitations.claim_seat(session, invitation, given, days=STAYS)
        lasts, opens = timedelta(days=STAYS), body.want != "token"
        opened = sessions.exchange_token_for_session(session, made.secret, lifetime=lasts) if opens else None
    who = {"campaign": made.campaign, "rater": made.rater}
    if opened is None:
        return json_response(SeatClaimOut(**who, expires_at=made.expires_at, csrf=None, token=made.secret), 201)
    response = json_response(SeatClaimOut(**who, expires_at=opened.expires_at, csrf=opened.csrf, token=None), 201)
    set_session_cookie(request, response, opened.secret, "rater", lifetime=opened.lifetime)
    return response


def _held_by(request: Request, session: Session) -> int | None:
    """Return the rater of the request's credential; None without a valid one."""
    cookie, (scheme, _, token) = (
        read_session_cookie(request, "rater"),
        request.headers.get("authorization", "").partition(" "),
    )
    try:
        if scheme.lower() == "bearer":
            return tokens.authenticate_secret(session, token.strip(" ")).rater_id
        return sessions.authenticate_session(session, cookie).rater_id if cookie else None
    except tokens.BadCredential:
        return None
