"""Let go of bytes that no campaign has any more, and of uploads that nobody completed."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import suppress

from app.services.every_organization import do_for_each
from app.services.media.policy import MediaPolicy
from app.storage.db import Database
from app.storage.media import rows

UPLOAD_DAYS = 7
FORGOTTEN = (UPLOAD_DAYS + 1) * 24 * 3600  # seconds after which no upload can have been announced for a part
SPARED = 24 * 3600  # seconds after a file was stored: who stores one makes it known only afterwards


def sweep_media(database: Database, policy: MediaPolicy) -> dict[str, int]:
    """Delete files that no campaign of any organization has and parts of uploads given up for a week; how many.

    Of an organization that was removed no upload is known any more; its parts are known by their age.
    """
    if policy.store is None or policy.parts is None:
        return {"media": 0, "media uploads": 0}
    old = [(sha256, at) for sha256, at in policy.store.hashes() if at < time.time() - SPARED]

    def read() -> tuple[Sequence[str], Collection[bytes]]:
        with database.transaction() as session:
            return rows.delete_old_uploads(session, UPLOAD_DAYS), rows.load_stored_sizes(session).keys()

    parts = do_for_each(database, read)
    uploads = [upload for of, _ in parts for upload in of]
    known = {sha256 for _, of in parts for sha256 in of}
    unknown = [sha256 for sha256, _ in old if sha256 not in known]
    for sha256 in unknown:
        policy.store.remove(sha256)
    given_up = {policy.parts / f"{upload}.part" for upload in uploads}
    for part in policy.parts.glob("*.part"):
        with suppress(FileNotFoundError):  # an upload that is complete takes its parts away
            if part.stat().st_mtime < time.time() - FORGOTTEN:
                given_up.add(part)
    for part in given_up:
        part.unlink(missing_ok=True)
    return {"media": len(unknown), "media uploads": len(given_up)}
