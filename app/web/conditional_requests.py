"""Conditional GET: ETags, and 304 for a client that already has the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fastapi import Request, Response

from app.services.access.organization_prefixes import prefix_with_organization_mark

VARY = "Accept, Authorization, Cookie"


def conditional_response(
    request: Request,
    body: bytes | Callable[[], bytes],
    media_type: str,
    etag: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return 304 if the client has the body already, else 200; a callable body is called only for 200.

    The same address and tag in another organization stand for another body.
    """
    tag = f'"{prefix_with_organization_mark(etag)}"'
    common = {"ETag": tag, "Vary": VARY, "Cache-Control": "private, no-cache", **(headers or {})}
    if has_client_etag(request, tag):
        return Response(status_code=304, headers=common)
    return Response(body() if callable(body) else body, media_type=media_type, headers=common)


def has_client_etag(request: Request, tag: str) -> bool:
    """Tell whether If-None-Match has the tag (weak comparison, as RFC 9110 says)."""
    given = ",".join(request.headers.getlist("if-none-match"))
    known = {part.strip().removeprefix("W/") for part in given.split(",")}
    return tag in known or given.strip() == "*"
