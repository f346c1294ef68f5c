"""The rater of a token or a browser session, remembered: raters judge every few seconds, and whose it is never changes.

Whether it still holds is asked by the very statement that writes, so a revoked token and a session that was signed out
write nothing from that moment on (`app.storage.recorder.judgments.LIVE`). That statement also notes when a token was
last used. That a change comes from our own page is looked at on each request.

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
from app.storage.organizations import organization_of_row, switch_organization
from app.web.access import RATER_HEADER, RaterHeader, RequiredRater
from app.web.cookies import check_same_origin, read_session_cookie
from app.web.queries import check_query_parameters
from app.web.strangers import FAMILIAR_FOR

MOST_RATERS = 10_000
# With 300 s, a rater who posts every 35 s was looked up for each ninth post. Shorter than a credential is familiar, for
# only a look-up keeps it so.
SECONDS = FAMILIAR_FOR * 5 / 6
SECONDS_NAMED = 300.0  # of whom a front-end names: a key may be another rater's, once its rater was erased
Key = tuple[bool, bytes, str | None, str | None]
"""Whether it is a cookie, digest of the credential, the rater whom a front-end names, the campaign of the address."""


class RaterCache:
    """Raters who were looked up lately. The one looked up longest ago makes room for a new one."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Key, tuple[float, ActingRater]] = OrderedDict()

    def find(self, key: Key) -> ActingRater | None:
        """The rater, if looked up within the last SECONDS, or SECONDS_NAMED."""
        entry = self._entries.get(key)
        lasts = SECONDS if key[2] is None else SECONDS_NAMED
        return entry[1] if entry is not None and time.monotonic() - entry[0] < lasts else None

    def keep(self, key: Key, rater: ActingRater) -> None:
        """Remember a rater."""
        self._entries[key] = (time.monotonic(), rater)
        self._entries.move_to_end(key)
        while len(self._entries) > MOST_RATERS:
            self._entries.popitem(last=False)


class RequiredCachedRater(RequiredRater):
    """A dependency: the rater who asks for a change, as `RequiredRater` finds it, from the cache where it is there."""

    async def __call__(self, request: Request, named: RaterHeader = None) -> ActingRater:  # type: ignore[override]  # FastAPI awaits it
        """The rater. Raises as `RequiredRater` does; a token that ended since is refused by what writes."""
        credentials = request.headers.getlist("authorization")
        names = request.headers.getlist(RATER_HEADER)
        look_up = partial(super().__call__, request, named)
        cookie = None if credentials else read_session_cookie(request, "rater")
        if len(names) > 1 or (len(credentials) != 1 and cookie is None):
            return await to_thread.run_sync(look_up)
        campaign = request.path_params.get("campaign")
        shown = credentials[0] if cookie is None else cookie
        digest = hashlib.sha256(shown.encode("utf-8", "replace")).digest()
        key = (cookie is not None, digest, names[0] if names else None, campaign)
        cache: RaterCache = request.app.state.raters
        rater = cache.find(key)
        if rater is None:
            rater = await to_thread.run_sync(look_up)
            if cookie is None or rater.session_id is not None:
                cache.keep(key, rater)
            return rater
        if cookie is not None:
            check_same_origin(request, cookie)
        if campaign not in (None, rater.campaign):
            raise CampaignNotFound
        switch_organization(organization_of_row(rater.rater_id))
        check_query_parameters(request)
        return rater


CachedRater = Annotated[ActingRater, Depends(RequiredCachedRater())]
