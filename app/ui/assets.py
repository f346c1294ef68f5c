"""Style sheet, modules and catalogues under an address that holds a digest, so that browsers may keep them forever.

The digest covers all files together, because modules import each other by relative addresses, which must stay valid.
Clients that accept gzip get gzip. The files contain no personal data, so their length reveals nothing.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from fastapi import APIRouter, Request, Response

from app.domain.errors import NotFound
from app.ui import messages
from app.ui.bundles import bundle_module, list_transitive_imports

FOLDER = Path(__file__).parent / "static"
STYLE = "style.css"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
FOR_GOOD = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class StaticFile:
    """A static file."""

    content: bytes
    media_type: str

    @cached_property
    def gzipped_content(self) -> bytes:
        """The content compressed by gzip, with the same bytes each time."""
        return gzip.compress(self.content, mtime=0)


@cache
def load_static_files() -> Mapping[str, StaticFile]:
    """Read all static files once, and return them by name.

    The parts in `style/` become one style sheet in the order of their names, without indents and comment lines. A
    catalogue has all messages of its page. A page of raters has a bundle of its modules, such as
    `rater/page_task.bundle.js`.
    """
    return {name: StaticFile(content, MEDIA_TYPES[Path(name).suffix]) for name, content in _read()}


@cache
def compute_static_files_digest() -> str:
    """Return the digest of all static files."""
    summed = hashlib.sha256()
    for name, asset in sorted(load_static_files().items()):
        summed.update(name.encode() + b"\0" + hashlib.sha256(asset.content).digest())
    return summed.hexdigest()[:16]


def asset_address(name: str) -> str:
    """Return the address of a static file. Raises KeyError if there is no such file."""
    load_static_files()[name]
    return f"/assets/{compute_static_files_digest()}/{name}"


@cache
def list_modules_to_preload(name: str) -> tuple[str, ...]:
    """Return all modules that a module imports, directly or indirectly, so that a page can fetch them at once."""
    files = load_static_files().items()
    sources = {path: file.content.decode() for path, file in files if file.media_type == MEDIA_TYPES[".js"]}
    return list_transitive_imports(name, sources)


@router.get("/assets/{given}/{name:path}")
async def serve_asset(given: str, name: str, request: Request) -> Response:
    """A static file. Only the present digest is served: what comes under another would be kept for good."""
    content = load_static_files().get(name)
    if content is None or given != compute_static_files_digest():
        raise NotFound
    headers = {"Cache-Control": FOR_GOOD, "Vary": "Accept-Encoding"}
    if not _takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(content.content, media_type=content.media_type, headers=headers)
    return Response(
        content.gzipped_content, media_type=content.media_type, headers={**headers, "Content-Encoding": "gzip"}
    )


def _takes_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header names gzip without refusing it.

    >>> [_takes_gzip(one) for one in ("gzip, deflate, br", "br;q=1, gzip;q=0.5", "gzip;q=0", "identity", "")]
    [True, True, False, False, False]
    """
    asked = {coding.strip().lower(): quality.strip() for coding, _, quality in _parts(header)}
    return "gzip" in asked and asked["gzip"] not in ("q=0", "q=0.0", "q=0.00", "q=0.000")


def _parts(header: str) -> Iterator[tuple[str, str, str]]:
    return (part.partition(";") for part in header.split(",")[:20])


def _bundles() -> Iterator[tuple[str, bytes]]:
    sources = {path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in FOLDER.rglob("*.js")}
    for name in sorted(sources):
        if name.startswith("rater/page_"):
            yield f"{name.removesuffix('.js')}.bundle.js", bundle_module(name, sources).encode()


def _read() -> Iterator[tuple[str, bytes]]:
    parts = sorted((FOLDER / "style").iterdir())
    lines = (line.strip() for part in parts for line in part.read_bytes().splitlines())
    yield STYLE, b"\n".join(line for line in lines if line and not (line.startswith(b"/*") and line.endswith(b"*/")))
    for name, (language, page) in messages.list_served_catalogues().items():
        yield name, json.dumps(dict(messages.load_catalogue(language, page)), ensure_ascii=False).encode()
    yield from _bundles()
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file() and path not in parts and messages.CATALOGUES not in path.parents:
            yield path.relative_to(FOLDER).as_posix(), path.read_bytes()
