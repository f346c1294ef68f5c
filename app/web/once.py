"""Idempotency-Key on requests that create: the same request twice is one creation and one answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel

from app.services.replay import Answer, once
from app.services.tokens import Caller
from app.storage.db import Session
from app.web.bodies import body_digest

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,128}$",
        description="Repeat a request under the same key and it is carried out once; kept for 7 days.",
        examples=["6f1a52b8-6a2e-4a39-9d1c-2f0d6c1f9b7e"],
    ),
]


class Once:
    """Carries a creation out once."""

    def __init__(self, request: Request, key: str | None) -> None:
        self._request = request
        self._key = key

    def __call__(self, session: Session, caller: Caller, make: Callable[[], Answer]) -> Response:
        """The answer of `make`, or the one kept from the first time."""
        answer = self.answer(session, caller, make)
        response = Response(answer.body, answer.status, media_type=answer.content_type)
        if answer.location is not None:
            response.headers["Location"] = answer.location
        if answer.replayed:
            response.headers["Idempotent-Replayed"] = "true"
        return response

    def answer(self, session: Session, caller: Caller, make: Callable[[], Answer]) -> Answer:
        """The same as a value, for a creation that is only the first half of an answer."""
        return once(session, make, token_id=caller.token_id, key=self._key, request_hash=self._digest())

    @property
    def asked(self) -> bool:
        """Whether the request has a key."""
        return self._key is not None

    def _digest(self) -> bytes:
        """Of everything that makes the request what it is."""
        url = self._request.url
        head = f"{self._request.method} {url.path}?{url.query}\n".encode()
        return hashlib.sha256(head + body_digest(self._request)).digest()


def created(model: BaseModel, *, location: str, secret: bool = False) -> Answer:
    """201 with the new thing and its address."""
    return Answer(201, model.model_dump_json(by_alias=True).encode(), location=location, secret=secret)


async def get_once(request: Request, key: Key = None) -> Once:
    """Read the key."""
    return Once(request, key)


OnceDep = Annotated[Once, Depends(get_once)]
