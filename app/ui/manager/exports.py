"""The formats that a campaign can be written in."""

from __future__ import annotations

from dataclasses import dataclass

from app import formats
from app.services.data import exports


@dataclass(frozen=True, slots=True)
class OfferedFormat:
    """A format that a campaign can be written in. title: empty where it is no format of files, but a table of ours."""

    name: str
    title: str
    suffix: str
    files: bool


def list_offered_formats(protocol: str) -> list[OfferedFormat]:
    """The formats that judgments by a protocol can be written in, those that lose nothing first."""
    formats_offered = []
    for name in exports.list_writable_formats():
        form = formats.ALL.get(name)
        if form is None or not form.judged_by or protocol in form.judged_by:
            target = exports.find_export_target(name)
            formats_offered.append(OfferedFormat(name, form.title if form else "", target.suffix, target.files))
    return sorted(formats_offered, key=lambda one: (one.name != "jsonl", one.name))
