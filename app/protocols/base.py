"""The definition of a protocol: a value that says what is asked, how answers are checked, and how they are scored.

Each protocol is a module of this package, discovered by `app.protocols`; no other code names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.errors import Invalid, Place
from app.domain.validation_errors import list_first_validation_errors
from app.protocols.widgets import ChoiceWidget as ChoiceWidget
from app.protocols.widgets import CountWidget as CountWidget
from app.protocols.widgets import CriteriaWidget as CriteriaWidget
from app.protocols.widgets import CriterionScale as CriterionScale
from app.protocols.widgets import LinkWidget as LinkWidget
from app.protocols.widgets import PreferenceMode as PreferenceMode
from app.protocols.widgets import PreferenceWidget as PreferenceWidget
from app.protocols.widgets import SliderWidget as SliderWidget
from app.protocols.widgets import SpansWidget as SpansWidget
from app.protocols.widgets import TextEditWidget as TextEditWidget
from app.protocols.widgets import TextField as TextField
from app.protocols.widgets import TextsWidget as TextsWidget
from app.protocols.widgets import Widget as Widget
from app.stats.ratings import ScoreScale
from app.stats.scoring import PROFILES, WeightProfile, resolve_weight_profile

NO_ERRORS_ASKED = -1
Level = Literal["segment", "document", "screen"]
Basis = Literal["source", "reference", "both", "none"]
Side = Literal["source", "target"]
ANY_BASIS: tuple[Basis, ...] = ("source", "reference", "both", "none")


class Payload(BaseModel):
    """A rater's answer. Strict, frozen, finite, and nothing beyond the declared fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


P = TypeVar("P", bound=Payload)


MOST_MS = 7 * 24 * 3_600_000
"""Longest time within a file: a week, in milliseconds."""


def is_empty_field(value: object) -> bool:
    """Whether a field has no value and is therefore omitted from the output."""
    return value is None


class Span(Payload):
    """One marked error: code point offsets, half open, on one side of an immutable text.

    An omission without a place has neither start nor end. In audio and video it is a stretch of time instead, from
    start_ms to end_ms.
    """

    side: Side = "target"
    start: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    end: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    severity: Annotated[str, Field(min_length=1, max_length=64)]
    category: Annotated[str, Field(max_length=256)] | None = None
    omission: bool = False
    note: Annotated[str, Field(max_length=4000)] | None = None
    prefill: Annotated[str, Field(max_length=64)] | None = None
    start_ms: Annotated[int, Field(ge=0, le=MOST_MS)] | None = Field(None, exclude_if=is_empty_field)
    end_ms: Annotated[int, Field(ge=0, le=MOST_MS)] | None = Field(None, exclude_if=is_empty_field)


@dataclass(frozen=True, slots=True)
class JudgedTexts:
    """What the rater saw at one address; None where it is unknown (for example, bare imported scores).

    prefill: the prefilled errors, each with its id in `prefill`; empty if there were none. lengths: of texts that are
    not loaded, in characters, by side. durations: of audio and video instead of texts, in milliseconds, by side.
    """

    source: str | None = None
    text: str | None = None
    prefill: tuple[Span, ...] | None = None
    lengths: Mapping[Side, int] = field(default_factory=dict)
    durations: Mapping[Side, int] = field(default_factory=dict)

    def count_characters(self, side: Side) -> int | None:
        """Return the number of characters of the text on a side, None if unknown."""
        text = self.source if side == "source" else self.text
        return self.lengths.get(side) if text is None else len(text)


class ProtocolOptions(BaseModel):
    """What a manager can set for a campaign of a protocol; each protocol declares its own fields. Strict, frozen."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class SideBySideOptions(ProtocolOptions):
    """Of a protocol that can be shown side by side. preference: what is asked of the columns of a screen together."""

    preference: Literal["none", "best", "best_worst", "ranking"] = Field(
        "none", title="Comparison of columns", description="Side by side only: how raters compare the columns."
    )


class SingleScoreOptions(ProtocolOptions):
    """Of a protocol that asks for one number. scale: z where an import brings standardised scores."""

    scale: Literal["raw", "z"] = Field(
        "raw", title="Scale of scores", description="Choose z only to import scores that are standardized already."
    )


class SingleScoreInColumnsOptions(SideBySideOptions, SingleScoreOptions):
    """Of a protocol that asks for one number and can be shown side by side."""


class DocumentScoreOptions(SingleScoreInColumnsOptions):
    """document_score: whole documents are scored too, by the same scale."""

    document_score: bool = Field(
        default=False, title="Document score", description="Raters also score each document as a whole."
    )


class ErrorMarkingOptions(ProtocolOptions):
    """Of a protocol that marks errors. weights: name of a profile or a table of one's own; None is the protocol's."""

    weights: str | dict[str, object] | None = Field(
        None,
        title="Weights of errors",
        description="What each error costs; empty for the protocol's own weights.",
        json_schema_extra={"examples": [*sorted(PROFILES)]},
    )


class SideBySideMarkingOptions(SideBySideOptions, ErrorMarkingOptions):
    """Of a protocol that marks errors and can be shown side by side."""


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """The settings of a campaign that affect its payloads and scores.

    profile: weights of marked errors. standardised: scores are z-scores already, so the scale does not apply. own: what
    the manager set. measure: which of the protocol's measures is requested, None for its first.
    """

    profile: WeightProfile
    standardised: bool = False
    own: ProtocolOptions = field(default_factory=ProtocolOptions)
    measure: str | None = None


@dataclass(frozen=True, slots=True)
class JudgmentMeasure:
    """One number that is derived from a judgment, by name. scale: its possible values, None if unbounded.

    uses_profile: it depends on a weight profile, so it can be derived under others too. needs_text: it cannot be
    computed without the output's text.
    """

    name: str
    higher_is_better: bool
    scale: ScoreScale | None = None
    uses_profile: bool = False
    needs_text: bool = False


@dataclass(frozen=True, slots=True)
class JudgmentScore:
    """The score of a judgment, and the number of errors that it marks (−1 if none are asked for).

    unmatched: errors for which the profile has no weight, as `severity/category`; they weigh 0 and are reported.
    """

    score: float
    n_errors: int = NO_ERRORS_ASKED
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkedExample(Generic[P]):
    """A worked example: what was shown, a payload, and the score it must get under `profile` and `options`."""

    source: str
    output: str
    payload: P
    score: float
    why: str = ""
    profile: str = "freitag2021"
    options: Mapping[str, object] = field(default_factory=dict)
    prefill: tuple[Span, ...] | None = None

    @property
    def judged_texts(self) -> JudgedTexts:
        """What the rater saw."""
        return JudgedTexts(self.source, self.output, self.prefill)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol(Generic[P]):
    """Payload, widgets, rubric, score and examples of one protocol.

    check: raises `Invalid` if a payload does not fit what was shown (for example, a span outside the text).
    score: the only place where this protocol's score is computed.
    uses_profile: the score depends on a weight profile, so other profiles can be derived from the payloads.
    options: what a manager can set. weights: the profile that applies unless the manager names another.
    measures: the numbers derived from a judgment under given options, the one that ranks first; None if there is one.
    level: what is judged, each segment or only the document as a whole. document_form: questions about a whole
    document if the option `document_score` is set; () if there are none.
    adapt: adapts a widget to the options of a campaign. questions: the whole form at a level, if the options determine
    what is asked; `form` then has every field of the payload. instructions: what raters should do, briefly.
    bases: what raters may see with an output, the usual basis first. hides_source: raters do not learn which text is
    which. contrastive: several outputs may be side by side. accepts_prefill: errors may be prefilled;
    requires_prefill: they must be. ranks: False if its numbers say nothing about quality.
    written: the text that the rater wrote, if the judgment is made for it.
    """

    name: str
    version: int
    title: str
    payload: type[P]
    higher_is_better: bool
    scale: ScoreScale | None
    form: tuple[Widget, ...]
    rubric: tuple[tuple[str, str], ...]
    check: Callable[[P, JudgedTexts, ScoringOptions], None]
    score: Callable[[P, JudgedTexts, ScoringOptions], JudgmentScore]
    examples: tuple[WorkedExample[P], ...]
    uses_profile: bool = False
    options: type[ProtocolOptions] = ProtocolOptions
    weights: str = "freitag2021"
    measures: Callable[[ScoringOptions], tuple[JudgmentMeasure, ...]] | None = None
    level: Literal["segment", "document"] = "segment"
    document_form: tuple[Widget, ...] = ()
    adapt: Callable[[Widget, ScoringOptions], Widget] | None = None
    questions: Callable[[ScoringOptions, Level], tuple[Widget, ...]] | None = None
    instructions: str
    bases: tuple[Basis, ...] = ANY_BASIS
    hides_source: bool = False
    contrastive: bool = False
    accepts_prefill: bool = False
    requires_prefill: bool = False
    ranks: bool = True
    written: Callable[[P], str] | None = None

    def list_judgment_measures(self, options: ScoringOptions) -> tuple[JudgmentMeasure, ...]:
        """Return the measures of a judgment, the one that ranks first. Standardised scores have no scale."""
        if self.measures is not None:
            return self.measures(options)
        scale = None if options.standardised else self.scale
        return (
            JudgmentMeasure("spans" if self.uses_profile else "score", self.higher_is_better, scale, self.uses_profile),
        )

    def get_requested_measure(self, options: ScoringOptions) -> JudgmentMeasure:
        """Return the measure that these options request. Raises Invalid, naming the existing ones."""
        measures = self.list_judgment_measures(options)
        for measure in measures:
            if options.measure in (None, measure.name):
                return measure
        there = ", ".join(m.name for m in measures)
        raise Invalid(f"{self.name} has no measure {str(options.measure)[:80]!r}; there are {there}")


def parse_scoring_options(protocol: Protocol[Any], options: Mapping[str, object]) -> ScoringOptions:
    """Parse a campaign's options as its protocol defines them.

    Raises Invalid, naming the option, if one is unknown or of the wrong type.
    """
    try:
        own = protocol.options.model_validate(dict(options))
    except ValidationError as error:
        raise Invalid("the options are not valid", places=tuple(_places(protocol, error))) from None
    weights = getattr(own, "weights", None)
    try:
        profile = resolve_weight_profile(protocol.weights if weights is None else weights)
    except Invalid as error:
        places = tuple(Place(("options", *one.loc), one.msg) for one in error.places)
        raise Invalid(error.detail, places=places) from None
    return ScoringOptions(profile, getattr(own, "scale", "raw") == "z", own)


def _places(protocol: Protocol[Any], error: ValidationError) -> list[Place]:
    there = ", ".join(protocol.options.model_fields) or "none"
    places = []
    for fault in list_first_validation_errors(error, 20):
        message = f"there are: {there}" if fault["type"] == "extra_forbidden" else fault["msg"]
        places.append(Place(("options", *fault["loc"]), message))
    return places
