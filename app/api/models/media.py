"""Media in the interface."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.domain.media_types import MediaKind
from app.web.responses import ResponseModel


class MediaOut(ResponseModel):
    """A media file."""

    name: str
    kind: MediaKind
    media_type: str = Field(description="Media type, determined from the content.")
    size: int = Field(description="Size in bytes.")
    sha256: str
    duration_ms: int | None = Field(description="Duration of audio and video.")
    width: int | None = Field(description="Width of pictures and video, in pixels.")
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
    206: {"description": "The part given by `Range`, or its first 8 MiB.", "content": _BYTES},
    304: {"description": "Not changed: `If-None-Match` contains the ETag of the file."},
    416: {"description": "The file has no such part."},
}
