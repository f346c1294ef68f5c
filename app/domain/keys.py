"""Keys with which people and files name things: 1–128 of A–Z a–z 0–9 . _ ~ : @ + - but neither `.` nor `..`"""

from __future__ import annotations

import hashlib
import re

KEY_PATTERN = r"^[A-Za-z0-9._~:@+\-]{1,128}$"
LONGEST = 128
SEAT = "seat~"
"""What the names of seats begin with: a plan has them for raters who are not known yet."""
SEAT_RESERVED = f"must not begin with {SEAT}, which is for seats of a plan that nobody has taken yet"
_KEY = re.compile(r"[A-Za-z0-9._~:@+\-]{1,128}")
_FOLDED = frozenset({".", ".."})  # clients remove them from addresses (RFC 3986, section 5.2.4)
_OTHER = re.compile(r"[^A-Za-z0-9._~:@+\-]+")


def is_key(name: str) -> bool:
    """Whether `name` can be used as a key without changes."""
    return _KEY.fullmatch(name) is not None and name not in _FOLDED


def reject_dot_segment(name: str) -> str:
    """Return the name if it can be part of an address. Raises ValueError for `.` and `..`.

    This is for names that match KEY_PATTERN, which stays as published and cannot exclude these.
    """
    if name in _FOLDED:
        raise ValueError("must not be . or .., which clients fold away in addresses")
    return name


def convert_name_to_key(name: str) -> str:
    """Make a key for any name: the name itself if it is a key, else a readable form with a digest of the whole.

    The digest distinguishes names that differ only in characters that a key cannot contain.

    >>> convert_name_to_key("Online-W")
    'Online-W'
    >>> convert_name_to_key("Online W")
    'Online_W~8004a8ca'
    >>> convert_name_to_key("..")
    '..~5ec1f7e7'
    """
    return name if is_key(name) else shorten_name_to_key(name, LONGEST)


def shorten_name_to_key(name: str, most: int) -> str:
    """Return a key of at most `most` characters: the beginning of a name, with a digest of the whole.

    >>> shorten_name_to_key("annual-report.pdf", 16)
    'annual-~a95d65af'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_OTHER.sub('_', name)[: most - 9]}~{digest}"


def is_valid_organization_key(text: str) -> bool:
    """Whether an organization can have this key.

    >>> is_valid_organization_key("acme-2"), is_valid_organization_key("Acme"), is_valid_organization_key("-a")
    (True, False, False)
    """
    return re.fullmatch("[a-z0-9][a-z0-9-]{0,62}", text) is not None
