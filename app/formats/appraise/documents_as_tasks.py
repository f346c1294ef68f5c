"""Export a test set without tasks as if each document were a task with all its outputs, system by system."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from app.formats.base import CampaignContents, OutputRow, SegmentRow, ShownOutputRow
from app.formats.kit.judgments_to_write import NOWHERE
from app.formats.kit.records import decode_record, encode_record
from app.formats.kit.sorting import ExternalSorter

SOURCE, OUTPUT = "0", "1"


def list_outputs_by_document(contents: CampaignContents) -> Iterator[ShownOutputRow]:
    """Yield what such tasks would show, document by document; one document is in memory at a time."""
    with ExternalSorter() as texts:
        for record in contents.records():
            if isinstance(record, SegmentRow):
                texts.add(f"{record.document}\0{SOURCE}\0{record.position:010d}\0\0{encode_record(record)}".encode())
            elif isinstance(record, OutputRow):
                place = f"{record.system}\0{record.position:010d}"
                texts.add(f"{record.document}\0{OUTPUT}\0{place}\0\0{encode_record(record)}".encode())
        split = (entry.decode().rpartition("\0\0") for entry in texts)
        for document, group in groupby(split, key=lambda parts: parts[0].partition("\0")[0]):
            sources: dict[int, str | None] = {}
            for _, _, text in group:
                record = decode_record(json.loads(text), NOWHERE)
                if isinstance(record, SegmentRow):
                    sources[record.position] = record.source
                elif isinstance(record, OutputRow):
                    yield _row(document, record, sources.get(record.position))


def _row(document: str, output: OutputRow, source: str | None) -> ShownOutputRow:
    return ShownOutputRow(
        task=document,
        task_key=document,
        rater=None,
        item=f"{output.system}:{document}",
        item_position=1,
        role="rating",
        systems=(output.system,),
        document=document,
        position=output.position,
        source=source,
        text=output.text,
    )
