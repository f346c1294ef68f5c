"""Queries about the material to judge: systems, documents, segments and outputs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import sqlalchemy as sa

from app.storage.db import Session
from app.storage.imports.staging import format_canonical_json
from app.storage.tables import documents, systems


@dataclass(frozen=True, slots=True)
class SystemDescription:
    """The description of a system, apart from its key. name: as imported, any text. kind: mt or human."""

    name: str
    kind: str


def load_system_descriptions(session: Session, campaign_id: int) -> dict[str, SystemDescription]:
    """Return the name and kind of each system, by key."""
    query = sa.select(systems.c.key, systems.c.name, systems.c.kind).where(systems.c.campaign_id == campaign_id)
    return {row.key: SystemDescription(row.name, row.kind) for row in session.execute(query)}


def hash_system_and_document_descriptions(session: Session, campaign_id: int) -> str:
    """Return a digest of the current descriptions of systems and documents, whatever the data version."""
    told = (
        sa.select(systems.c.key, systems.c.name, systems.c.kind).where(systems.c.campaign_id == campaign_id),
        sa.select(documents.c.key, documents.c.domain, sa.null()).where(
            documents.c.campaign_id == campaign_id, documents.c.domain.is_not(None)
        ),
    )
    rows = [sorted(map(list, session.execute(query))) for query in told]
    return hashlib.sha256(format_canonical_json(rows).encode()).hexdigest()[:32]
