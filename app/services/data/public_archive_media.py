"""Media files in a public archive: files shown in place of texts, with addresses that the reader can open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from app.domain.media_elements import parse_media_element
from app.domain.media_types import KINDS
from app.services.media.library import MediaContent
from app.services.media.media_settings import MediaSettings
from app.services.media.shown_media import load_media_by_names
from app.storage.db import Session
from app.storage.media import media_queries
from app.storage.media.media_queries import MediaRow

AddressOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ArchivedMediaFile:
    """A file that a document's texts refer to by name, or the captions of such a file.

    address: where the bytes are, empty if unknown. captions: the name of the file with captions.
    """

    name: str
    kind: str
    media_type: str
    duration_ms: int | None
    width: int | None
    height: int | None
    captions: str | None
    transcript: str | None
    address: str = ""

    @classmethod
    def from_row(cls, row: MediaRow) -> ArchivedMediaFile:
        """Make the value from a stored row."""
        size = row.duration_ms, row.width, row.height
        return cls(row.name, KINDS[row.media_type], row.media_type, *size, row.captions, row.transcript)


def load_media_of_archived_texts(
    session: Session, campaign_id: int, texts: Iterable[str | None]
) -> tuple[ArchivedMediaFile, ...]:
    """Load the existing files that some texts refer to, by name, and their captions."""
    names = {element.name for text in texts if (element := parse_media_element(text)) is not None}
    files = load_media_by_names(session, campaign_id, names) if names else {}
    return tuple(ArchivedMediaFile.from_row(files[name]) for name in sorted(files))


def add_media_addresses(media: Iterable[ArchivedMediaFile], address_of: AddressOf) -> tuple[ArchivedMediaFile, ...]:
    """Return the files with their addresses. address_of: returns the address of a file, given its name."""
    return tuple(replace(file, address=address_of(file.name)) for file in media)


def open_archived_media(
    session: Session, media_settings: MediaSettings, campaign_id: int, texts: Iterable[str | None], name: str
) -> MediaContent:
    """Open a file that some texts show.

    Raises MediaNotFound, even if the campaign has the file but no text shows it.
    """
    shown = {file.name for file in load_media_of_archived_texts(session, campaign_id, texts)}
    row = media_queries.load_media_by_name(session, campaign_id, name if name in shown else "")
    return MediaContent(media_settings, row.sha256, row.size, row.media_type)
