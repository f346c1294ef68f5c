"""Idempotency keys: a request is carried out once per key, and gets the same answer for seven days."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.errors import Conflict, Invalid, Place
from app.storage import idempotency
from app.storage.db import Session


class IdempotencyKeyReused(Invalid):
    """This Idempotency-Key was used for another request."""

    published = "KeyReused"


class SecretAlreadyIssued(Conflict):
    """Already issued: the answer carried a secret, which is shown only once."""

    published = "AlreadyIssued"


@dataclass(frozen=True, slots=True)
class IdempotentResponse:
    """An answer to send. secret: whether it may be shown only once and is not stored.

    replayed: whether it was stored.
    """

    status: int
    body: bytes
    content_type: str = "application/json"
    location: str | None = None
    secret: bool = False
    replayed: bool = False


def run_once_per_key(
    session: Session, make: Callable[[], IdempotentResponse], *, token_id: int, key: str | None, request_hash: bytes
) -> IdempotentResponse:
    """Run `make` once for each (token, key), and store its answer in the same transaction.

    A second request waits until the first one commits, and gets its answer. If the first one fails, the second one
    runs. Raises IdempotencyKeyReused for another request with the same key, SecretAlreadyIssued if the answer contained
    a secret.
    """
    if key is None:
        return make()
    if not idempotency.claim_idempotency_key(session, token_id, key, request_hash):
        return _check_stored_answer(idempotency.load_idempotent_response(session, token_id, key), request_hash)
    made = make()
    idempotency.store_idempotent_response(
        session,
        token_id,
        key,
        status=made.status,
        body=None if made.secret else made.body,
        content_type=made.content_type,
        location=made.location,
    )
    return made


def _check_stored_answer(kept: idempotency.StoredIdempotentResponse, request_hash: bytes) -> IdempotentResponse:
    if kept.request_hash != request_hash:
        raise IdempotencyKeyReused(places=(Place(("header", "Idempotency-Key"), "was used for another request"),))
    if kept.body is None:
        raise SecretAlreadyIssued
    return IdempotentResponse(
        kept.status, kept.body, kept.content_type or "application/json", kept.location, replayed=True
    )
