"""Parts of a file by `Range` (RFC 9110, section 14), which players request when a user seeks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from app.web.admission import release_admission_slot
from app.web.problems import problem_response

MOST: Final = 8 << 20
"""Most bytes of one part: a paused player holds no more than this, and requests the next part when needed."""
_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))")


def range_response(
    request: Request,
    read: Callable[[int, int], Iterator[bytes]],
    size: int,
    *,
    etag: str,
    media_type: str,
    headers: dict[str, str],
) -> Response:
    """Return the requested part (206), the whole (200), 304, or 416 if the part begins beyond the end.

    read: reads a number of bytes from a position on. For several parts at once, the whole is returned.
    """
    shared = {**headers, "ETag": etag, "Accept-Ranges": "bytes"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=shared)
    asked = _RANGE.fullmatch(request.headers.get("range", "").strip())
    if asked is None or request.headers.get("if-range", etag) != etag:
        return _stream(request, read(0, size), 200, media_type, {**shared, "Content-Length": str(size)})
    start, end = _bounds(asked, size)
    if start >= size or end < start:
        return problem_response(
            request, 416, "The file has no such part", kind="range", headers={"Content-Range": f"bytes */{size}"}
        )
    length = min(end - start + 1, MOST)
    part = {"Content-Range": f"bytes {start}-{start + length - 1}/{size}", "Content-Length": str(length)}
    return _stream(request, read(start, length), 206, media_type, {**shared, **part})


def _bounds(asked: re.Match[str], size: int) -> tuple[int, int]:
    """Return the first and last byte."""
    first, last, suffix = asked.groups()
    if suffix is not None:
        return (max(0, size - int(suffix)), size - 1) if int(suffix) else (size, size)
    return int(first), min(int(last), size - 1) if last is not None else size - 1


def _stream(
    request: Request, pieces: Iterator[bytes], status: int, media_type: str, headers: dict[str, str]
) -> StreamingResponse:
    release_admission_slot(request.scope)
    return StreamingResponse(pieces, status, headers, media_type)
