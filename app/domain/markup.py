"""Light markup in texts: what raters see of it, and where each visible character is in the stored text.

Positions of marked errors count the characters of the stored text, including tags (decision 43). Raters see the text
without its tags. A line end represents `<br>`, and the tags between two blocks. Unknown tags, and tags without a
partner, are ordinary text, so nothing that a system wrote is hidden from raters.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final, NamedTuple

BLOCKS: Final = frozenset({"p", "h1", "h2", "h3", "ul", "ol", "li", "pre"})
INLINE: Final = frozenset({"b", "strong", "i", "em", "code"})
LINE_END: Final = "br"
MOST_NESTED: Final = 16
"""Maximum nesting of tags; those deeper inside are text."""
_NAMES = "|".join(sorted((*BLOCKS, *INLINE, LINE_END), key=len, reverse=True))
_TOKEN = re.compile(
    rf"<(?P<end>/?)(?P<name>{_NAMES})(?:\s[^<>]*|/)?>|&(?:#[0-9]{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,31}});",
    re.IGNORECASE,
)


class _Piece(NamedTuple):
    """A range of the stored text. tag: the name, if it is a tag; shown: the character that a reference represents."""

    start: int
    end: int
    tag: str | None = None
    closes: bool = False
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class MarkedUpText:
    """A text as raters see it.

    shown: its characters. runs: consecutive (characters shown, start and end in the stored text); if both lengths are
    equal, characters correspond one to one, otherwise the single character represents the whole range. elements: (tag,
    start and end in `shown`), outer ones first.
    """

    shown: str
    runs: tuple[tuple[int, int, int], ...]
    elements: tuple[tuple[str, int, int], ...]

    def to_stored_range(self, start: int, end: int) -> tuple[int, int]:
        """Convert a range of the shown text to a range of the stored text. It must not be empty.

        >>> parse_markup("<p>a <b>dog</b></p>").to_stored_range(0, 5)
        (3, 11)
        """
        places = list(self._places())
        return places[start][0], places[end - 1][1]

    def to_shown_range(self, start: int, end: int) -> tuple[int, int] | None:
        """Convert a range of the stored text to a range of the shown text; None if it contains only tags.

        >>> parse_markup("<p>a <b>dog</b></p>").to_shown_range(3, 13), parse_markup("<p>a</p>").to_shown_range(0, 2)
        ((0, 5), None)
        """
        places = list(self._places())
        first = bisect_right([place[1] for place in places], start)
        last = bisect_left([place[0] for place in places], end)
        return (first, last) if first < last else None

    def _places(self) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each shown character in the stored text."""
        for n, start, end in self.runs:
            if end - start == n:
                yield from ((start + i, start + i + 1) for i in range(n))
            else:
                yield start, end


def parse_markup(text: str) -> MarkedUpText:
    """Parse a text with light markup into what raters see.

    Attributes of tags are dropped. White space at the edges of blocks is not shown, except in `pre`.

    >>> parse_markup("<p>One &lt; <b>two</b></p> <p>Three</p>").shown
    'One < two\\nThree'
    >>> parse_markup("a <script>x</script> and </b>").shown
    'a <script>x</script> and </b>'
    """
    return _Layout(text).result()


def has_markup(text: str) -> bool:
    """Whether any part of a text is shown differently from how it is stored."""
    return ("<" in text or "&" in text) and parse_markup(text).shown != text


def parse_markup_if_present(text: str | None) -> MarkedUpText | None:
    """Return the layout of a text if it is shown differently from how it is stored, else None."""
    layout = parse_markup(text) if text is not None and ("<" in text or "&" in text) else None
    return layout if layout is not None and layout.shown != text else None


class _Layout:
    """The layout of one text, built from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._shown: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._elements: list[list[int | str]] = []  # tag, start, end; start is −1 until something is shown inside
        self._open: list[list[int | str]] = []
        self._broken = False  # whether a block began or ended since the last character

    def result(self) -> MarkedUpText:
        pieces = _pair_tags(list(_iterate_pieces(self._text)))
        ends = _visible_ends(pieces, self._text)
        preformatted = 0
        for piece, end in zip(pieces, ends, strict=True):
            if piece.tag is None:
                self._add_text(piece, end, preformatted=bool(preformatted))
            elif piece.tag == LINE_END:
                self._add("\n", piece.start, piece.end)
            else:
                preformatted += (-1 if piece.closes else 1) if piece.tag == "pre" else 0
                self._turn(piece)
        shown = [element for element in self._elements if element[1] != -1]
        shown.sort(key=lambda element: (element[1], -int(element[2])))
        return MarkedUpText(
            "".join(self._shown),
            tuple(self._runs()),
            tuple((str(tag), int(start), int(end)) for tag, start, end in shown),
        )

    def _turn(self, piece: _Piece) -> None:
        """Begin or end an element."""
        self._broken |= piece.tag in BLOCKS
        if piece.closes:
            self._open.pop()[2] = len(self._shown)
        else:
            element: list[int | str] = [str(piece.tag), -1, -1]
            self._elements.append(element)
            self._open.append(element)

    def _add_text(self, piece: _Piece, end: int, *, preformatted: bool) -> None:
        if piece.shown is not None:
            self._add(piece.shown, piece.start, piece.end)
            return
        for at in range(piece.start, end):
            sign = self._text[at]
            if self._broken and not preformatted and sign.isspace():
                continue
            self._add(sign, at, at + 1)

    def _add(self, sign: str, start: int, end: int) -> None:
        """Show a character, preceded by the line end that represents the tags between two blocks, if any."""
        if self._broken and self._shown:
            self._put("\n", self._ends[-1], start)
        self._broken = False
        for element in self._open:
            element[1] = len(self._shown) if element[1] == -1 else element[1]
        self._put(sign, start, end)

    def _put(self, sign: str, start: int, end: int) -> None:
        self._shown.append(sign)
        self._starts.append(start)
        self._ends.append(end)

    def _runs(self) -> Iterator[tuple[int, int, int]]:
        run: tuple[int, int, int] | None = None
        for start, end in zip(self._starts, self._ends, strict=True):
            if run is not None and end - start == 1 and run[2] == start and run[0] == run[2] - run[1]:
                run = run[0] + 1, run[1], end
                continue
            if run is not None:
                yield run
            run = 1, start, end
        if run is not None:
            yield run


def _iterate_pieces(text: str) -> Iterator[_Piece]:
    """Yield tags, character references, and the text between them."""
    at = 0
    for match in _TOKEN.finditer(text):
        if match.start() > at:
            yield _Piece(at, match.start())
        at = match.end()
        if match["name"] is not None:
            yield _Piece(match.start(), at, match["name"].lower(), closes=bool(match["end"]))
        else:
            sign = unescape(match[0])
            yield _Piece(match.start(), at, shown=sign if len(sign) == 1 else None)
    if at < len(text):
        yield _Piece(at, len(text))


def _pair_tags(pieces: list[_Piece]) -> list[_Piece]:
    """Return the same pieces, with tags without a partner as text."""
    paired = [piece.tag == LINE_END and not piece.closes for piece in pieces]
    opened: list[int] = []
    names: Counter[str] = Counter()
    for n, piece in enumerate(pieces):
        if piece.tag is None or piece.tag == LINE_END:
            continue
        if not piece.closes and len(opened) < MOST_NESTED:
            opened.append(n)
            names[piece.tag] += 1
        elif piece.closes and names[piece.tag]:
            while True:
                last = opened.pop()
                name = str(pieces[last].tag)
                names[name] -= 1
                if name == piece.tag:
                    paired[last] = paired[n] = True
                    break
    return [
        piece if piece.tag is None or is_paired else _Piece(piece.start, piece.end)
        for piece, is_paired in zip(pieces, paired, strict=True)
    ]


def _visible_ends(pieces: list[_Piece], text: str) -> list[int]:
    """Return where the visible part of each piece ends: before the white space at the end of a block."""
    ends = [piece.end for piece in pieces]
    edge, preformatted = False, 0
    for n in range(len(pieces) - 1, -1, -1):
        piece = pieces[n]
        if piece.tag is None:
            if edge and not preformatted and piece.shown is None:
                ends[n] = piece.start + len(text[piece.start : piece.end].rstrip())
            edge = edge and ends[n] == piece.start
        elif piece.tag == "pre":
            preformatted += 1 if piece.closes else -1
            edge = True
        else:
            edge = piece.tag in BLOCKS or (edge and piece.tag != LINE_END)
    return ends
