"""Media on the wire."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import Field

from app.domain.media_types import ENDINGS, MediaKind
from app.services.media.library import MediaContent
from app.web.answers import AnswerModel
from app.web.ranges import range_response

POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""What a file may do if a browser opens it as a page: nothing. (Browsers style their own viewers inline.)"""


class MediaOut(AnswerModel):
    """A file of media."""

    name: str
    kind: MediaKind
    media_type: str = Field(description="By the content of the file.")
    size: int = Field(description="In bytes.")
    sha256: str
    duration_ms: int | None = Field(description="Of audio and video.")
    width: int | None = Field(description="Of pictures and video, in pixels.")
    height: int | None
    captions: str | None = Field(description="Name of a WebVTT file.")
    transcript: str | None


MEDIA = MediaOut(
    name="talk-1.wav",
    kind="audio",
    media_type="audio/wav",
    size=264_678,
    sha256="0" * 64,
    duration_ms=3000,
    width=None,
    height=None,
    captions=None,
    transcript="Good morning.",
)
_BYTES: dict[str, Any] = {
    kind: {"schema": {"type": "string", "format": "binary"}, "example": "…"}
    for kind in ("audio/*", "video/*", "image/*", "text/vtt")
}
CONTENT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The whole file.", "content": _BYTES},
    206: {"description": "The part that `Range` names, or the first 8 MiB of it.", "content": _BYTES},
    304: {"description": "The file is what `If-None-Match` names."},
    416: {"description": "The file has no such part."},
}


def content_response(request: Request, content: MediaContent) -> Response:
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
