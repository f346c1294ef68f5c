"""Kinds of media that can be a source or an output, and the limits that an installation sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

MediaKind = Literal["audio", "video", "image", "captions"]

KINDS: Final[Mapping[str, MediaKind]] = MappingProxyType(
    {
        "audio/flac": "audio",
        "audio/mp4": "audio",
        "audio/mpeg": "audio",
        "audio/ogg": "audio",
        "audio/wav": "audio",
        "audio/webm": "audio",
        "video/mp4": "video",
        "video/webm": "video",
        "image/gif": "image",
        "image/jpeg": "image",
        "image/png": "image",
        "image/webp": "image",
        "text/vtt": "captions",
    }
)
"""The kind of each media type. No others are stored: SVG and HTML can contain scripts; a PDF becomes a picture."""

ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "audio/flac": "flac",
        "audio/mp4": "m4a",
        "audio/mpeg": "mp3",
        "audio/ogg": "ogg",
        "audio/wav": "wav",
        "audio/webm": "weba",
        "video/mp4": "mp4",
        "video/webm": "webm",
        "image/gif": "gif",
        "image/jpeg": "jpg",
        "image/png": "png",
        "image/webp": "webp",
        "text/vtt": "vtt",
    }
)
"""The endings of the names of such files, without the dot."""

TIMED: Final = frozenset({"audio", "video"})
"""Kinds that have a duration."""


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """Limits of accepted files. size: bytes. duration: seconds. pixels: width times height."""

    size: int = 2 << 30
    duration: float = 4 * 3600
    pixels: int = 50_000_000


@dataclass(frozen=True, slots=True)
class ShownMedia:
    """A file as a rater sees it, without its name. id: None if the campaign has no such file.

    kind: of the file, or `missing`. captions: id of the file with its captions.
    """

    id: str | None
    kind: str
    duration_ms: int | None = None
    width: int | None = None
    height: int | None = None
    captions: str | None = None
    transcript: str | None = None


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """Facts read from a file's content. duration_ms: of audio and video. width, height: of the picture, in pixels."""

    media_type: str
    duration_ms: int | None = None
    width: int | None = None
    height: int | None = None

    @property
    def kind(self) -> MediaKind:
        """Its kind for raters."""
        return KINDS[self.media_type]
