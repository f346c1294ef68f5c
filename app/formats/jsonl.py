"""`jsonl`: our own interchange format, one object per line, without any loss.

The first line is the header `{"sealed":true,"type":"plumbline","version":1}`. A sealed file ends with
`{"lines":…,"sha256":"…","type":"end"}`, which counts and hashes all lines before it, so that a truncated or altered
file is refused. A file written by hand leaves out `sealed` and the end line. The order of the lines between them does
not matter. The written form is canonical: export → import → export gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from app.domain.errors import Invalid
from app.formats.base import Format, InputFile, JudgmentRow, LineLocation, ReadContext, ReadLog, Record
from app.formats.kit.reading import read_lines, refuse_file
from app.formats.kit.records import decode_record, encode_record, make_record_identity_key
from app.formats.kit.sorting import ExternalSorter
from app.formats.kit.strict_json import StrictJsonError, canonical_json, parse_json_value
from app.formats.kit.whitespace import WhitespaceStripper

VERSION = 1
HEADER = canonical_json({"type": "plumbline", "version": VERSION, "sealed": True})
WITHOUT_ORDER = "judged twice with neither revision nor submitted_at to say which is the later"


def read(files: Sequence[InputFile], context: ReadContext, log: ReadLog) -> Iterator[Record]:
    """Yield records of all files together, in canonical order. Raises Invalid with every bad line."""
    if context.options:
        raise Invalid(f"jsonl takes no options, not {min(context.options)[:40]!r}")
    with ExternalSorter() as sorter:
        for file in files:
            for record, text in _records(file, context, log):
                place = f"{record.at.file}\0{record.at.line}"
                sorter.add(f"{make_record_identity_key(record)}\0\0{text}\0\0{place}".encode())
        log.raise_bad_lines()
        strip = WhitespaceStripper(log)
        for record in _without_repetition(sorter, log):
            yield strip(record)
    log.raise_bad_lines()


def _records(file: InputFile, context: ReadContext, log: ReadLog) -> Iterator[tuple[Record, str]]:
    seal: _Seal | None = None
    number = 0
    for number, line in read_lines(file, context.limits, log):
        at = LineLocation(file.name, number)
        if seal is None:
            seal = _Seal(line, at, log)
            continue
        if seal.ended:
            refuse_file(log, at, "there is something after the end line")
        try:
            plain = parse_json_value(line)
            if not isinstance(plain, dict):
                raise StrictJsonError("not a JSON object")
            if plain.get("type") == "end":
                seal.end(plain, at)
                continue
            record = decode_record(plain, at)
        except ValueError as fault:
            log.record_bad_line(at, str(fault))
        else:
            yield record, line
        seal.add(line)
    if seal is None:
        refuse_file(log, LineLocation(file.name, 1), f"the file is empty; its first line must be {HEADER}")
    seal.close(LineLocation(file.name, number + 1))


class _Seal:
    """Header and end line of one file, and whether they agree with the lines between them."""

    def __init__(self, header: str, at: LineLocation, log: ReadLog) -> None:
        self._log = log
        try:
            plain = parse_json_value(header)
        except StrictJsonError:
            plain = None
        if not isinstance(plain, dict) or plain.get("type") != "plumbline":
            refuse_file(log, at, f"the first line must be the header {HEADER}")
        if type(plain.get("version")) is not int or plain["version"] != VERSION:
            refuse_file(log, at, f"version: this program reads version {VERSION}")
        if set(plain) - {"type", "version", "sealed"} or not isinstance(plain.get("sealed", False), bool):
            refuse_file(log, at, "the header has type, version and sealed (true or false) only")
        self._sealed = bool(plain.get("sealed", False))
        self._lines, self._hash = 0, hashlib.sha256()
        self.ended = False
        self.add(header)

    def add(self, line: str) -> None:
        """Add one more line to count and hash."""
        self._lines += 1
        if self._sealed:
            self._hash.update(line.encode() + b"\n")

    def end(self, plain: dict[str, object], at: LineLocation) -> None:
        """Compare with the end line. Raises Invalid if it does not match."""
        self.ended = True
        if self._sealed and (plain.get("lines"), plain.get("sha256")) != (self._lines, self._hash.hexdigest()):
            refuse_file(self._log, at, "the file was altered after it was sealed: count or hash of its lines differ")

    def close(self, at: LineLocation) -> None:
        """Raise Invalid if a sealed file has no end line."""
        if self._sealed and not self.ended:
            refuse_file(self._log, at, "the file is cut: it was sealed, and its end line is missing")


def _without_repetition(entries: Iterable[bytes], log: ReadLog) -> Iterator[Record]:
    """Yield one record per thing; a repeated line is dropped, a different one about the same thing is a bad line."""
    split = (entry.decode().rsplit("\0\0", 2) for entry in entries)
    for _, group in groupby(split, key=itemgetter(0)):
        first: Record | None = None
        stated = ""
        for _, text, place in group:
            if first is None:
                first, stated = _decode_record(text, place), text
                yield first
                continue
            other = _decode_record(text, place)
            if text == stated or encode_record(other) == encode_record(first):
                log.repaired["identical lines"] += 1
            else:
                log.record_bad_line(other.at, _contradiction(first))


def _decode_record(text: str, place: str) -> Record:
    """Decode a line that was checked before."""
    file, _, line = place.partition("\0")
    return decode_record(json.loads(text), LineLocation(file, int(line)))


def _contradiction(first: Record) -> str:
    where = f"contradicts line {first.at.line} of {first.at.file}"
    if isinstance(first, JudgmentRow) and first.revision is None and first.submitted_at is None:
        return f"{where}: {WITHOUT_ORDER}"
    return f"{where}, which is about the same thing"


def write(records: Iterable[Record], lost: Counter[str] | None = None, /) -> Iterator[bytes]:  # noqa: ARG001  (all are called so)
    """Write a sealed file in canonical order; nothing is lost."""
    digest, n = hashlib.sha256(), 0
    with ExternalSorter() as sorter:
        for record in records:
            sorter.add(f"{make_record_identity_key(record)}\0\0{encode_record(record)}".encode())
        for text in _with_header(sorter):
            line = text + b"\n"
            digest.update(line)
            n += 1
            yield line
    yield canonical_json({"type": "end", "lines": n, "sha256": digest.hexdigest()}).encode() + b"\n"


def _with_header(entries: Iterable[bytes]) -> Iterator[bytes]:
    yield HEADER.encode()
    for entry in entries:
        yield entry.rpartition(b"\0\0")[2]


FORMAT = Format(
    name="jsonl", title="Plumbline's own interchange, one object a line", read=read, write=write, whole=True
)
