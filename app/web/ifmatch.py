"""If-Match: a change names the state that its sender saw."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Request

from app.domain.errors import AppError


class IfMatchMissing(AppError):
    """Send `If-Match` with the ETag that you saw."""

    kind = "precondition_required"


Seen = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=1000,
        description="ETag of the state to change. Without it the answer is 428; if it is not the latest, 412.",
        examples=['"3"'],
    ),
]


class IfMatch:
    """The tags that a client sent."""

    def __init__(self, tags: frozenset[str]) -> None:
        self.tags = tags

    def has(self, tag: str) -> bool:
        """Tell whether a state is among those seen (strong comparison, RFC 9110 §13.1.1; `*` is any)."""
        return "*" in self.tags or quote_etag(tag) in self.tags


async def get_if_match(request: Request, seen: Seen = None) -> IfMatch:  # noqa: ARG001  (declares the header)
    """Return the tags. Raises IfMatchMissing if there are none."""
    given = ",".join(request.headers.getlist("if-match"))
    tags = frozenset(part.strip() for part in given.split(",") if part.strip())
    if not tags:
        raise IfMatchMissing
    return IfMatch(tags)


def quote_etag(tag: str) -> str:
    """Quote a tag for a header."""
    return f'"{tag}"'


IfMatchDep = Annotated[IfMatch, Depends(get_if_match)]


async def get_optional_if_match(request: Request, seen: Seen = None) -> IfMatch | None:
    """Return the tags, or None, for a PUT that creates or changes: only a change needs them."""
    return await get_if_match(request, seen) if "if-match" in request.headers else None


IfMatchOnChange = Annotated[IfMatch | None, Depends(get_optional_if_match)]
