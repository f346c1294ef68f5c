"""What a viewer does not see of a report: who the raters are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace

from app.reports.kit.report import StoredReport

HIDDEN = "*"
# Reports name raters and tasks as `rater:KEY` and `task:KEY` in every text; a task's key often holds its rater's.
# `_` parts words here, as in the emphasis of Markdown.
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?![^\W_])"
_NAMED = re.compile(rf"{_BEFORE}(rater|task):[A-Za-z0-9._~:@+\-]+")


def hide_raters(report: StoredReport) -> StoredReport:
    """The same report without the keys of raters and tasks, under an ETag of its own."""
    plain = json.loads(report.body)
    body = json.dumps(_redact_value(plain), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return replace(report, body=body, etag=f"{report.etag}.blind")


def hide_rater_and_task_keys(value: object) -> object:
    """A JSON value without the keys of raters and tasks."""
    return _redact_value(value)


def hide_names(text: str, keys: Iterable[str]) -> str:
    """A text that somebody wrote, without these keys and names where they stand as whole words, in capitals or not.

    >>> hide_names("Drop zebra-bert; zebra-berta stays.", ["zebra", "zebra-bert"])
    'Drop *; *-berta stays.'
    """
    folded = text.casefold()
    there = sorted((key for key in keys if key.casefold() in folded), key=len, reverse=True)
    if not there:
        return text
    return re.sub(rf"{_BEFORE}(?:{'|'.join(map(re.escape, there))}){_AFTER}", HIDDEN, text, flags=re.IGNORECASE)


def _redact_value(value: object, name: str = "") -> object:
    if isinstance(value, str):
        return HIDDEN if name == "rater" else _NAMED.sub(rf"\1:{HIDDEN}", value)
    if isinstance(value, list):
        return [_redact_value(each, name) for each in value]
    if isinstance(value, dict):
        return {key: _redact_value(each, name if key == "key" else key) for key, each in value.items()}
    return value
