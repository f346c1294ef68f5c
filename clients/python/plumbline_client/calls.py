"""Requests as values: what is asked, before anybody sends it. Paths, queries and tables are made here, once."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import quote

from plumbline_client.retries import REPEATABLE_METHODS

Json = dict[str, Any]
Scalar = str | int | float | bool
Query = Mapping[str, Scalar | Sequence[Scalar] | None]
Repeats = Literal["safe", "keyed", "unsafe"]
"""Of a POST or PATCH: safe: sending it twice is the same as once. keyed: an `Idempotency-Key` makes it so."""
PREFIX = "/v1"


@dataclass(frozen=True, slots=True)
class Call:
    """A request to make. Its key stays the same however often it is sent.

    sends: bytes, where the body is no JSON; wait: seconds that the server may take for a report before it names a job.
    """

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: Any = None
    sends: bytes | None = None
    repeats: Repeats = "unsafe"
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def repeatable(self) -> bool:
        """Whether carrying it out twice is the same as once."""
        return self.method in REPEATABLE_METHODS or self.repeats != "unsafe"

    def as_of_versions(self, versions: Iterable[int]) -> Call:
        """The same about the data that a job has read, where it read one campaign and the call names no data."""
        known = tuple(versions)
        if len(known) != 1 or self.query.get("as_of") is not None:
            return self
        return replace(self, query={**self.query, "as_of": known[0]})

    def all_headers(self) -> dict[str, str]:
        """With the key, where it has one."""
        return {**self.headers, **({"Idempotency-Key": self.key} if self.repeats == "keyed" else {})}

    def options(self) -> dict[str, Any]:
        """As httpx takes them."""
        options: dict[str, Any] = {"params": clean_query(self.query), "headers": self.all_headers()}
        if self.sends is not None:
            options["content"] = self.sends
        elif self.body is not None:
            options["json"] = self.body
        return options


def path(*parts: str | int) -> str:
    """An address under `/v1`, each part quoted.

    >>> path("campaigns", "a/b", "raters")
    '/v1/campaigns/a%2Fb/raters'
    """
    return "/".join((PREFIX, *(quote(str(part), safe="") for part in parts)))


def clean_query(query: Query) -> dict[str, str | list[str]]:
    """The parameters that have a value, as text.

    >>> clean_query({"seed": 1, "dry_run": True, "recipe": None})
    {'seed': '1', 'dry_run': 'true'}
    """
    return {
        name: _text(value) if isinstance(value, Scalar) else [_text(one) for one in value]
        for name, value in query.items()
        if value is not None
    }


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def without_none(**fields: Any) -> Json:
    """The fields that have a value: what is left out keeps the server's default."""
    return {name: value for name, value in fields.items() if value is not None}


def quote_revision(revision: int | None) -> dict[str, str]:
    """`If-Match` of a revision that was seen; none where the last write may win."""
    return {} if revision is None else {"If-Match": f'"{revision}"'}


def prefer_wait(seconds: int) -> dict[str, str]:
    """How long the server may take for a report before it names a job."""
    return {"Prefer": f"wait={seconds}"}


def report_call(job: str, accept: str = "application/json") -> Call:
    """For the report of a job."""
    return Call("GET", path("jobs", job, "report"), headers={"Accept": accept})
