"""An installation's settings for media: where they are stored, how large they may be, how long an address is valid."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.domain.media_types import MediaLimits
from app.storage.media.stores import MediaStore, MediaStoreNotConfigured

USUAL = MediaLimits()


@dataclass(frozen=True, slots=True)
class MediaSettings:
    """Settings for media. store, parts: the folders for stored files and for uploads; None: media are not accepted.

    lifetime: of a signed address. shelf: a folder whose files a manager may store by their paths.
    """

    store: MediaStore | None = None
    parts: Path | None = None
    limits: MediaLimits = USUAL
    lifetime: timedelta = timedelta(minutes=15)
    shelf: Path | None = None

    def require_store(self) -> MediaStore:
        """Return the store of files. Raises MediaStoreNotConfigured."""
        if self.store is None:
            raise MediaStoreNotConfigured
        return self.store

    def require_upload_folder(self) -> Path:
        """Return the folder for uploads. Raises MediaStoreNotConfigured."""
        if self.parts is None:
            raise MediaStoreNotConfigured
        self.parts.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self.parts
