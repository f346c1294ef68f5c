"""The mark in a credential that names its organization. It says only where to look the credential up.

Credentials of the default organization have no mark. The mark is part of the hashed text, so a credential with a
changed mark is a different credential, which does not exist.
"""

from __future__ import annotations

import re

from app.storage.current_organization import DEFAULT, current_organization_number

MARK = "plb"
MARK_PATTERN = r"plb(?P<organization>[1-9][0-9]{0,3})?_"
_MARKED = re.compile(
    rf"{MARK_PATTERN}[0-9a-f]{{12}}_[A-Za-z0-9_-]{{43}}"  # a token
    r"|o(?P<other>[1-9][0-9]{0,3})-[A-Za-z0-9_-]{22,43}"  # a session, an invitation, the address of an archive
)


def make_organization_token_prefix() -> str:
    """Return the prefix of tokens of the current organization."""
    return f"{MARK}{current_organization_number() or ''}_"


def prefix_with_organization_mark(text: str) -> str:
    """Add the mark of the current organization to a session or invitation secret, or to the address of an archive.

    The mark is also added to other names that must not be mistaken for those of another organization.
    """
    number = current_organization_number()
    return text if number == DEFAULT else f"o{number}-{text}"


def parse_organization_number(secret: str) -> int:
    """Return the organization that a credential or an archive's address names, or else the default one.

    >>> parse_organization_number("plb3_0f3a9c51d27e_" + "x" * 43), parse_organization_number("o3-" + "x" * 43)
    (3, 3)
    >>> parse_organization_number("plb_0f3a9c51d27e_" + "x" * 43), parse_organization_number("o3-" + "x" * 19)
    (0, 0)
    """
    marked = _MARKED.fullmatch(secret)
    number = next(filter(None, marked.groups()), None) if marked is not None else None
    return DEFAULT if number is None else int(number)
