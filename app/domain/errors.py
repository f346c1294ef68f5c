"""Kinds of errors. The docstring of an error class is its message; `detail` adds the particulars.

The web layer maps kinds to problem+json and the command line maps them to exit codes, each in one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Place:
    """Where something in the input is wrong, and what.

    `loc` is a path: ("body", "alpha"), or ("ratings.tsv", 17) for line 17 of a file.
    """

    loc: tuple[str | int, ...]
    msg: str


class AppError(Exception):
    """Something went wrong."""

    kind: ClassVar[str] = "error"
    members: Mapping[str, object] = MappingProxyType({})  # additional members of a response about it
    published: ClassVar[str]  # its name in responses, if different from the class's

    def __init__(self, detail: str = "", *, places: tuple[Place, ...] = (), retry_after: int | None = None) -> None:
        super().__init__(detail or self.title())
        self.detail = detail
        self.places = places
        self.retry_after = retry_after

    @classmethod
    def name(cls) -> str:
        """Return its name in responses: the type of a problem and of a failed job."""
        return str(vars(cls).get("published", cls.__name__))

    @classmethod
    def title(cls) -> str:
        """Return the first line of the docstring, without its full stop."""
        return (cls.__doc__ or cls.__name__).strip().splitlines()[0].rstrip(".")


class Invalid(AppError):
    """The input is not valid."""

    kind = "invalid"


class NotFound(AppError):
    """There is no such thing here."""

    kind = "not_found"


class Unauthorized(AppError):
    """A valid credential is needed."""

    kind = "unauthorized"


class Forbidden(AppError):
    """Your role does not allow this."""

    kind = "forbidden"


class Conflict(AppError):
    """The current state does not allow this."""

    kind = "conflict"


class TooLarge(AppError):
    """The input is larger than allowed."""

    kind = "too_large"


class RateLimitExceeded(AppError):
    """This was done too often lately; wait before you try again."""

    kind = "too_many"
    published = "TooMany"


class Unavailable(AppError):
    """The service cannot do this now; try again."""

    kind = "unavailable"


class StorageFull(AppError):
    """There is no space left to store this."""

    kind = "storage_full"
