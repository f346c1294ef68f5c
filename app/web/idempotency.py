"""Idempotency-Key on requests that create: a repeated request creates once and gets the same response."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, Protocol

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel

from app.services.access.idempotency import IdempotentResponse, run_once_per_key
from app.storage.db import Session
from app.web.access import RATER_HEADER
from app.web.request_bodies import hash_body

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,128}$",
        description="A request repeated with the same key is carried out only once. Keys are kept for 7 days.",
        examples=["6f1a52b8-6a2e-4a39-9d1c-2f0d6c1f9b7e"],
    ),
]


class CredentialHolder(Protocol):
    """A caller or a rater, identified by a token."""

    @property
    def token_id(self) -> int:
        """The id of the credential that was sent."""


class IdempotentCreation:
    """Runs a creation only once."""

    def __init__(self, request: Request, key: str | None) -> None:
        self._request = request
        self._key = key

    def __call__(self, session: Session, caller: CredentialHolder, make: Callable[[], IdempotentResponse]) -> Response:
        """Return the response of `make`, or the response stored the first time."""
        answer = self.create_once(session, caller, make)
        response = Response(answer.body, answer.status, media_type=answer.content_type)
        if answer.location is not None:
            response.headers["Location"] = answer.location
        if answer.replayed:
            response.headers["Idempotent-Replayed"] = "true"
        return response

    def create_once(
        self, session: Session, caller: CredentialHolder, make: Callable[[], IdempotentResponse]
    ) -> IdempotentResponse:
        """Return the answer as a value, for a creation that is only the first half of a response."""
        return run_once_per_key(session, make, token_id=caller.token_id, key=self._key, request_hash=self._digest())

    @property
    def has_key(self) -> bool:
        """Whether the request has a key."""
        return self._key is not None

    def _digest(self) -> bytes:
        """Hash everything that identifies the request, including the rater for whom a front-end acts."""
        url = self._request.url
        acting = self._request.headers.get(RATER_HEADER)
        named = f"\n{RATER_HEADER}: {acting}" if acting is not None else ""
        head = f"{self._request.method} {url.path}?{url.query}{named}\n".encode()
        return hashlib.sha256(head + hash_body(self._request)).digest()


def created_response(model: BaseModel, *, location: str, secret: bool = False) -> IdempotentResponse:
    """Return 201 with the new object and its address."""
    return IdempotentResponse(201, model.model_dump_json(by_alias=True).encode(), location=location, secret=secret)


async def get_idempotent_creation(request: Request, key: Key = None) -> IdempotentCreation:
    """Read the key."""
    return IdempotentCreation(request, key)


IdempotentCreationDep = Annotated[IdempotentCreation, Depends(get_idempotent_creation)]
