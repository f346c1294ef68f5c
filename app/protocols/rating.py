"""Rating by criteria that the manager declares: for text generation of any kind, with or without a source.

Each criterion has a name, a scale with its labels, and a direction. The first one ranks; a recipe can name another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.protocols.base import (
    CriteriaWidget,
    CriterionScale,
    JudgedTexts,
    JudgmentMeasure,
    JudgmentScore,
    Payload,
    Protocol,
    ProtocolOptions,
    ScoringOptions,
    SideBySideOptions,
    Widget,
    WorkedExample,
)
from app.protocols.kit.scales import LARGEST, Number, check_declared_scale, find_value_fault
from app.stats.ratings import ScoreScale

MOST_CRITERIA = 20
Name = Annotated[str, Field(pattern=KEY_PATTERN)]
Value = Annotated[str, Field(pattern=r"^-?[0-9]{1,7}(\.[0-9]{1,7})?$")]
Label = Annotated[str, Field(max_length=200)]
RUBRIC = (
    ("each criterion", "Each is rated separately: a text can be fluent and wrong."),
    ("its scale", "It goes from minimum to maximum in steps, with the labels that the campaign gives."),
)


class Criterion(ProtocolOptions):
    """One question to the rater. labels: what values mean. step: None for a continuous scale."""

    name: Name = Field(title="Name of the criterion", description="A key such as fluency.")
    minimum: Number = Field(title="Lowest value")
    maximum: Number = Field(title="Highest value")
    step: Annotated[float, Field(gt=0, le=LARGEST)] | None = Field(
        1.0, title="Step", description="Empty for a continuous scale."
    )
    title: Label | None = Field(None, title="Question to the rater")
    labels: Annotated[
        dict[Value, Label],
        Field(
            max_length=101,
            default_factory=dict,
            title="Labels of values",
            description="One per line, such as 1: incomprehensible",
        ),
    ]
    higher_is_better: bool = Field(default=True, title="Higher is better")

    @property
    def scale(self) -> ScoreScale:
        """The scale of its values."""
        return ScoreScale(self.minimum, self.maximum, self.step)

    @model_validator(mode="after")
    def _consistent(self) -> Criterion:
        check_declared_scale(self.scale, self.labels)
        return self


class RatingOptions(SideBySideOptions):
    """criteria: what is rated, the first one ranks. document_score: whole documents are rated too, by the same."""

    criteria: Annotated[
        tuple[Criterion, ...],
        Field(
            min_length=1,
            max_length=MOST_CRITERIA,
            strict=False,
            title="Criteria",
            description="Each criterion is a question with a scale; the first one ranks the systems.",
        ),
    ]
    document_score: bool = Field(
        default=False, title="Document score", description="Raters also score each document as a whole."
    )

    @field_validator("criteria")
    @classmethod
    def _distinct(cls, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        if len({c.name for c in criteria}) < len(criteria):
            raise ValueError("two criteria have the same name")
        return criteria


class RatingPayload(Payload):
    """A value for every criterion of the campaign."""

    protocol: Literal["rating"] = "rating"
    scores: Annotated[
        dict[Name, Number],
        Field(min_length=1, max_length=MOST_CRITERIA, json_schema_extra={"additionalProperties": False}),
    ]


def list_criteria(options: ScoringOptions) -> tuple[Criterion, ...]:
    """Return the criteria that the campaign declares."""
    return options.own.criteria if isinstance(options.own, RatingOptions) else ()


def list_measures(options: ScoringOptions) -> tuple[JudgmentMeasure, ...]:
    """Return one measure per criterion, in declared order."""
    return tuple(JudgmentMeasure(c.name, c.higher_is_better, c.scale) for c in list_criteria(options))


def fill_widget_with_criteria(widget: Widget, options: ScoringOptions) -> Widget:
    """Return the widget with the scales of the campaign's criteria."""
    return (
        replace(widget, criteria=tuple(map(_criterion_scale, list_criteria(options))))
        if isinstance(widget, CriteriaWidget)
        else widget
    )


def _criterion_scale(criterion: Criterion) -> CriterionScale:
    ticks = tuple(sorted((float(value), label) for value, label in criterion.labels.items()))
    bounds = criterion.minimum, criterion.maximum, criterion.step
    return CriterionScale(criterion.name, criterion.title or criterion.name, *bounds, ticks)


def check_payload(payload: RatingPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid naming every criterion that is missing, unknown, or off its scale."""
    known = {c.name: c for c in list_criteria(options)}
    places = [Place(("scores", name), "is missing") for name in known if name not in payload.scores]
    for name, value in payload.scores.items():
        why = (
            find_value_fault(value, known[name].scale)
            if name in known
            else f"no such criterion; there are {', '.join(known)}"
        )
        if why:
            places.append(Place(("scores", name), why))
    if places:
        raise Invalid("; ".join(f"{p.loc[1]} {p.msg}" for p in places[:3]), places=tuple(places))


def score_judgment(payload: RatingPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """Return the value of the requested criterion, or of the first."""
    name = options.measure if options.measure is not None else list_criteria(options)[0].name
    return JudgmentScore(payload.scores[name] + 0.0)


_OPTIONS = {
    "criteria": [
        {"name": "fluency", "minimum": 1.0, "maximum": 5.0, "labels": {"1": "cannot be read", "5": "reads well"}},
        {"name": "facts-added", "minimum": 0.0, "maximum": 10.0, "higher_is_better": False},
    ]
}


def _example(output: str, fluency: float, added: float, why: str) -> WorkedExample[RatingPayload]:
    scores = {"fluency": fluency, "facts-added": added}
    return WorkedExample("", output, RatingPayload(scores=scores), fluency, why, options=_OPTIONS)


PROTOCOL = Protocol(
    name="rating",
    version=1,
    title="Rating by criteria",
    payload=RatingPayload,
    higher_is_better=True,
    scale=None,
    form=(CriteriaWidget("scores"),),
    rubric=RUBRIC,
    instructions="Rate the text by each criterion separately.",
    document_form=(CriteriaWidget("scores"),),
    contrastive=True,
    adapt=fill_widget_with_criteria,
    check=check_payload,
    score=score_judgment,
    options=RatingOptions,
    measures=list_measures,
    examples=(
        _example("The museum opens at ten on weekdays.", 5.0, 0.0, "reads well and adds nothing"),
        _example("The museum, founded by a king in 1312, opens at ten.", 5.0, 2.0, "fluent, with two facts of its own"),
        _example("Museum ten open the at.", 1.0, 0.0, "the first criterion ranks, whatever the others say"),
    ),
)
