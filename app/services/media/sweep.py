"""Let go of bytes that no campaign has any more, and of uploads that nobody completed."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from app.services.every_organization import run_for_each_organization
from app.services.media.policy import MediaPolicy
from app.storage.db import Database
from app.storage.media import rows

UPLOAD_DAYS = 7
CONTINUED = UPLOAD_DAYS * 24 * 3600  # seconds since the last part until which somebody is still sending a file
FORGOTTEN = CONTINUED + 24 * 3600  # seconds without a part after which no upload can be known for it
SPARED = 24 * 3600  # seconds after a file was stored: who stores one makes it known only afterwards


def delete_unused_media(database: Database, policy: MediaPolicy) -> dict[str, int]:
    """Delete files that no campaign of any organization has and uploads without a part for a week; how many.

    Of an organization that was removed no upload is known any more; its parts are known by their age.
    """
    if policy.store is None or policy.parts is None:
        return {"media": 0, "media uploads": 0}
    continued = {part.stem for part, at in _list_parts(policy.parts) if at >= time.time() - CONTINUED}
    old = [(sha256, at) for sha256, at in policy.store.list_hashes_with_times() if at < time.time() - SPARED]

    def read() -> tuple[Sequence[str], Collection[bytes]]:
        with database.transaction() as session:
            return rows.delete_old_uploads(session, UPLOAD_DAYS, continued), rows.load_media_sizes_by_hash(
                session
            ).keys()

    parts = run_for_each_organization(database, read)
    uploads = [upload for of, _ in parts for upload in of]
    known = {sha256 for _, of in parts for sha256 in of}
    unknown = [sha256 for sha256, _ in old if sha256 not in known]
    for sha256 in unknown:
        policy.store.remove(sha256)
    given_up = {policy.parts / f"{upload}.part" for upload in uploads}
    given_up |= {part for part, at in _list_parts(policy.parts) if at < time.time() - FORGOTTEN}
    for part in given_up:
        part.unlink(missing_ok=True)
    return {"media": len(unknown), "media uploads": len(given_up)}


def _list_parts(folder: Path) -> list[tuple[Path, float]]:
    """What has arrived of each upload, and when the last part did."""
    parts = []
    for part in folder.glob("*.part"):
        with suppress(FileNotFoundError):  # an upload that is complete takes its parts away
            parts.append((part, part.stat().st_mtime))
    return parts
