"""Write `wmt-jsonl`: one line per document, with sources, references and outputs.

Paragraphs are joined by blank lines. They are a list instead if one of them contains a blank line, or if the document
has the name of a single paragraph.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from app.formats.base import (
    BY_METRICS,
    CampaignRow,
    DocumentRecord,
    JudgmentRow,
    MetricScoreRow,
    OutputRow,
    Record,
    SegmentRow,
    SystemRecord,
)
from app.formats.kit.judgments_to_write import NOWHERE
from app.formats.kit.records import decode_record, encode_record
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import canonical_json
from app.formats.wmt_jsonl.documents import BLANK_LINE, REFERENCE, USED, split_document_and_paragraph

Texts = Mapping[int, str]


@dataclass(slots=True)
class _LineContext:
    """Data for the lines other than texts."""

    campaign: CampaignRow | None = None
    systems: dict[str, SystemRecord] = field(default_factory=dict)
    documents: dict[str, DocumentRecord] = field(default_factory=dict)


def write(records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]:
    """Write test documents in their order; data without a place is counted in `lost`."""
    lost = Counter() if lost is None else lost
    known = _LineContext()
    with ExternalSorter() as texts:
        for record in records:
            if isinstance(record, SegmentRow | OutputRow):
                texts.add(f"{record.document}\0{record.position:010d}\0\0{encode_record(record)}".encode())
            elif not _note(known, record, lost):
                lost["judgments"] += isinstance(record, JudgmentRow)
                lost[BY_METRICS] += isinstance(record, MetricScoreRow)
        with ExternalSorter() as lines:
            for document, line in _lines(known, texts, lost):
                position = known.documents[document].position if document in known.documents else None
                lines.add(f"{position or 10**9:010d}\0{document}\0\0{line}".encode())
            for entry in lines:
                yield entry.rpartition(b"\0\0")[2] + b"\n"
    for what in [what for what, n in lost.items() if not n]:
        del lost[what]


def _note(known: _LineContext, record: Record, lost: Counter[str]) -> bool:
    """Note records of campaign, systems and documents; return False for any other record."""
    if isinstance(record, CampaignRow):
        known.campaign = record
    elif isinstance(record, SystemRecord):
        known.systems[record.key] = record
        by_name = "human" if REFERENCE.fullmatch(record.name) else "mt"
        lost["which systems are human, and their labs and tags"] += record.kind != by_name or bool(
            record.lab or record.tags
        )
    elif isinstance(record, DocumentRecord):
        known.documents[record.key] = record
    else:
        return False
    return True


def _lines(known: _LineContext, texts: Iterable[bytes], lost: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield key and line of each test document."""
    split = (entry.decode().rpartition("\0\0") for entry in texts)
    for document, group in groupby(split, key=lambda parts: parts[0].partition("\0")[0]):
        records = [decode_record(json.loads(text), NOWHERE) for _, _, text in group]
        row = known.documents.get(document)
        if row is not None and row.kind != "test":
            lost[f"documents of the kind {row.kind}"] += 1
            continue
        segments = {one.position: one for one in records if isinstance(one, SegmentRow)}
        if any(one.source is None for one in segments.values()):
            lost["documents without a source"] += 1
            continue
        lost["what is known of segments"] += sum(one.meta is not None for one in segments.values())
        by_system: dict[str, dict[int, str]] = {}
        for record in records:
            if isinstance(record, OutputRow):
                by_system.setdefault(record.system, {})[record.position] = record.text
                lost["errors shown with outputs"] += record.prefill is not None
        yield document, canonical_json(_line(known, document, segments, by_system, lost))


def _line(
    known: _LineContext,
    document: str,
    segments: Mapping[int, SegmentRow],
    by_system: Mapping[str, Texts],
    lost: Counter[str],
) -> dict[str, object]:
    row, campaign = known.documents.get(document), known.campaign
    references: dict[str, dict[int, str]] = {}
    for position, segment in segments.items():
        for name, text in (segment.references or {}).items():
            references.setdefault(name, {})[position] = text
    kept = {name: value for name, value in ((row.meta if row else None) or {}).items() if name not in USED}
    line: dict[str, object] = {**kept, "doc_id": row.name if row else document}
    if row is not None and row.domain:
        line["domain"] = row.domain
    if campaign is not None and campaign.source_language and campaign.target_language:
        line |= {"src_lang": campaign.source_language, "tgt_lang": campaign.target_language}
    sources = [str(segments[position].source) for position in sorted(segments)]
    line["src_text"] = sources if split_document_and_paragraph(str(line["doc_id"])) else _join_paragraphs(sources)
    line["refs"] = dict(_list_complete_texts(references, segments, lost, "references"))
    outputs = dict(_list_complete_texts(by_system, segments, lost, "outputs"))
    line["tgt_text"] = {_name(known, system): text for system, text in outputs.items()}
    return line


def _list_complete_texts(
    texts: Mapping[str, Texts], segments: Mapping[int, object], lost: Counter[str], what: str
) -> Iterator[tuple[str, object]]:
    """Yield those texts, by name, that exist for every segment."""
    for name, text_at in sorted(texts.items()):
        if text_at.keys() == segments.keys():
            yield name, _join_paragraphs([text_at[position] for position in sorted(text_at)])
        else:
            lost[f"{what} of documents that lack some of their segments"] += len(text_at)


def _join_paragraphs(paragraphs: list[str]) -> object:
    """Join paragraphs into one text, if splitting it gives the same paragraphs."""
    text = BLANK_LINE.join(paragraphs)
    return text if text.split(BLANK_LINE) == paragraphs else paragraphs


def _name(known: _LineContext, system: str) -> str:
    row = known.systems.get(system)
    return system if row is None else row.name
