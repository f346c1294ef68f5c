"""Texts written by the raters of one campaign become outputs of the same systems in another campaign.

Source: Licht et al. 2022 §5.1. For translation out of English, outputs are translated back by hand and judged beside
the original, which is the reference there. Each new output records who wrote it, where it is kept and what it was made
from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app import protocols
from app.domain.errors import Conflict, Invalid, Place
from app.formats.base import (
    DocumentRecord,
    JudgmentRow,
    OutputRow,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from app.protocols.base import TextEditWidget
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns.campaigns import get_campaign
from app.services.data import exports
from app.services.data.record_import import RunningImport, import_records
from app.services.data.test_sets import CHANGES, TestSetClosed
from app.storage import campaigns, test_sets
from app.storage import output_authors as stored
from app.storage.db import Session

RANKED = frozenset({"rating"})
REFERENCE = "source"
Address = tuple[str, str, int]


class ProtocolWritesNoText(Conflict):
    """The raters of this campaign write no texts."""

    published = "WritesNothing"


class BackTranslationLanguageDiffers(Conflict):
    """The texts are in another language than the outputs that the other campaign judges."""

    published = "OtherLanguage"


@dataclass(frozen=True, slots=True)
class BackTranslationCopyCounts:
    """How many texts became outputs. left: texts that were not taken, by reason."""

    outputs: int
    unchanged: int
    systems: int
    documents: int
    raters: int
    left: Mapping[str, int]
    data_version: int


@dataclass(frozen=True, slots=True)
class OutputAuthor:
    """Who wrote an output, and where it is kept."""

    cursor: int
    system: str
    document: str
    position: int
    rater: str
    link: str | None
    source: str


@dataclass(slots=True)
class _CampaignTexts:
    """The relevant contents of a campaign. texts: the judgment that each output's text is taken from."""

    systems: dict[str, SystemRecord] = field(default_factory=dict)
    documents: dict[str, DocumentRecord] = field(default_factory=dict)
    segments: dict[str, list[SegmentRow]] = field(default_factory=dict)
    answers: dict[tuple[Address, str], JudgmentRow] = field(default_factory=dict)
    voided: set[tuple[str, str, int | None, str]] = field(default_factory=set)

    @property
    def texts(self) -> dict[Address, JudgmentRow]:
        """For each output, the judgment of the first back-translator by key."""
        latest: dict[Address, JudgmentRow] = {}
        for (address, _), row in sorted(self.answers.items()):
            if (row.task, row.item, row.position, row.rater) not in self.voided:
                latest.setdefault(address, row)
        return latest


def copy_back_translations_as_outputs(
    session: Session, campaign: str, target: str, *, rater: str | None, actor: str
) -> BackTranslationCopyCounts:
    """Make the texts that a campaign's raters wrote outputs of the same systems in another campaign.

    rater: whose texts to take; None takes for each output those of the first rater by key. Documents that the other
    campaign lacks are created there, with their sources as the reference. A repeated call adds new texts. A text that a
    task there shows is kept.

    Raises NotFound, Invalid if both campaigns are the same, ProtocolWritesNoText, BackTranslationLanguageDiffers,
    TestSetClosed.
    """
    if campaign == target:
        raise Invalid(places=(Place(("body", "to"), "is the campaign itself"),))
    target_id, view, other = (
        campaigns.load_campaign(session, target, lock=True).id,
        get_campaign(session, campaign),
        get_campaign(session, target),
    )
    _check(view, other)
    left: Counter[str] = Counter()
    gathered = _gather(exports.load_campaign_records(session, campaign), rater, left)
    wanted = _fitting(session, target_id, gathered, left)
    written = {address: _written_text(view, row) for address, row in wanted.items()}
    before = stored.load_output_ids_and_texts(session, target_id)
    known = dict(test_sets.load_test_document_sizes(session, target_id))
    same = {address for address, said in written.items() if address in before and before[address].text == said}
    changed = [before[address].id for address in written.keys() & before.keys() - same]
    stored.delete_outputs_and_authors(session, target_id, changed)
    records = _make_import_records(gathered, {a: said for a, said in written.items() if a not in same}, known)
    counts = import_records(
        RunningImport(session, other, actor=actor, audit_details=f"texts written in {campaign}"), records, ReadLog()
    )
    after = stored.load_output_ids_and_texts(session, target_id)
    rows = [(after[a].id, row.rater, written[a], _origin(campaign, row)) for a, row in wanted.items()]
    stored.replace_output_authors(session, target_id, rows)
    raters = {row.rater for row in wanted.values()}
    made = (counts["outputs"], len(same), counts["systems"], counts["documents"], len(raters))
    return BackTranslationCopyCounts(*made, dict(left), counts["data_version"])


def list_rater_written_outputs(session: Session, campaign: str, *, after: int, limit: int) -> list[OutputAuthor]:
    """List the outputs that raters of another campaign wrote, with their authors. Raises NotFound."""
    rows = stored.load_output_authors_page(
        session, campaigns.load_campaign(session, campaign).id, after=after, limit=limit
    )
    return [
        OutputAuthor(row.id, row.system, row.document, row.position, row.how["rater"], row.how["link"], row.how["from"])
        for row in rows
    ]


def _check(view: CampaignInfo, other: CampaignInfo) -> None:
    """Raise ProtocolWritesNoText, BackTranslationLanguageDiffers or TestSetClosed if the texts cannot be copied."""
    protocol = protocols.get_protocol(view.protocol)
    if protocol.written is None:
        raise ProtocolWritesNoText(f"it judges by {view.protocol}")
    anew = any(isinstance(widget, TextEditWidget) and widget.start == "empty" for widget in protocol.form)
    language = view.source_language if anew else view.target_language
    if language is not None and other.target_language is not None and language != other.target_language:
        raise BackTranslationLanguageDiffers(f"{language} there, {other.target_language} here")
    if other.state not in CHANGES:
        raise TestSetClosed


def _gather(records: Iterator[Record], rater: str | None, left: Counter[str]) -> _CampaignTexts:
    gathered = _CampaignTexts()
    for record in records:
        if isinstance(record, SystemRecord):
            gathered.systems[record.key] = record
        elif isinstance(record, DocumentRecord):
            gathered.documents[record.key] = record
        elif isinstance(record, SegmentRow):
            gathered.segments.setdefault(record.document, []).append(record)
        elif isinstance(record, VoidedJudgmentRow):
            gathered.voided.add((record.task, record.item, record.position, record.rater))
        elif isinstance(record, JudgmentRow):
            _note_answer(gathered, record, rater, left)
    return gathered


def _note_answer(gathered: _CampaignTexts, row: JudgmentRow, rater: str | None, left: Counter[str]) -> None:
    """Record an answer; a later revision replaces an earlier one."""
    if row.position is None or row.role not in RANKED or not row.accepted:
        left["not a rating of a segment"] += 1
        return
    if rater is not None and row.rater != rater:
        left["another rater's"] += 1
        return
    for system in row.systems:
        gathered.answers[(system, row.document, row.position), row.rater] = row


def _fitting(
    session: Session, target_id: int, gathered: _CampaignTexts, left: Counter[str]
) -> dict[Address, JudgmentRow]:
    """Return the texts that can become outputs: the segment exists or can be created, and no task shows another one."""
    known, shown = (
        dict(test_sets.load_test_document_sizes(session, target_id)),
        stored.load_system_document_pairs_in_tasks(session, target_id),
    )
    texts = gathered.texts
    left["voided, or by another back-translator"] += len(gathered.answers) - len(texts)
    fitting = {}
    for (system, document, position), row in texts.items():
        if document in known and position > known[document]:
            left["segment not there"] += 1
        elif (system, document) in shown:
            left["shown by a task already"] += 1
        else:
            fitting[system, document, position] = row
    for reason in [reason for reason, n in left.items() if not n]:
        del left[reason]
    return fitting


def _written_text(view: CampaignInfo, row: JudgmentRow) -> str:
    protocol: Any = protocols.get_protocol(view.protocol)
    text: str = protocol.written(protocol.payload.model_validate(row.payload))
    return text.strip()


def _make_import_records(
    gathered: _CampaignTexts, texts: Mapping[Address, str], known: Mapping[str, int]
) -> Iterator[Record]:
    """Yield systems, new documents with their sources as references, and outputs."""
    for system in sorted({system for system, _, _ in texts}):
        yield gathered.systems[system]
    for document in sorted({document for _, document, _ in texts} - known.keys()):
        yield gathered.documents[document]
        for segment in gathered.segments[document]:
            references = None if segment.source is None else {REFERENCE: segment.source}
            yield SegmentRow(segment.at, document, segment.position, None, references)
    for (system, document, position), text in sorted(texts.items()):
        yield OutputRow(gathered.systems[system].at, system, document, position, text)


def _origin(campaign: str, row: JudgmentRow) -> dict[str, object]:
    submitted = None if row.submitted_at is None else row.submitted_at.isoformat()
    said = {"task": row.task, "item": row.item, "revision": row.revision, "submitted_at": submitted}
    return {"from": campaign, "rater": row.rater, "link": row.payload.get("link"), **said}
