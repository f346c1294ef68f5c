"""Large JSON files piece by piece: the elements of an array, or the members of an object and their elements.

Memory holds one piece and one block. Each piece is parsed strictly, and its first line is known. Every byte is scanned
equally often, however small the blocks are: the part already read of an unclosed string, or of the blanks before a
piece, is not read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.formats.base import InputFile, LineLocation, ReaderLimits, ReadLog
from app.formats.kit.reading import read_byte_blocks, refuse_file
from app.formats.kit.strict_json import DEEPEST, StrictJsonError, parse_json_value

LARGEST_PIECE = 64 << 20
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]|"', re.DOTALL)
_WITHIN = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_BLANKS = b" \t\r\n"
_SPACE = re.compile(rb"[ \t\r\n]*+")
_CLOSES = {b"]": b"[", b"}": b"{"}
_ELEMENTS = ([b"["], [b"{", b"["])


@dataclass(frozen=True, slots=True)
class StreamedJsonValue:
    """The value of one piece: of an element of an array, or of a member of an object.

    key: of the member that it belongs to, None in an array. is_array_element: else it is a whole member of an object.
    """

    at: LineLocation
    key: str | None
    value: object
    is_array_element: bool


class _Scan:
    """Data that were read and not yet returned.

    start: where the next piece begins in the data; next: where to continue reading; text: where an unclosed string
    begins.
    """

    def __init__(self, file: InputFile, limits: ReaderLimits, log: ReadLog) -> None:
        self._name, self._log = file.name, log
        self._blocks = read_byte_blocks(file, limits, log)
        self._data, self._start, self._next = bytearray(), 0, 0
        self._text: int | None = None
        self._line, self._counted = 1, 0
        self._stack: list[bytes] = []
        self._key: str | None = None
        self._opened = False

    def pieces(self) -> Iterator[StreamedJsonValue]:
        """Yield every piece; one that is not strict JSON is a bad line."""
        while self._read_block():
            while (token := self._token()) is not None:
                yield from self._handle_token(*token)
        if not self._opened or self._stack or self._data[self._start :].strip(_BLANKS):
            refuse_file(self._log, self._line_of_index(len(self._data)), "this is not one whole JSON array or object")

    def _read_block(self) -> bool:
        """Read another block and drop what was returned."""
        self._line_of_index(self._start)
        del self._data[: self._start]
        self._next, self._counted = self._next - self._start, self._counted - self._start
        self._text = None if self._text is None else self._text - self._start
        self._start = 0
        if len(self._data) > LARGEST_PIECE:
            refuse_file(self._log, self._line_of_index(0), f"one piece has more than {LARGEST_PIECE:,} bytes")
        block = next(self._blocks, None)
        self._data += block or b""
        self._log.lines += (block or b"").count(b"\n")
        return block is not None

    def _token(self) -> tuple[bytes, int, int] | None:
        """Return the next bracket, colon, comma or string with its position; None if its end has not been read."""
        if self._text is not None:
            return self._rest_of_text(self._text)
        token = _TOKEN.search(self._data, self._next)
        if token is None:
            self._next = len(self._data)
            return None
        self._next = token.end()
        if token[0] == b'"':
            return self._rest_of_text(token.start())
        return token[0], token.start(), token.end()

    def _rest_of_text(self, begin: int) -> tuple[bytes, int, int] | None:
        """Return the string that begins there, continuing after the last block; None if its end has not been read."""
        rest = _WITHIN.match(self._data, self._next)
        self._next = rest.end() if rest else self._next
        if self._data[self._next : self._next + 1] != b'"':
            self._text = begin
            return None
        self._text, self._next = None, self._next + 1
        return b'"', begin, self._next

    def _handle_token(self, token: bytes, begin: int, end: int) -> Iterator[StreamedJsonValue]:
        inside = self._stack in (*_ELEMENTS, [b"{"])
        if token in (b"[", b"{"):
            self._open(token, begin, end)
        elif token in _CLOSES:
            if not self._stack or self._stack[-1] != _CLOSES[token]:
                refuse_file(
                    self._log, self._line_of_index(begin), f"a bracket is closed that was not opened: {token.decode()}"
                )
            if inside:
                yield from self._end_piece(begin)
                self._start = end
            self._stack.pop()
        elif token == b"," and inside:
            yield from self._end_piece(begin)
            self._start, self._key = end, None if self._stack == [b"{"] else self._key
        elif token == b":" and self._stack == [b"{"] and self._key is None:
            self._key, self._start = self._name_of_member(begin), end

    def _open(self, token: bytes, begin: int, end: int) -> None:
        """Open an array or object: the whole, a member whose elements are pieces, or a part of a piece."""
        if not self._stack:
            if self._opened or not self._blank(begin):
                refuse_file(self._log, self._line_of_index(begin), "this is not one JSON array or object")
            self._opened, self._start = True, end
        elif token == b"[" and self._stack == [b"{"] and self._key is not None and self._blank(begin):
            self._start = end
        self._stack.append(token)
        if len(self._stack) > DEEPEST:
            refuse_file(self._log, self._line_of_index(begin), f"nested deeper than {DEEPEST}")

    def _blank(self, end: int) -> bool:
        """Return whether there are only blanks before the end; blanks are not part of a piece."""
        spaces = _SPACE.match(self._data, self._start, end)
        self._start = spaces.end() if spaces else self._start
        return self._start == end

    def _end_piece(self, end: int) -> Iterator[StreamedJsonValue]:
        text = self._data[self._start : end]
        if not text.strip(_BLANKS):
            return
        at = self._line_of_index(self._start + len(text) - len(text.lstrip(_BLANKS)))
        try:
            yield StreamedJsonValue(at, self._key, self._parse_piece(end), self._stack in _ELEMENTS)
        except (StrictJsonError, UnicodeDecodeError) as fault:
            self._log.record_bad_line(at, str(fault)[:200])

    def _name_of_member(self, end: int) -> str:
        try:
            name = self._parse_piece(end)
        except (StrictJsonError, UnicodeDecodeError):
            name = None
        if not isinstance(name, str):
            refuse_file(self._log, self._line_of_index(self._start), "the name of a member is no string")
        return name

    def _parse_piece(self, end: int) -> object:
        return parse_json_value(self._data[self._start : end].decode().strip())

    def _line_of_index(self, index: int) -> LineLocation:
        """Return the line of an index in the data; indices must be requested in order."""
        self._line += self._data.count(b"\n", self._counted, index)
        self._counted = max(self._counted, index)
        return LineLocation(self._name, self._line)


def stream_json_values(file: InputFile, limits: ReaderLimits, log: ReadLog) -> Iterator[StreamedJsonValue]:
    """Yield the elements of an array, or the members of an object; elements of a member that is an array one by one.

    Anything that is not strict JSON is a bad line. Raises Invalid if the rest of the file cannot be read.
    """
    return _Scan(file, limits, log).pieces()
