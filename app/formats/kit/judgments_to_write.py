"""Input for writers of one row per judgment: its latest revision, its texts, and the names of the keys."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby

from app.formats.base import (
    BY_METRICS,
    COMPARED,
    CampaignRow,
    DocumentRecord,
    JudgmentRow,
    LineLocation,
    MetricScoreRow,
    OutputRow,
    RaterRow,
    Record,
    ScreenComparisonRow,
    SegmentRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from app.formats.kit.records import decode_record, encode_record, make_record_identity_key
from app.formats.kit.sorting import ExternalSorter

NOWHERE = LineLocation("", 0)
TEXTS, JUDGMENT = "0", "1"
Address = tuple[str, str, int | None, str]


@dataclass(frozen=True, slots=True)
class JudgmentToWrite:
    """The judgment that counts at one address, and its texts, if they are known."""

    judgment: JudgmentRow
    source: str | None
    segment: SegmentRow | None
    outputs: Mapping[str, str]


@dataclass(slots=True)
class RecordsToWrite:
    """Records collected for writing; names by key."""

    lost: Counter[str]
    entries: ExternalSorter
    campaign: CampaignRow | None = None
    systems: dict[str, str] = field(default_factory=dict)
    raters: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    voided: set[Address] = field(default_factory=set)

    def add_record(self, record: Record) -> None:
        """Add one record."""
        if isinstance(record, CampaignRow):
            self.campaign = record
        elif isinstance(record, SystemRecord):
            self.systems[record.key] = record.name
        elif isinstance(record, RaterRow):
            self.raters[record.key] = record.name
        elif isinstance(record, DocumentRecord):
            self.documents[record.key] = record.name
        elif isinstance(record, VoidedJudgmentRow):
            self.voided.add((record.task, record.item, record.position, record.rater))
        elif isinstance(record, ScreenComparisonRow):
            self.lost[COMPARED] += 1
        elif isinstance(record, MetricScoreRow):
            self.lost[BY_METRICS] += 1
        elif record.position is None:
            self.lost["judgments of whole items"] += 1
        else:
            self.entries.add(_entry(record, record.position).encode())

    def iterate_judgments(self) -> Iterator[JudgmentToWrite]:
        """Yield the judgments that count, by document, position and address; works only once.

        Superseded revisions and voided judgments are counted as lost.
        """
        parsed = (_parse_entry(entry) for entry in self.entries)
        for _, group in groupby(parsed, key=lambda pair: pair[0][:2]):
            segment: SegmentRow | None = None
            outputs: dict[str, str] = {}
            for _, same in groupby(group, key=lambda pair: pair[0][2:8]):
                for record in self._latest([record for _, record in same]):
                    if isinstance(record, SegmentRow):
                        segment = record
                    elif isinstance(record, OutputRow):
                        outputs[record.system] = record.text
                    elif isinstance(record, JudgmentRow):
                        yield JudgmentToWrite(record, segment.source if segment else None, segment, outputs)

    def _latest(self, records: list[Record]) -> list[Record]:
        last = records[-1]
        if not isinstance(last, JudgmentRow):
            return records
        if len(records) > 1:
            self.lost["superseded revisions"] += len(records) - 1
        if (last.task, last.item, last.position, last.rater) in self.voided:
            self.lost["voided judgments"] += 1
            return []
        return [last]


@contextmanager
def gather_records_to_write(records: Iterable[Record], lost: Counter[str]) -> Iterator[RecordsToWrite]:
    """Sort records for writing one row per judgment; judgments of whole items have no row and are counted as lost."""
    with ExternalSorter() as entries:
        gathered = RecordsToWrite(lost, entries)
        for record in records:
            gathered.add_record(record)
        yield gathered


def _entry(record: SegmentRow | OutputRow | JudgmentRow, position: int) -> str:
    kind = f"{JUDGMENT}\0{make_record_identity_key(record)}" if isinstance(record, JudgmentRow) else TEXTS
    return f"{record.document}\0{position:010d}\0{kind}\0\0{encode_record(record)}"


def _parse_entry(entry: bytes) -> tuple[list[str], Record]:
    head, _, text = entry.decode().rpartition("\0\0")
    return head.split("\0"), decode_record(json.loads(text), NOWHERE)
