"""A campaign document by document for writing `pearmut`: its segments, outputs and the judgments that count."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from app.formats.base import (
    BY_METRICS,
    CampaignRow,
    DocumentRecord,
    JudgmentRow,
    MetricScoreRow,
    OutputRow,
    RaterRow,
    Record,
    SegmentRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from app.formats.kit.judgments_to_write import NOWHERE, Address
from app.formats.kit.name_aliases import KeyAliasesInFile
from app.formats.kit.records import decode_record, encode_record
from app.formats.kit.sorting import ExternalSorter

TEXT, ANSWER = "0", "1"
NOT_WRITTEN = frozenset({"item_id", "src", "ref", "tgt", "models", "error_spans", "validation", "form"})
"""Names that an item cannot have for further data, because they have another meaning there."""


@dataclass(slots=True)
class PearmutCampaignToWrite:
    """Names of documents, systems and raters, voided judgments, and how the campaign judges."""

    protocol: str
    criteria: Sequence[Mapping[str, object]]
    systems: KeyAliasesInFile
    documents: KeyAliasesInFile
    raters: KeyAliasesInFile
    voided: set[Address]
    left: frozenset[str]
    alike: bool = True
    """Whether all documents of the test have outputs of the same systems."""
    slider_colors: bool | None = None


@dataclass(slots=True)
class PearmutDocumentToWrite:
    """One document. outputs: by position and system. answers: those that count, rater by rater."""

    key: str
    segments: dict[int, SegmentRow] = field(default_factory=dict)
    outputs: dict[int, dict[str, OutputRow]] = field(default_factory=dict)
    answers: list[JudgmentRow] = field(default_factory=list)

    @property
    def systems(self) -> list[str]:
        """Systems with an output or an answer."""
        judged = {system for answer in self.answers for system in answer.systems}
        return sorted(judged.union(*self.outputs.values()))

    @property
    def last_position(self) -> int:
        """The last position with any data."""
        judged = [answer.position or 1 for answer in self.answers]
        return max([*self.segments, *self.outputs, *judged], default=0)


def collect_pearmut_campaign_to_write(records: Iterable[Record], lost: Counter[str]) -> PearmutCampaignToWrite:
    """Collect names and voided judgments from one pass over all records."""
    campaign: CampaignRow | None = None
    systems: dict[str, str] = {}
    document_names: dict[str, str] = {}
    raters: dict[str, str] = {}
    left: set[str] = set()
    voided: set[Address] = set()
    shown: dict[str, set[str]] = {}
    for record in records:
        if isinstance(record, CampaignRow):
            campaign = record
            lost["languages and options of the campaign"] += bool(record.source_language or record.options)
        elif isinstance(record, SystemRecord):
            systems[record.key] = record.name
            lost["that systems are human, their labs and tags"] += bool(
                record.kind == "human" or record.lab or record.tags
            )
        elif isinstance(record, DocumentRecord):
            document_names[record.key] = record.name
            left |= {record.key} if record.kind != "test" else set()
            lost["domains, order and notes of documents"] += bool(record.domain or record.position or record.meta)
        elif isinstance(record, RaterRow):
            raters[record.key] = record.name
            lost["persons and attributes of raters"] += bool(record.person or record.attributes)
        elif isinstance(record, VoidedJudgmentRow):
            voided.add((record.task, record.item, record.position, record.rater))
        elif isinstance(record, MetricScoreRow):
            lost[BY_METRICS] += 1
        elif isinstance(record, OutputRow):
            shown.setdefault(record.document, set()).add(record.system)
        elif isinstance(record, SegmentRow):
            lost["what is known of segments"] += bool(record.meta and not record.meta.keys().isdisjoint(NOT_WRITTEN))
    lost["documents that are not of the test"] += len(left)
    options = (campaign.options if campaign else None) or {}
    criteria = options.get("criteria")
    return PearmutCampaignToWrite(
        protocol=(campaign.protocol if campaign else None) or "",
        criteria=[one for one in criteria if isinstance(one, Mapping)] if isinstance(criteria, list | tuple) else [],
        systems=KeyAliasesInFile(_is_no_number, lost, systems),
        documents=KeyAliasesInFile(_is_named_by_first_item, lost, document_names),
        raters=KeyAliasesInFile(bool, lost, raters),
        voided=voided,
        left=frozenset(left),
        alike=len({frozenset(systems) for key, systems in shown.items() if key not in left}) < 2,
        slider_colors=campaign.slider_colors if campaign else None,
    )


def _is_no_number(name: str) -> bool:
    """Return whether Pearmut accepts a system's name: the page would put numbers before the other names."""
    return bool(name) and not name.isdigit()


def _is_named_by_first_item(name: str) -> bool:
    """Return whether a document's name can be recovered from that of its first item."""
    return bool(name) and "_#_" not in name and len(name) < 900


def gather_documents_to_write(
    records: Iterable[Record], names: PearmutCampaignToWrite, lost: Counter[str], *, judgments: bool
) -> Iterator[PearmutDocumentToWrite]:
    """Yield test documents by key; one is in memory at a time."""
    with ExternalSorter() as entries:
        for record in records:
            if isinstance(record, SegmentRow | OutputRow) and record.document not in names.left:
                entries.add(f"{record.document}\0{TEXT}\0\0{encode_record(record)}".encode())
            elif judgments and isinstance(record, JudgmentRow) and _has_place(record, names, lost):
                address = (
                    f"{record.rater}\0{record.position:010d}\0{record.task}\0{record.item}\0{record.revision or 0:010d}"
                )
                entries.add(f"{record.document}\0{ANSWER}\0{address}\0\0{encode_record(record)}".encode())
        split = (entry.decode().rpartition("\0\0") for entry in entries)
        parsed = ((head.split("\0"), text) for head, _, text in split)
        for key, group in groupby(parsed, key=lambda one: one[0][0]):
            yield _document(key, group, lost)


def _document(key: str, entries: Iterable[tuple[list[str], str]], lost: Counter[str]) -> PearmutDocumentToWrite:
    document = PearmutDocumentToWrite(key)
    for _, same in groupby(entries, key=lambda one: one[0][1:6] if one[0][1] == ANSWER else one):
        records = [decode_record(json.loads(text), NOWHERE) for _, text in same]
        last = records[-1]
        if isinstance(last, SegmentRow):
            if last.meta is not None or last.position not in document.segments:  # shown again, it has less data
                document.segments[last.position] = last
        elif isinstance(last, OutputRow):
            document.outputs.setdefault(last.position, {})[last.system] = last
        elif isinstance(last, JudgmentRow):
            lost["superseded revisions"] += len(records) - 1
            document.answers.append(last)
    return document


def _has_place(judgment: JudgmentRow, names: PearmutCampaignToWrite, lost: Counter[str]) -> bool:
    """Return whether a line of the log can hold the judgment; what it cannot hold is counted."""
    why = _left_out(judgment, names)
    if why is not None:
        lost[why] += 1
        return False
    lost["tasks of judgments"] += judgment.task != judgment.rater
    lost["that identical outputs were judged once"] += len(judgment.systems) > 1
    return True


def _left_out(judgment: JudgmentRow, names: PearmutCampaignToWrite) -> str | None:
    payload = judgment.payload.get("protocol")
    if payload not in ("da", "esa", "cesa", "mqm", "rating"):
        return f"judgments by {str(payload)[:40]}"
    if judgment.position is None:
        return "judgments of whole items"
    if judgment.document in names.left:
        return "judgments of documents that are not of the test"
    if judgment.role != "rating":
        return f"judgments of the kind {judgment.role}"
    if not judgment.accepted:
        return "judgments of rejected tasks"
    address = judgment.task, judgment.item, judgment.position, judgment.rater
    return "voided judgments" if address in names.voided else None
