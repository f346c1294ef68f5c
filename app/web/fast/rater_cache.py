"""A cache of raters by token or browser session: raters judge every few seconds, and their identity never changes.

The statement that writes also checks whether the credential is still valid. So after a revocation or a sign-out, a
credential writes nothing more (`app.storage.recorder.judgments.LIVE`). That statement also notes the last use of a
token. Each request is checked for the proof that a change comes from our own page.

The benefit: it saves the thread and the transaction that `RequiredRater` needs. Without the cache, a judgment takes 4.3
times as much processor time (decision 33).
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
from app.storage.current_organization import organization_number_from_row_id, switch_current_organization
from app.web.access import RATER_HEADER, RaterHeader, RequiredRater
from app.web.cookies import check_origin_and_csrf_token, read_session_cookie
from app.web.query_parameters import check_query_parameters
from app.web.unauthenticated_limits import FAMILIAR_FOR

MOST_RATERS = 10_000
# With 300 s, a rater who posts every 35 s was looked up at every ninth post. It must be shorter than the time for which
# a credential counts as familiar, because only a look-up renews this time.
SECONDS = FAMILIAR_FOR * 5 / 6
SECONDS_NAMED = 300.0  # for raters named by a front-end: after an erasure, a key may belong to another rater
Key = tuple[bool, bytes, str | None, str | None]
"""Whether it is a cookie, digest of the credential, the rater named by a front-end, the campaign of the address."""


class RaterCache:
    """Raters who were looked up recently. The oldest look-up makes room for a new one."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Key, tuple[float, ActingRater]] = OrderedDict()

    def find(self, key: Key) -> ActingRater | None:
        """Return the rater, if looked up within the last SECONDS, or SECONDS_NAMED."""
        entry = self._entries.get(key)
        lasts = SECONDS if key[2] is None else SECONDS_NAMED
        return entry[1] if entry is not None and time.monotonic() - entry[0] < lasts else None

    def keep(self, key: Key, rater: ActingRater) -> None:
        """Store a rater."""
        self._entries[key] = (time.monotonic(), rater)
        self._entries.move_to_end(key)
        while len(self._entries) > MOST_RATERS:
            self._entries.popitem(last=False)


class RequiredCachedRater(RequiredRater):
    """A dependency: the rater who requests a change, from the cache if possible, else as `RequiredRater` finds them."""

    async def __call__(self, request: Request, named: RaterHeader = None) -> ActingRater:  # type: ignore[override]  # FastAPI awaits it
        """Return the rater. Raises the errors of `RequiredRater`; the write refuses a token that has ended since."""
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
            check_origin_and_csrf_token(request, cookie)
        if campaign not in (None, rater.campaign):
            raise CampaignNotFound
        switch_current_organization(organization_number_from_row_id(rater.rater_id))
        check_query_parameters(request)
        return rater


CachedRater = Annotated[ActingRater, Depends(RequiredCachedRater())]
