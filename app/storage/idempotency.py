"""Responses stored by Idempotency-Key. A claim and the work that it guards are one transaction."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.tables import idempotency

KEPT = "7 days"


@dataclass(frozen=True, slots=True)
class StoredIdempotentResponse:
    """The request and the response of a key. body: None if the response contained a secret and was not stored."""

    request_hash: bytes
    status: int
    body: bytes | None
    content_type: str | None
    location: str | None


def claim_idempotency_key(session: Session, token_id: int, key: str, request_hash: bytes) -> bool:
    """Claim a key, waiting for any simultaneous claim; return False if the key is taken.

    The claim takes effect when the transaction commits, together with the work done under it. A rollback frees the key.
    """
    old = sa.func.now() - sa.text(f"interval '{KEPT}'")
    here = idempotency.c.token_id == token_id
    session.execute(sa.delete(idempotency).where(here, idempotency.c.created_at < old))
    statement = insert(idempotency).values(token_id=token_id, key=key, request_hash=request_hash)
    taken = session.execute(statement.on_conflict_do_nothing().returning(idempotency.c.key))
    return taken.one_or_none() is not None


def load_idempotent_response(session: Session, token_id: int, key: str) -> StoredIdempotentResponse:
    """Return the response of a taken key, by a second statement, which sees the claim for which the first waited."""
    c = idempotency.c
    query = sa.select(c.request_hash, c.status, c.body, c.content_type, c.location)
    row = session.execute(query.where(c.token_id == token_id, c.key == key)).one()
    return StoredIdempotentResponse(*row)


def store_idempotent_response(
    session: Session,
    token_id: int,
    key: str,
    *,
    status: int,
    body: bytes | None,
    content_type: str | None,
    location: str | None,
) -> None:
    """Store the response of a key that this transaction claimed."""
    here = (idempotency.c.token_id == token_id) & (idempotency.c.key == key)
    values = {"status": status, "body": body, "content_type": content_type, "location": location}
    session.execute(sa.update(idempotency).where(here).values(**values))
