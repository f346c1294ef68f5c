"""Organizations that share an installation: each has all tables in a Postgres schema of its own (decision 46).

The tables of an installation that knows of no organizations are the default one's, number 0, in `public`. Whatever
reads or writes a database asks `current_organization_number` for whom: a transaction then sets `search_path` first, so
that no statement reaches further.

The rows of each organization are numbered from its own number times `SPAN` on. So a number names the organization as
well as the row: what is kept by a number in memory, in a lock or in the queue is never that of another organization.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

DEFAULT = 0
SPAN = 1 << 36
"""Rows that a table of an organization can have."""
MOST = 4095
"""The last organization: numbers of rows stay below 2^48, which floating-point numbers and the locks allow."""


class OrganizationsMixed(RuntimeError):
    """A request that has read one organization's tables turns to another's: a mistake of ours."""


@dataclass(slots=True)
class CurrentOrganization:
    """For whom a piece of work is. used: whether a transaction has relied on it."""

    number: int = DEFAULT
    used: bool = False


_in_use: ContextVar[CurrentOrganization | None] = ContextVar("organization", default=None)


def current_organization_number() -> int:
    """The number of the organization for which this thread or task works now."""
    in_use = _in_use.get()
    return DEFAULT if in_use is None else in_use.number


def pin_current_organization() -> int:
    """The same, for who is about to read or write: from now on a request cannot turn to another."""
    in_use = _in_use.get()
    if in_use is None:
        return DEFAULT
    in_use.used = True
    return in_use.number


@contextmanager
def use_organization(number: int) -> Iterator[None]:
    """Work for an organization within the block, and within what is begun there."""
    token = _in_use.set(CurrentOrganization(number))
    try:
        yield
    finally:
        _in_use.reset(token)


def switch_organization(number: int) -> None:
    """Let the work of the innermost `use_organization` be for another one, as its credential says.

    Threads that the work is spread over see it as well. Raises OrganizationsMixed where it has read another's tables.
    """
    in_use = _in_use.get()
    if number == (DEFAULT if in_use is None else in_use.number):
        return
    if in_use is None or in_use.used:
        raise OrganizationsMixed
    in_use.number = number


def organization_of_row(row: int) -> int:
    """The organization that a row belongs to, by its number.

    >>> organization_of_row(17), organization_of_row(3 * SPAN + 17)
    (0, 3)
    """
    return row // SPAN


def organization_schema(number: int) -> str:
    """The Postgres schema of an organization.

    >>> organization_schema(0), organization_schema(3)
    ('public', 'organization_3')
    """
    return "public" if number == DEFAULT else f"organization_{number}"


def search_path_statement(number: int) -> str:
    """What a transaction of an organization begins with."""
    return f"SET LOCAL search_path = {organization_schema(number)}"
