"""The bytes of media as a response: nothing that a browser could run, and without the file's name."""

from __future__ import annotations

from fastapi import Request, Response

from app.domain.media_types import ENDINGS
from app.services.media.library import MediaContent
from app.web.range_requests import range_response

POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Permissions of a file if a browser opens it as a page: none. (Browsers style their own viewers inline.)"""


def media_content_response(request: Request, content: MediaContent) -> Response:
    """Respond with the bytes of a file, or a part of them, and its type, but not its name."""
    headers = {
        "Content-Disposition": f'inline; filename="media.{ENDINGS[content.media_type]}"',
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    etag = f'"{content.sha256.hex()}"'
    return range_response(
        request, content.read, content.size, etag=etag, media_type=content.media_type, headers=headers
    )
