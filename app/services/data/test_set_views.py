"""The stored test set of a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.markup import MarkedUpText, parse_markup_if_present
from app.services.campaigns.display_settings import get_display_settings
from app.services.data.test_sets import load_document_row, load_system_row
from app.storage import campaigns
from app.storage import test_sets as stored
from app.storage.db import Session


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A stored segment. markup: the source as raters see it, if the campaign shows tags as layout."""

    source: str | None
    references: Mapping[str, str]
    meta: Mapping[str, object]
    markup: MarkedUpText | None = None


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A stored document."""

    key: str
    name: str
    kind: str
    domain: str | None
    origin: str | None
    position: int | None
    segments: tuple[StoredSegment, ...] | None


@dataclass(frozen=True, slots=True)
class StoredSystemView:
    """A stored system."""

    key: str
    name: str
    kind: str
    lab: str | None
    tags: tuple[str, ...]
    state: str


@dataclass(frozen=True, slots=True)
class OutputView:
    """One output. sha256: of its text, in hexadecimal digits. markup: as for a segment."""

    text: str | None
    sha256: str | None
    prefill: tuple[Mapping[str, Any], ...] | None
    alignment: str | None
    markup: MarkedUpText | None = None


@dataclass(frozen=True, slots=True)
class DocumentOutputCount:
    """How many outputs a system has on a document. segments, outputs: their numbers."""

    document: str
    segments: int
    outputs: int


def get_document(session: Session, campaign: str, key: str) -> DocumentView:
    """Return a document with its segments. Raises NotFound."""
    about = campaigns.load_campaign(session, campaign)
    campaign_id, markup = about.id, get_display_settings(about.settings).markup
    row = load_document_row(session, campaign_id, key)
    rows = stored.load_segments(session, campaign_id, row.id)
    return _document_view(
        row,
        tuple(
            StoredSegment(one.source, one.references, one.meta, parse_markup_if_present(one.source) if markup else None)
            for one in rows
        ),
    )


def get_system(session: Session, campaign: str, key: str) -> StoredSystemView:
    """Return a system. Raises NotFound."""
    return _system_view(load_system_row(session, campaigns.load_campaign(session, campaign).id, key))


def get_system_outputs_on_document(session: Session, campaign: str, system: str, document: str) -> list[OutputView]:
    """Return a system's outputs on a document, one entry for each segment. Raises NotFound."""
    return get_outputs_of_systems(session, campaign, document, [system])[system]


def get_outputs_of_systems(
    session: Session, campaign: str, document: str, keys: Sequence[str]
) -> dict[str, list[OutputView]]:
    """Return the outputs of several systems on a document, by key, one entry for each segment. Raises NotFound."""
    about = campaigns.load_campaign(session, campaign)
    markup = get_display_settings(about.settings).markup
    on = load_document_row(session, about.id, document)
    return {
        key: [
            _output_view(row, markup=markup)
            for row in stored.load_outputs_of_system_on_document(
                session, about.id, load_system_row(session, about.id, key).id, on.id
            )
        ]
        for key in keys
    }


def count_system_outputs_by_document(
    session: Session, campaign: str, system: str, *, after: str | None, limit: int
) -> list[DocumentOutputCount]:
    """List the documents on which a system has outputs, by key, starting after `after`. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    of = load_system_row(session, campaign_id, system)
    rows = stored.load_system_documents_page(session, campaign_id, of.id, after=after, limit=limit)
    return [DocumentOutputCount(row.document, row.segments, row.outputs) for row in rows]


def list_documents(
    session: Session, campaign: str, *, kind: str | None = None, after: str | None, limit: int
) -> list[DocumentView]:
    """List documents by key, starting after `after`, without their segments. kind: only this kind."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows = stored.load_documents_page(session, campaign_id, kind=kind, after=after, limit=limit)
    return [_document_view(row, None) for row in rows]


def list_known_answer_documents(session: Session, campaign: str) -> list[DocumentView]:
    """List the documents of the tutorial and of attention checks, without their segments."""
    rows = stored.load_known_answer_documents(session, campaigns.load_campaign(session, campaign).id)
    return [_document_view(row, None) for row in rows]


def list_systems(session: Session, campaign: str, *, after: str | None, limit: int) -> list[StoredSystemView]:
    """List systems by key, starting after `after`."""
    rows = stored.load_systems_page(session, campaigns.load_campaign(session, campaign).id, after=after, limit=limit)
    return [_system_view(row) for row in rows]


def _output_view(row: Any, *, markup: bool) -> OutputView:
    return OutputView(
        *(row.text, None if row.sha256 is None else row.sha256.hex()),
        prefill=row.prefill and tuple(row.prefill),
        alignment=row.alignment,
        markup=parse_markup_if_present(row.text) if markup else None,
    )


def _document_view(row: Any, segments: tuple[StoredSegment, ...] | None) -> DocumentView:
    return DocumentView(row.key, row.name, row.kind, row.domain, row.origin, row.position, segments)


def _system_view(row: Any) -> StoredSystemView:
    return StoredSystemView(row.key, row.name, row.kind, row.lab, tuple(row.tags), row.state)
