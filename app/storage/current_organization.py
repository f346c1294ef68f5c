"""Organizations that share an installation: each has all tables in its own Postgres schema (decision 46).

In an installation without other organizations, the tables belong to the default one, number 0, in `public`. All code
that reads or writes the database takes the organization from `current_organization_number`. A transaction then sets
`search_path` first, so that no statement reaches further.

The row numbers of each organization start from its own number times `SPAN`. So a number identifies the organization as
well as the row, and whatever is stored under it in memory, in a lock or in the queue never belongs to another
organization.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

DEFAULT = 0
SPAN = 1 << 36
"""The most rows that a table of an organization can have."""
MOST = 4095
"""The highest number of an organization: row numbers stay below 2^48, as floats and advisory locks require."""


class OrganizationSwitchTooLate(RuntimeError):
    """A request that has read one organization's tables switches to another: a mistake in this program."""


@dataclass(slots=True)
class CurrentOrganization:
    """The organization of a piece of work. used: whether a transaction has relied on it."""

    number: int = DEFAULT
    used: bool = False


_in_use: ContextVar[CurrentOrganization | None] = ContextVar("organization", default=None)


def current_organization_number() -> int:
    """Return the number of the organization for which this thread or task is working now."""
    in_use = _in_use.get()
    return DEFAULT if in_use is None else in_use.number


def pin_current_organization() -> int:
    """Return the number before a read or write; from now on, the request cannot switch to another organization."""
    in_use = _in_use.get()
    if in_use is None:
        return DEFAULT
    in_use.used = True
    return in_use.number


@contextmanager
def use_organization(number: int) -> Iterator[None]:
    """Work for an organization within this block, and in all work started there."""
    token = _in_use.set(CurrentOrganization(number))
    try:
        yield
    finally:
        _in_use.reset(token)


def switch_current_organization(number: int) -> None:
    """Switch the work of the innermost `use_organization` to another organization, as its credential requires.

    Threads that share the work see the change as well. Raises OrganizationSwitchTooLate if tables of another one were
    read.
    """
    in_use = _in_use.get()
    if number == (DEFAULT if in_use is None else in_use.number):
        return
    if in_use is None or in_use.used:
        raise OrganizationSwitchTooLate
    in_use.number = number


def organization_number_from_row_id(row_id: int) -> int:
    """Return the organization of a row, from the row's number.

    >>> organization_number_from_row_id(17), organization_number_from_row_id(3 * SPAN + 17)
    (0, 3)
    """
    return row_id // SPAN


def organization_schema(number: int) -> str:
    """Return the name of an organization's Postgres schema.

    >>> organization_schema(0), organization_schema(3)
    ('public', 'organization_3')
    """
    return "public" if number == DEFAULT else f"organization_{number}"


def search_path_statement(number: int) -> str:
    """Return the statement with which every transaction of an organization begins."""
    return f"SET LOCAL search_path = {organization_schema(number)}"
