"""Dependencies that read from the session cookie who opens a page: somebody who may see results, or a rater."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from app.services.access.tokens import Caller
from app.services.people import raters
from app.services.people.raters import ActingRater
from app.storage.campaigns import CampaignNotFound
from app.web.access import NoCredential, RoleLacksRights, authenticate_cookie
from app.web.cookies import Who, read_session_cookie


def require_results_reader(request: Request) -> Caller:
    """Return the signed-in viewer, manager or admin. Raises Unauthorized, Forbidden, NotFound (another campaign)."""
    caller = _caller(request, "staff")
    if caller.campaign is not None and request.path_params.get("campaign") not in (None, caller.campaign):
        raise CampaignNotFound
    if not caller.has_rights_of("viewer"):
        raise RoleLacksRights(f"it needs the rights of a viewer; yours is {caller.role}")
    return caller


def require_rater(request: Request) -> ActingRater:
    """Return the signed-in rater. Raises Unauthorized, or Forbidden for anybody else."""
    caller = _caller(request, "rater")
    rater = raters.find_rater_of_caller(caller)
    if rater is None:
        raise RoleLacksRights(f"it is for raters; yours is {caller.role}")
    return rater


def _caller(request: Request, who: Who) -> Caller:
    cookie = read_session_cookie(request, who)
    if cookie is None:
        raise NoCredential
    return authenticate_cookie(request, cookie)


Reader = Annotated[Caller, Depends(require_results_reader)]
RaterAtWork = Annotated[ActingRater, Depends(require_rater)]
