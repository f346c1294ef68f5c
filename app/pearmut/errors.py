"""Errors in the form that Pearmut's pages expect: a JSON string. They show it, and retry unless it is a 400."""

from __future__ import annotations

import json

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.domain.errors import AppError
from app.web.problems import STATUS, retry_after_header

HEADERS = {"Cache-Control": "no-store"}
KEPT = frozenset({408, 413, 429, 500, 503, 507})  # worth a retry, or faults of the connection; all others become a 400
BROKEN = "Something went wrong here. Your answers are not lost: the page sends them again."


def make_json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a value as JSON, with its members in order."""
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, media_type="application/json", headers={**HEADERS, **(headers or {})})


def install_error_handlers(app: FastAPI) -> None:
    """Answer errors with a JSON string."""
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _broken)


def describe_error(error: AppError) -> str:
    """Describe an error in words, with its places in the input."""
    places = "; ".join(f"{'.'.join(map(str, place.loc))}: {place.msg}" for place in error.places[:10])
    return ": ".join(part for part in (error.detail or error.title(), places) if part)


def _app_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 (as registered)
    assert isinstance(error, AppError)  # noqa: S101 (as registered)
    status = STATUS.get(error.kind, 500)
    if status == 500:
        return make_json_response(BROKEN, 500)
    return make_json_response(describe_error(error), status if status in KEPT else 400, retry_after_header(error))


def _http_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 (as registered)
    assert isinstance(error, HTTPException)  # noqa: S101 (as registered)
    return make_json_response(str(error.detail), error.status_code, dict(error.headers or {}))


def _broken(request: Request, error: Exception) -> Response:  # noqa: ARG001 (the server logs it with its trace)
    return make_json_response(BROKEN, 500)
