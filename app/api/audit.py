"""The audit log: who changed what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, JsonValue

from app.api.models.times import Time
from app.domain.keys import KEY_PATTERN
from app.services.campaigns import audit
from app.web.access import Manager
from app.web.deps import SessionDep
from app.web.examples import example_response
from app.web.pagination import CHECK_DIGITS, Key, Limit, Page, make_cursor, make_page
from app.web.responses import ResponseModel

router = APIRouter(prefix="/v1/audit", tags=["audit"])

Only = Annotated[
    str | None, Query(pattern=KEY_PATTERN, description="Only those of this campaign.", examples=["ted-ende"])
]
Place = Annotated[
    str | None,
    Query(
        pattern=rf"^[1-9][0-9]{{0,{17 + CHECK_DIGITS}}}$",
        description="`next` from the previous page.",
        examples=[make_cursor("4711")],
    ),
    Key,
]


SearchWords = Annotated[
    str,
    Query(
        alias="q",
        max_length=200,
        description="Words; each must be a part of actor, action, campaign or details, in any case.",
        examples=["token made"],
    ),
]


class AuditEntryOut(ResponseModel):
    """One change in the audit log."""

    campaign: str | None = Field(description="Key of the campaign; null if the change concerns none.")
    n: int = Field(description="Place in the campaign's chain, from 1.")
    at: Time
    actor: str = Field(description="Prefix of the token, or the user who ran a command.")
    action: str
    what: dict[str, JsonValue]
    hash: str = Field(description="SHA-256 over the row and the hash of the previous row.")


EXAMPLE = AuditEntryOut.model_validate(
    {
        "campaign": "ted-ende",
        "n": 1,
        "at": "2026-11-20T12:00:00Z",
        "actor": "token:0f3a9c51d27e",
        "action": "campaign made",
        "what": {"campaign": "ted-ende"},
        "hash": "5e" * 32,
    }
)


@router.get(
    "",
    summary="List entries of the audit log",
    responses={
        **example_response(200, Page[AuditEntryOut](items=[EXAMPLE], next=None)),
        404: {"description": "There is no such campaign, or it is not yours."},
    },
)
def list_audit_entries(
    caller: Manager,
    session: SessionDep,
    campaign: Only = None,
    q: SearchWords = "",
    limit: Limit = 50,
    cursor: Place = None,
) -> Page[AuditEntryOut]:
    """List who changed what, newest first. Admins see everything, managers what concerns their campaigns.

    A page of a search may be short or empty although there is a next one.

    Each row of a campaign seals the rows before it; `plumbline audit --check` names a row that was changed.
    """
    before = int(cursor) if cursor else None
    entries, reached = audit.list_audit_entries(
        session,
        only=campaign,
        own=caller.campaign,
        installation=caller.has_rights_of("admin"),
        before=before,
        limit=limit + 1,
        q=q,
    )
    page = make_page(entries, limit, lambda entry: str(entry.id), reached=None if reached is None else str(reached))
    return Page[AuditEntryOut](items=[AuditEntryOut.model_validate(entry) for entry in page.items], next=page.next)
