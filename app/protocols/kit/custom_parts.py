"""The parts of a manager's own protocol: what each asks, its scale and direction, and its weight.

A part is data. It is converted to the widgets of which all protocols are made, so pages, checks and simulated raters
need not know which protocol it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from app.domain.keys import KEY_PATTERN
from app.protocols.base import ProtocolOptions, SideBySideOptions
from app.protocols.kit.scales import LARGEST, Number, check_declared_scale, find_value_fault
from app.protocols.widgets import (
    LONGEST_TEXT,
    CriteriaWidget,
    CriterionScale,
    SpansWidget,
    TextField,
    TextsWidget,
    Widget,
)
from app.stats.ratings import ScoreScale
from app.stats.scoring import normalize_category_path

MOST_PARTS = 20
ERRORS, SCORES, TEXTS = "errors", "scores", "texts"
SPANS, OVERALL = "spans", "overall"
RESERVED = frozenset({SPANS, OVERALL, ERRORS})
Name = Annotated[str, Field(pattern=KEY_PATTERN, max_length=64)]
Label = Annotated[str, Field(min_length=1, max_length=200)]
Value = Annotated[str, Field(pattern=r"^-?[0-9]{1,7}(\.[0-9]{1,7})?$")]
CategoryName = Annotated[str, Field(pattern=r"^[^/\x00-\x1f]+$", max_length=100)]
SeverityName = Annotated[str, Field(pattern=r"^[^\W_][\w -]*$", max_length=40)]
Weight = Annotated[float, Field(ge=0, le=LARGEST)]


class SeverityLevel(ProtocolOptions):
    """How grave an error is. weight: what one adds to the penalty."""

    name: SeverityName
    weight: Weight


class ErrorCategory(ProtocolOptions):
    """A kind of error, maybe with kinds below it."""

    name: CategoryName
    subcategories: Annotated[tuple[CategoryName, ...], Field(max_length=50, strict=False)] = ()


class SpansPart(ProtocolOptions):
    """Errors are marked in the texts.

    severities: from least to most severe. categories: of two levels at most; none: an error has no category.
    free_category: raters write it. tokens: errors of the whole output that can be clicked, such as
    *instructions not followed*; each is a category. missing: that something is missing can be said.
    weights: what differs from the weight of the severity, by `severity/category/subcategory`. most: errors that can
    be marked in an output.
    """

    kind: Literal["spans"]
    severities: Annotated[tuple[SeverityLevel, ...], Field(min_length=1, max_length=9, strict=False)]
    categories: Annotated[tuple[ErrorCategory, ...], Field(max_length=50, strict=False)] = ()
    free_category: bool = False
    tokens: Annotated[tuple[CategoryName, ...], Field(max_length=8, strict=False)] = ()
    missing: bool = True
    source_side: bool = False
    most: Annotated[int, Field(ge=1, le=1000)] | None = None
    weights: Annotated[dict[str, Weight], Field(max_length=200, default_factory=dict)]

    @model_validator(mode="after")
    def _consistent(self) -> SpansPart:
        plain = [normalize_category_path(one.name) for one in self.severities]
        if len(set(plain)) < len(plain):
            raise ValueError("two severities have the same name")
        upper = [*(one.name for one in self.categories), *self.tokens]
        if len(set(upper)) < len(upper):
            raise ValueError("two categories or tokens have the same name")
        if any(len(set(one.subcategories)) < len(one.subcategories) for one in self.categories):
            raise ValueError("two subcategories of one category have the same name")
        if self.free_category and upper:
            raise ValueError("categories are either listed or written by raters")
        if any(not normalize_category_path(pattern).partition("/")[0] for pattern in self.weights):
            raise ValueError("a weight is named by severity/category/subcategory")
        return self

    @property
    def spans_widget(self) -> SpansWidget:
        """Make the widget that asks it."""
        listed = tuple((one.name, one.subcategories) for one in self.categories)
        return SpansWidget(
            ERRORS,
            severities=tuple(one.name for one in self.severities),
            categories=(*listed, *((token, ()) for token in self.tokens)),
            source_side=self.source_side,
            omission=self.missing,
            most=self.most,
            free_category=self.free_category,
        )

    @property
    def weight_table(self) -> Mapping[str, float]:
        """Return weights by pattern, as in a weight profile."""
        return {**{one.name: one.weight for one in self.severities}, **self.weights}


class ScalePart(ProtocolOptions):
    """A question that a number answers. weight: its share of the overall score."""

    name: Name
    title: Label
    higher_is_better: bool = True
    weight: Weight = 0.0

    @property
    def scale(self) -> ScoreScale:
        """The possible values."""
        raise NotImplementedError

    @property
    def criterion_scale(self) -> CriterionScale:
        """The question as a scale of a widget."""
        raise NotImplementedError

    def find_answer_fault(self, value: float) -> str | None:
        """Return why this is not a valid answer, None if it is."""
        return find_value_fault(value, self.scale)


class SliderPart(ScalePart):
    """A number on a scale; few steps are shown as points. labels: what values mean."""

    kind: Literal["slider"]
    minimum: Number = 0.0
    maximum: Number = 100.0
    step: Annotated[float, Field(gt=0, le=LARGEST)] | None = 1.0
    labels: Annotated[dict[Value, Label], Field(max_length=101, default_factory=dict)]

    @model_validator(mode="after")
    def _consistent(self) -> SliderPart:
        check_declared_scale(self.scale, self.labels)
        return self

    @property
    def scale(self) -> ScoreScale:
        """The values from minimum to maximum in steps."""
        return ScoreScale(self.minimum, self.maximum, self.step)

    @property
    def criterion_scale(self) -> CriterionScale:
        """Return a slider, or points."""
        ticks = tuple(sorted((float(value), label) for value, label in self.labels.items()))
        return CriterionScale(self.name, self.title, self.minimum, self.maximum, self.step, ticks)


class ChoiceOption(ProtocolOptions):
    """One answer of several. value: what it scores."""

    value: Number
    label: Label


class ChoicePart(ScalePart):
    """One of several answers, each with a value."""

    kind: Literal["choice"]
    options: Annotated[tuple[ChoiceOption, ...], Field(min_length=2, max_length=20, strict=False)]

    @model_validator(mode="after")
    def _consistent(self) -> ChoicePart:
        if len({one.value for one in self.options}) < len(self.options):
            raise ValueError("two options have the same value")
        return self

    @property
    def scale(self) -> ScoreScale:
        """The values from the lowest answer to the highest."""
        values = [one.value for one in self.options]
        return ScoreScale(min(values), max(values), None)

    @property
    def criterion_scale(self) -> CriterionScale:
        """Return one point for each answer."""
        points = tuple((one.value, one.label) for one in self.options)
        return CriterionScale(self.name, self.title, self.scale.minimum, self.scale.maximum, None, points=points)

    def find_answer_fault(self, value: float) -> str | None:
        """Return why this is none of the answers, None if it is one."""
        values = [one.value for one in self.options]
        return None if value in values else f"must be one of {', '.join(f'{one:g}' for one in values)}"


class YesNoPart(ScalePart):
    """A question about an output: yes is 1, no is 0."""

    kind: Literal["yes_no"]

    @property
    def scale(self) -> ScoreScale:
        """The values 0 and 1."""
        return ScoreScale(0.0, 1.0, 1.0)

    @property
    def criterion_scale(self) -> CriterionScale:
        """Return two points."""
        return CriterionScale(self.name, self.title, 0.0, 1.0, 1.0, points=((1.0, "Yes"), (0.0, "No")))


class TextPart(ProtocolOptions):
    """A text that the rater writes; it scores nothing."""

    kind: Literal["text"]
    name: Name
    title: Label
    required: bool = False
    most: Annotated[int, Field(ge=1, le=LONGEST_TEXT)] = 2000

    @property
    def text_field(self) -> TextField:
        """Return the text field that asks it."""
        return TextField(self.name, self.title, "empty", required=self.required, most=self.most)


class PostEditPart(ProtocolOptions):
    """The output made right. It scores the characters edited in a hundred of the result; less is better."""

    kind: Literal["post_edit"]
    name: Name = "post-edit"
    title: Label = "The corrected text"

    @property
    def text_field(self) -> TextField:
        """Return the text field that asks it."""
        return TextField(self.name, self.title, "output", required=True, most=LONGEST_TEXT)


Part = Annotated[SpansPart | SliderPart | ChoicePart | YesNoPart | TextPart | PostEditPart, Field(discriminator="kind")]


class RubricEntry(ProtocolOptions):
    """What a value or a word means."""

    value: Label
    meaning: Annotated[str, Field(min_length=1, max_length=1000)]


class CustomOptions(SideBySideOptions):
    """A protocol written by the campaign's manager.

    parts: what is asked, in this order. ranks_by: the part whose score ranks (`spans`, `overall`, or a name); the first
    that scores by default. title, instructions, rubric: what raters read.
    """

    parts: Annotated[tuple[Part, ...], Field(min_length=1, max_length=MOST_PARTS, strict=False)]
    ranks_by: Name | None = None
    title: Label | None = None
    instructions: Annotated[str, Field(max_length=2000)] | None = None
    rubric: Annotated[tuple[RubricEntry, ...], Field(max_length=40, strict=False)] = ()

    @model_validator(mode="after")
    def _consistent(self) -> CustomOptions:
        names = [part.name for part in self.parts if not isinstance(part, SpansPart)]
        if len(set(names)) < len(names):
            raise ValueError("two parts have the same name")
        if taken := sorted(RESERVED & set(names)):
            raise ValueError(f"a part cannot be called {taken[0]}")
        if sum(isinstance(part, SpansPart) for part in self.parts) > 1:
            raise ValueError("errors can be marked in one part only")
        scored = list(self.measure_names)
        if not scored:
            raise ValueError(
                "no part scores anything; add marked errors, a slider, a choice, yes or no, or a post-edit"
            )
        if self.ranks_by is not None and self.ranks_by not in scored:
            raise ValueError(f"ranks_by must be one of {', '.join(scored)}")
        return self

    @property
    def spans_part(self) -> SpansPart | None:
        """The part in which errors are marked."""
        return next((part for part in self.parts if isinstance(part, SpansPart)), None)

    @property
    def scale_parts(self) -> tuple[SliderPart | ChoicePart | YesNoPart, ...]:
        """The parts that are answered by a number."""
        return tuple(part for part in self.parts if isinstance(part, SliderPart | ChoicePart | YesNoPart))

    @property
    def text_parts(self) -> tuple[TextPart | PostEditPart, ...]:
        """The parts that are answered by a text."""
        return tuple(part for part in self.parts if isinstance(part, TextPart | PostEditPart))

    @property
    def measure_names(self) -> Iterator[str]:
        """Yield the names of the measures of a judgment, in the order of the parts; `overall` is last."""
        for part in self.parts:
            if not isinstance(part, TextPart):
                yield SPANS if isinstance(part, SpansPart) else part.name
        if any(part.weight for part in self.scale_parts):
            yield OVERALL

    @property
    def weights(self) -> dict[str, float] | None:
        """The weights of marked errors, in the form of the option of other protocols."""
        return None if self.spans_part is None else dict(self.spans_part.weight_table)


def list_widgets(options: CustomOptions) -> tuple[Widget, ...]:
    """Return the questions of a segment in the order of the parts; adjacent parts of one kind share a widget."""
    widgets: list[Widget] = []
    for part in options.parts:
        last = widgets[-1] if widgets else None
        match part:
            case SpansPart():
                widgets.append(part.spans_widget)
            case TextPart() | PostEditPart():
                before = last.texts if isinstance(last, TextsWidget) else ()
                widgets[len(widgets) - bool(before) :] = [TextsWidget(TEXTS, (*before, part.text_field))]
            case _:
                asked = last.criteria if isinstance(last, CriteriaWidget) else ()
                widgets[len(widgets) - bool(asked) :] = [CriteriaWidget(SCORES, (*asked, part.criterion_scale))]
    return tuple(widgets)
