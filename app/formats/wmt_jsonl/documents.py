"""Records from lines of `wmt-jsonl`, sorted by language pair and document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

from app.domain.errors import Invalid
from app.domain.keys import convert_name_to_key
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    InputFile,
    JudgmentRow,
    LineLocation,
    OutputRow,
    ReadContext,
    ReadLog,
    Record,
    SegmentRow,
    SystemRecord,
)
from app.formats.kit.names import KeyAssigner
from app.formats.kit.parallel_lines import parse_list_option
from app.formats.kit.reading import read_lines, record_unread_names, refuse_file
from app.formats.kit.records import LONGEST_NAME, decode_record, encode_record
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import StrictJsonError, parse_json_value
from app.formats.kit.whitespace import WhitespaceStripper
from app.formats.wmt_jsonl.scores import parse_judgments

BLANK_LINE = "\n\n"
MARKED_PARAGRAPH = re.compile(r"\s*+<p(?:\s[^<>]*+)?>(.*?)</p\s*+>\s*+", re.DOTALL | re.IGNORECASE)
MOST_PAIRS = 1000
OUTPUT_READ = frozenset({"doc_id", "hypothesis"})
USED = frozenset({"doc_id", "domain", "src_lang", "tgt_lang", "src_text", "refs", "tgt_text", "scores", "hypothesis"})
BETWEEN, INDEX = "_#_", re.compile(r"[0-9]{1,6}")
REFERENCE = re.compile(r"ref[A-Z0-9]?", re.ASCII)
JUDGED_BY = "esa"
Object = Mapping[str, object]
Keyed = tuple[int, int, int, Record]  # language pair, document and position by which a record is sorted


@dataclass(slots=True)
class _Document:
    """A known document. pair, index: of its language pair, and its own among all."""

    pair: int
    index: int
    segments: int


class WmtJsonlReader:
    """Reads everything in the files. pairs: the language pairs of the test set, with an empty name if unknown."""

    def __init__(self, context: ReadContext, log: ReadLog) -> None:
        self._context, self._log = context, log
        self._whole = "segments" in context.options
        self._human = frozenset(parse_list_option(context.options, "human"))
        self._keys, self._systems = KeyAssigner("document", log), KeyAssigner("system", log)
        self._known: dict[str, _Document] = {}
        self._told: set[tuple[int, str]] = set()
        self._judged: dict[int, LineLocation] = {}
        self._entries = ExternalSorter()
        self.pairs: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._entries.close()

    def read_files(self, files: Sequence[InputFile]) -> None:
        """Read all files, the test set first. Raises Invalid with every bad line, unless they are skipped."""
        systems = [file for file in files if self._holds_outputs(file)]
        for file in (file for file in files if file not in systems):
            for at, line in self._objects(file):
                self._try(at, self._document(at, line))
        self._log.raise_bad_lines()
        if systems and not self._known:
            self._load_campaign_texts(systems[0])
        for file in systems:
            for at, line in self._objects(file):
                self._try(at, self._hypothesis(at, line, _base_name(file.name)))
        self._log.raise_bad_lines()

    def records_by_language_pair(self) -> Iterator[tuple[str, Iterator[Record]]]:
        """Yield the records of each language pair, in the order of the files; read each before the next."""
        for pair, group in groupby(self._entries, key=lambda entry: int(entry[: entry.index(b"\0")])):
            yield self.pairs[pair], self._records(pair, group)

    def _records(self, pair: int, entries: Iterable[bytes]) -> Iterator[Record]:
        source, hyphen, target = self.pairs[pair].partition("-")
        protocol = (self._context.protocol or JUDGED_BY) if pair in self._judged else None
        at = self._judged.get(pair, LineLocation("", 0))
        strip = WhitespaceStripper(self._log)
        yield CampaignRow(at, protocol, source if hyphen else None, target if hyphen else None)
        for entry in entries:
            *_, file, number, text = entry.decode().split("\0")
            yield strip(decode_record(json.loads(text), LineLocation(file, int(number))))

    def _try(self, at: LineLocation, records: Iterator[Keyed]) -> None:
        """Keep the records of one line: all of them, or none if it is a bad line."""
        try:
            keyed_records = list(records)
        except ValueError as fault:
            self._log.record_bad_line(at, str(fault))
            return
        for pair, document, position, record in keyed_records:
            head = f"{pair:04d}\0{document:08d}\0{position:08d}\0{_rank(record)}"
            self._entries.add(f"{head}\0{record.at.file}\0{record.at.line}\0{encode_record(record)}".encode())

    def _document(self, at: LineLocation, line: Object) -> Iterator[Keyed]:
        """Yield the records of a line of the test set. Raises ValueError before the first record."""
        pair, judged = self._pair(line), isinstance(line.get("tgt_text"), dict)
        name, index = _name(line), None
        if judged and isinstance(line["src_text"], str) and (part := split_document_and_paragraph(name)):
            name, index = part
        key = self._keys.assign_key(name)[0]
        known = self._known.get(key)
        if known is not None and not judged:
            raise ValueError(f"the document {name[:80]} stands twice")
        sources = self._split_paragraphs(line["src_text"], "src_text")
        references = self._read_aligned_texts(line, "refs", len(sources))
        outputs = self._read_aligned_texts(line, "tgt_text", len(sources))
        first = (index if index is not None else known.segments if known else 0) + 1
        judgments = list(parse_judgments(at, line, key, first, len(sources), self._context, self._log))
        if known is None:
            known = self._known[key] = _Document(pair, len(self._known) + 1, 0)
            yield pair, known.index, 0, _declaration(at, line, key, name, known.index)
        known.segments = max(known.segments, first + len(sources) - 1)
        for n, source in enumerate(sources):
            named = {reference: texts[n] for reference, texts in references.items()}
            yield pair, known.index, first + n, SegmentRow(at, key, first + n, source, named or None)
        for system, paragraphs in outputs.items():
            yield from self._outputs(at, system, key, known, first, paragraphs)
        for _, judgment in judgments:
            self._judged.setdefault(pair, at)
            yield pair, known.index, first, judgment

    def _read_aligned_texts(self, line: Object, field: str, n: int) -> dict[str, list[str]]:
        """Return texts by name, each with as many paragraphs as the source. Raises ValueError."""
        given = _mapping(line, field)
        texts = {
            name: self._split_paragraphs(_reference(v), f"{field}.{name}", n)
            for name, v in given.items()
            if v is not None
        }
        for name, paragraphs in texts.items():
            if len(paragraphs) != n:
                raise ValueError(f"{field}.{name[:80]} has {len(paragraphs)} paragraphs, the source has {n}")
        return texts

    def _hypothesis(self, at: LineLocation, line: Object, system: str) -> Iterator[Keyed]:
        """Yield the records of a line of a system's file. Raises ValueError."""
        key = convert_name_to_key(_name(line))
        known = self._known.get(key)
        record_unread_names(self._log, "fields of outputs", line.keys() - OUTPUT_READ)
        if known is None:
            self._log.dropped["outputs on documents that are not in the test set"] += 1
            return
        if line["hypothesis"] is None:
            self._log.dropped["documents without an output"] += 1
            return
        paragraphs = self._split_paragraphs(line["hypothesis"], "hypothesis", known.segments)
        if len(paragraphs) != known.segments:
            raise ValueError(f"the output has {len(paragraphs)} paragraphs, the source has {known.segments}")
        yield from self._outputs(at, system, key, known, 1, paragraphs)

    def _outputs(
        self, at: LineLocation, system: str, document: str, known: _Document, first: int, paragraphs: Sequence[str]
    ) -> Iterator[Keyed]:
        yield from self._declare_system(at, system, known)
        key = convert_name_to_key(system)
        for position, text in enumerate(paragraphs, first):
            yield known.pair, known.index, position, OutputRow(at, key, document, position, text)

    def _declare_system(self, at: LineLocation, system: str, known: _Document) -> Iterator[Keyed]:
        """Declare a system, once for each language pair."""
        key, _ = self._systems.assign_key(system)
        if (known.pair, key) in self._told:
            return
        self._told.add((known.pair, key))
        human = system in self._human or REFERENCE.fullmatch(system) is not None
        yield known.pair, 0, 0, SystemRecord(at, key, system, "human" if human else "mt")

    def _split_paragraphs(self, value: object, what: str, wanted: int | None = None) -> list[str]:
        """Return the paragraphs of a text. Raises ValueError.

        wanted: number of paragraphs of the source, None for the source itself. A system may have lost the marks or
        blank lines of the source: if it has as many lines as the source has paragraphs, its lines are used as
        paragraphs, and this is counted.
        """
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return [BLANK_LINE.join(value)] if self._whole else list(value)
        if not isinstance(value, str):
            raise ValueError(f"{what[:80]}: must be a text")
        if self._whole:
            return [value]
        paragraphs = split_paragraphs(value)
        lines = [text for text in value.splitlines() if text.strip()]
        if wanted is not None and len(paragraphs) != wanted == len(lines):
            self._log.repaired["outputs without the source's paragraphs, cut at their line ends"] += 1
            return lines
        return paragraphs

    def _pair(self, line: Object) -> int:
        """Return the number of the line's language pair. Raises ValueError."""
        languages = [line.get(field) for field in ("src_lang", "tgt_lang")]
        if any(code is not None and (not isinstance(code, str) or not 1 <= len(code) <= 35) for code in languages):
            raise ValueError("src_lang and tgt_lang must be codes of languages")
        pair = "-".join(str(code).replace("-", "_") for code in languages) if all(languages) else ""
        if pair not in self.pairs:
            if len(self.pairs) >= MOST_PAIRS:
                raise Invalid(f"more than {MOST_PAIRS} language pairs")
            self.pairs.append(pair)
        return self.pairs.index(pair)

    def _load_campaign_texts(self, file: InputFile) -> None:
        """Use the campaign's test set. Raises Invalid if it has none."""
        self.pairs = [""]
        for index, (key, length) in enumerate(self._context.outline(), 1):
            self._known[key] = _Document(0, index, length)
        if not self._known:
            refuse_file(
                self._log, LineLocation(file.name, 1), "the test set is neither among the files nor in the campaign"
            )

    def _holds_outputs(self, file: InputFile) -> bool:
        quiet = ReadLog(skip_bad_lines=True)
        for _, line in read_lines(file, self._context.limits, quiet):
            try:
                first_object = parse_json_value(line)
            except StrictJsonError:
                return False  # read with the test set, where it is a bad line
            return isinstance(first_object, dict) and "hypothesis" in first_object
        return False

    def _objects(self, file: InputFile) -> Iterator[tuple[LineLocation, Object]]:
        field = "hypothesis" if self._holds_outputs(file) else "src_text"
        for number, line in read_lines(file, self._context.limits, self._log):
            at = LineLocation(file.name, number)
            try:
                line_object = parse_json_value(line)
                if not isinstance(line_object, dict) or field not in line_object:
                    raise StrictJsonError(f"must be an object with doc_id and {field}")
            except StrictJsonError as fault:
                self._log.record_bad_line(at, str(fault))
                continue
            yield at, line_object


def split_paragraphs(text: str) -> list[str]:
    """Split a text into paragraphs: by `<p>` and `</p>` if there is nothing outside of them, else by blank lines.

    >>> split_paragraphs("<p>One.</p>\\n<p>Two <b>now</b>.</p>"), split_paragraphs("One.\\n\\n<p>Two.</p>")
    (['One.', 'Two <b>now</b>.'], ['One.', '<p>Two.</p>'])
    """
    marked, end = list[str](), 0
    while match := MARKED_PARAGRAPH.match(text, end):
        marked.append(match[1])
        end = match.end()
    return marked if marked and end == len(text) else text.split(BLANK_LINE)


def split_document_and_paragraph(name: str) -> tuple[str, int] | None:
    """Split a name of pair, domain, document and paragraph, joined by `_#_`; None for any other name.

    >>> split_document_and_paragraph("en-de_#_news_#_bbc.1_#_3"), split_document_and_paragraph("en-de_#_news_#_3")
    (('en-de_#_news_#_bbc.1', 3), None)
    """
    document, _, index = name.rpartition(BETWEEN)
    domain = document.find(BETWEEN, 1)
    own = document.find(BETWEEN, domain + len(BETWEEN) + 1) if domain > 0 else -1
    told = own > 0 and own + len(BETWEEN) < len(document)
    return (document, int(index)) if told and INDEX.fullmatch(index) else None


def _declaration(at: LineLocation, line: Object, key: str, name: str, position: int) -> DocumentRecord:
    """Return the document of a line, with all other data on it."""
    meta = {field: value for field, value in line.items() if field not in USED and value not in (None, "")}
    domain = line.get("domain")
    said = domain[:LONGEST_NAME] if isinstance(domain, str) and domain else None
    return DocumentRecord(at, key, name, domain=said, position=position, meta=meta or None)


def _rank(record: Record) -> str:
    """Return a rank: declarations before texts before judgments."""
    order = (SystemRecord, DocumentRecord, SegmentRow, OutputRow, JudgmentRow)
    return f"{next(n for n, kind in enumerate(order) if isinstance(record, kind))}"


def _name(line: Object) -> str:
    name = line.get("doc_id")
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME:
        raise ValueError(f"doc_id: must be a text of 1 to {LONGEST_NAME} characters")
    return name


def _reference(value: object) -> object:
    return value.get("ref") if isinstance(value, dict) else value


def _mapping(line: Object, field: str) -> Mapping[str, object]:
    member = line.get(field)
    if member is None:
        return {}
    if not isinstance(member, dict) or not all(1 <= len(name) <= LONGEST_NAME for name in member):
        raise ValueError(f"{field}: must be an object, by name")
    return member


def _base_name(name: str) -> str:
    return name.rsplit("/", 1)[-1].removesuffix(".gz").removesuffix(".jsonl") or name
