"""The session cookies of staff and raters, and the proof that a change comes from our own page (CSRF)."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from fastapi import Request, Response

from app.domain.errors import Forbidden
from app.services.access.sessions import matches_csrf_token
from app.web.deps import get_service_options

CSRF_HEADER = "X-CSRF-Token"
Who = Literal["staff", "rater"]


class CrossSiteRequestRefused(Forbidden):
    """A cookie can change data only from our own pages."""

    published = "NotOurPage"


def is_request_https(request: Request) -> bool:
    """Tell whether the browser uses https, perhaps through a proxy named in the settings."""
    return own_origin(request).startswith("https://")


def own_origin(request: Request) -> str:
    """Return the origin under which browsers reach this service."""
    public = get_service_options(request).public_url
    return public or f"{request.scope['scheme']}://{request.headers.get('host', '')}"


def make_session_cookie_name(request: Request, who: Who = "staff") -> str:
    """Name the cookie; on plain http, browsers refuse the `__Host-` prefix."""
    return f"__Host-{who}" if is_request_https(request) else who


def read_session_cookie(request: Request, who: Who = "staff") -> str | None:
    """Return the session's secret if the browser sent it. Rater routes read one cookie, all other routes the other."""
    return request.cookies.get(make_session_cookie_name(request, who)) or None


def find_staff_or_rater_cookie(request: Request) -> tuple[Who, str] | None:
    """Return the session for routes of both: the CSRF token's, else that of staff, else that of a rater."""
    both: tuple[Who, Who] = ("staff", "rater")
    there = [(who, secret) for who in both if (secret := read_session_cookie(request, who)) is not None]
    proven = [
        (who, secret) for who, secret in there if matches_csrf_token(secret, request.headers.get(CSRF_HEADER, ""))
    ]
    return next(iter(proven + there), None)


def set_session_cookie(request: Request, response: Response, secret: str, who: Who, *, lifetime: timedelta) -> None:
    """Give the session to the browser, hidden from scripts and never sent from other sites."""
    response.set_cookie(
        make_session_cookie_name(request, who),
        secret,
        max_age=int(lifetime.total_seconds()),
        path="/",
        secure=is_request_https(request),
        httponly=True,
        samesite="strict",
    )


def clear_session_cookie(request: Request, response: Response, who: Who = "staff") -> None:
    """Delete the session's cookie in the browser."""
    name = make_session_cookie_name(request, who)
    response.delete_cookie(name, path="/", secure=is_request_https(request), httponly=True, samesite="strict")


def check_not_cross_site(request: Request) -> None:
    """Raise CrossSiteRequestRefused if the browser says that the request comes from another site."""
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in {"same-origin", "none"}:
        raise CrossSiteRequestRefused
    origin = request.headers.get("origin")
    if origin is not None and origin != own_origin(request):
        raise CrossSiteRequestRefused


def check_origin_and_csrf_token(request: Request, secret: str) -> None:
    """Raise CrossSiteRequestRefused unless browser and page both prove that the request comes from our own page."""
    check_not_cross_site(request)
    proven = request.headers.get("sec-fetch-site") == "same-origin" or "origin" in request.headers
    if not proven or not matches_csrf_token(secret, request.headers.get(CSRF_HEADER, "")):
        raise CrossSiteRequestRefused(f"send {CSRF_HEADER}")
