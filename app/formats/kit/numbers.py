"""Numbers in the cells of files from other programs."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d{1,3})?", re.ASCII)


def parse_number(text: str) -> float:
    """Parse a plain decimal number; −0 is 0. Raises ValueError for anything else (NaN, hexadecimal, 1e999, 1_0)."""
    value = float(text) if len(text) <= 40 and _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"not a number: {text[:40]!r}")
    return value + 0.0
