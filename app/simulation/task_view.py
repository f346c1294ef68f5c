"""A task as a front-end receives it: exactly what a simulated rater reads."""

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
class DisplayedText:
    """A text on the screen. side: the side that spans marked in it belong to."""

    label: str
    text: str | None
    side: Literal["source", "target"] | None


@dataclass(frozen=True, slots=True)
class DisplayedSegment:
    """A segment, with its texts in their order on the screen."""

    segment: int
    texts: tuple[DisplayedText, ...]
    prefill: tuple[Span, ...] | None
    judgment: LatestOwnAnswer | None

    def source_or_target_text(self, side: Literal["source", "target"]) -> str:
        """Return the text of a side; empty if it is not shown, or if sides are not distinguished."""
        return next((one.text for one in self.texts if one.side == side and one.text is not None), "")

    @property
    def n_shown_words(self) -> int:
        """The number of words in all texts on the screen."""
        return sum(len(one.text.split()) for one in self.texts if one.text is not None)

    @property
    def judged_text(self) -> str:
        """The text that is judged: the one that can be marked, or else the last one."""
        return self.source_or_target_text("target") or next(
            (one.text for one in reversed(self.texts) if one.text is not None), ""
        )


@dataclass(frozen=True, slots=True)
class DisplayedItem:
    """An item. judgment: the answer for the document as a whole."""

    item: int
    segments: tuple[DisplayedSegment, ...]
    judgment: LatestOwnAnswer | None


@dataclass(frozen=True, slots=True)
class DisplayedScreen:
    """The items that stand side by side."""

    screen: int
    items: tuple[int, ...]
    judgment: LatestOwnAnswer | None


@dataclass(frozen=True, slots=True)
class AddressOfMissingJudgment:
    """The address of a judgment that is missing."""

    item: int | None = None
    segment: int | None = None
    screen: int | None = None


@dataclass(frozen=True, slots=True)
class DisplayedTask:
    """A task. missing: addresses without an answer."""

    task: str
    presentation: str
    state: str
    asked: tuple[str, ...]
    screens: tuple[DisplayedScreen, ...]
    items: tuple[DisplayedItem, ...]
    missing: tuple[AddressOfMissingJudgment, ...]


_ADAPTER = TypeAdapter(DisplayedTask)


def parse_task(body: bytes | Mapping[str, Any]) -> DisplayedTask:
    """Read a task from a server's answer. Raises Invalid if it is not a task."""
    try:
        return _ADAPTER.validate_json(body) if isinstance(body, bytes) else _ADAPTER.validate_python(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Invalid(f"this is no task: {'.'.join(map(str, first['loc']))} {first['msg']}") from None
