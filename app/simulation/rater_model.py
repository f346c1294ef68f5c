"""A model of raters: the true quality of the texts, and how each rater judges. It can be stored in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.protocols.base import Span

LARGEST_SEED = 2**53
Points = Annotated[float, Field(ge=-1000, le=1000)]
Variance = Annotated[float, Field(ge=0, le=10_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern=KEY_PATTERN)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class RaterModelVariances(_Value):
    """Variances on a scale of 0 to 100, of a mixed model with crossed effects.

    The defaults are REML estimates on the scores of a public ESA campaign. `system` is used only to draw qualities,
    because a finished model contains the quality of each system.
    """

    system: Variance = 61.8
    document: Variance = 17.4
    segment: Variance = 19.9
    document_system: Variance = 19.2
    segment_system: Variance = 64.7
    rater: Variance = 45.9
    rater_system: Variance = 6.2
    rater_document: Variance = 4.5
    rater_segment: Variance = 19.5
    rater_document_system: Variance = 39.9
    residual: Variance = 116.5


class RaterTraits(_Value):
    """How one rater judges and works.

    leniency: points added to the true quality. spread: how strongly they separate good from bad; 1 is the true
    difference. noise: factor for the standard deviation of the residual. drift: points per hundred judgments. seconds:
    time for a segment of twenty words. attention: share of planted errors that they see; they miss major ones half as
    often as minor ones. taste: share of segments in which they mark an error that nobody planted. mistakes: share of
    answers that are slips. revisions: share of answers, slips among them, that they change before handing in.
    careless: they answer without reading. reads: share of each task that they read; they answer the rest unread.
    always: the score that they give to every text. copies: they answer like this rater, who must not copy anybody.
    stops_after: they leave after this many judgments, in the middle of a task. pauses_after: they pause once after
    this many judgments, for pause_seconds of real time.
    """

    leniency: Points = 0.0
    spread: Annotated[float, Field(gt=0, le=10)] = 1.0
    noise: Annotated[float, Field(ge=0, le=10)] = 1.0
    drift: Points = 0.0
    seconds: Annotated[float, Field(gt=0, le=3600)] = 20.0
    attention: Share = 0.9
    taste: Share = 0.05
    mistakes: Share = 0.01
    revisions: Share = 0.05
    careless: bool = False
    reads: Share = 1.0
    always: Annotated[float, Field(ge=0, le=100)] | None = None
    copies: Name | None = None
    stops_after: Annotated[int, Field(ge=0)] | None = None
    pauses_after: Annotated[int, Field(ge=0)] | None = None
    pause_seconds: Annotated[float, Field(ge=0, le=86_400)] = 0.0


class TextGroundTruth(_Value):
    """The truth about one text. errors: those that it really contains, if known; their weight determines its quality.

    systems: all systems that output this text.
    """

    document: Name
    segment: Annotated[int, Field(ge=1)]
    systems: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)]
    errors: Annotated[tuple[Span, ...], Field(strict=False)] | None = None


class RaterModel(_Value):
    """Everything that determines simulated raters.

    systems: true quality, 0 to 100, higher is better. unknown: quality of texts that the model does not contain, such
    as degraded ones. texts: by the text's `hash_text_with_source`, which every rater can compute. protocol, options,
    basis: those of the campaign, which determine the form.
    """

    plumbline_raters: Literal[1] = 1
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)]
    campaign: Name
    protocol: Name
    options: Mapping[str, object] = Field(default_factory=dict)
    basis: Literal["source", "reference", "both", "none"] = "source"
    components: RaterModelVariances = RaterModelVariances()
    systems: Annotated[dict[Name, Points], Field(min_length=1)]
    unknown: Points = 20.0
    raters: Annotated[dict[Name, RaterTraits], Field(min_length=1)]
    texts: dict[Annotated[str, Field(pattern="^[0-9a-f]{64}$")], TextGroundTruth]

    @property
    def true_ranking(self) -> tuple[str, ...]:
        """Return the systems in their true order, best first; equal ones are ordered by key."""
        return tuple(sorted(self.systems, key=lambda key: (-self.systems[key], key)))


def hash_text_with_source(text: str, source: str | None = None) -> str:
    """Return the SHA-256 of a text in hex; preceded by its source if the text alone does not identify its segment."""
    return hashlib.sha256((text if source is None else f"{source}\0{text}").encode()).hexdigest()


def parse_rater_model(data: bytes) -> RaterModel:
    """Read a model from the contents of its file. Raises Invalid, naming every place that is wrong."""
    try:
        model = RaterModel.model_validate_json(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)[:20]
        places = tuple(Place(tuple(fault["loc"]), fault["msg"]) for fault in faults)
        raise Invalid("this is no model of raters", places=places) from None
    unknown = {
        key: temper.copies
        for key, temper in model.raters.items()
        if temper.copies is not None and (temper.copies not in model.raters or model.raters[temper.copies].copies)
    }
    if unknown:
        places = tuple(
            Place(("raters", key, "copies"), f"{other} is no rater who copies nobody")
            for key, other in sorted(unknown.items())[:20]
        )
        raise Invalid("this is no model of raters", places=places)
    unplanted = {s for truth in model.texts.values() for s in truth.systems} - set(model.systems)
    if unplanted:
        places = tuple(Place(("systems", key), "has texts and no quality") for key in sorted(unplanted)[:20])
        raise Invalid("this is no model of raters", places=places)
    return model


def encode_rater_model(model: RaterModel) -> bytes:
    """Write a model as a file that people can edit, with one text per line."""
    plain = model.model_dump(mode="json", exclude_none=True)
    texts = plain.pop("texts")
    head = json.dumps(plain, indent=1, ensure_ascii=False)[:-2]
    lines = (f"  {json.dumps(key)}: {json.dumps(texts[key], ensure_ascii=False)}" for key in sorted(texts))
    return (head + ',\n "texts": {\n' + ",\n".join(lines) + "\n }\n}\n").encode()
