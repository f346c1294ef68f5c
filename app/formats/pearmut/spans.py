"""Positions of marked errors, as Pearmut's page counts them.

Since 1.1.5 a position is an offset in UTF-16 units of the original text: line ends and tags are counted, although they
cannot be marked. Up to 1.1.4 line ends were not counted. Logs do not state which version wrote them.

Special tokens follow the text, with one position each. `[missing]` is an omission; one that mentions instructions is an
error of cESA's own category; for any other, a note says which token it was.

Source: `contentToCharSpans` and `special_token` of web/src in zouharvi/pearmut 1.1.4 and 1.1.6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.domain.errors import Invalid
from app.domain.spans import parse_severity
from app.formats.base import ReadLog
from app.formats.kit.media_spans import pop_time_span
from app.protocols.cesa import FAULT

UNDECIDED = "undecided"
MISSING = "[missing]"
INSTRUCTIONS = "[instructions fault]"
TOKENS = (MISSING,)
"""The special tokens of a campaign that names none."""
_NOTE = re.compile(r"token (\d{1,4}) behind the text")
COUNTS_LINE_ENDS = (1, 1, 5)
_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,3}")


def version_skips_line_ends(version: str | None) -> bool:
    """Return whether a version of Pearmut counts no line ends; None is a current version. Raises Invalid."""
    if version is None:
        return False
    if not _VERSION.fullmatch(version):
        raise Invalid(f"pearmut: {version[:40]!r} is no version; for example 1.1.4")
    return tuple(map(int, version.split("."))) < COUNTS_LINE_ENDS


def map_utf16_to_code_points(text: str, *, skip_line_ends: bool = False) -> Sequence[int]:
    """Return the code point of each position that the page counts: one per UTF-16 unit.

    >>> map_utf16_to_code_points("a\\nb😀c")
    [0, 1, 2, 3, 3, 4]
    >>> map_utf16_to_code_points("a\\nb😀c", skip_line_ends=True)
    [0, 2, 3, 3, 4]
    """
    skipped = "\n" if skip_line_ends else ""
    if max(text, default="") <= "\uffff" and not (skipped and skipped in text):
        return range(len(text))
    return [n for n, char in enumerate(text) if char != skipped for _ in range(1 + (char > "\uffff"))]


def find_special_token_index(error: Mapping[str, object]) -> int | None:
    """Return the special token, from 0, on which an error without a position was marked; None if unknown.

    >>> find_special_token_index({"omission": True}), find_special_token_index({"note": "token 3 behind the text"})
    (0, 2)
    >>> find_special_token_index({})
    """
    if error.get("omission"):
        return 0
    if error.get("category") == FAULT:
        return 1
    match = _NOTE.fullmatch(str(error.get("note")))
    return int(match[1]) - 1 if match else None


class SpanReader:
    """Reads marked errors by the rule of one version. tokens: the special tokens that the page shows after a text."""

    def __init__(self, skip_line_ends: bool, log: ReadLog) -> None:
        self._skip_line_ends, self._log = skip_line_ends, log
        self.tokens: Sequence[str] = TOKENS

    def parse(self, given: object, text: str) -> list[dict[str, object]]:
        """Return marked errors in payload form. Raises ValueError."""
        if given is None:
            return []
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            raise ValueError("error_spans: must be a list of objects")
        return [self._mark(one, text) for one in given]

    def _mark(self, span: Mapping[str, object], text: str) -> dict[str, object]:
        said, category = span.get("severity"), span.get("category")
        severity = parse_severity(said) if isinstance(said, str) else UNDECIDED if said is None else None
        start, end = span.get("start_i"), span.get("end_i")
        if severity is None:
            raise ValueError(f"error_spans: unknown severity {str(said)[:40]!r}")
        if type(start) is not int or type(end) is not int or not 0 <= start <= end < 1_000_000:
            raise ValueError(f"error_spans: start_i {str(start)[:40]!r} and end_i {str(end)[:40]!r} are no span")
        mark: dict[str, object] = {"severity": severity}
        if isinstance(category, str) and category:
            mark["category"] = category
        places = map_utf16_to_code_points(text, skip_line_ends=self._skip_line_ends)
        if start >= len(places):
            if stretch := pop_time_span(dict(span)):
                return {**mark, **stretch}
            return {**mark, **self._token(start - len(places), "category" in mark)}
        if end >= len(places):
            self._log.repaired["errors that reach beyond the end of a text, cut there"] += 1
        return {**mark, "start": places[start], "end": places[min(end, len(places) - 1)] + 1}

    def _token(self, number: int, has_category: bool) -> dict[str, object]:
        """Return the error for a mark on a special token. number: from 0."""
        token = self.tokens[number].casefold() if number < len(self.tokens) else ""
        if "missing" in token or (number == 0 and not self.tokens):
            return {"omission": True}
        if "instruction" in token and not has_category:
            return {"category": FAULT}
        return {"note": f"token {number + 1} behind the text"}
