"""The OpenAPI document, and Swagger UI from its wheel with our own start-up file: no inline script, no other host."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import swagger_ui_bundle
from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse

from app import web
from app.web.access import Public

OURS = Path(web.__file__).parent / "static"
VENDORED = Path(swagger_ui_bundle.swagger_ui_path)
FILES = {
    "start.js": OURS,
    "swagger-ui.css": VENDORED,
    "swagger-ui-bundle.js": VENDORED,
    "favicon-32x32.png": VENDORED,
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
CACHED = {"Cache-Control": "public, max-age=3600"}

router = APIRouter(include_in_schema=False)


@router.get("/openapi.json")
def get_openapi_document(_: Public, request: Request) -> Response:
    """The document; in a thread, as the first time takes long."""
    body = request.app.openapi.body()
    return Response(body, media_type="application/json", headers={"Cache-Control": "public, max-age=60"})


@router.get("/docs")
async def get_docs_page(_: Public) -> FileResponse:
    """The page."""
    return FileResponse(OURS / "docs.html", headers={"Content-Security-Policy": POLICY, **CACHED})


@router.get("/docs/{file}")
async def get_docs_asset(
    _: Public, file: Literal["start.js", "swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"]
) -> FileResponse:
    """What the page loads."""
    return FileResponse(FILES[file] / file, headers=CACHED)
