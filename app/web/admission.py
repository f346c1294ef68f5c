"""Admission: a limited number of requests at once. Further requests get 503 at once, with the time to retry.

In an unlimited queue, everybody waits and nobody is served; a quick refusal lets a client decide.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.domain.errors import Unavailable
from app.web.problems import ErrorPage, problem_response

PER_CONNECTION = 4  # requests at once per database connection
RETRY_AFTER = 1  # seconds
SLOT = "place"
STRANGER = "stranger"  # the key in the state of a request without a valid credential
STRANGERS = 4  # strangers get one slot out of this number
ARRIVING = 16  # arriving bodies per slot
ALWAYS = frozenset({"/livez", "/readyz", "/metrics", "/version"})


class TooBusy(Unavailable):
    """Too many requests at once."""


class AdmissionSlot:
    """The slot of one admitted request. Requests paused while their body arrives have a separate limit.

    of_stranger: the request has no credential at all; such requests get only a part of the slots.
    """

    def __init__(self, layer: AdmissionMiddleware, *, of_stranger: bool = False) -> None:
        self._layer: AdmissionMiddleware | None = layer
        self._of_stranger, self._aside = of_stranger, False
        layer.change_slots_in_use(1, of_stranger=of_stranger)

    def release(self) -> None:
        """Return the slot; a second call does nothing."""
        if self._layer is None:
            return
        if self._aside:
            self._layer.arriving -= 1
        else:
            self._layer.change_slots_in_use(-1, of_stranger=self._of_stranger)
        self._layer = None

    def pause(self) -> None:
        """Return the slot while the body arrives. Raises TooBusy if too many requests are paused."""
        if self._layer is None or self._aside:
            return
        if self._layer.arriving >= ARRIVING * self._layer.limit:
            raise TooBusy(retry_after=RETRY_AFTER)
        self._layer.change_slots_in_use(-1, of_stranger=self._of_stranger)
        self._layer.arriving += 1
        self._aside = True

    def resume(self) -> None:
        """Take a slot again once the body is complete. Raises TooBusy if none is free."""
        if self._layer is None or not self._aside:
            return
        if not self._layer.has_free_slot(of_stranger=self._of_stranger):
            raise TooBusy(retry_after=RETRY_AFTER)
        self._layer.arriving -= 1
        self._layer.change_slots_in_use(1, of_stranger=self._of_stranger)
        self._aside = False


def find_admission_slot(scope: Scope) -> AdmissionSlot | None:
    """Return the slot of a request, or None if it needs none."""
    slot: AdmissionSlot | None = scope.get("state", {}).get(SLOT)
    return slot


def release_admission_slot(scope: Scope) -> None:
    """Return the slot of a request that will stay for long and do little."""
    slot = find_admission_slot(scope)
    if slot is not None:
        slot.release()


class AdmissionMiddleware:
    """Admits at most `limit` requests, and health checks always. page: the error page for browsers."""

    def __init__(self, app: ASGIApp, limit: int, page: ErrorPage) -> None:
        self.app = app
        self.limit = limit
        self.page = page
        self.in_flight = self.strangers = self.arriving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 503."""
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self.app(scope, receive, send)
            return
        of_stranger = getattr(scope.get("state", {}).get(STRANGER), "shows_nothing", False)
        if not self.has_free_slot(of_stranger=of_stranger):
            await self._refusal(Request(scope))(scope, receive, send)
            return
        slot = AdmissionSlot(self, of_stranger=of_stranger)
        scope.setdefault("state", {})[SLOT] = slot
        try:
            await self.app(scope, receive, send)
        finally:
            slot.release()

    def has_free_slot(self, *, of_stranger: bool) -> bool:
        """Tell whether a slot is free; strangers never get more than their share."""
        few = of_stranger and self.strangers >= max(1, self.limit // STRANGERS)
        return self.in_flight < self.limit and not few

    def change_slots_in_use(self, n: int, *, of_stranger: bool) -> None:
        """Take a slot, or return it."""
        self.in_flight += n
        self.strangers += n if of_stranger else 0

    def _refusal(self, request: Request) -> Response:
        headers = {"Retry-After": str(RETRY_AFTER)}
        shown = self.page(request, 503, headers)
        return shown or problem_response(request, 503, "Too many requests at once", kind="too-busy", headers=headers)
