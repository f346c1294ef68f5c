"""Style sheet, modules and catalogues, by an address that holds a digest, so browsers may keep them for good.

The digest is of all of them together: a module names another by a relative address, which must stay right.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response

from app.domain.errors import NotFound
from app.ui import messages

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


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file."""

    content: bytes
    media_type: str


@cache
def assets() -> Mapping[str, Asset]:
    """All static files by name, read once.

    The parts in `style/` are one style sheet, in the order of their names; a catalogue has all that its page says.
    """
    return {name: Asset(content, MEDIA_TYPES[Path(name).suffix]) for name, content in _read()}


@cache
def digest() -> str:
    """Of all static files."""
    summed = hashlib.sha256()
    for name, asset in sorted(assets().items()):
        summed.update(name.encode() + b"\0" + hashlib.sha256(asset.content).digest())
    return summed.hexdigest()[:16]


def address_of(name: str) -> str:
    """Where a static file is served. Raises KeyError where there is none."""
    assets()[name]
    return f"/assets/{digest()}/{name}"


def modules(folder: str) -> tuple[str, ...]:
    """The modules of a folder, so that a page can fetch all of them at once."""
    return tuple(sorted(name for name in assets() if name.startswith(f"{folder}/") and name.endswith(".js")))


@router.get("/assets/{given}/{name:path}")
async def asset(given: str, name: str) -> Response:
    """A static file. Only the present digest is served: what comes under another would be kept for good."""
    found = assets().get(name)
    if found is None or given != digest():
        raise NotFound
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": FOR_GOOD})


def _read() -> Iterator[tuple[str, bytes]]:
    parts = sorted((FOLDER / "style").iterdir())
    yield STYLE, b"\n".join(part.read_bytes() for part in parts)
    for name, (language, page) in messages.served().items():
        yield name, json.dumps(dict(messages.catalogue(language, page)), ensure_ascii=False).encode()
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file() and path not in parts and messages.CATALOGUES not in path.parents:
            yield path.relative_to(FOLDER).as_posix(), path.read_bytes()
