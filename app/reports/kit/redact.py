"""Hides from viewers of a report who the raters are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace

from app.reports.kit.report import StoredReport

HIDDEN = "*"
# All texts of reports name raters and tasks as `rater:KEY` and `task:KEY`; the key of a task often contains that of its
# rater. `_` separates words here, as in Markdown emphasis.
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?![^\W_])"
_NAMED = re.compile(rf"{_BEFORE}(rater|task):[A-Za-z0-9._~:@+\-]+")


def hide_raters(report: StoredReport) -> StoredReport:
    """Return the report without the keys of raters and tasks, under a different ETag."""
    plain = json.loads(report.body)
    body = json.dumps(_redact_value(plain), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return replace(report, body=body, etag=f"{report.etag}.blind")


def hide_rater_and_task_keys(value: object) -> object:
    """Return a JSON value without the keys of raters and tasks."""
    return _redact_value(value)


def hide_names(text: str, keys: Iterable[str]) -> str:
    """Remove these keys and names from a text where they occur as whole words, in upper or lower case.

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
