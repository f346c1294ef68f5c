"""What a credential says about the organization that it belongs to: where to look for it, and nothing else.

Those of the default organization carry no mark. A mark is part of what is hashed, so that a credential with another
mark is another credential, which nobody has.
"""

from __future__ import annotations

import re

from app.storage.organizations import DEFAULT, current_organization_number

MARK = "plb"
MARK_PATTERN = r"plb(?P<organization>[1-9][0-9]{0,3})?_"
_MARKED = re.compile(
    rf"{MARK_PATTERN}[0-9a-f]{{12}}_[A-Za-z0-9_-]{{43}}"  # a token
    r"|o(?P<other>[1-9][0-9]{0,3})-[A-Za-z0-9_-]{22,43}"  # a session, an invitation, the address of an archive
)


def make_organization_token_prefix() -> str:
    """What tokens of the organization in use begin with."""
    return f"{MARK}{current_organization_number() or ''}_"


def add_organization_mark(text: str) -> str:
    """The secret of a session or invitation, or the address of an archive, with the mark of the organization in use.

    Also other names that must not be taken for those of another organization.
    """
    number = current_organization_number()
    return text if number == DEFAULT else f"o{number}-{text}"


def find_credential_organization(secret: str) -> int:
    """The organization that a credential, or the address of an archive, names; the default one where it names none.

    >>> find_credential_organization("plb3_0f3a9c51d27e_" + "x" * 43), find_credential_organization("o3-" + "x" * 43)
    (3, 3)
    >>> find_credential_organization("plb_0f3a9c51d27e_" + "x" * 43), find_credential_organization("o3-" + "x" * 19)
    (0, 0)
    """
    marked = _MARKED.fullmatch(secret)
    number = next(filter(None, marked.groups()), None) if marked is not None else None
    return DEFAULT if number is None else int(number)
