"""`wmt-da`: WMT's table of direct assessments, separated by whitespace, twelve columns with a header.

Conventions: the segment is `sid`, with the document before its last dot and the position after it. A bare number names
no document: then all segments are positions of one document `unknown`, and the campaign says so. One worker's HIT is
one task, one presentation (rid, system, type, document) one item. A system whose name contains `HUMAN` is a human
translation. `accepted=FILE` names the filtered one of two files: rows that only the other file has were rejected by
quality control. The order of rows does not matter; identical rows count once, and two rows that contradict each other
are an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from pathlib import PurePath

from app.domain.errors import Invalid, Place
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    Format,
    InputFile,
    JudgmentRow,
    LineLocation,
    MultiprocessReadHooks,
    RaterRow,
    ReadContext,
    ReadLog,
    Record,
    SystemRecord,
)
from app.formats.kit.campaigns_in_file import MOST_PARTS, SPLITS
from app.formats.kit.names import KeyAssigner
from app.formats.kit.reading import feed_lines_to_reader, read_lines, refuse_file
from app.formats.kit.sorting import ExternalSorter
from app.formats.wmt_da.rows import (
    MOST_REMEMBERED,
    ROLES,
    UNKNOWN,
    DaRow,
    DaRowReader,
    describe_header_fault,
    parse_document_or_position,
    split_da_cells,
)
from app.formats.wmt_da.writer import write

HUMAN = "HUMAN"  # in the name of a human translation that is judged as a system (Knowles 2021)
OPTIONS = {
    "accepted": "name of the filtered file; rows that only the other file has were rejected",
    "scale": "z where the scores are standardised already (no range check)",
    "split": "language_pair: one campaign for each language pair in the files",
}


@dataclass(slots=True)
class _CommonValues:
    """What the rows of all files have in common, with the first place of each value."""

    pairs: dict[tuple[str, str], LineLocation] = field(default_factory=dict)
    documents: dict[bool, LineLocation] = field(default_factory=dict)

    def add(self, row: DaRow, pair: tuple[str, str]) -> None:
        """Add a row."""
        if pair not in self.pairs and len(self.pairs) < 100:
            self.pairs[pair] = row.line_location
        if bool(row.document) not in self.documents:
            self.documents[bool(row.document)] = row.line_location


class DADocumentSubsetReader:
    """Sorts the rows of this reader's lines; see `DocumentSubsetReader`."""

    def __init__(self, names: Sequence[str], context: ReadContext, log: ReadLog) -> None:
        self._standardised, self._accepted = _options(names, context)
        if "split" in context.options:
            raise Invalid("with the option split the files make several campaigns; this is about one")
        self._log, self._rows, self._seen = log, ExternalSorter(), _CommonValues()
        self._read: Callable[[int, str], tuple[DaRow, tuple[str, str]] | None]

    def begin_file_with_first_line(self, file: str, number: int, line: str) -> bool:
        """Take the columns of a file from its header. Raises Invalid."""
        unfiltered = self._accepted not in (None, file)
        header = _header(LineLocation(file, number), line, self._log)
        reader = DaRowReader(file, header, self._log, unfiltered=unfiltered, standardised=self._standardised)
        self._read = reader.parse_line
        return False

    def add_line(self, number: int, line: str) -> None:
        """Add one line; faults go to the log."""
        row_and_pair = self._read(number, line)
        if row_and_pair is not None:
            row, pair = row_and_pair
            self._seen.add(row, pair)
            self._rows.add(row.encode_sort_entry())

    def campaign_facts(self) -> tuple[_CommonValues, bool]:
        """Return what the rows have in common, and whether scores are standardized."""
        return self._seen, self._standardised

    def records(self) -> Iterator[Record]:
        """Yield all records, segment by segment."""
        return _Records(self._log, two_files=self._accepted is not None).of(self._rows)

    def close(self) -> None:
        """Delete the temporary file."""
        self._rows.close()


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield records of all files together. Raises Invalid with every bad line, unless they are skipped."""
    names = [file.name for file in files]
    with closing(DADocumentSubsetReader(names, context, log)) as part:
        feed_lines_to_reader(part, files, context.limits, log)
        log.raise_bad_lines()
        yield _head_of(names, [part.campaign_facts()])
        yield from part.records()
    log.raise_bad_lines()


def make_document_finder(at: LineLocation, line: str, log: ReadLog) -> tuple[Callable[[str], str], bool]:
    """Return a function that finds the document of a line, or its segment if documents are unknown. Raises Invalid."""
    column = _header(at, line, log).index("sid")
    known: dict[str, str] = {}

    def place(line: str) -> str:
        try:
            sid = split_da_cells(line)[column]
        except (ValueError, IndexError):
            return ""  # a bad line in any reader
        document_key = known.get(sid)
        if document_key is None:
            if len(known) >= MOST_REMEMBERED:
                known.clear()
            document_key = known[sid] = parse_document_or_position(sid)
        return document_key

    return place, False


def _header(at: LineLocation, line: str, log: ReadLog) -> list[str]:
    header = split_da_cells(line.replace('"', ""))
    fault = describe_header_fault(header)
    if fault:
        refuse_file(log, at, fault)
    return header


def _head_of(names: Sequence[str], told: Sequence[tuple[_CommonValues, bool]]) -> CampaignRow:
    whole = _CommonValues()
    for seen, _ in reversed(told):
        whole.pairs.update(seen.pairs)
        whole.documents.update(seen.documents)
    return _campaign(names, whole, standardised=any(standardised for _, standardised in told))


def read_by_campaign(
    files: Sequence[InputFile], context: ReadContext, log: ReadLog
) -> Iterator[tuple[str, Iterator[Record]]]:
    """Yield one stream of records for each language pair; read each before the next. Raises as `read`."""
    names = [file.name for file in files]
    standardised, accepted = _options(names, context)
    seen: dict[str, _CommonValues] = {}
    with ExternalSorter() as rows:
        for file in files:
            for row, pair in _rows(file, context, log, unfiltered=accepted not in (None, file.name), z=standardised):
                name = "-".join(pair)
                seen.setdefault(name, _CommonValues()).add(row, pair)
                if len(seen) > MOST_PARTS:
                    raise Invalid(f"more than {MOST_PARTS} language pairs: is this the right column?")
                rows.add(name.encode() + b"\0" + row.encode_sort_entry())
        log.raise_bad_lines()
        heads = {name: _campaign(names, one, standardised=standardised) for name, one in seen.items()}
        if not heads:
            _campaign(names, _CommonValues(), standardised=standardised)
        split = (entry.partition(b"\0")[::2] for entry in rows)
        for part, group in groupby(split, key=itemgetter(0)):
            name = part.decode()
            records = _Records(log, two_files=accepted is not None).of(row for _, row in group)
            yield name, chain((heads[name],), records)
    log.raise_bad_lines()


def _options(names: Sequence[str], context: ReadContext) -> tuple[bool, str | None]:
    """Return whether scores are standardized, and the name of the filtered file. Raises Invalid."""
    options = context.options
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise Invalid(f"wmt-da has no option {unknown[0][:40]!r}; there are {', '.join(OPTIONS)}")
    scale, accepted = options.get("scale"), options.get("accepted")
    if options.get("split", SPLITS[0]) != SPLITS[0]:
        raise Invalid(f"option split: only {SPLITS[0]} is known")
    if scale not in (None, "z"):
        raise Invalid("option scale: only z is known")
    if accepted is None:
        return scale == "z", None
    named = [name for name in names if accepted in (name, PurePath(name).name)]
    if len(named) != 1 or len(names) < 2:
        raise Invalid(f"option accepted: name one of at least two files; there are {', '.join(names)}")
    return scale == "z", named[0]


def _rows(
    file: InputFile, context: ReadContext, log: ReadLog, *, unfiltered: bool, z: bool
) -> Iterator[tuple[DaRow, tuple[str, str]]]:
    reader: DaRowReader | None = None
    for number, line in read_lines(file, context.limits, log):
        if reader is not None:
            pair_row = reader.parse_line(number, line)
            if pair_row is not None:
                yield pair_row
            continue
        header = _header(LineLocation(file.name, number), line, log)
        reader = DaRowReader(file.name, header, log, unfiltered=unfiltered, standardised=z)


def _campaign(names: Sequence[str], seen: _CommonValues, *, standardised: bool) -> CampaignRow:
    if not seen.pairs:
        raise Invalid(f"there are no judgments in {', '.join(names)}")
    if len(seen.pairs) > 1:
        values = ", ".join(sorted(f"{s}-{t}" for s, t in seen.pairs))
        places = tuple(Place((at.file, at.line), f"{s}-{t}") for (s, t), at in seen.pairs.items())
        what = f"several language pairs in one import: {values}; a campaign has one"
        raise Invalid(f"{what} (--option split={SPLITS[0]} makes one campaign each)", places=places)
    if len(seen.documents) > 1:
        places = tuple(
            Place((at.file, at.line), "a document" if known else "no document") for known, at in seen.documents.items()
        )
        raise Invalid("some sids name a document and some do not; import them apart", places=places)
    source, target = next(iter(seen.pairs))
    return CampaignRow(
        LineLocation(names[0], 1),
        protocol="da",
        source_language=source,
        target_language=target,
        options={"scale": "z"} if standardised else None,
        documents_known=True in seen.documents,
    )


class _Records:
    """Makes declarations if more than a key is known, and judgments, segment by segment."""

    def __init__(self, log: ReadLog, *, two_files: bool) -> None:
        self._log, self._two_files = log, two_files
        self._systems, self._raters = KeyAssigner("system", log), KeyAssigner("rater", log)
        self._documents = KeyAssigner("document", log)
        self._tasks = KeyAssigner("task", log, report=False)
        self._items = KeyAssigner("item", log, report=False)
        self._payloads: dict[str, dict[str, object]] = {}
        self._humans: set[str] = set()

    def of(self, rows: Iterable[bytes]) -> Iterator[Record]:
        """Yield all records of sorted rows."""
        for _, segment in groupby(map(DaRow.decode_sort_entry, rows), key=itemgetter(0, 1)):
            stated: DaRow | None = None
            for _, group in groupby(segment, key=itemgetter(2, 3, 4, 5, 6, 7)):
                row, rest = _split_first_row(group)
                stated = stated or row
                if row.sid == stated.sid:
                    yield from self._judgment(row, rest)
                    continue
                for other in chain((row,), rest):
                    self._note_contradiction(other, f"sid {row.sid!r} is the same segment as {stated.sid!r}", stated)

    def _note_contradiction(self, row: DaRow, what: str, stated: DaRow) -> None:
        self._log.record_bad_line(row.line_location, f"{what} in line {stated.line} of {stated.file}")

    def _judgment(self, row: DaRow, rest: Iterator[DaRow]) -> Iterator[Record]:
        """Yield the judgment of all rows about one presentation of one segment, after new declarations."""
        another = next(rest, None)
        if another is None and not self._two_files:  # one row, one judgment
            yield from self._records(row, accepted=row.unfiltered == "0")
            return
        seen = Counter([row.unfiltered])
        contradicted = False
        for other in chain((another,), rest) if another else rest:
            if (other.score, other.time) == (row.score, row.time):
                seen[other.unfiltered] += 1
            else:
                contradicted = True
                self._note_contradiction(other, "another score or time for the same presentation than", row)
        if contradicted:
            return
        if self._two_files and not seen["1"]:
            self._log.record_bad_line(row.line_location, "this row of the filtered file is not in the unfiltered one")
            return
        if seen.total() > len(seen):
            self._log.repaired["rows that stand twice alike"] += seen.total() - len(seen)
        yield from self._records(row, accepted=seen["0"] > 0)

    def _records(self, row: DaRow, *, accepted: bool) -> Iterator[Record]:
        at = row.line_location
        system, is_new = self._systems.assign_key(row.system)
        human = HUMAN in row.system
        if is_new or (human and system not in self._humans):
            yield SystemRecord(at, system, row.system, "human" if human else "mt", guessed=True)
        if human:
            self._humans.add(system)
            self._log.notes[f"judgments of {row.system}, taken for a human translation by its name"] += 1
        rater, is_new = self._raters.assign_key(row.worker)
        if is_new:
            yield RaterRow(at, rater, row.worker)
        document, is_new = self._documents.assign_key(row.document or UNKNOWN)
        if is_new:
            yield DocumentRecord(at, document, row.document)
        yield self._row(row, at, system, rater, document, accepted=accepted)

    def _row(
        self, row: DaRow, at: LineLocation, system: str, rater: str, document: str, *, accepted: bool
    ) -> JudgmentRow:
        position = int(row.position)
        presented = f"{row.rid}:{system}:{row.type}"
        meta: dict[str, object] = {}
        if row.sid != (f"{row.document}.{position}" if row.document else str(position)):
            meta["sid"] = row.sid
        if row.time:
            meta["seconds"] = float(row.time)
        item_meta: dict[str, object] = {"rid": row.rid, "hit": row.hit}
        if row.item != "ad":
            item_meta["item"] = row.item
        return JudgmentRow(
            at,
            self._tasks.assign_key(f"{row.hit_id}:{rater}")[0],
            self._items.assign_key(f"{presented}:{document}" if row.document else presented)[0],
            (system,),
            document,
            position,
            rater,
            self._payload(row.score),
            role=ROLES[row.type],
            accepted=accepted,
            task_meta={"HITId": row.hit_id},
            item_meta=item_meta,
            meta=meta or None,
        )

    def _payload(self, score: str) -> dict[str, object]:
        """Return the same object for the same score, so that it can be recognized."""
        payload = self._payloads.get(score)
        if payload is None:
            if len(self._payloads) >= MOST_REMEMBERED:
                self._payloads.clear()
            payload = self._payloads[score] = {"protocol": "da", "score": float(score)}
        return payload


def _split_first_row(rows: Iterator[DaRow]) -> tuple[DaRow, Iterator[DaRow]]:
    """Return the first row, and an iterator of those after it."""
    return next(rows), rows


FORMAT = Format(
    name="wmt-da",
    suffix="wmt-da.tsv",
    title="Direct assessments as WMT published them (12 columns)",
    read=read,
    parts=read_by_campaign,
    write=write,
    judged_by=("da",),
    options=OPTIONS,
    by_document=True,
    by_segment=True,
    spread=MultiprocessReadHooks(
        make_reader=DADocumentSubsetReader, make_document_finder=make_document_finder, make_campaign_row=_head_of
    ),
)
