"""Idempotency keys: the same request under the same key is carried out once and answered alike for seven days."""

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
class IdempotentAnswer:
    """An answer as it leaves. secret: it may be shown once and is not kept. replayed: it was kept."""

    status: int
    body: bytes
    content_type: str = "application/json"
    location: str | None = None
    secret: bool = False
    replayed: bool = False


def run_once_per_key(
    session: Session, make: Callable[[], IdempotentAnswer], *, token_id: int, key: str | None, request_hash: bytes
) -> IdempotentAnswer:
    """Carry out `make` once for each (token, key) and keep its answer in the same transaction.

    Whoever comes second waits for the first to commit and gets its answer; if the first fails, the second is the first.

    Raises IdempotencyKeyReused for another request under the key, SecretAlreadyIssued where the answer carried a
    secret.
    """
    if key is None:
        return make()
    if not idempotency.claim_idempotency_key(session, token_id, key, request_hash):
        return _check_stored_answer(idempotency.find_idempotent_answer(session, token_id, key), request_hash)
    made = make()
    idempotency.store_idempotent_answer(
        session,
        token_id,
        key,
        status=made.status,
        body=None if made.secret else made.body,
        content_type=made.content_type,
        location=made.location,
    )
    return made


def _check_stored_answer(kept: idempotency.StoredIdempotentAnswer, request_hash: bytes) -> IdempotentAnswer:
    if kept.request_hash != request_hash:
        raise IdempotencyKeyReused(places=(Place(("header", "Idempotency-Key"), "was used for another request"),))
    if kept.body is None:
        raise SecretAlreadyIssued
    return IdempotentAnswer(
        kept.status, kept.body, kept.content_type or "application/json", kept.location, replayed=True
    )
