"""Links that carry a secret: in the fragment, which browsers never send; the landing page exchanges it by POST."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request

from app.web.cookies import own_origin


def make_landing_link(request: Request, *, query: str = "", **secret: str) -> str:
    """An address of the landing page. query: what others are to fill in, taken as it is."""
    return f"{own_origin(request)}/{query}#{urlencode(secret)}"
