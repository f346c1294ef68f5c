"""The formats that a campaign can be exported in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app import formats
from app.services.data import exports
from app.ui.messages import mark_translatable

WORDS: Mapping[str, str] = {
    "parquet": mark_translatable("Judgments, one per row, as Parquet"),
    "ratings-csv": mark_translatable("Ratings, one per row, as rankings count them"),
    "ratings-parquet": mark_translatable("Ratings, one per row, as rankings count them, as Parquet"),
}


@dataclass(frozen=True, slots=True)
class OfferedFormat:
    """A format that a campaign can be exported in. words: describes our own table, which has no title."""

    name: str
    title: str
    suffix: str
    files: bool
    words: str


def list_offered_formats(protocol: str) -> list[OfferedFormat]:
    """Return the formats that judgments by a protocol can be exported in, the lossless one first."""
    formats_offered = []
    for name in exports.list_writable_formats():
        form = formats.ALL.get(name)
        if form is None or not form.judged_by or protocol in form.judged_by:
            target = exports.get_export_file_type(name)
            title = form.title if form else ""
            formats_offered.append(OfferedFormat(name, title, target.suffix, target.files, WORDS.get(name, "")))
    return sorted(formats_offered, key=lambda one: (one.name != "jsonl", one.name))
