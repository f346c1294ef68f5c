"""Errors as RFC 9457 problem+json, all in one place. They reveal nothing that was sent, and nothing internal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from app.domain.errors import AppError, Place
from app.domain.keys import is_key
from app.services.access.organization_prefixes import MARK_PATTERN
from app.web.request_log import request_id

MEDIA_TYPE = "application/problem+json"
STATUS: Mapping[str, int] = MappingProxyType(
    {
        "bad_request": 400,
        "unauthorized": 401,
        "forbidden": 403,
        "not_found": 404,
        "timeout": 408,
        "conflict": 409,
        "precondition_failed": 412,
        "too_large": 413,
        "unsupported": 415,
        "invalid": 422,
        "precondition_required": 428,
        "too_many": 429,
        "unavailable": 503,
        "storage_full": 507,
    }
)
TITLES: Mapping[int, str] = MappingProxyType(
    {
        400: "The request cannot be read",
        404: "There is no such address",
        405: "This address does not know this method",
    }
)
BROKEN = "Something went wrong on our side"
NO_MEMBERS: Mapping[str, object] = MappingProxyType({})
LONGEST_NAME = 128
ErrorPage = Callable[[Request, int, Mapping[str, str]], Response | None]
"""Makes the page that a browser gets instead of a problem, from its status and headers; None keeps the problem."""


class ErrorPlace(BaseModel):
    """One thing that is wrong with the input."""

    loc: list[str | int] = Field(description="Location: a path into the body, a parameter, or a file and line.")
    msg: str = Field(description="Message.")


class Problem(BaseModel):
    """An error (RFC 9457)."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(description="Identifies the kind of problem; stable.")
    title: str = Field(description="The kind of problem in words.")
    status: int
    detail: str = Field(description="Details of this occurrence.")
    instance: str = Field(description="Id of the request, as in the log.")
    errors: list[ErrorPlace] = Field(description="What is wrong with the input, and where.")


def problem_response(
    request: Request,
    status: int,
    title: str,
    *,
    kind: str = "",
    detail: str = "",
    places: Sequence[Place] = (),
    headers: Mapping[str, str] | None = None,
    members: Mapping[str, object] = NO_MEMBERS,
) -> Response:
    """Return a problem response. kind: the stable name in `type`; by default that of the status.

    members: extra members of this kind of problem (RFC 9457, section 3.2).
    """
    content = {
        "type": f"urn:plumbline:problem:{kind or status}",
        "title": title,
        "status": status,
        "detail": detail or title,
        "instance": request_id(request.scope),
        "errors": [{"loc": [mask_unsafe_name(part) for part in place.loc], "msg": place.msg} for place in places],
        **members,
    }
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store", **(headers or {})})


def mask_unsafe_name(name: str | int) -> str | int:
    """Return a name that was sent, or `(name)` if it is long, is no key, or may contain a secret."""
    if isinstance(name, int) or (is_key(name) and len(name) <= LONGEST_NAME and re.search(MARK_PATTERN, name) is None):
        return name
    return "(name)"


def install_problem_handlers(app: FastAPI, *, page: ErrorPage) -> None:
    """Register the handlers. page: makes pages for errors that no route has turned into a page."""
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, partial(_http_exception, page=page))
    app.add_exception_handler(Exception, partial(_handle_unexpected_error, page=page))


def _app_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)  # noqa: S101  (as registered)
    status = STATUS.get(error.kind, 500)
    headers = retry_after_header(error)
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="plumbline"'
    if status == 500:
        return problem_response(request, 500, BROKEN, headers=headers)
    return problem_response(
        request,
        status,
        error.title(),
        kind=_kebab(type(error)),
        detail=error.detail,
        places=error.places,
        headers=headers,
        members=error.members,
    )


def retry_after_header(error: AppError) -> dict[str, str]:
    """Return the header `Retry-After` if an error is temporary."""
    if error.retry_after is None and STATUS.get(error.kind) not in {429, 503}:
        return {}
    return {"Retry-After": str(error.retry_after or 1)}


def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  (as registered)
    places = [Place(tuple(fault["loc"]), str(fault["msg"])) for fault in error.errors()]
    return problem_response(request, 422, "The input is not valid", kind="invalid", places=places)


def _http_exception(request: Request, error: Exception, *, page: ErrorPage) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  (as registered)
    status = error.status_code
    if (shown_page := page(request, status, error.headers or {})) is not None:
        return shown_page
    if status >= 500:
        return problem_response(request, status, BROKEN)
    headers = dict(error.headers or {})
    if status == 405:
        headers["Allow"] = ", ".join(list_allowed_methods(request))
    return problem_response(request, status, TITLES.get(status, "The request cannot be answered"), headers=headers)


def _handle_unexpected_error(request: Request, error: Exception, *, page: ErrorPage) -> Response:  # noqa: ARG001  (the server logs it with its trace)
    return page(request, 500, {}) or problem_response(request, 500, BROKEN)


def list_allowed_methods(request: Request) -> list[str]:
    """Return the methods of an address over all routes; the framework names those of one route only."""
    path = request.scope["path"]
    methods: set[str] = set()
    for context in iter_route_contexts(request.app.routes):
        if context.path_regex.match(path):
            methods |= context.methods or set()
    if "GET" in methods:
        methods.add("HEAD")  # because `app.web.head_requests` answers it
    return sorted(methods)


def _kebab(kind: type[AppError]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", kind.name()).lower()
