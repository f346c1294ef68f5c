"""Files that arrive in parts: announce a file, then send its parts, each from the offset where the last one ended.

What has arrived is a file in the folder of parts, and its length is the offset. A part is stored completely or not at
all. After an interruption, the sender asks for the offset and continues from there.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.domain.errors import AppError, Conflict, Invalid, Place
from app.domain.media_types import MediaLimits
from app.services.media.examine import MediaNotAccepted
from app.services.media.library import MediaView, store_media
from app.services.media.media_settings import MediaSettings
from app.storage import campaigns
from app.storage.db import Database, Session
from app.storage.media import media_queries
from app.storage.media.media_queries import UploadRow
from app.storage.media.stores import hash_file

MOST_UPLOADS = 10_000
"""Uploads of one campaign at the same time."""


class UploadOffsetDiffers(Conflict):
    """The part does not begin where the last one ended; get the offset and continue from there."""


class UploadBusy(Conflict):
    """Another request is sending a part of this file; wait until it ends."""


class TooManyUploads(Conflict):
    """Too many uploads of this campaign are in progress; complete or delete some."""


@dataclass(frozen=True, slots=True)
class UploadView:
    """A file that is arriving. offset: bytes that have arrived. media: the stored file, once the upload is complete."""

    upload: str
    name: str
    size: int
    offset: int
    media: MediaView | None = None


def create_upload(
    session: Session,
    media_settings: MediaSettings,
    campaign: str,
    *,
    name: str,
    size: int,
    sha256: bytes | None,
    actor: str,
) -> UploadView:
    """Announce a file by its name and size. sha256: of its bytes, checked at the end.

    Raises MediaNotAccepted for a file that is too large, TooManyUploads, NotFound.
    """
    media_settings.require_upload_folder()
    _check_size(size, name, media_settings.limits)
    campaign_id = campaigns.load_campaign(session, campaign).id
    if len(media_queries.load_unfinished_uploads(session, campaign_id, after=None, limit=MOST_UPLOADS)) >= MOST_UPLOADS:
        raise TooManyUploads
    row = media_queries.insert_upload(session, campaign_id, name=name, size=size, sha256=sha256, actor=actor)
    return _view(media_settings, row)


def _check_size(size: int, name: str, limits: MediaLimits) -> None:
    if size > limits.size:
        reason = f"has {size} bytes; at most {limits.size} are taken"
        raise MediaNotAccepted(f"{name} {reason}", places=(Place(("body", "size"), reason),))


def get_upload(session: Session, media_settings: MediaSettings, campaign: str, upload: str) -> UploadView:
    """Return the state of an upload. Raises MediaUploadNotFound if it is complete."""
    return _view(
        media_settings, media_queries.load_upload(session, campaigns.load_campaign(session, campaign).id, upload)
    )


def list_uploads(session: Session, media_settings: MediaSettings, campaign: str) -> list[UploadView]:
    """List all uploads in progress."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    return [
        _view(media_settings, row)
        for row in media_queries.load_unfinished_uploads(session, campaign_id, after=None, limit=MOST_UPLOADS)
    ]


def abandon_upload(session: Session, media_settings: MediaSettings, campaign: str, upload: str) -> None:
    """Abandon an upload."""
    row = media_queries.load_upload(session, campaigns.load_campaign(session, campaign).id, upload, lock=True)
    media_queries.delete_upload_row(session, row.id)
    _path(media_settings, upload).unlink(missing_ok=True)


def add_upload_part(
    database: Database,
    media_settings: MediaSettings,
    campaign: str,
    upload: str,
    *,
    offset: int,
    pieces: Iterable[bytes],
    actor: str,
) -> UploadView:
    """Add a part. After the last part, the file is examined and stored.

    A file that is refused is deleted, and so is one whose hash differs from the announced one.

    Raises UploadOffsetDiffers, UploadBusy, Invalid for more bytes than were announced, and the errors of
    `library.store_media`.
    """
    with database.transaction() as session:
        row = media_queries.load_upload(session, campaigns.load_campaign(session, campaign).id, upload)
    path = _path(media_settings, upload)
    with _open_locked_part(path) as file:
        arrived = os.fstat(file.fileno()).st_size
        if arrived != offset:
            raise UploadOffsetDiffers(f"{arrived} bytes have arrived")
        arrived = _append(file, arrived, pieces, row.size)
        if arrived < row.size:
            return UploadView(upload, row.name, row.size, arrived)
        media = _complete(database, media_settings, campaign, row, path, actor=actor)
    return UploadView(upload, row.name, row.size, arrived, media)


def _append(file: BinaryIO, offset: int, pieces: Iterable[bytes], size: int) -> int:
    """Write a part; if that fails, remove all of it."""
    arrived = offset
    try:
        file.seek(offset)
        for piece in pieces:
            arrived += len(piece)
            if arrived > size:
                reason = f"the file was announced with {size} bytes; the part leads beyond"
                raise Invalid("the part is too long", places=(Place(("body",), reason),))
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    except (OSError, AppError):
        file.truncate(offset)
        raise
    return arrived


def _complete(
    database: Database, media_settings: MediaSettings, campaign: str, row: UploadRow, path: Path, *, actor: str
) -> MediaView:
    try:
        if row.sha256 is not None and hash_file(path) != row.sha256:
            reason = "the bytes that arrived have a different hash from the announced one; send the file again"
            raise MediaNotAccepted(f"{row.name}: {reason}", places=(Place(("media", row.name), reason),))
        media = store_media(database, media_settings, campaign, row.name, path, actor=actor)
    except (Invalid, Conflict):
        _forget(database, row, path)
        raise
    _forget(database, row, path)
    return media


def _forget(database: Database, row: UploadRow, path: Path) -> None:
    with database.transaction() as session:
        media_queries.delete_upload_row(session, row.id)
    path.unlink(missing_ok=True)


@contextmanager
def _open_locked_part(path: Path) -> Iterator[BinaryIO]:
    """Open the file of parts, locked for this request. Raises UploadBusy."""
    with path.open("ab") as made:
        made.flush()
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UploadBusy from None
        yield file


def _path(media_settings: MediaSettings, upload: str) -> Path:
    return media_settings.require_upload_folder() / f"{upload}.part"


def _view(media_settings: MediaSettings, row: UploadRow) -> UploadView:
    path = _path(media_settings, row.public_id)
    return UploadView(row.public_id, row.name, row.size, path.stat().st_size if path.exists() else 0)
