"""The staff cookie, and the proof that a change comes from our own page."""

from __future__ import annotations

from fastapi import Request, Response

from app.domain.errors import Forbidden
from app.services.sessions import is_csrf_token
from app.web.deps import get_options

CSRF_HEADER = "X-CSRF-Token"


class NotOurPage(Forbidden):
    """A cookie changes things only from our own pages."""


def is_https(request: Request) -> bool:
    """Whether the browser speaks https with us, perhaps through a proxy that we are told of."""
    return own_origin(request).startswith("https://")


def own_origin(request: Request) -> str:
    """The origin under which browsers see us."""
    public = get_options(request).public_url
    return public or f"{request.scope['scheme']}://{request.headers.get('host', '')}"


def cookie_name(request: Request) -> str:
    """On plain http browsers refuse the `__Host-` prefix."""
    return "__Host-staff" if is_https(request) else "staff"


def session_cookie(request: Request) -> str | None:
    """The session's secret, if the browser sent it."""
    return request.cookies.get(cookie_name(request)) or None


def set_session_cookie(request: Request, response: Response, secret: str) -> None:
    """Hand the session to the browser: out of reach of scripts, never sent from other sites."""
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=int(get_options(request).session_lifetime.total_seconds()),
        path="/",
        secure=is_https(request),
        httponly=True,
        samesite="strict",
    )


def clear_session_cookie(request: Request, response: Response) -> None:
    """Take the session from the browser."""
    response.delete_cookie(cookie_name(request), path="/", secure=is_https(request), httponly=True, samesite="strict")


def check_not_cross_site(request: Request) -> None:
    """Raise NotOurPage where the browser says that the request comes from another site."""
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in {"same-origin", "none"}:
        raise NotOurPage
    origin = request.headers.get("origin")
    if origin is not None and origin != own_origin(request):
        raise NotOurPage


def check_same_origin(request: Request, secret: str) -> None:
    """Raise NotOurPage unless browser and page both prove that the request comes from our own page."""
    check_not_cross_site(request)
    proven = request.headers.get("sec-fetch-site") == "same-origin" or "origin" in request.headers
    if not proven or not is_csrf_token(secret, request.headers.get(CSRF_HEADER, "")):
        raise NotOurPage(f"send {CSRF_HEADER}")
