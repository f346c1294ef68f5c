"""The bytes of media as an answer: nothing that a browser could run, and nothing of the file's name."""

from __future__ import annotations

from fastapi import Request, Response

from app.domain.media_types import ENDINGS
from app.services.media.library import MediaContent
from app.web.ranges import range_response

POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""What a file may do if a browser opens it as a page: nothing. (Browsers style their own viewers inline.)"""


def media_content_response(request: Request, content: MediaContent) -> Response:
    """The bytes of a file, or a part. Its name is not told, only what it is."""
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
