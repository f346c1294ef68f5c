"""`mqm-tsv` files with several language pairs: one stream of records for each.

The `evaluation` object of the metadata names the languages and need not be in every row: if one row of a document has
it, it applies to the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from app.domain.errors import Invalid, Place
from app.formats.base import InputFile, LineLocation, ReadContext, ReadLog
from app.formats.kit.campaigns_in_file import CampaignsInFile, RowCampaign, parse_campaign_split_option
from app.formats.kit.parallel_lines import parse_list_option
from app.formats.kit.sorting import ExternalSorter
from app.formats.mqm_tsv.error_table import Parts, split_error_rows_by_campaign
from app.formats.mqm_tsv.metadata import EVALUATION, find_metadata_languages, parse_metadata
from app.formats.mqm_tsv.record_maker import note_unmatched_human_translations
from app.formats.mqm_tsv.rows import MqmRow

PROTOCOL = "mqm"
Pair = tuple[str, str]
WithMetadata = Callable[[MqmRow], Iterable[MqmRow]]


def split_by_language_pair(
    files: Sequence[InputFile],
    context: ReadContext,
    log: ReadLog,
    rows: Iterator[MqmRow],
    add_metadata_rows: WithMetadata,
) -> Parts:
    """Yield (value, records) of each campaign in the rows; read each stream before the next.

    add_metadata_rows: yields the row, and the rows for the texts in its metadata. Raises Invalid with every bad line,
    and if a document has several language pairs, or none while the files have several.
    """
    said: dict[str, dict[Pair, LineLocation]] = {}
    with ExternalSorter() as entries, ExternalSorter() as texts_by_pair:
        for row in rows:
            _note(row, said)
            for text_row in add_metadata_rows(row):
                entries.add(text_row.encode_sort_entry())
        log.raise_bad_lines()
        abouts = CampaignsInFile(parse_campaign_split_option(context))
        pairs = {pair for stated in said.values() for pair in stated}
        known: dict[str, str] = {}
        for entry in entries:
            row = MqmRow.decode_sort_entry(entry)
            if row.document not in known:
                known[row.document] = abouts.add_row_campaign(
                    _make_row_campaign(row, said.get(row.document, {}), pairs), _line_of_row(row)
                )
            texts_by_pair.add(f"{known[row.document]}\0".encode() + entry)
        if not abouts.found:
            abouts.make_campaign_row("", files)
        human = parse_list_option(context.options, "human")
        yield from split_error_rows_by_campaign(texts_by_pair, abouts, files, log, human=human)
        note_unmatched_human_translations(human, log)


def _note(row: MqmRow, said: dict[str, dict[Pair, LineLocation]]) -> None:
    """Note the languages that a row names for its document; metadata that cannot be parsed are refused elsewhere."""
    stated = said.setdefault(row.document, {})
    if EVALUATION in row.metadata:
        try:
            pair = find_metadata_languages(parse_metadata(row.metadata))
        except ValueError:
            return
        if pair:
            stated.setdefault(pair, _line_of_row(row))


def _make_row_campaign(row: MqmRow, stated: dict[Pair, LineLocation], pairs: set[Pair]) -> RowCampaign:
    """Return the campaign of a document. Raises Invalid if its language pair is unclear."""
    candidates = sorted(stated) or sorted(pairs)
    if len(candidates) > 1:
        places = [Place((at.file, at.line), "-".join(pair)) for pair, at in sorted(stated.items())]
        names = ", ".join("-".join(pair) for pair in candidates)
        what = "is of several language pairs" if stated else "names no language pair, and there are several"
        place = tuple(places) or (Place((row.file, int(row.line)), "is of this document"),)
        raise Invalid(f"document {row.document[:80]} {what}: {names}", places=place)
    return RowCampaign(candidates[0] if candidates else None, PROTOCOL, PROTOCOL)


def _line_of_row(row: MqmRow) -> LineLocation:
    return LineLocation(row.file, int(row.line))
