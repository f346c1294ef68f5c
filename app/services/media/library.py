"""The media of a campaign: store, list, open, change and delete files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from app.domain.errors import Conflict, Invalid, NotFound, Place
from app.domain.keys import convert_name_to_key, is_key
from app.domain.media_elements import find_pdf_page_in_name, make_media_name_from_path, split_pdf_page_from_path
from app.domain.media_types import KINDS, TIMED
from app.services.campaigns import audit
from app.services.media.examine import examine_media
from app.services.media.media_settings import MediaSettings
from app.storage import campaigns
from app.storage.current_organization import DEFAULT, current_organization_number
from app.storage.db import Database, Session
from app.storage.media import media_queries
from app.storage.media.media_queries import MediaRow, NewMediaFile
from app.storage.media.stores import hash_file

LONGEST_TRANSCRIPT = 1_000_000
MOST_PLACES = 20


class MediaNameTaken(Conflict):
    """The campaign has other media of this name; choose another name, or delete that first."""


class MediaInUse(Conflict):
    """Texts refer to this file; change them first."""


class MediaNotInFolder(NotFound):
    """The installation's folder of media has no such file."""

    published = "MediaNotOnShelf"


@dataclass(frozen=True, slots=True)
class MediaView:
    """A media file. captions: name of its WebVTT file. size: bytes.

    duration_ms, width, height: if its kind has them.
    """

    name: str
    kind: str
    media_type: str
    size: int
    sha256: str
    duration_ms: int | None
    width: int | None
    height: int | None
    captions: str | None
    transcript: str | None

    @classmethod
    def from_row(cls, row: MediaRow) -> MediaView:
        """Make the view from a stored row."""
        return cls(
            row.name,
            KINDS[row.media_type],
            row.media_type,
            row.size,
            row.sha256.hex(),
            row.duration_ms,
            row.width,
            row.height,
            row.captions,
            row.transcript,
        )


@dataclass(frozen=True, slots=True)
class MediaContent:
    """A file's bytes, which can be read from any position."""

    media_settings: MediaSettings
    sha256: bytes
    size: int
    media_type: str
    duration_ms: int | None = None

    def read(self, start: int, length: int) -> Iterator[bytes]:
        """Yield pieces. Raises MediaBytesMissing."""
        return self.media_settings.require_store().read(self.sha256, start, length)


def store_media(
    database: Database, media_settings: MediaSettings, campaign: str, name: str, source: Path, *, actor: str
) -> MediaView:
    """Store a file of a campaign under a name. Storing the same file again changes nothing.

    For a PDF, a name such as `report.pdf~page3` selects the third page; other names select the only page.

    Raises MediaNotAccepted with the reason, MediaNameTaken, MediaStoreNotConfigured, NotFound.
    """
    store, parts = media_settings.require_store(), media_settings.require_upload_folder()
    with database.transaction() as session:
        campaigns.load_campaign(session, campaign)
    given = hash_file(source)
    handle, scratch = tempfile.mkstemp(".png", ".page-", parts)
    os.close(handle)
    picture = Path(scratch)
    try:
        facts = examine_media(source, picture, name, media_settings.limits, page=find_pdf_page_in_name(name))
        stored = picture if picture.stat().st_size else source
        sha256, size = (hash_file(stored) if stored is picture else given), stored.stat().st_size
        store.put(stored, sha256)
    finally:
        picture.unlink(missing_ok=True)
    with database.transaction() as session:
        row = campaigns.load_campaign(session, campaign)
        new = media_queries.insert_media(session, row.id, NewMediaFile(name, sha256, given, size, facts), actor=actor)
        media = media_queries.load_media_by_name(session, row.id, name)
        if media.given != given:
            raise MediaNameTaken(name)
        if new:
            what = {"media": name, "sha256": sha256.hex(), "type": facts.media_type}
            audit.record_action(session, row.id, actor=actor, action="media stored", what=what)
        return MediaView.from_row(media)


def store_media_file_from_pieces(
    database: Database, media_settings: MediaSettings, campaign: str, name: str, pieces: Iterable[bytes], *, actor: str
) -> MediaView:
    """Store a file that arrives in pieces, as `store_media` does."""
    with tempfile.NamedTemporaryFile(prefix=".given-", dir=media_settings.require_upload_folder()) as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        return store_media(database, media_settings, campaign, name, Path(file.name), actor=actor)


def store_media_file_from_folder(
    database: Database, media_settings: MediaSettings, campaign: str, path: str, *, name: str | None, actor: str
) -> MediaView:
    """Store a file from the installation's folder, or a page of a PDF (`report.pdf#page=3`).

    name: derived from the path if it is not given.

    Raises MediaNotInFolder for a path outside the folder, Invalid for a name with another page, and the errors of
    `store_media`.
    """
    if media_settings.shelf is None:
        raise MediaNotInFolder("no folder is set: PLUMBLINE_MEDIA_FOLDER")
    if current_organization_number() != DEFAULT:
        raise MediaNotInFolder("the folder is the default organization's; upload the file")
    try:
        shelf = media_settings.shelf.resolve(strict=True)
        below, page = split_pdf_page_from_path(path)
        file = (shelf / below).resolve(strict=True)
    except (OSError, ValueError):
        raise MediaNotInFolder from None
    if not file.is_relative_to(shelf) or not file.is_file():
        raise MediaNotInFolder
    if name is not None and page is not None and find_pdf_page_in_name(name) != page:
        # Only the name tells the page, so two pages of a file under one name would be taken for the same page.
        raise Invalid(
            places=(Place(("body", "name"), f"must end in ~page{page}, the page of the path; or leave it out"),)
        )
    made = make_media_name_from_path(below, page=page) or convert_name_to_key(file.name)
    return store_media(database, media_settings, campaign, name or made, file, actor=actor)


def get_media_metadata(session: Session, campaign: str, name: str) -> MediaView:
    """Return the metadata of a file. Raises NotFound."""
    return MediaView.from_row(
        media_queries.load_media_by_name(session, campaigns.load_campaign(session, campaign).id, name)
    )


def list_media(session: Session, campaign: str, *, after: str | None, limit: int | None) -> list[MediaView]:
    """List files by name. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    return [
        MediaView.from_row(row) for row in media_queries.load_media_page(session, campaign_id, after=after, limit=limit)
    ]


def open_media(session: Session, media_settings: MediaSettings, campaign: str, name: str) -> MediaContent:
    """Open a file by its name, for callers who may see names. Raises NotFound."""
    row = media_queries.load_media_by_name(session, campaigns.load_campaign(session, campaign).id, name)
    return MediaContent(media_settings, row.sha256, row.size, row.media_type)


def open_all_media(session: Session, media_settings: MediaSettings, campaign: str) -> dict[str, MediaContent]:
    """Open all files of a campaign by name, to be read one after another. Raises NotFound."""
    files = media_queries.load_media_page(
        session, campaigns.load_campaign(session, campaign).id, after=None, limit=None
    )
    return {row.name: MediaContent(media_settings, row.sha256, row.size, row.media_type) for row in files}


def change_media_metadata(
    session: Session, campaign: str, name: str, changes: Mapping[str, str | None], *, actor: str
) -> MediaView:
    """Set captions (name of a WebVTT file of the campaign) or transcript, or remove them (None).

    Raises Invalid if the captions are not a WebVTT file, or the file has no duration.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    row = media_queries.load_media_by_name(session, campaign_id, name, lock=True)
    captions = changes.get("captions")
    if captions is not None:
        _check_captions(session, campaign_id, row, captions)
    if changes:
        media_queries.update_media_captions_or_transcript(session, row.id, changes)
        what = {"media": name, "fields": sorted(changes)}
        audit.record_action(session, campaign_id, actor=actor, action="media changed", what=what)
    return MediaView.from_row(media_queries.load_media_by_name(session, campaign_id, name))


def _check_captions(session: Session, campaign_id: int, row: MediaRow, captions: str) -> None:
    other = media_queries.find_media_by_name(session, campaign_id, captions) if is_key(captions) else None
    wrong = None
    if KINDS[row.media_type] not in TIMED:
        wrong = "only audio and video have captions"
    elif other is None or KINDS[other.media_type] != "captions":
        wrong = "must be the name of a WebVTT file of this campaign"
    if wrong is not None:
        raise Invalid("the captions are not valid", places=(Place(("body", "captions"), wrong),))


def delete_media(session: Session, campaign: str, name: str, *, actor: str) -> None:
    """Delete a file that nothing refers to. Raises MediaInUse, which names the references."""
    campaign_id = campaigns.load_campaign(session, campaign, lock=True).id
    row = media_queries.load_media_by_name(session, campaign_id, name, lock=True)
    of_texts = (place for place, used in media_queries.load_media_uses(session, campaign_id) if used == name)
    uses = [*islice(of_texts, MOST_PLACES), *media_queries.load_file_names_captioned_by(session, campaign_id, name)]
    if uses:
        raise MediaInUse(places=tuple(Place(("media", name), f"{use} refers to it") for use in uses))
    media_queries.delete_media(session, row.id)
    audit.record_action(session, campaign_id, actor=actor, action="media deleted", what={"media": name})
