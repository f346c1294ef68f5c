"""A task as a front-end gets it: what a simulated rater reads, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from app.domain.errors import Invalid
from app.protocols.base import Span


@dataclass(frozen=True, slots=True)
class LatestOwnAnswer:
    """The rater's own latest answer."""

    revision: int
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeenText:
    """A text on the screen. side: what a marked span of it names."""

    label: str
    text: str | None
    side: Literal["source", "target"] | None


@dataclass(frozen=True, slots=True)
class SeenSegment:
    """A segment with its texts in the order of the screen."""

    segment: int
    texts: tuple[SeenText, ...]
    prefill: tuple[Span, ...] | None
    judgment: LatestOwnAnswer | None

    def text_of_side(self, side: Literal["source", "target"]) -> str:
        """The text of a side; empty where it is not shown, or not told apart."""
        return next((one.text for one in self.texts if one.side == side and one.text is not None), "")

    @property
    def n_words(self) -> int:
        """Of all texts on the screen."""
        return sum(len(one.text.split()) for one in self.texts if one.text is not None)

    @property
    def judged_text(self) -> str:
        """The text that is judged: the one to mark, else the last."""
        return self.text_of_side("target") or next(
            (one.text for one in reversed(self.texts) if one.text is not None), ""
        )


@dataclass(frozen=True, slots=True)
class SeenItem:
    """An item. judgment: of the document as a whole."""

    item: int
    segments: tuple[SeenSegment, ...]
    judgment: LatestOwnAnswer | None


@dataclass(frozen=True, slots=True)
class SeenScreen:
    """Which items stand beside each other."""

    screen: int
    items: tuple[int, ...]
    judgment: LatestOwnAnswer | None


@dataclass(frozen=True, slots=True)
class UnansweredAddress:
    """Something that is still to be judged."""

    item: int | None = None
    segment: int | None = None
    screen: int | None = None


@dataclass(frozen=True, slots=True)
class SeenTask:
    """A task. missing: addresses that have no answer."""

    task: str
    presentation: str
    state: str
    asked: tuple[str, ...]
    screens: tuple[SeenScreen, ...]
    items: tuple[SeenItem, ...]
    missing: tuple[UnansweredAddress, ...]


_ADAPTER = TypeAdapter(SeenTask)


def parse_task(body: bytes | Mapping[str, Any]) -> SeenTask:
    """A task from what the server says. Raises Invalid where that is no task."""
    try:
        return _ADAPTER.validate_json(body) if isinstance(body, bytes) else _ADAPTER.validate_python(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Invalid(f"this is no task: {'.'.join(map(str, first['loc']))} {first['msg']}") from None
