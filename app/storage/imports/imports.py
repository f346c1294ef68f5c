"""Imports under way and their files, stored in chunks so that any process can commit them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.domain.errors import Conflict, NotFound
from app.storage.tables import import_chunks, import_files, imports

ImportRecord = sa.Row[Any]


class ImportNotFound(NotFound):
    """There is no such import in this campaign."""


class ImportAlreadyCommitted(Conflict):
    """This import is committed; it accepts no more files."""

    published = "ImportCommitted"


class ImportFileExists(Conflict):
    """This import has a file of that name already, with other content."""

    published = "FileExists"


@dataclass(frozen=True, slots=True)
class StoredImportFile:
    """A file as it arrived."""

    name: str
    size: int
    sha256: bytes


def insert_import(
    session: Session, *, campaign_id: int, public_id: str, format: str, options: Mapping[str, str]
) -> None:
    """Announce an import."""
    session.execute(
        sa.insert(imports).values(
            campaign_id=campaign_id, public_id=public_id, format=format, options=dict(options), state="receiving"
        )
    )


def load_import(session: Session, campaign_id: int, public_id: str, *, lock: bool = False) -> ImportRecord:
    """Return an import of this campaign. Raises ImportNotFound."""
    query = sa.select(imports).where(imports.c.campaign_id == campaign_id, imports.c.public_id == public_id)
    row = session.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise ImportNotFound
    return row


def load_imports_page(session: Session, campaign_id: int, *, after: str | None, limit: int) -> list[ImportRecord]:
    """Return the imports of this campaign, in the order of their announcement, after the one with this id."""
    query = sa.select(imports).where(imports.c.campaign_id == campaign_id).order_by(imports.c.id).limit(limit)
    if after is not None:
        query = query.where(imports.c.id > load_import(session, campaign_id, after).id)
    return list(session.execute(query))


def load_import_files_page(
    session: Session, import_id: int, *, after: str | None, limit: int
) -> list[StoredImportFile]:
    """Return the files that arrived, by name after `after`."""
    name = import_files.c.name.collate("C")
    query = sa.select(import_files.c.name, import_files.c.size, import_files.c.sha256)
    query = query.where(import_files.c.import_id == import_id).order_by(name).limit(limit)
    return [StoredImportFile(*row) for row in session.execute(query if after is None else query.where(name > after))]


def load_import_files(session: Session, import_id: int) -> list[StoredImportFile]:
    """Return the files that arrived, by name."""
    query = sa.select(import_files.c.name, import_files.c.size, import_files.c.sha256).where(
        import_files.c.import_id == import_id
    )
    return sorted((StoredImportFile(*row) for row in session.execute(query)), key=lambda f: f.name)


def store_import_file(session: Session, import_id: int, name: str, chunks: Iterable[bytes]) -> StoredImportFile:
    """Store a file; the same bytes under the same name again change nothing.

    Raises ImportFileExists for different bytes.
    """
    digest, size = hashlib.sha256(), 0
    known = {f.name: f for f in load_import_files(session, import_id)}.get(name)
    if known is None:
        session.execute(sa.insert(import_files).values(import_id=import_id, name=name, size=0, sha256=bytes(32)))
    for n, data in enumerate(chunks):
        digest.update(data)
        size += len(data)
        if known is None:
            session.execute(sa.insert(import_chunks).values(import_id=import_id, name=name, n=n, data=data))
    stored = StoredImportFile(name, size, digest.digest())
    if known is not None:
        if known != stored:
            raise ImportFileExists(name)
        return known
    here = (import_files.c.import_id == import_id) & (import_files.c.name == name)
    session.execute(sa.update(import_files).where(here).values(size=size, sha256=stored.sha256))
    return stored


def commit_import_and_drop_files(session: Session, import_id: int, report: Mapping[str, object]) -> None:
    """Mark an import as committed, store its report, and delete its raw bytes."""
    session.execute(sa.update(imports).where(imports.c.id == import_id).values(state="committed", report=dict(report)))
    session.execute(sa.delete(import_chunks).where(import_chunks.c.import_id == import_id))


class StoredFileStream(io.RawIOBase):
    """A stored file as a stream, with one chunk in memory at a time."""

    def __init__(self, session: Session, import_id: int, name: str) -> None:
        self._session, self._import_id, self._name = session, import_id, name
        self._n, self._held = 0, b""

    def readable(self) -> bool:
        """Return True, as every such stream is readable."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the current chunk, and fetch the next chunk when this one is used up."""
        if not self._held:
            self._held = self._next_chunk()
        size = min(len(buffer), len(self._held))
        buffer[:size], self._held = self._held[:size], self._held[size:]
        return size

    def _next_chunk(self) -> bytes:
        here = (import_chunks.c.import_id == self._import_id) & (import_chunks.c.name == self._name)
        query = sa.select(import_chunks.c.data).where(here, import_chunks.c.n == self._n)
        self._n += 1
        return bytes(self._session.execute(query).scalar() or b"")


def open_import_file(session: Session, import_id: int, name: str) -> IO[bytes]:
    """Open a stored file at its start."""
    return io.BufferedReader(StoredFileStream(session, import_id, name), buffer_size=1 << 16)
