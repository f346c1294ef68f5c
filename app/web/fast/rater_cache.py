"""The rater of a token, remembered: raters judge every few seconds, and who a token belongs to never changes.

Whether the token still holds is asked by the very statement that writes, so a revoked one writes nothing from that
moment on (`app.storage.recorder.judgments.LIVE`).

What it buys: the thread and the transaction that `RequiredRater` needs. Without it a judgment takes 4.3 times as much
processor time (decision 33).
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request

from app.services.people.raters import ActingRater
from app.storage.campaigns import CampaignNotFound
from app.web.access import RATER_HEADER, RaterHeader, RequiredRater
from app.web.queries import check_query

MOST_RATERS = 10_000
SECONDS = 300.0
Key = tuple[bytes, str | None, str | None]
"""Digest of the credential, the rater whom a front-end names, and the campaign of the address."""


class RaterCache:
    """Raters who were looked up lately. The oldest makes room for a new one."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Key, tuple[float, ActingRater]] = OrderedDict()

    def find(self, key: Key) -> ActingRater | None:
        """The rater, if looked up within the last SECONDS."""
        entry = self._entries.get(key)
        return entry[1] if entry is not None and time.monotonic() - entry[0] < SECONDS else None

    def keep(self, key: Key, rater: ActingRater) -> None:
        """Remember a rater."""
        self._entries[key] = (time.monotonic(), rater)
        self._entries.move_to_end(key)
        while len(self._entries) > MOST_RATERS:
            self._entries.popitem(last=False)


class NeedsCachedRater(RequiredRater):
    """A dependency: the rater who asks, as `RequiredRater` finds it, from the cache where it is there."""

    async def __call__(self, request: Request, named: RaterHeader = None) -> ActingRater:  # type: ignore[override]  # FastAPI awaits it
        """The rater. Raises as `RequiredRater` does; a token that ended since is refused by what writes."""
        credentials = request.headers.getlist("authorization")
        names = request.headers.getlist(RATER_HEADER)
        look_up = partial(super().__call__, request, named)
        if len(credentials) != 1 or len(names) > 1:
            return await to_thread.run_sync(look_up)
        campaign = request.path_params.get("campaign")
        digest = hashlib.sha256(credentials[0].encode("utf-8", "replace")).digest()
        key = (digest, names[0] if names else None, campaign)
        cache: RaterCache = request.app.state.raters
        rater = cache.find(key)
        if rater is None:
            rater = await to_thread.run_sync(look_up)
            cache.keep(key, rater)
            return rater
        if campaign not in (None, rater.campaign):
            raise CampaignNotFound
        check_query(request)
        return rater


CachedRater = Annotated[ActingRater, Depends(NeedsCachedRater())]
