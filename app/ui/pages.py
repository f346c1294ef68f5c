"""What all pages share: templates, headers, and errors shown as pages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.domain.errors import AppError, Unauthorized
from app.services.sessions import csrf_token
from app.ui.assets import address_of
from app.web.cookies import session_cookie
from app.web.problems import STATUS

TEMPLATES = Path(__file__).parent / "templates"
HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        "Cross-Origin-Opener-Policy": "same-origin",
    }
)


class PageRoute(APIRoute):
    """A route whose errors are pages too, for browsers; who is not signed in is led to the landing page and back."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with errors turned into pages."""
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            if "text/html" not in request.headers.get("accept", ""):
                return await handler(request)
            try:
                return await handler(request)
            except Unauthorized:
                return RedirectResponse(f"/#{urlencode({'next': request.url.path})}", 303)
            except AppError as error:
                return _problem(request, STATUS.get(error.kind, 500), error.title(), error.detail)
            except RequestValidationError:
                return _problem(request, 404, "There is no such page", "")

        return shown


def page(request: Request, template: str, values: Mapping[str, object], *, status: int = 200) -> HTMLResponse:
    """A page from a template; everything put into it is escaped."""
    cookie = session_cookie(request)
    shared = {"asset": address_of, "csrf": csrf_token(cookie) if cookie else None}
    text = environment().get_template(template).render({**shared, **values})
    return HTMLResponse(text, status, headers=dict(HEADERS))


@cache
def environment() -> Environment:
    """The templates. A name that a template does not know is an error, not an empty string."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _problem(request: Request, status: int, title: str, detail: str) -> Response:
    return page(request, "problem.html", {"title": title, "detail": "" if detail == title else detail}, status=status)
