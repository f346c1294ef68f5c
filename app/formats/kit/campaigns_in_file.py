"""Files with several campaigns: the values that distinguish them, and one stream of records for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from app.domain.errors import Invalid, Place
from app.formats.base import CampaignRow, InputFile, LineLocation, ReadContext, ReadLog, Record
from app.formats.kit.sortable_rows import SortableRow

SPLITS = ("language_pair", "protocol")
OPTION = "language_pair or protocol: one campaign for each value in the files"
MOST_PARTS = 1000


@dataclass(frozen=True, slots=True)
class RowCampaign:
    """What one row states about its campaign.

    protocol: the value in the file; judged_by: our protocol, with its options.
    """

    languages: tuple[str, str] | None
    protocol: str
    judged_by: str
    options: Mapping[str, object] = field(default_factory=dict)

    def value_for_split(self, split: str) -> str:
        """Return the value by which a split groups rows."""
        if split == "language_pair":
            return "-".join(self.languages) if self.languages else "unknown"
        return self.protocol if split == "protocol" else ""


@dataclass(slots=True)
class CampaignsInFile:
    """All that rows state about their campaigns, by part, with the first place of each."""

    split: str
    found: dict[str, dict[tuple[object, ...], tuple[RowCampaign, LineLocation]]] = field(default_factory=dict)

    def add_row_campaign(self, row_campaign: RowCampaign, at: LineLocation) -> str:
        """Add the campaign of a row and return its part. Raises Invalid beyond MOST_PARTS."""
        part = row_campaign.value_for_split(self.split)
        said = self.found.setdefault(part, {})
        said.setdefault((row_campaign.languages, row_campaign.protocol), (row_campaign, at))
        if len(self.found) + len(said) > MOST_PARTS:
            raise Invalid(f"more than {MOST_PARTS} language pairs or protocols: is this the right column?")
        return part

    def make_campaign_row(self, part: str, files: Iterable[InputFile], **known: bool) -> CampaignRow:
        """Return what is stated about the campaign of a part. Raises Invalid if it is more than one."""
        said = list(self.found.get(part, {}).values())
        if not said:
            raise Invalid(f"there are no judgments in {', '.join(f.name for f in files)}")
        for split, noun in zip(SPLITS, ("language pairs", "protocols"), strict=True):
            values = {about.value_for_split(split): at for about, at in said}
            if len(values) > 1:
                places = tuple(Place((at.file, at.line), value) for value, at in sorted(values.items()))
                what = f"several {noun} in one import: {', '.join(sorted(values))}; a campaign has one"
                raise Invalid(f"{what} (--option split={split} makes one campaign each)", places=places[:100])
        about, at = said[0]
        source, target = about.languages or (None, None)
        return CampaignRow(
            at,
            protocol=about.judged_by,
            source_language=source,
            target_language=target,
            options=dict(about.options) or None,
            documents_known=known.get("documents_known", True),
        )


def parse_campaign_split_option(context: ReadContext) -> str:
    """Return the requested split, empty for none. Raises Invalid for an unknown one."""
    split = context.options.get("split", "")
    if split and split not in SPLITS:
        raise Invalid(f"option split: must be one of {', '.join(SPLITS)}, not {split[:40]!r}")
    return split


def split_by_campaign(
    rows: Iterable[bytes],
    campaigns: CampaignsInFile,
    files: Iterable[InputFile],
    log: ReadLog,
    records: Callable[[str, Iterator[SortableRow]], Iterator[Record]],
) -> Iterator[tuple[str, Iterator[Record]]]:
    """Yield (value, records) for each part, in the order of the values; read each stream before the next."""
    for part in sorted(campaigns.found):
        campaigns.make_campaign_row(part, files)
    for part, group in groupby(map(SortableRow.decode_sort_entry, rows), key=attrgetter("part")):
        yield part, _with_head(campaigns.make_campaign_row(part, files), records(part, group))
    log.raise_bad_lines()


def _with_head(head: CampaignRow, records: Iterator[Record]) -> Iterator[Record]:
    yield head
    yield from records
