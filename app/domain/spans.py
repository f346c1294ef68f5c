"""Marked spans of a text: severities, white space at the ends, and the `<v>…</v>` notation.

Offsets are Unicode code points, half open, in the text without marks.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SEVERITIES = ("neutral", "minor", "major", "critical", "undecided")
_MARKS = re.compile(r"(</?v>)")


def parse_severity(name: str) -> str | None:
    """Return the severity in the form that payloads use, None if it is unknown.

    >>> parse_severity("Major"), parse_severity("awful")
    ('major', None)
    """
    plain = name.strip().casefold()
    return plain if plain in SEVERITIES else None


class ParsedMarkedText(NamedTuple):
    """A text without its marks, the positions of the marks, and the number of unpaired ones."""

    text: str
    spans: tuple[tuple[int, int], ...]
    n_unpaired_marks: int = 0


def parse_marked_text(text: str) -> ParsedMarkedText:
    """Remove `<v>…</v>` from a text.

    A mark that is never closed extends to the end of the text; a second opening or an extra closing mark is ignored.

    >>> parse_marked_text("a <v>b</v>")
    ParsedMarkedText(text='a b', spans=((2, 3),), n_unpaired_marks=0)
    """
    if "<v>" not in text and "</v>" not in text:
        return ParsedMarkedText(text, ())
    start, end = text.find("<v>"), text.find("</v>")
    if 0 <= start < end and text.count("v>") == 2:  # a single pair, as in most marked texts
        return ParsedMarkedText(f"{text[:start]}{text[start + 3 : end]}{text[end + 4 :]}", ((start, end - 3),))
    plain: list[str] = []
    spans: list[tuple[int, int]] = []
    at, opened, broken = 0, -1, 0
    for part in _MARKS.split(text):
        if part == "<v>":
            broken += opened >= 0
            opened = at if opened < 0 else opened
        elif part == "</v>":
            broken += opened < 0
            if opened >= 0:
                spans.append((opened, at))
            opened = -1
        else:
            plain.append(part)
            at += len(part)
    if opened >= 0:
        spans.append((opened, at))
        broken += 1
    return ParsedMarkedText("".join(plain), tuple(spans), broken)


def insert_span_marks(text: str, start: int, end: int) -> str:
    """Put `<v>…</v>` around a span of a text."""
    return f"{text[:start]}<v>{text[start:end]}</v>{text[end:]}"


def clip_span_to_stripped_text(span: tuple[int, int], before: int, length: int) -> tuple[int, int]:
    """Convert a span of an unstripped text to the stripped one; a span of white space becomes empty.

    before: characters stripped at the start. length: of the stripped text.
    """
    start = min(max(span[0] - before, 0), length)
    return start, min(max(span[1] - before, start), length)
