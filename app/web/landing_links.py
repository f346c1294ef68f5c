"""Links with a secret in the fragment, which browsers never send; the landing page exchanges it by POST."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request

from app.web.cookies import own_origin


def make_landing_link(request: Request, *, query: str = "", **secret: str) -> str:
    """Return an address of the landing page. query: placeholders for other parties to fill in, used as it is."""
    return f"{own_origin(request)}/{query}#{urlencode(secret)}"
