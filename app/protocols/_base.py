"""What a protocol is: a value that says what is asked, how it is checked, and what it scores.

One module each in this package, discovered by `app.protocols`; nobody else names one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from app.stats.ratings import Scale
from app.stats.scoring import WeightProfile

NO_ERRORS_ASKED = -1


class Payload(BaseModel):
    """A rater's answer. Strict, frozen, finite, and nothing beyond the declared fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


P = TypeVar("P", bound=Payload)


class Span(Payload):
    """One marked error: code point offsets, half open, on one side of an immutable text.

    An omission without a place has neither start nor end.
    """

    side: Literal["source", "target"] = "target"
    start: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    end: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    severity: Annotated[str, Field(min_length=1, max_length=64)]
    category: Annotated[str, Field(max_length=256)] | None = None
    omission: bool = False
    note: Annotated[str, Field(max_length=4000)] | None = None
    prefill: Annotated[str, Field(max_length=64)] | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What the rater saw at one address; None where the text is unknown (bare scores imported)."""

    source: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a campaign that bear on its payloads and scores.

    profile: weights for marked errors. standardised: scores are z already, so the scale does not hold.
    """

    profile: WeightProfile
    standardised: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """The number that a judgment comes to, and how many errors it marks (−1 where none are asked).

    unmatched: errors that the weight profile does not know, as `severity/category`; they weigh 0 and are reported.
    """

    score: float
    n_errors: int = NO_ERRORS_ASKED
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Slider:
    """A continuous widget; `ticks` are (value, label)."""

    field: str
    minimum: float
    maximum: float
    step: float
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spans:
    """Marking of errors in the texts."""

    field: str
    severities: tuple[str, ...]
    categories: tuple[tuple[str, tuple[str, ...]], ...] = ()
    source_side: bool = False
    omission: bool = False
    most: int | None = None


Widget = Slider | Spans


@dataclass(frozen=True, slots=True)
class Example(Generic[P]):
    """A worked example: what was shown, a payload, and the score it must come to under `profile`."""

    source: str
    output: str
    payload: P
    score: float
    why: str = ""
    profile: str = "freitag2021"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol(Generic[P]):
    """Payload, widgets, rubric, score and examples of one way of judging.

    check: raises `Invalid` where a payload does not fit what was shown (a span outside the text, say).
    score: the only place where this protocol's score is computed.
    uses_profile: the score depends on a weight profile, so other profiles can be derived from the payloads.
    """

    name: str
    version: int
    title: str
    payload: type[P]
    higher_is_better: bool
    scale: Scale | None
    form: tuple[Widget, ...]
    rubric: tuple[tuple[str, str], ...]
    check: Callable[[P, Shown, Options], None]
    score: Callable[[P, Shown, Options], Scored]
    examples: tuple[Example[P], ...]
    uses_profile: bool = False
