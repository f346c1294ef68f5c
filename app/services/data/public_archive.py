"""The public archive of a finished campaign: its texts with all judgments, read-only and without raters' names.

A manager creates the address and can revoke it. It works while the campaign is closed.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.errors import Conflict, NotFound
from app.reports.inputs.campaign import CampaignInfo
from app.services.access.organization_prefixes import prefix_with_organization_mark
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.display_settings import get_display_settings
from app.services.data.public_archive_media import ArchivedMediaFile, load_media_of_archived_texts, open_archived_media
from app.services.media.library import MediaContent
from app.services.media.media_settings import MediaSettings
from app.services.tasks.campaign_judgments import JudgmentFilter, ManagerJudgmentView, list_judgments
from app.storage import archive_links, campaigns, test_sets
from app.storage.db import Session

PAGE = 200
SHOWN = "test"
"""The kind of document that is shown. Other kinds have known answers, which other campaigns use, too."""
MOST_JUDGMENTS = 20_000
"""The limit for one document. The exports contain all judgments of a longer one."""
WITHHELD = frozenset({"note", "link", "comment", "texts"})
"""Payload fields with free text, in which raters may write about themselves; `texts` belongs to custom protocols."""


class CampaignNotClosed(Conflict):
    """Only a closed campaign has a public archive, because raters of an open one could read how others judged."""


class ArchiveNotFound(NotFound):
    """There is no archive at this address, or its link was disabled."""


@dataclass(frozen=True, slots=True)
class ArchiveLink:
    """An address that opens the archive to everybody who has it."""

    address: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ArchivedJudgment:
    """The last answer of a rater. rater: a number instead of the name, the same in all documents of the campaign."""

    rater: int
    score: float | None
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ArchivedOutput:
    """A system's output for a segment. system: its key. text: None if the system has no output there."""

    system: str
    text: str | None
    judgments: tuple[ArchivedJudgment, ...]


@dataclass(frozen=True, slots=True)
class ArchivedSegment:
    """A segment with the outputs of all systems."""

    position: int
    source: str | None
    outputs: tuple[ArchivedOutput, ...]


@dataclass(frozen=True, slots=True)
class ArchivedDocumentJudgment:
    """A judgment of a whole document."""

    systems: tuple[str, ...]
    judgment: ArchivedJudgment


@dataclass(frozen=True, slots=True)
class ArchivedDocument:
    """A document as the public sees it.

    markup: whether tags in its texts are shown as layout, as raters saw them. media: the files that are shown in place
    of texts.
    """

    document: str
    name: str
    segments: tuple[ArchivedSegment, ...]
    document_scores: tuple[ArchivedDocumentJudgment, ...]
    markup: bool = False
    media: tuple[ArchivedMediaFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchiveIndexPage:
    """A campaign and a page of its documents, each by key and name. next: the key after which the next page starts."""

    campaign: CampaignInfo
    documents: tuple[tuple[str, str], ...]
    next: str | None


def publish_archive(session: Session, campaign: str, *, actor: str) -> ArchiveLink:
    """Create the archive's address. Until it is revoked, the address stays the same.

    Raises NotFound, CampaignNotClosed.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    require_closed_campaign(session, campaign)
    if archive_links.find_archive_link_of_campaign(session, row.id) is None:
        archive_links.insert_archive_link(
            session, row.id, address=prefix_with_organization_mark(secrets.token_urlsafe(16)), actor=actor
        )
        audit.record_action(session, row.id, actor=actor, action="archive opened")
    return get_archive_link(session, campaign)


def require_closed_campaign(session: Session, campaign: str) -> None:
    """Raise CampaignNotClosed if the campaign is in another state, and NotFound if it does not exist."""
    state = campaigns.load_campaign(session, campaign).state
    if state != "closed":
        raise CampaignNotClosed(f"it is {state}")


def get_archive_link(session: Session, campaign: str) -> ArchiveLink:
    """Return the address that is in use. Raises NotFound."""
    link = archive_links.find_archive_link_of_campaign(session, campaigns.load_campaign(session, campaign).id)
    if link is None:
        raise ArchiveNotFound
    return ArchiveLink(link.address, link.created_at)


def has_archive_link(session: Session, campaign: str) -> bool:
    """Return whether the campaign has a public archive. Raises NotFound if the campaign does not exist."""
    return (
        archive_links.find_archive_link_of_campaign(session, campaigns.load_campaign(session, campaign).id) is not None
    )


def unpublish_archive(session: Session, campaign: str, *, actor: str) -> None:
    """Revoke the address, which never works again. Raises NotFound if there is none."""
    row = campaigns.load_campaign(session, campaign, lock=True)
    if not archive_links.revoke_archive_link(session, row.id):
        raise ArchiveNotFound
    audit.record_action(session, row.id, actor=actor, action="archive closed")


def get_archived_campaign_key(session: Session, address: str) -> str:
    """Return the key of the campaign at an address. Raises ArchiveNotFound."""
    campaign = archive_links.find_campaign_key_of_archive_link(session, address)
    if campaign is None:
        raise ArchiveNotFound
    return campaign


def load_archive_index_page(session: Session, campaign: str, *, after: str | None = None) -> ArchiveIndexPage:
    """Load a page of the documents in the test set. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign)
    documents = test_sets.load_documents_page(session, row.id, kind=SHOWN, after=after, limit=PAGE + 1)
    shown = tuple((one.key, one.name or one.key) for one in documents[:PAGE])
    return ArchiveIndexPage(get_campaign(session, campaign), shown, shown[-1][0] if len(documents) > PAGE else None)


def find_next_document_key_in_public_archive(session: Session, campaign: str, document: str) -> str | None:
    """Return the key of the next document in the list, None after the last one. Raises NotFound."""
    row = campaigns.load_campaign(session, campaign)
    following = test_sets.load_documents_page(session, row.id, kind=SHOWN, after=document, limit=1)
    return next((one.key for one in following), None)


def load_archived_document(session: Session, campaign: str, document: str) -> ArchivedDocument:
    """Load a document with all judgments that count: each rater's last ones, not voided, surplus or of control items.

    Raises NotFound.
    """
    row, text = _find_document(session, campaign, document)
    numbers = assign_rater_numbers(campaign, archive_links.list_rater_keys_of_campaign(session, row.id))
    judgments = list(_load_counted_judgments(session, campaign, document))
    systems = test_sets.load_active_system_keys(session, row.id)
    rows = test_sets.load_segments(session, row.id, text.id)
    texts = _texts(session, row.id, text.id, systems, [one.position for one in rows])
    segments = tuple(
        ArchivedSegment(
            segment.position,
            segment.source,
            tuple(
                ArchivedOutput(
                    system,
                    texts.get((system, segment.position)),
                    _judgments_of_output(judgments, numbers, system, segment.position),
                )
                for system in systems
            ),
        )
        for segment in rows
    )
    whole = tuple(
        ArchivedDocumentJudgment(one.systems, _make_archived_judgment(one, numbers))
        for one in judgments
        if one.segment is None
    )
    display = get_display_settings(get_campaign(session, campaign).settings)
    media = load_media_of_archived_texts(session, row.id, (*(one.source for one in rows), *texts.values()))
    return ArchivedDocument(text.key, text.name or text.key, segments, whole, display.markup, media)


def open_public_archive_media(
    session: Session, media_settings: MediaSettings, campaign: str, document: str, name: str
) -> MediaContent:
    """Open a file that a text of the document shows. Raises NotFound."""
    row, text = _find_document(session, campaign, document)
    segments = test_sets.load_segments(session, row.id, text.id)
    systems = test_sets.load_active_system_keys(session, row.id)
    texts = _texts(session, row.id, text.id, systems, [one.position for one in segments])
    shown = (*(one.source for one in segments), *texts.values())
    return open_archived_media(session, media_settings, row.id, shown, name)


def _find_document(session: Session, campaign: str, document: str) -> tuple[Any, Any]:
    row = campaigns.load_campaign(session, campaign)
    text = test_sets.find_document(session, row.id, document)
    if text is None or text.kind != SHOWN:
        raise ArchiveNotFound("there is no such document")
    return row, text


def assign_rater_numbers(campaign: str, raters: Sequence[str]) -> Mapping[str, int]:
    """Assign a number to each rater, in an order that does not reveal their names.

    >>> sorted(assign_rater_numbers("c", ["anna", "ben"]).values())
    [1, 2]
    """

    def hashed(rater: str) -> bytes:
        return hashlib.sha256(f"{campaign}\0{rater}".encode()).digest()

    return {rater: n for n, rater in enumerate(sorted(raters, key=hashed), 1)}


def redact_free_text(value: Any) -> Any:
    """Return a payload without the fields that hold raters' free text.

    >>> redact_free_text({"scores": {"note": 3}, "texts": {"why": "me"}, "errors": [{"severity": "minor", "note": ""}]})
    {'scores': {'note': 3}, 'errors': [{'severity': 'minor'}]}
    """
    if isinstance(value, Mapping):
        return {
            name: redact_free_text(one)
            for name, one in value.items()
            if name not in WITHHELD or isinstance(one, int | float)
        }
    return [redact_free_text(one) for one in value] if isinstance(value, list) else value


def _load_counted_judgments(session: Session, campaign: str, document: str) -> Iterator[ManagerJudgmentView]:
    latest: dict[tuple[object, ...], ManagerJudgmentView] = {}
    after: int | None = 0
    seen = 0
    while after is not None and seen < MOST_JUDGMENTS:
        rows, reached = list_judgments(session, campaign, JudgmentFilter(document=document), after=after, limit=PAGE)
        for judgment in rows:
            address = (judgment.task, judgment.item, judgment.segment, judgment.rater)
            if address not in latest or latest[address].revision < judgment.revision:
                latest[address] = judgment
        seen += len(rows)
        after = rows[-1].id if len(rows) == PAGE else reached
    yield from (one for one in latest.values() if one.role == "rating" and one.void is None and not one.surplus)


def _texts(
    session: Session, campaign_id: int, document_id: int, systems: Sequence[str], positions: Sequence[int]
) -> Mapping[tuple[str, int], str | None]:
    texts: dict[tuple[str, int], str | None] = {}
    for key in systems:
        system = test_sets.find_system(session, campaign_id, key)
        if system is not None:
            outputs = test_sets.load_outputs_of_system_on_document(session, campaign_id, system.id, document_id)
            texts.update({(key, at): one.text for at, one in zip(positions, outputs, strict=True)})
    return texts


def _judgments_of_output(
    judgments: Sequence[ManagerJudgmentView], numbers: Mapping[str, int], system: str, position: int
) -> tuple[ArchivedJudgment, ...]:
    shown = [
        _make_archived_judgment(one, numbers) for one in judgments if one.segment == position and system in one.systems
    ]
    return tuple(sorted(shown, key=lambda one: one.rater))


def _make_archived_judgment(judgment: ManagerJudgmentView, numbers: Mapping[str, int]) -> ArchivedJudgment:
    return ArchivedJudgment(numbers[judgment.rater], judgment.score, redact_free_text(judgment.payload))
