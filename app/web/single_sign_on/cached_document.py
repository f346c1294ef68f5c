"""A cached document of the identity provider, so that few requests need to fetch it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from app.web.single_sign_on.errors import ProviderRefused, ProviderSilent

KEPT = 3600.0  # seconds after which it is fetched again
AGAIN = 10.0  # seconds between two requests for it, whatever the result of the first
WAIT = 2.0  # seconds to wait for another request that is fetching it
WAITING = 4  # requests that may wait in this way, because each holds a thread

Document = Mapping[str, Any]


class CachedProviderDocument:
    """A document. ask: fetches it. If that fails, the cached one stays valid, unless a fresh one is required."""

    def __init__(self, ask: Callable[[], Document], clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting = threading.BoundedSemaphore(WAITING)
        self._document: Document | None = None
        self._at = self._tried = -KEPT
        self._error: ProviderRefused | ProviderSilent = ProviderSilent(retry_after=int(AGAIN))
        self._silent = False

    def get(self, *, fresh: bool = False) -> Document:
        """Return the document; fresh: the current one, unless just fetched. Raises ProviderRefused, ProviderSilent."""
        if self._document is None or self._is_due(fresh=fresh):
            self._renew(fresh=fresh)
        if self._document is None or (fresh and self._silent):
            raise type(self._error)(self._error.detail, retry_after=self._error.retry_after)
        return self._document

    def _is_due(self, *, fresh: bool) -> bool:
        now = self._clock()
        return now - self._tried >= AGAIN and (fresh or now - self._at >= KEPT)

    def _renew(self, *, fresh: bool) -> None:
        if not self._waiting.acquire(blocking=False):
            return
        try:
            if self._lock.acquire(timeout=WAIT):
                try:
                    if self._is_due(fresh=fresh):
                        self._ask_for_it()
                finally:
                    self._lock.release()
        finally:
            self._waiting.release()

    def _ask_for_it(self) -> None:
        self._tried = self._clock()
        try:
            self._document, self._at = self._ask(), self._tried
            self._silent = False
        except (ProviderRefused, ProviderSilent) as error:
            self._error = error
            self._silent = isinstance(error, ProviderSilent)
