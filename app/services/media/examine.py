"""Examination of a media file in a separate process: its type, duration and pixels. A PDF page becomes a picture.

The libraries that read containers and PDF are written in C++, and the file may come from anywhere. A crash or an
endless loop therefore ends only that process. Run as `python -m app.services.media.examine FILE PICTURE PAGE`.
"""

from __future__ import annotations

import json
import math
import mmap
import resource
import subprocess
import sys
from pathlib import Path

from app.domain.errors import Invalid, Place, Unavailable
from app.domain.media_types import TIMED, MediaFacts, MediaLimits
from app.services.media.media_type_detection import MediaRefused, detect_media_type

PATIENCE = 120  # seconds
MEMORY = 2 << 30  # bytes of address space, in addition to the mapped file
DOTS_PER_INCH, LONGEST_SIDE = 150, 4000  # of a page's picture; the side in pixels


class MediaNotAccepted(Invalid):
    """This file is not accepted as media."""

    published = "MediaNotTaken"


class MediaReaderLost(Unavailable):
    """The process that examines media ended; try again."""


def examine_media(path: Path, picture: Path, name: str, limits: MediaLimits, *, page: int | None = None) -> MediaFacts:
    """Examine a file within limits. name: for messages. picture: where the picture of a PDF page is written.

    page: number from 1; None for a PDF with a single page.

    Raises MediaNotAccepted with the reason, MediaReaderLost.
    """
    size = path.stat().st_size
    if size > limits.size:
        raise _refusal(name, f"has {size} bytes; at most {limits.size} are taken")
    command = [sys.executable, "-P", "-m", "app.services.media.examine", str(path), str(picture), str(page or 0)]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise _refusal(name, f"could not be read within {PATIENCE} seconds") from None
    try:
        answer = json.loads(ended.stdout)
    except ValueError:
        raise (_refusal(name, "cannot be read") if ended.returncode < 0 else MediaReaderLost(retry_after=1)) from None
    if "refused" in answer:
        raise _refusal(name, answer["refused"])
    facts = MediaFacts(**answer)
    _check_limits(facts, name, limits)
    return facts


def _check_limits(facts: MediaFacts, name: str, limits: MediaLimits) -> None:
    if facts.kind in TIMED and not facts.duration_ms:
        raise _refusal(name, "does not state its duration; rewrite it, for example with `ffmpeg -i IN -c copy OUT`")
    if (facts.duration_ms or 0) > 1000 * limits.duration:
        raise _refusal(
            name, f"is {(facts.duration_ms or 0) / 1000:.0f} s long; at most {limits.duration:.0f} s are taken"
        )
    if facts.kind in ("image", "video"):
        pixels = (facts.width or 0) * (facts.height or 0)
        if not pixels:
            raise _refusal(name, "does not state its size")
        if pixels > limits.pixels:
            raise _refusal(name, f"has {pixels} pixels; at most {limits.pixels} are taken")


def _refusal(name: str, reason: str) -> MediaNotAccepted:
    return MediaNotAccepted(f"{name} {reason}", places=(Place(("media", name), reason),))


def read_media_facts(path: Path, picture: Path, page: int | None) -> MediaFacts:
    """Return what the content of a file says; for a PDF, the facts about a page's picture. Raises MediaRefused."""
    if path.stat().st_size == 0:
        raise MediaRefused("holds nothing")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        media_type = detect_media_type(content)
        webp = _webp_size(bytes(content[:30])) if media_type == "image/webp" else None
    if media_type == "text/vtt":
        return MediaFacts(media_type)
    if media_type == "application/pdf":
        return _draw_page(path, picture, page)
    return MediaFacts(media_type, None, *webp) if webp else _measure(path, media_type)


def _measure(path: Path, media_type: str) -> MediaFacts:
    """Return duration and pixels as MediaInfo reads them, and whether the file is audio or video."""
    from pymediainfo import MediaInfo  # only this process loads the library

    info = MediaInfo.parse(path)
    seen = [*info.video_tracks, *info.image_tracks]
    timed = not media_type.startswith("image/")
    if timed and not seen and not info.audio_tracks:
        raise MediaRefused("holds neither sound nor pictures that can be read")
    if timed and not seen:
        media_type = media_type.replace("video/", "audio/")
    elif media_type.startswith("audio/"):
        seen = []  # a cover picture in an audio file
    longest = max((float(track.duration) for track in info.general_tracks if track.duration), default=math.nan)
    width, height = next(((track.width, track.height) for track in seen if track.width and track.height), (None, None))
    return MediaFacts(media_type, int(longest) if timed and longest == longest else None, width, height)


def _draw_page(path: Path, picture: Path, n: int | None) -> MediaFacts:
    """Write a page of a PDF as a PNG. n: from 1; None for the only page."""
    from pypdfium2 import PdfDocument, PdfiumError  # only this process loads the library

    try:
        with PdfDocument(path) as document:
            pages = len(document)
            if n is None and pages != 1:
                raise MediaRefused(f"has {pages} pages; name the one you mean: report.pdf~page3")
            if n is not None and n > pages:
                raise MediaRefused(f"has {pages} pages, so there is no page {n}")
            page = document[(n or 1) - 1]
            longest = max(page.get_width(), page.get_height())
            drawn = page.render(scale=min(DOTS_PER_INCH / 72, LONGEST_SIDE / longest), may_draw_forms=False).to_pil()
    except PdfiumError as error:
        raise MediaRefused(f"is not a readable PDF: {error}") from None
    drawn.save(picture, "PNG")
    return MediaFacts("image/png", None, drawn.width, drawn.height)


def _webp_size(head: bytes) -> tuple[int, int]:
    """Return width and height of a WebP picture (RFC 9649)."""
    kind = head[12:16]
    if kind == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF


def main(path: str, picture: str, page: str) -> None:
    """Print the facts about a file, or why it is refused, as JSON."""
    size = Path(path).stat().st_size
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + size, MEMORY + size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        facts = read_media_facts(Path(path), Path(picture), int(page) or None)
    except MediaRefused as refused:
        sys.stdout.write(json.dumps({"refused": str(refused)}))
        return
    values = {name: getattr(facts, name) for name in MediaFacts.__slots__}
    sys.stdout.write(json.dumps(values))


if __name__ == "__main__":
    main(*sys.argv[1:4])
