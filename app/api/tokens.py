"""Bearer tokens: create, list, revoke."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field, StringConstraints

from app.api.models.times import Time, TimeIn
from app.domain.keys import KEY_PATTERN
from app.services.access import tokens
from app.services.access.idempotency import IdempotentResponse
from app.services.access.tokens import Given, Role, TokenSort
from app.web.access import AnyRole, Manager
from app.web.deps import SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreationDep, created_response
from app.web.pagination import Limit, Page, SortedCursor, format_sort_cursor, make_page, parse_sort_cursor
from app.web.request_bodies import BodyModel, read_json_body_as
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/tokens", tags=["access"])

Prefix = Annotated[
    str,
    Path(pattern="^[0-9a-f]{12}$", description="The part of a token that identifies it.", examples=["0f3a9c51d27e"]),
]


OfRoles = Annotated[
    list[Role] | None,
    Query(alias="role", description="Only tokens with this role, or one of these.", examples=[["viewer"]]),
]
Live = Annotated[bool | None, Query(description="Only those that are still valid, or only the others.")]
Sort = Annotated[TokenSort, Query(description="By prefix or by creation time; `-` reverses the order.")]
SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of prefix, name, campaign, team or rater, in any case.",
        examples=["nightly"],
    ),
]


class TokenIn(BodyModel):
    """A token to create."""

    role: Given
    campaign: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(
        None, description="The only campaign to which it gives access; null for all."
    )
    team: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] | None = Field(
        None, description="Team of the campaign whose enrolments a coordinator sees."
    )
    name: Annotated[str, StringConstraints(max_length=tokens.LONGEST_NAME)] = Field(
        "", description="Purpose, for those who manage tokens."
    )
    expires_at: TimeIn | None = Field(None, description="When it stops working; null for never.")


class TokenOut(ResponseModel):
    """A token, without its secret."""

    prefix: str
    role: Role
    campaign: str | None
    name: str
    created_at: Time
    expires_at: Time | None
    revoked_at: Time | None
    last_used_at: Time | None = Field(None, description="Accurate to five minutes; null if never used.")
    live: bool = Field(description="Neither expired nor revoked.")
    team: str | None = Field(description="Team whose enrolments a coordinator sees.")
    rater: str | None = Field(description="Key of the rater, if it came with a link or an invitation.")


class TokenIssued(TokenOut):
    """A new token with its secret, which is shown this once."""

    token: str = Field(description="Send it as `Authorization: Bearer …`.")


EXAMPLE = {
    "prefix": "0f3a9c51d27e",
    "role": "viewer",
    "campaign": "ted-ende",
    "name": "nightly report",
    "created_at": "2026-11-20T12:00:00Z",
    "expires_at": "2027-11-20T12:00:00Z",
    "revoked_at": None,
    "last_used_at": "2026-11-21T06:00:00Z",
    "live": True,
    "team": None,
    "rater": None,
}
SECRET = "plb_0f3a9c51d27e_" + "x" * 43
OUT = TokenOut.model_validate(EXAMPLE)


@router.post(
    "",
    status_code=201,
    summary="Create a token",
    responses={
        404: {"description": "No such campaign or team."},
        **example_response(
            201, TokenIssued.model_validate({**EXAMPLE, "token": SECRET}), "Made; the secret is shown once."
        ),
    },
)
def create_token(
    caller: Manager,
    body: Annotated[
        TokenIn,
        read_json_body_as(
            TokenIn,
            viewer={"role": "viewer", "campaign": "ted-ende", "name": "CI", "expires_at": "2027-11-20T12:00:00Z"},
            manager={"role": "manager", "name": "Ada"},
            coordinator={"role": "coordinator", "campaign": "ted-ende", "team": "bonn"},
        ),
    ],
    session: SessionDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Admins make any token; managers make those of viewers, coordinators and front-ends of their campaigns."""

    def make() -> IdempotentResponse:
        # Checks only new tokens: a repeated request gets its earlier answer, even if that token has expired since.
        if body.expires_at is not None:
            tokens.check_future_expiry(session, body.expires_at)
        issued = tokens.issue_token(session, **body.model_dump(), by=caller)
        shown = TokenOut.model_validate(issued.token).model_dump()
        made = TokenIssued.model_validate({**shown, "token": issued.secret})
        return created_response(made, location=f"/v1/tokens/{issued.token.prefix}", secret=True)

    return idempotent_creation(session, caller, make)


@router.get("", summary="List tokens", responses=example_response(200, Page[TokenOut](items=[OUT], next=None)))
def list_tokens(
    caller: Manager,
    session: SessionDep,
    role: OfRoles = None,
    live: Live = None,
    q: SearchWords = "",
    sort: Sort = "prefix",
    limit: Limit = 50,
    cursor: SortedCursor = None,
) -> Page[TokenOut]:
    """List the tokens that you manage, without their secrets."""
    after = parse_sort_cursor(cursor, by_value=sort != "prefix")
    views = tokens.list_tokens(session, by=caller, after=after, limit=limit + 1, only=role, live=live, sort=sort, q=q)
    page = make_page(views, limit, lambda view: format_sort_cursor(*tokens.make_token_cursor(view, sort)))
    return Page(items=[TokenOut.model_validate(view) for view in page.items], next=page.next)


@router.get("/{prefix}", summary="Get a token", responses=example_response(200, OUT))
def get_token(caller: AnyRole, prefix: Prefix, session: SessionDep) -> TokenOut:
    """Return a token that you manage, or your own, without its secret."""
    return TokenOut.model_validate(tokens.get_token(session, prefix, by=caller))


@router.delete("/{prefix}", status_code=204, summary="Revoke a token", response_description="Revoked, at once.")
def revoke_token(caller: AnyRole, prefix: Prefix, session: SessionDep) -> None:
    """Revoke a token that you manage, or your own. Its sessions end with it."""
    tokens.revoke_token(session, prefix, by=caller)
