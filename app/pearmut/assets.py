"""Media of campaigns on Pearmut's pages: `/assets`, at addresses that the pages get with each document."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.services.pearmut.assets import open_asset, parse_asset_token_id
from app.web.deps import database_of_request, get_service_options
from app.web.media_content import media_content_response
from app.web.organizations import use_organization_from_row_id

router = APIRouter()


@router.get("/assets/{address}")
def serve_signed_media(request: Request, address: str) -> Response:
    """The bytes, or with `Range` a part of them."""
    use_organization_from_row_id(request, parse_asset_token_id(address))
    with database_of_request(request).transaction() as session:
        content = open_asset(session, get_service_options(request).media, address)
    return media_content_response(request, content)
