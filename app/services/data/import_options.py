"""Options of an import: those of its format, and what they say of the campaign where the files are silent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from app import formats, protocols
from app.domain.errors import Invalid, Place
from app.formats.base import CampaignRow, Format, JudgmentRow, LineLocation, ReadLog, Record
from app.services.campaigns.campaigns import BASES
from app.services.data.parallel.dispatch import RemoteRecords

# What a caller may say of the campaign with any format that has no option of that name itself.
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
    """Raise FormatNotReadable, or Invalid for an option that there is not."""
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
    """The options of the format itself, and what the others say of the campaign."""
    about = {name: value for name, value in options.items() if name in ABOUT and name not in format.options}
    return {name: value for name, value in options.items() if name not in about}, about


def make_campaign_record(about: Mapping[str, str]) -> list[Record]:
    """What options say of the campaign, as a record before those of the files."""
    return [CampaignRow(HERE, **about)] if about else []  # type: ignore[arg-type]  # names of ABOUT


def find_campaign_row(
    records: Iterator[Record | RemoteRecords], log: ReadLog
) -> tuple[CampaignRow, Iterator[Record | RemoteRecords]]:
    """What the files say of the campaign, and all the records still: readers say it first, or each judgment does."""
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
    """What judgments by a protocol rest on where nobody says."""
    return protocols.get_protocol(protocol).bases[0] if protocol is not None and protocol in protocols.ALL else BASES[0]
