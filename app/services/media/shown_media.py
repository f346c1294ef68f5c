"""Texts that are media, as raters see them: what is shown in their place does not reveal the file's name."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.media_elements import MediaElement, parse_media_element
from app.domain.media_types import KINDS, ShownMedia
from app.storage.db import Session
from app.storage.media import media_queries
from app.storage.media.media_queries import MediaRow

MISSING = "missing"


def load_shown_media_by_text(session: Session, campaign_id: int, texts: Iterable[str | None]) -> dict[str, ShownMedia]:
    """Load what is shown in place of each text that is media, by the text."""
    elements = {text: element for text in texts if text and (element := parse_media_element(text)) is not None}
    if not elements:
        return {}
    files = load_media_by_names(session, campaign_id, {element.name for element in elements.values()})
    return {text: _make_shown_media(element, files) for text, element in elements.items()}


def load_media_by_names(session: Session, campaign_id: int, names: Iterable[str]) -> dict[str, MediaRow]:
    """Load files by name, with their captions."""
    files = media_queries.load_named_media(session, campaign_id, sorted(names))
    captions = {row.captions for row in files.values() if row.captions is not None} - set(files)
    return {**files, **media_queries.load_named_media(session, campaign_id, sorted(captions))}


def _make_shown_media(element: MediaElement, files: dict[str, MediaRow]) -> ShownMedia:
    row = files.get(element.name)
    if row is None or row.media_type == "text/vtt":
        return ShownMedia(None, MISSING, transcript=element.transcript)
    captions = files.get(row.captions or "")
    return ShownMedia(
        id=row.public_id,
        kind=KINDS[row.media_type],
        duration_ms=row.duration_ms,
        width=row.width,
        height=row.height,
        captions=None if captions is None else captions.public_id,
        transcript=element.transcript or row.transcript,
    )


def extract_text_or_transcript(text: str | None) -> str | None:
    """Return a text for reading. If it is media, return what follows the element, or None if nothing does."""
    element = parse_media_element(text)
    return text if element is None else element.transcript
