"""Admission: at most so many requests at once; whoever comes then is told at once when to come again.

A queue without a bound makes everybody wait and nobody served; a short answer lets a client decide.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.problems import problem

PER_CONNECTION = 4  # requests at once for each database connection
RETRY_AFTER = 1  # seconds
ALWAYS = frozenset({"/livez", "/readyz", "/metrics", "/version"})


class AdmissionLayer:
    """Lets at most `limit` requests in; questions about health are always let in."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 503."""
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self.app(scope, receive, send)
            return
        if self.in_flight >= self.limit:
            headers = {"Retry-After": str(RETRY_AFTER)}
            await problem(Request(scope), 503, "Too many requests at once", kind="too-busy", headers=headers)(
                scope, receive, send
            )
            return
        self.in_flight += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.in_flight -= 1
