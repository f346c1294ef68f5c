"""The common parts of all pages: templates, headers, the reader's language, and errors shown as pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.domain.errors import AppError, Unauthorized
from app.services.access.sessions import derive_csrf_token
from app.ui import messages
from app.ui.assets import asset_address, list_modules_to_preload
from app.ui.error_messages import render_error_message_sentence
from app.web.cookies import Who, read_session_cookie
from app.web.negotiation import choose_media_type
from app.web.organizations import get_organization_directory
from app.web.problems import STATUS, retry_after_header

TEMPLATES = Path(__file__).parent / "templates"
HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        "Cross-Origin-Opener-Policy": "same-origin",
    }
)
DEPENDS_ON = "Accept, Accept-Language, Cookie"
A_YEAR = 365 * 24 * 3600  # seconds
OK = 200
RATERS = "/rate"
INTERFACE = "/v1"
NO_PAGE = messages.mark_translatable("There is no such page")
TITLES: Mapping[int, str] = MappingProxyType(
    {
        404: NO_PAGE,
        500: messages.mark_translatable("Something went wrong on our side"),
        503: messages.mark_translatable("The server is busy. Try again in a moment."),
    }
)


PASSES = frozenset({409, 429, 500, 503, 507})
"""Statuses of errors that may have passed when the reader tries again."""


class PageRoute(APIRoute):
    """A route that shows errors to browsers as pages. Visitors without a session sign in on the landing page first."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with errors turned into pages."""
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            if not _prefers_pages(request):
                return await handler(request)
            try:
                return await handler(request)
            except AppError as error:
                return self.render_error(request, error)
            except RequestValidationError:
                return _problem(request, 404, NO_PAGE, "", {})

        return shown

    def render_error(self, request: Request, error: AppError) -> Response:
        """Return what a browser shows in place of the page."""
        if isinstance(error, Unauthorized):
            return RedirectResponse(f"/#{urlencode({'next': request.url.path})}", 303)
        return _problem(request, STATUS.get(error.kind, 500), error.title(), error.detail, retry_after_header(error))


def render_problem_page(request: Request, status: int, headers: Mapping[str, str]) -> Response | None:
    """Return the error page for a browser whose request met no page route, or one that failed; None for programs.

    The page is the same whether or not anything exists under such addresses.
    """
    path, route = request.url.path, request.scope.get("route")
    ours = route is None or isinstance(route, PageRoute)
    if request.method != "GET" or path.split("/")[1:2] == [INTERFACE.strip("/")] or status not in TITLES:
        return None
    return _problem(request, status, TITLES[status], "", headers) if ours and _prefers_pages(request) else None


def render_page(
    request: Request,
    template: str,
    values: Mapping[str, object],
    *,
    status: int = 200,
    who: Who = "staff",
    phrases: Callable[[str], Mapping[str, str]] | None = None,
) -> HTMLResponse:
    """Render a page from a template and escape all values.

    who: whose session the page belongs to. phrases: returns a campaign's own phrases in a language.
    """
    cookie = read_session_cookie(request, who)
    page = template.removesuffix(".html")
    offered = messages.list_page_languages(page)
    language = messages.choose_request_language(request, offered)
    words = messages.load_page_messages(language, page)
    own = phrases(language) if phrases else {}
    if own:
        words = replace(words, known={**words.known, **own})
    catalogue = messages.catalogue_file_name(language, page)
    shared = {
        "asset": asset_address,
        "address_query": request.query_params,
        "modules": list_modules_to_preload,
        "csrf": derive_csrf_token(cookie) if cookie else None,
        "language": language,
        "right_to_left": messages.LANGUAGES[language].right_to_left,
        "languages": [(code, name, make_page_address_in_language(request, code)) for code, name in offered.items()],
        "phrases": json.dumps(own, ensure_ascii=False) if own else None,
        "catalogue": asset_address(catalogue) if catalogue else None,
        "refusals": _refusals_address(language),
        # A page that says what went wrong must not depend on the database.
        "organization": get_organization_directory(request).find_name_for_current_request()
        if cookie and who == "staff" and status == OK
        else None,
        "_": words.translate,
        "count": words.translate_count,
        "foreign": words.is_left_in_english,
        "told": words.translate_service_text,
        "refused": partial(render_error_message_sentence, words),
        "sentence": words.render_as_sentence,
        "shown": words.translate_cell,
        "code": messages.render_code_spans,
        "figure": words.format_whole_number,
    }
    if taken := [name for name in values if callable(shared.get(name))]:
        raise ValueError(f"functions that templates call cannot be replaced: {taken}")
    text = make_template_environment().get_template(template).render({**shared, **values})
    answer = HTMLResponse(text, status, headers={**HEADERS, "Content-Language": language, "Vary": DEPENDS_ON})
    if request.query_params.get("lang") == language:
        answer.set_cookie(messages.COOKIE, language, max_age=A_YEAR, path="/", samesite="lax", httponly=True)
    return answer


def _refusals_address(language: str) -> str | None:
    """Return where modules fetch the translated error messages; None if the language has no such catalogue."""
    if not messages.load_catalogue(language, messages.REFUSALS):
        return None
    return asset_address(messages.catalogue_file_name(language, messages.REFUSALS) or "")


def make_page_address_in_language(request: Request, language: str) -> str:
    """Return the address of this page in a language, with its other parameters; lists start at the beginning again."""
    rest = [(name, value) for name, value in request.query_params.multi_items() if name not in ("lang", "cursor")]
    # If a path begins with two slashes, browsers read its first part as another host.
    path = f"/{request.url.path.lstrip('/')}"
    return f"{quote(path)}?{urlencode([*rest, ('lang', language)])}"


def _prefers_pages(request: Request) -> bool:
    """Return whether the client prefers a page to JSON, as browsers do; a client that accepts anything gets JSON."""
    return choose_media_type(request, ("application/json", "text/html")) == "text/html"


@cache
def make_template_environment() -> Environment:
    """Return the template environment. A name that a template does not know is an error, not an empty string."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _problem(request: Request, status: int, title: str, detail: str, headers: Mapping[str, str]) -> Response:
    values = {
        "title": title,
        "detail": "" if detail == title else detail,
        "passes": status in PASSES,
        "rater": read_session_cookie(request, "rater") is not None,
    }
    rater = request.url.path.split("/")[1:2] == [RATERS.strip("/")]
    template, who = ("rater/problem.html", "rater") if rater else ("problem.html", "staff")
    answer = render_page(request, template, values, status=status, who=who)  # type: ignore[arg-type]  # one of the two
    answer.headers.update(headers)
    return answer
