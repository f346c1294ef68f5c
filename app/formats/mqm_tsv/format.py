"""`mqm-tsv`: table of marked errors of WMT and Marot, one row per error, ten columns, no quoting.

Conventions: `No-error` is a judgment without errors. It is ignored if the same rater has errors on the segment, unless
its timestamp is later than theirs: then the rater removed them (a re-submission: the latest counts). `HOTW-test` rows
are attention checks, kept under `meta`; a segment with nothing else scores 0. Rows without a rater contain only
metrics. One rater is one task, one system's document one item. The order of rows does not matter: errors of a judgment
are in the order of their spans, and of two texts for one output the one that sorts first counts. With the option
`split` each document goes to the campaign of its language pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain

from app.domain.errors import Invalid, Place
from app.formats.base import (
    CampaignRow,
    Format,
    InputFile,
    JudgmentRow,
    LineLocation,
    MultiprocessReadHooks,
    OutputJudgments,
    ReadContext,
    ReadLog,
    Record,
)
from app.formats.kit.campaigns_in_file import OPTION
from app.formats.kit.parallel_lines import parse_list_option
from app.formats.kit.reading import feed_lines_to_reader, read_lines, refuse_file
from app.formats.kit.sorting import ExternalSorter
from app.formats.mqm_tsv.language_pairs import split_by_language_pair
from app.formats.mqm_tsv.metadata import (
    EVALUATION,
    TEXTS,
    find_metadata_languages,
    make_reference_and_token_rows,
    parse_metadata,
)
from app.formats.mqm_tsv.record_maker import MQMRecordMaker, note_unmatched_human_translations, ungroup_judgments
from app.formats.mqm_tsv.rows import MqmColumnLayout, MqmRow, MqmRowReader, detect_column_layout
from app.formats.mqm_tsv.writer import write

Languages = dict[tuple[str, str], LineLocation]
RATER, METADATA = MqmRow._fields.index("rater"), MqmRow._fields.index("metadata")
HUMAN = "human"
OPTIONS = {"split": OPTION, HUMAN: "names of the systems that are human translations, with commas"}
FIRST_LINE = "; the first line was taken for data, as it names no columns"


class MQMDocumentSubsetReader:
    """Sorts the rows of this reader's lines; see `DocumentSubsetReader`."""

    def __init__(self, names: Sequence[str], context: ReadContext, log: ReadLog) -> None:  # noqa: ARG002 (see MultiprocessReadHooks)
        _check_options(context)
        self._human = parse_list_option(context.options, HUMAN)
        if "split" in context.options:
            raise Invalid("with the option split the files make several campaigns; this is about one")
        self._log, self._rows = log, ExternalSorter()
        self._languages: dict[tuple[str, str], LineLocation] = {}
        self._fields: Callable[[int, str], tuple[str, ...] | None]

    def begin_file_with_first_line(self, file: str, number: int, line: str) -> bool:
        """Take the columns of a file from its first line; return whether it is also data. Raises Invalid."""
        reader, is_header = _open_reader(file, number, line, self._log)
        self._fields = reader.parse_line_fields
        return not is_header

    def add_line(self, number: int, line: str) -> None:
        """Add one line; faults go to the log."""
        fields = self._fields(number, line)
        if fields is None:
            return
        if fields[RATER] and not fields[METADATA]:
            self._rows.add("\0".join(fields).encode())
            return
        for row in _with_metadata(MqmRow._make(fields), self._log, self._languages):
            self._rows.add(row.encode_sort_entry())

    def campaign_facts(self) -> Languages:
        """Return the language pairs that metadata name, each with its first place."""
        return self._languages

    def records(self) -> Iterator[Record | OutputJudgments]:
        """Yield all records, document by document."""
        return MQMRecordMaker(self._log, human=self._human).make_records_with_grouped_judgments(self._rows)

    def close(self) -> None:
        """Delete the temporary file."""
        self._rows.close()


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield records of all files together. Raises Invalid with every bad line, unless they are skipped."""
    names = [file.name for file in files]
    n = 0
    with closing(MQMDocumentSubsetReader(names, context, log)) as part:
        feed_lines_to_reader(part, files, context.limits, log)
        log.raise_bad_lines()
        yield _campaign(names, [part.campaign_facts()])
        for record in ungroup_judgments(part.records()):
            n += isinstance(record, JudgmentRow)
            yield record
    _note_unknown_humans(context, log)
    log.raise_bad_lines()
    if not n:
        raise Invalid(f"there are no judgments in {', '.join(names)}")


def make_document_finder(at: LineLocation, line: str, log: ReadLog) -> tuple[Callable[[str], str], bool]:
    """Return a function that finds the document of a line, and whether the first line is also data. Raises Invalid."""
    layout, is_header = _layout(at.file, at.line, line, log)
    column = layout.index[1]

    def document(line: str) -> str:
        cells = line.split("\t", column + 1)
        return cells[column].strip() if len(cells) > column else ""

    return document, not is_header


def read_by_campaign(
    files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[tuple[str, Iterator[Record]]]:
    """Yield one stream of records for each value of the split; read each before the next. Raises as `read`."""
    _check_options(context)
    rows = chain.from_iterable(_rows(file, context, log) for file in files)
    return split_by_language_pair(files, context, log, rows, partial(_with_metadata, log=log, languages={}))


def _note_unknown_humans(context: ReadContext, log: ReadLog) -> None:
    note_unmatched_human_translations(parse_list_option(context.options, HUMAN), log)


def _check_options(context: ReadContext) -> None:
    unknown = sorted(set(context.options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"mqm-tsv takes no option {unknown[0][:40]!r}; there are: {', '.join(OPTIONS)}")


def _rows(file: InputFile, context: ReadContext, log: ReadLog) -> Iterator[MqmRow]:
    reader: MqmRowReader | None = None
    for number, line in read_lines(file, context.limits, log):
        if reader is None:
            reader, is_header = _open_reader(file.name, number, line, log)
            if is_header:
                continue
        row = reader.parse_line(number, line)
        if row is not None:
            yield row


def _open_reader(file: str, number: int, line: str, log: ReadLog) -> tuple[MqmRowReader, bool]:
    layout, is_header = _layout(file, number, line, log)
    return MqmRowReader(file, layout, log, "" if is_header else FIRST_LINE), is_header


def _layout(file: str, number: int, line: str, log: ReadLog) -> tuple[MqmColumnLayout, bool]:
    try:
        return detect_column_layout(line.split("\t"))
    except ValueError as fault:
        refuse_file(log, LineLocation(file, number), str(fault))


def _with_metadata(row: MqmRow, log: ReadLog, languages: dict[tuple[str, str], LineLocation]) -> Iterator[MqmRow]:
    """Yield the row, unless it contains only metrics, and rows for the texts in its metadata."""
    if TEXTS in row.metadata or EVALUATION in row.metadata:
        at = LineLocation(row.file, int(row.line))
        try:
            metadata = parse_metadata(row.metadata)
        except ValueError as fault:
            log.record_bad_line(at, str(fault))
            return
        yield from make_reference_and_token_rows(row, metadata)
        pair = find_metadata_languages(metadata)
        if pair:
            languages.setdefault(pair, at)
    if row.rater:
        yield row
    else:
        log.dropped["rows without a rater (metrics only)"] += 1


def _campaign(names: Sequence[str], told: Sequence[Languages]) -> CampaignRow:
    languages = {pair: at for said in reversed(told) for pair, at in said.items()}
    if len(languages) > 1:
        values = ", ".join(sorted(f"{s}-{t}" for s, t in languages))
        places = tuple(Place((at.file, at.line), f"{s}-{t}") for (s, t), at in languages.items())
        what = f"several language pairs in one import: {values}; a campaign has one"
        raise Invalid(f"{what} (--option split=language_pair makes one campaign each)", places=places[:100])
    source, target = next(iter(languages), (None, None))
    at = LineLocation(names[0] if names else "", 1)
    return CampaignRow(at, protocol="mqm", source_language=source, target_language=target, documents_known=True)


FORMAT = Format(
    name="mqm-tsv",
    suffix="mqm.tsv",
    title="MQM table of WMT and Marot (10 columns)",
    read=read,
    parts=read_by_campaign,
    write=write,
    judged_by=("mqm",),
    options=OPTIONS,
    by_document=True,
    spread=MultiprocessReadHooks(
        make_reader=MQMDocumentSubsetReader,
        make_document_finder=make_document_finder,
        make_campaign_row=_campaign,
        requires_judgments=True,
        finish_log=_note_unknown_humans,
    ),
)
