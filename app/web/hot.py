"""What the three hot routes are given: the rater without a thread or a transaction of their own, and the desk.

Who a token belongs to never changes, so that is remembered; whether it still holds is asked by the very statement that
writes, so a revoked one writes nothing from that moment on (`app.storage.recorder.judgments.LIVE`).
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from app.services.people.raters import ActingRater
from app.services.tasks.judging import Desk
from app.storage.campaigns import CampaignNotFound
from app.web.access import RATER_HEADER, NeedsRater, RaterHeader
from app.web.queries import check_query

REMEMBERED = 10_000
FOR = 300.0  # seconds
Key = tuple[bytes, str | None, str | None]


class Acquaintances:
    """Raters by the digest of their credential, whom they act for, and the campaign of the address."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, tuple[float, ActingRater]] = OrderedDict()

    def find(self, key: Key) -> ActingRater | None:
        """Who this is, if that was found out lately."""
        entry = self._known.get(key)
        return entry[1] if entry is not None and time.monotonic() - entry[0] < FOR else None

    def keep(self, key: Key, rater: ActingRater) -> None:
        """Remember somebody in place of the oldest."""
        self._known[key] = (time.monotonic(), rater)
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


class NeedsRaterNow(NeedsRater):
    """A dependency: the rater who asks, as `NeedsRater` finds it; by token at most once in a while."""

    async def __call__(self, request: Request, named: RaterHeader = None) -> ActingRater:  # type: ignore[override]  # FastAPI awaits it
        """The rater. Raises as `NeedsRater` does; a token that ended since is refused by what writes."""
        given = request.headers.getlist("authorization")
        names = request.headers.getlist(RATER_HEADER)
        look_up = partial(super().__call__, request, named)
        if len(given) != 1 or len(names) > 1:
            return await to_thread.run_sync(look_up)
        asked = request.path_params.get("campaign")
        key = (hashlib.sha256(given[0].encode("utf-8", "replace")).digest(), names[0] if names else None, asked)
        known: Acquaintances = request.app.state.acquaintances
        rater = known.find(key)
        if rater is None:
            rater = await to_thread.run_sync(look_up)
            known.keep(key, rater)
            return rater
        if asked not in (None, rater.campaign):
            raise CampaignNotFound
        check_query(request)
        return rater


def desk_of(request: Request) -> Desk:
    """The recorder, the database and the sheets of this process."""
    desk: Desk = request.app.state.desk
    return desk


async def get_desk(request: Request) -> Desk:
    """The same, for handlers."""
    return desk_of(request)


Shortcut = Callable[[Request], Coroutine[Any, Any, Response | None]]
SHORTCUTS: dict[Callable[..., Any], Shortcut] = {}


class Direct(APIRoute):
    """A route that is looked at before all others and may have a shortcut: the same handler, called by hand.

    The framework takes as long to find out what a handler wants as we take to judge. What is not as usual (the shortcut
    answers None before it reads the body) goes the usual way.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The shortcut, then the framework's own way. What is raised becomes a problem further out, as ever."""
        shortcut = SHORTCUTS.get(self.endpoint)
        if shortcut is not None and scope["method"] in (self.methods or ()):
            answer = await shortcut(Request(scope, receive, send))
            if answer is not None:
                await answer(scope, receive, send)
                return
        await super().handle(scope, receive, send)


def shortcut(endpoint: Callable[..., Any]) -> Callable[[Shortcut], Shortcut]:
    """Declare the shortcut of a handler."""

    def declare(function: Shortcut) -> Shortcut:
        SHORTCUTS[endpoint] = function
        return function

    return declare


RaterNow = Annotated[ActingRater, Depends(NeedsRaterNow())]
DeskDep = Annotated[Desk, Depends(get_desk)]
