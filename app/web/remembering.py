"""Routes that answer again what they answered before, while what the answer rests on has not changed.

The first time a request goes the framework's way: a thread, a credential, the question, its key, the stored report. Of
its answer this process remembers what was sent, under everything of the request that the answer depends on and under
the mark of campaign and credential that was read before; and once it is sent it is kept for all other processes. The
same request after that takes one statement, which reads the mark: it is gone at once when the credential is, and
another one when the campaign is (`app.storage.recorder.cache_version`). A process that does not know the answer under
that mark is told it by the same statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send

from app.domain.keys import is_key
from app.services import answers, remembered
from app.services.remembered import Answer, Remembered
from app.storage.recorder.cache_version import Asked
from app.web.conditional import is_known
from app.web.hot import desk_of
from app.web.strangers import recognized

WITH_BODY = frozenset({"content-type", "content-length"})
NAMES: dict[Callable[..., Any], bool] = {}
TELLING = ("authorization", "accept", "prefer")
UNUSUAL = ("content-length", "transfer-encoding", "range")


def remembers(endpoint: Callable[..., Any], *, names: bool = False) -> None:
    """Declare a handler whose answer rests on what a mark says.

    names: on the names of systems and the domains of documents as they are now, too.
    """
    NAMES[endpoint] = names


class Remembering(APIRoute):
    """A route of stored reports: what it answered is looked at first."""

    @cached_property
    def _literal(self) -> str:
        """The longest part of the path that is no parameter."""
        return max(re.split(r"\{[^{}]*+\}", self.path), key=len)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether this is the route. There are many of its kind, so most are told apart by one look at the path."""
        return super().matches(scope) if self._literal in scope.get("path", "") else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The remembered answer, else the framework's own way. What is raised becomes a problem further out."""
        names = NAMES.get(self.endpoint)
        if names is None or scope["method"] != "GET":
            await super().handle(scope, receive, send)
            return
        request = Request(scope, receive, send)
        known: Remembered = scope["app"].state.remembered
        asked = _asked(request, known, names=names)
        marked = None if asked is None else await remembered.mark(desk_of(request).recorder, asked)
        if asked is None or marked is None:
            await super().handle(scope, receive, send)
            return
        recognized(request, request.headers["authorization"].partition(" ")[2].strip(" "))
        mark, stored = marked
        if stored is not None:
            known.keep(asked.key, answers.unpacked(mark, stored))
        found = known.find(asked.key, mark)
        answer = _again(request, found) if found else None
        if answer is not None:
            await answer(scope, receive, send)
            return
        seen = _Seen(send)
        await super().handle(scope, receive, seen)
        if (kept := seen.answer(mark)) is not None and known.keep(asked.key, kept):
            scope["app"].state.keeper.put(asked, kept)


def _asked(request: Request, known: Remembered, *, names: bool) -> Asked | None:
    """What the mark of campaign and credential is asked with; None where the request is not as usual."""
    given = request.headers.getlist("authorization")
    campaign: str = request.path_params["campaign"]
    if len(given) != 1 or not is_key(campaign) or any(name in request.headers for name in UNUSUAL):
        return None
    scheme, _, secret = given[0].partition(" ")
    if scheme.lower() != "bearer":
        return None
    key = _key(request)
    before = known.known(key)
    enough = before is not None and (before.body is not None or is_known(request, before.etag))
    mark = before.mark if before is not None and enough else ""
    return remembered.asked(secret.strip(" "), campaign, names=names, key=key, known=mark)


def _key(request: Request) -> bytes:
    """All of a request, and of this program, that its answer depends on beside the mark and what the client has."""
    told = (b"\0".join(value for name, value in request.headers.raw if name == one.encode()) for one in TELLING)
    return remembered.key_of(answers.build(), request.scope["path"].encode(), request.scope["query_string"], *told)


def _again(request: Request, found: Answer) -> Response | None:
    """200 or 304 from what is remembered; None where the body is wanted, and was never seen."""
    headers = dict(found.headers)
    if is_known(request, found.etag):
        return Response(status_code=304, headers=headers)
    return None if found.body is None else Response(found.body, headers=headers, media_type=found.media_type)


class _Seen:
    """Sends an answer on, and looks at it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body: bytes | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            # The layers around this one add headers to the message, which are theirs.
            self._start = {**message, "headers": list(message["headers"])}
        elif message["type"] == "http.response.body":
            whole = self._body is None and not message.get("more_body", False)
            self._body = message.get("body", b"") if whole else b""
            self._start = self._start if whole else None
        await self._send(message)

    def answer(self, mark: str) -> Answer | None:
        """What to remember; None where it is neither a whole answer with an ETag nor a 304."""
        if self._start is None or self._body is None or self._start["status"] not in {200, 304}:
            return None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in self._start["headers"]}
        etag = headers.get("etag")
        if etag is None:
            return None
        common = tuple((name, value) for name, value in headers.items() if name not in WITH_BODY)
        if self._start["status"] == 304:
            return Answer(mark, etag, common)
        return Answer(mark, etag, common, headers.get("content-type"), self._body)
