"""Lines of files from other programs: plain or gzip, strict UTF-8, with at most a line and a block in memory.

UTF-16 is read if there is a byte order mark, as in files from spreadsheets. Every fault is an `Invalid` that names
file, line and reason. A fault within one line (bad UTF-8, NUL) is a bad line and can be skipped. A fault that makes the
rest unreadable (truncated gzip, decompression bomb, endless line, damaged UTF-16) cannot.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import IO, NoReturn

from app.domain.errors import Invalid, Place
from app.formats.base import DocumentSubsetReader, InputFile, LineLocation, ReaderLimits, ReadLog

BLOCK = 1 << 18
GZIP_MAGIC = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
MOST_NAMED = 100  # kinds of things counted in a report
RATIO_FROM = 4 << 20  # a small file may consist of one repeated line


def refuse_file(log: ReadLog, at: LineLocation, reason: str) -> NoReturn:
    """Refuse the file: raise Invalid with this reason and the bad lines found so far."""
    where = f"{at.file}, line {at.line}" if at.line else at.file
    raise Invalid(f"{where}: {reason}; nothing was stored", places=(*log.bad, Place((at.file, at.line), reason)))


def read_lines(
    file: InputFile, limits: ReaderLimits, log: ReadLog, *, empty: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield number (from 1) and text of each line, without its end; empty and unreadable lines go to the log.

    empty: whether empty lines are treated like others, because lines of several files are aligned.

    Raises Invalid if the rest of the file cannot be read. A blank line at the very end is tolerated and counted.
    """
    blank = 0
    for first, block in _line_blocks(file, limits, log):
        text = _decode_plain_block(block, limits)
        if text is None:
            blank = yield from _read_line_by_line(file, first, block, limits, log, blank, empty=empty)
            continue
        if blank:
            log.record_bad_line(LineLocation(file.name, blank), "the line is empty")
            blank = 0
        yield from enumerate(text.split("\n"), first)
    if blank:
        log.repaired["empty line at the end"] += 1


def record_unread_names(log: ReadLog, what: str, names: Iterable[str]) -> None:
    """Record what is in a file and not read, by name as far as a report holds names. what: such as columns."""
    for name in sorted(names):
        told = f"{what} that nothing is read from: {name[:40]}"
        if told not in log.dropped and len(log.dropped) >= MOST_NAMED:
            told = f"{what} that nothing is read from: others"
        log.dropped[told] += 1


def feed_lines_to_reader(
    reader: DocumentSubsetReader, files: Sequence[InputFile], limits: ReaderLimits, log: ReadLog
) -> None:
    """Feed all lines of all files to one reader. Raises Invalid as `read_lines` does, and for a wrong header."""
    take = reader.add_line
    for file in files:
        begun = False
        for number, line in read_lines(file, limits, log):
            if begun or reader.begin_file_with_first_line(file.name, number, line):
                take(number, line)
            begun = True


def _decode_plain_block(block: bytes, limits: ReaderLimits) -> str | None:
    """Return the text of whole lines without irregularities; None if one of them must be checked."""
    odd = b"\r" in block or b"\0" in block or b"\n\n" in block
    if odd or not block or block[:1] == b"\n" or block[-1:] == b"\n" or len(block) > limits.line_bytes:
        return None
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _read_line_by_line(
    file: InputFile, first: int, block: bytes, limits: ReaderLimits, log: ReadLog, blank: int, *, empty: bool
) -> Generator[tuple[int, str], None, int]:
    """Yield the lines of a block one by one; return the number of the last one if it is blank, else 0."""
    for number, line in enumerate(block.split(b"\n"), first):
        if len(line) > limits.line_bytes:
            _refuse_long(log, LineLocation(file.name, number), limits)
        if blank:
            log.record_bad_line(LineLocation(file.name, blank), "the line is empty")
            blank = 0
        raw = line
        if raw.endswith(b"\r"):
            raw = raw[:-1]
            log.repaired["CR LF line ends"] += 1
        if not raw and not empty:
            blank = number
            continue
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as fault:
            log.record_bad_line(LineLocation(file.name, number), _encoding_fault(raw, fault))
            continue
        if "\0" in text:
            log.record_bad_line(
                LineLocation(file.name, number), f"there is a NUL at character {text.index(chr(0)) + 1}"
            )
            continue
        yield number, text
    return blank


def _encoding_fault(raw: bytes, fault: UnicodeDecodeError) -> str:
    if raw[fault.start] == 0xED and fault.start + 1 < len(raw) and raw[fault.start + 1] >= 0xA0:
        return f"not valid UTF-8: a lone surrogate at byte {fault.start + 1}"
    return f"not valid UTF-8 at byte {fault.start + 1} of the line ({fault.reason})"


def _line_blocks(file: InputFile, limits: ReaderLimits, log: ReadLog) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, many at a time, with the number of the first of them."""
    number, carry = 1, b""
    with closing(file.open()) as raw:
        for block in _text_blocks(raw, file.name, limits, log):
            whole, end, rest = block.rpartition(b"\n")
            if end:
                whole, carry = carry + whole, rest
                n = whole.count(b"\n") + 1
                log.lines += n
                if number + n - 1 > limits.lines:
                    refuse_file(log, LineLocation(file.name, limits.lines + 1), f"more than {limits.lines:,} lines")
                yield number, whole
                number += n
            else:
                carry += rest
            if len(carry) > limits.line_bytes:
                _refuse_long(log, LineLocation(file.name, number), limits)
    if carry:
        log.lines += 1
        yield number, carry


def _refuse_long(log: ReadLog, at: LineLocation, limits: ReaderLimits) -> NoReturn:
    refuse_file(log, at, f"the line is longer than {limits.line_bytes:,} bytes")


def read_byte_blocks(file: InputFile, limits: ReaderLimits, log: ReadLog) -> Iterator[bytes]:
    """Yield unpacked bytes of a file that has no lines, many at a time. Raises Invalid as `read_lines` does."""
    with closing(file.open()) as raw:
        yield from _text_blocks(raw, file.name, limits, log)


def _text_blocks(raw: IO[bytes], name: str, limits: ReaderLimits, log: ReadLog) -> Iterator[bytes]:
    """Yield unpacked bytes in UTF-8 without a byte order mark. Raises Invalid beyond the limit of bytes."""
    blocks = _bounded_blocks(raw, name, limits, log)
    for first in blocks:
        if first.startswith(UTF16_BOMS):
            log.repaired["UTF-16"] += 1
            yield from _utf8_of_utf16(chain((first,), blocks), name, log)
            return
        if first.startswith(UTF8_BOM):
            log.repaired["byte order mark"] += 1
            yield first[len(UTF8_BOM) :]
        else:
            yield first
        yield from blocks


def _bounded_blocks(raw: IO[bytes], name: str, limits: ReaderLimits, log: ReadLog) -> Iterator[bytes]:
    total = 0
    for block in _blocks(raw, name, limits, log):
        total += len(block)
        if total > limits.unpacked_bytes:
            refuse_file(log, LineLocation(name, 0), f"more than {limits.unpacked_bytes:,} bytes unpacked")
        yield block


def _utf8_of_utf16(blocks: Iterable[bytes], name: str, log: ReadLog) -> Iterator[bytes]:
    """Convert to UTF-8. Raises Invalid if the text is damaged, for example by half a character at the end."""
    decoder, lines = codecs.getincrementaldecoder("utf-16")(), 0
    try:
        for block in blocks:
            text = decoder.decode(block)
            lines += text.count("\n")
            if text:
                yield text.encode()
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as fault:
        refuse_file(log, LineLocation(name, lines + 1), f"not valid UTF-16 ({fault.reason})")


def _blocks(raw: IO[bytes], name: str, limits: ReaderLimits, log: ReadLog) -> Iterator[bytes]:
    """Yield non-empty blocks of the file, unpacked if it begins as gzip does, whatever its name."""
    head = _read_some(raw, 4)
    if head.startswith(GZIP_MAGIC):
        yield from _unpack(head, raw, name, limits, log)
        return
    block = head + raw.read(BLOCK)
    while block:
        yield block
        block = raw.read(BLOCK)


def _read_some(raw: IO[bytes], least: int) -> bytes:
    """Read at least `least` bytes, unless the file ends."""
    data = b""
    while len(data) < least and (more := raw.read(least - len(data))):
        data += more
    return data


@dataclass(slots=True)
class _GzipProgress:
    """State of unpacking a gzip file: data read and not yet unpacked, bytes read, and line ends unpacked."""

    raw: IO[bytes]
    data: bytes
    count: int
    lines: int = 0

    def at(self, name: str) -> LineLocation:
        """Return the first incomplete line; all lines before it are good."""
        return LineLocation(name, self.lines + 1)

    def fill(self, least: int) -> bool:
        """Read until `least` bytes are ready, or as many as there are; return False at the end of the file."""
        if len(self.data) < least:
            more = self.raw.read(BLOCK) or b""
            self.count += len(more)
            self.data += more
            if more and len(self.data) < least:
                return self.fill(least)
        return bool(self.data)


def _unpack(head: bytes, raw: IO[bytes], name: str, limits: ReaderLimits, log: ReadLog) -> Iterator[bytes]:
    packed, unpacked = _GzipProgress(raw, head, len(head)), 0
    while packed.fill(len(GZIP_MAGIC)):
        if not packed.data.startswith(GZIP_MAGIC):
            refuse_file(log, packed.at(name), "there is something after the end of the gzip data")
        for block in _unpack_member(packed, name, log):
            unpacked += len(block)
            packed.lines += block.count(b"\n")
            if unpacked > RATIO_FROM and unpacked > limits.ratio * packed.count:
                refuse_file(log, packed.at(name), f"unpacks to more than {limits.ratio} times its size: a gzip bomb")
            yield block


def _unpack_member(packed: _GzipProgress, name: str, log: ReadLog) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(31)
    while not unpacker.eof:
        if not packed.fill(1):
            refuse_file(log, packed.at(name), "the gzip file is cut: its end is missing")
        try:
            block = unpacker.decompress(packed.data, BLOCK)
        except zlib.error as fault:
            refuse_file(log, LineLocation(name, 0), f"the gzip data is damaged ({fault})")
        packed.data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        if block:
            yield block
