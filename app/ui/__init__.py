"""Server-rendered pages: the landing page, the campaigns, a campaign's ranking. `router` is all there is to include."""

from __future__ import annotations

from fastapi import APIRouter

from app.ui import assets, campaigns, landing, ranking

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for part in (assets, landing, campaigns, ranking):
    router.routes.extend(part.router.routes)
