"""Who looks at a page: the holder of the session cookie, with the rights to see results."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from app.services import sessions
from app.services.tokens import Caller
from app.storage.campaigns import CampaignNotFound
from app.web.access import NoCredential, RoleLacksIt
from app.web.cookies import session_cookie
from app.web.deps import DatabaseDep


def reader(request: Request, database: DatabaseDep) -> Caller:
    """The signed-in viewer, manager or admin. Raises Unauthorized, Forbidden, or NotFound for another's campaign."""
    cookie = session_cookie(request)
    if cookie is None:
        raise NoCredential
    with database.transaction() as session:
        caller = sessions.caller(session, cookie)
    if caller.campaign is not None and request.path_params.get("campaign") not in (None, caller.campaign):
        raise CampaignNotFound
    if not caller.may("viewer"):
        raise RoleLacksIt(f"it needs the rights of a viewer; yours is {caller.role}")
    return caller


Reader = Annotated[Caller, Depends(reader)]
