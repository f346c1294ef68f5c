"""Deletion of files that no campaign uses any more, and of uploads that were never completed."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from app.services.every_organization import run_for_each_organization
from app.services.media.media_settings import MediaSettings
from app.storage.db import Database
from app.storage.media import media_queries

UPLOAD_DAYS = 7
CONTINUED = UPLOAD_DAYS * 24 * 3600  # seconds since the last part during which an upload counts as in progress
FORGOTTEN = CONTINUED + 24 * 3600  # seconds without a part after which no upload can exist any more
SPARED = 24 * 3600  # seconds during which a new file is kept, because it is recorded only after it is stored


def delete_unused_media(database: Database, media_settings: MediaSettings) -> dict[str, int]:
    """Delete files that no organization uses, and uploads without a part for a week, and return how many.

    Uploads of a removed organization are no longer recorded; their parts are recognized by their age.
    """
    if media_settings.store is None or media_settings.parts is None:
        return {"media": 0, "media uploads": 0}
    continued = {part.stem for part, at in _list_parts(media_settings.parts) if at >= time.time() - CONTINUED}
    old = [(sha256, at) for sha256, at in media_settings.store.list_hashes_with_times() if at < time.time() - SPARED]

    def read() -> tuple[Sequence[str], Collection[bytes]]:
        with database.transaction() as session:
            return media_queries.delete_abandoned_uploads(
                session, UPLOAD_DAYS, continued
            ), media_queries.load_media_sizes_by_hash(session).keys()

    parts = run_for_each_organization(database, read)
    uploads = [upload for of, _ in parts for upload in of]
    known = {sha256 for _, of in parts for sha256 in of}
    unknown = [sha256 for sha256, _ in old if sha256 not in known]
    for sha256 in unknown:
        media_settings.store.remove(sha256)
    given_up = {media_settings.parts / f"{upload}.part" for upload in uploads}
    given_up |= {part for part, at in _list_parts(media_settings.parts) if at < time.time() - FORGOTTEN}
    for part in given_up:
        part.unlink(missing_ok=True)
    return {"media": len(unknown), "media uploads": len(given_up)}


def _list_parts(folder: Path) -> list[tuple[Path, float]]:
    """List the partial files of uploads, with the time of the last part."""
    parts = []
    for part in folder.glob("*.part"):
        with suppress(FileNotFoundError):  # a completed upload deletes its parts
            parts.append((part, part.stat().st_mtime))
    return parts
