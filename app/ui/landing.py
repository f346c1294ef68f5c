"""The landing page, which turns the token of a link, or a pasted one, into a session."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response

from app.ui.pages import PageRoute, render_page
from app.web.cookies import Who, read_session_cookie
from app.web.single_sign_on.session_confirmation import find_identity_provider

WHO: Final[tuple[Who, ...]] = ("staff", "rater")
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
def landing_page(request: Request) -> Response:
    """Signing in. The token stands in the fragment of a link, which browsers never send.

    Whoever has a session is shown the way on, not sent there: a link with another token is opened here too.
    """
    signed_in = {who: read_session_cookie(request, who) is not None for who in WHO}
    return render_page(
        request, "landing.html", {"provider": find_identity_provider(request) is not None, "signed_in": signed_in}
    )
