"""The landing page: a link's token, or a pasted one, becomes a session."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.ui.pages import PageRoute, render_page
from app.web.single_sign_on.confirming import find_provider

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
def landing_page(request: Request) -> Response:
    """Signing in. The token stands in the fragment of a link, which browsers never send."""
    return render_page(request, "landing.html", {"provider": find_provider(request) is not None})
