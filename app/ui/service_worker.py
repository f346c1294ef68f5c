"""The service worker of the raters' pages, which loads pages from the browser's cache without a network."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.ui.assets import load_static_files
from app.ui.pages import HEADERS, RATERS

NAME = "worker.js"

router = APIRouter(include_in_schema=False)


@router.get(f"{RATERS}/{NAME}")
async def serve_service_worker() -> Response:
    """Under the address of the pages that it serves, which is all that it may look after."""
    script = load_static_files()[NAME]
    headers = {**HEADERS, "Cache-Control": "no-cache", "Service-Worker-Allowed": RATERS}
    return Response(script.content, media_type=script.media_type, headers=headers)
