"""Options of an import: those of its format, and facts about the campaign that the files do not state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from app import formats, protocols
from app.domain.errors import Invalid, Place
from app.formats.base import CampaignRow, Format, JudgmentRow, LineLocation, ReadLog, Record
from app.services.campaigns.campaigns import BASES
from app.services.data.parallel.dispatch import RemoteRecords

# Facts about the campaign that a caller may give with any format that has no option of the same name.
ABOUT = {
    "protocol": "protocol of the campaign, if the files do not state it",
    "source_language": "language of the sources",
    "target_language": "language of the outputs",
    "basis": "basis of judgments: source, reference, both or none",
}
HERE = LineLocation("options", 0)


class FormatNotReadable(Invalid):
    """This format cannot be read."""

    published = "NotReadable"


def check_import_options(format: str, options: Mapping[str, str]) -> None:
    """Raise FormatNotReadable, or Invalid for an unknown option."""
    known = formats.get_format(format)
    if known.read is None:
        raise FormatNotReadable(format)
    unknown = sorted(set(options) - set(known.options) - set(ABOUT))
    if unknown:
        there = ", ".join((*known.options, *(name for name in ABOUT if name not in known.options)))
        raise Invalid(
            "the options are not valid",
            places=tuple(Place(("options", name), f"there are: {there}") for name in unknown),
        )


def split_import_options(format: Format, options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split options into those of the format itself, and those about the campaign."""
    about = {name: value for name, value in options.items() if name in ABOUT and name not in format.options}
    return {name: value for name, value in options.items() if name not in about}, about


def make_campaign_rows_from_options(about: Mapping[str, str]) -> list[Record]:
    """Return the options about the campaign as a record that precedes the records of the files."""
    return [CampaignRow(HERE, **about)] if about else []  # type: ignore[arg-type]  # names of ABOUT


def peek_campaign_row(
    records: Iterator[Record | RemoteRecords], log: ReadLog
) -> tuple[CampaignRow, Iterator[Record | RemoteRecords]]:
    """Return what the files say about the campaign, and all records. Readers say it first, or each judgment says it."""
    held: list[Record | RemoteRecords] = []
    for record in records:
        held.append(record)
        if isinstance(record, CampaignRow) and record.protocol:
            return record, chain(held, records)
        if isinstance(record, JudgmentRow):
            named = record.payload.get("protocol")
            return CampaignRow(record.at, protocol=named if isinstance(named, str) else None), chain(held, records)
    log.raise_bad_lines()
    raise Invalid(
        "the files contain no judgments, so the protocol of the new campaign is unknown",
        places=(Place(("options", "protocol"), "set it with --option protocol=NAME, or create the campaign first"),),
    )


def choose_default_basis(protocol: str | None) -> str:
    """Return the default basis of judgments for a protocol."""
    return protocols.get_protocol(protocol).bases[0] if protocol is not None and protocol in protocols.ALL else BASES[0]
