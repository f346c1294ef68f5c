"""Admission: at most so many requests at once; whoever comes then is told at once when to come again.

A queue without a bound makes everybody wait and nobody served; a short answer lets a client decide.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.problems import Shown, problem

PER_CONNECTION = 4  # requests at once for each database connection
RETRY_AFTER = 1  # seconds
PLACE = "place"
ALWAYS = frozenset({"/livez", "/readyz", "/metrics", "/version"})


class Place:
    """The place of one request among those that are let in. Who leaves it early has a bound of its own."""

    def __init__(self, layer: AdmissionLayer) -> None:
        self._layer: AdmissionLayer | None = layer
        layer.in_flight += 1

    def leave(self) -> None:
        """Make room for the next; once, however often it is said."""
        if self._layer is not None:
            self._layer.in_flight -= 1
            self._layer = None


def leave_place(scope: Scope) -> None:
    """Do not count a request any more that will stay for long and do little."""
    place: Place | None = scope.get("state", {}).get(PLACE)
    if place is not None:
        place.leave()


class AdmissionLayer:
    """Lets at most `limit` requests in; questions about health are always let in. page: what browsers are told."""

    def __init__(self, app: ASGIApp, limit: int, page: Shown) -> None:
        self.app = app
        self.limit = limit
        self.page = page
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 503."""
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self.app(scope, receive, send)
            return
        if self.in_flight >= self.limit:
            await self._refusal(Request(scope))(scope, receive, send)
            return
        place = Place(self)
        scope.setdefault("state", {})[PLACE] = place
        try:
            await self.app(scope, receive, send)
        finally:
            place.leave()

    def _refusal(self, request: Request) -> Response:
        headers = {"Retry-After": str(RETRY_AFTER)}
        shown = self.page(request, 503, headers)
        return shown or problem(request, 503, "Too many requests at once", kind="too-busy", headers=headers)
