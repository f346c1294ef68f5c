"""Style sheet and modules, by an address that holds the digest of their content, so browsers may keep them for good."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response

from app.domain.errors import NotFound

FOLDER = Path(__file__).parent / "static"
MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
FOR_GOOD = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file."""

    content: bytes
    media_type: str
    digest: str


@cache
def assets() -> Mapping[str, Asset]:
    """All static files by name, read once."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:16]
        found[path.name] = Asset(content, MEDIA_TYPES[path.suffix], digest)
    return found


def address_of(name: str) -> str:
    """Where a static file is served."""
    return f"/assets/{assets()[name].digest}/{name}"


@router.get("/assets/{digest}/{name}")
def asset(digest: str, name: str) -> Response:
    """A static file. Only the digest of its present content is served: another one would be kept for good."""
    found = assets().get(name)
    if found is None or found.digest != digest:
        raise NotFound
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": FOR_GOOD})
