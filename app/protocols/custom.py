"""A protocol written by the campaign's manager: marked errors, scales, choices, yes/no questions, texts and post-edits.

The campaign's options (`kit/custom_parts.py`) contain what is asked, and what each part scores. A judgment has one
field for marked errors, one for numbers and one for texts, whatever the campaign asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN
from app.protocols.base import (
    CriteriaWidget,
    JudgedTexts,
    JudgmentMeasure,
    JudgmentScore,
    Level,
    Payload,
    Protocol,
    ScoringOptions,
    Span,
    SpansWidget,
    TextsWidget,
    Widget,
    WorkedExample,
)
from app.protocols.kit.custom_parts import (
    ERRORS,
    MOST_PARTS,
    OVERALL,
    SCORES,
    SPANS,
    TEXTS,
    CustomOptions,
    PostEditPart,
    TextPart,
    list_widgets,
)
from app.protocols.kit.edits import count_character_edits
from app.protocols.kit.marked_errors import Marks, list_span_faults, score_errors
from app.protocols.kit.prefilled_errors import list_prefill_id_faults
from app.protocols.kit.scales import Number
from app.protocols.widgets import LONGEST_TEXT
from app.stats.ratings import ScoreScale

WHOLE = 100.0
RUBRIC = (
    ("marked errors", "Each has a severity, and a category where the campaign lists some."),
    ("a scale", "It goes from minimum to maximum in steps, with the labels that the campaign gives."),
)
Name = Annotated[str, Field(pattern=KEY_PATTERN, max_length=64)]


class CustomPayload(Payload):
    """An answer to every part: marked errors, numbers by name, texts by name."""

    protocol: Literal["custom"] = "custom"
    errors: Marks = ()
    scores: Annotated[
        dict[Name, Number],
        Field(max_length=MOST_PARTS, default_factory=dict, json_schema_extra={"additionalProperties": False}),
    ]
    texts: Annotated[
        dict[Name, Annotated[str, Field(max_length=LONGEST_TEXT)]],
        Field(max_length=MOST_PARTS, default_factory=dict, json_schema_extra={"additionalProperties": False}),
    ]


def list_measures(options: ScoringOptions) -> tuple[JudgmentMeasure, ...]:
    """Return the penalty of marked errors, the number of each scale, the edits of a post-edit and the overall score."""
    own = _require_custom_options(options)
    measures = {name: _measure(own, name) for name in own.measure_names}
    first = own.ranks_by or next(iter(measures))
    return (measures[first], *(measure for name, measure in measures.items() if name != first))


def _measure(own: CustomOptions, name: str) -> JudgmentMeasure:
    if name == SPANS:
        return JudgmentMeasure(SPANS, higher_is_better=False, uses_profile=True)
    if name == OVERALL:
        return JudgmentMeasure(OVERALL, higher_is_better=True, scale=ScoreScale(0.0, WHOLE))
    for part in own.scale_parts:
        if part.name == name:
            return JudgmentMeasure(name, part.higher_is_better, part.scale)
    return JudgmentMeasure(name, higher_is_better=False, needs_text=True)


def list_questions(options: ScoringOptions, level: Level) -> tuple[Widget, ...]:
    """Return the widgets of a segment; there are no questions about a document as a whole."""
    return list_widgets(_require_custom_options(options)) if level == "segment" else ()


def check_payload(payload: CustomPayload, shown: JudgedTexts, options: ScoringOptions) -> None:
    """Raise Invalid naming every part that is missing, unknown, off its scale or outside the texts."""
    own = _require_custom_options(options)
    places = (
        *_faults_of_errors(payload, shown, own),
        *_faults_of_scores(payload, own),
        *_faults_of_texts(payload, own),
    )
    if places:
        raise Invalid("; ".join(f"{'.'.join(map(str, p.loc))} {p.msg}" for p in places[:3]), places=places)


def score_judgment(payload: CustomPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:
    """Return the requested number, or the one that ranks. Raises Invalid if it needs the output, which is unknown."""
    own = _require_custom_options(options)
    name = options.measure if options.measure is not None else list_measures(options)[0].name
    n_errors = JudgmentScore(0.0).n_errors if own.spans_part is None else len(payload.errors)
    if name == SPANS:
        return score_errors(payload.errors, options)
    if name == OVERALL:
        return JudgmentScore(_overall(payload, own), n_errors)
    if name in payload.scores:
        return JudgmentScore(payload.scores[name] + 0.0, n_errors)
    if shown.text is None:
        why = f"{name} needs the text of the output, which is not known"
        raise Invalid(why, places=(Place((TEXTS, name), why),))
    return JudgmentScore(count_character_edits(shown.text.strip(), payload.texts[name].strip()).rate, n_errors)


def _overall(payload: CustomPayload, own: CustomOptions) -> float:
    """Return the weighted mean of the scales, each converted to 0 (worst) to 100 (best)."""
    total = sum(part.weight for part in own.scale_parts)
    reached = 0.0
    for part in own.scale_parts:
        low, high = part.scale.minimum, part.scale.maximum
        share = (payload.scores[part.name] - low) / (high - low)
        reached += part.weight * (share if part.higher_is_better else 1.0 - share)
    return min(WHOLE, max(0.0, WHOLE * reached / total))


def _faults_of_errors(payload: CustomPayload, shown: JudgedTexts, own: CustomOptions) -> Iterator[Place]:
    if own.spans_part is None:
        if payload.errors:
            yield Place((ERRORS,), "is not asked")
        return
    yield from list_span_faults(payload.errors, shown, tuple(one.name for one in own.spans_part.severities))
    yield from list_prefill_id_faults(payload.errors, shown)


def _faults_of_scores(payload: CustomPayload, own: CustomOptions) -> Iterator[Place]:
    known = {part.name: part for part in own.scale_parts}
    yield from (Place((SCORES, name), "is missing") for name in known if name not in payload.scores)
    for name, value in payload.scores.items():
        why = (
            known[name].find_answer_fault(value)
            if name in known
            else f"is not asked; there are {', '.join(known) or 'none'}"
        )
        if why:
            yield Place((SCORES, name), why)


def _faults_of_texts(payload: CustomPayload, own: CustomOptions) -> Iterator[Place]:
    known = {part.name: part for part in own.text_parts}
    for name, part in known.items():
        required = isinstance(part, PostEditPart) or part.required
        if required and (name not in payload.texts or (isinstance(part, TextPart) and not payload.texts[name].strip())):
            yield Place((TEXTS, name), "is missing")
    for name, text in payload.texts.items():
        if name not in known:
            yield Place((TEXTS, name), f"is not asked; there are {', '.join(known) or 'none'}")
        elif len(text) > known[name].text_field.most:
            yield Place((TEXTS, name), f"must have at most {known[name].text_field.most} characters")
        elif "\x00" in text:
            yield Place((TEXTS, name), "holds a null character")


def _require_custom_options(options: ScoringOptions) -> CustomOptions:
    if isinstance(options.own, CustomOptions):
        return options.own
    raise Invalid("the campaign has written no protocol", places=(Place(("options", "parts"), "is missing"),))


_SOURCE = "The dog barked."
_OPTIONS: dict[str, object] = {
    "title": "Faithful and fluent",
    "instructions": "Mark what is wrong, then answer the questions.",
    "parts": [
        {"kind": "slider", "name": "fluency", "title": "How well does it read?", "weight": 1.0},
        {
            "kind": "spans",
            "severities": [{"name": "slip", "weight": 1.0}, {"name": "blunder", "weight": 4.0}],
            "categories": [{"name": "Meaning", "subcategories": ["Wrong", "Added"]}, {"name": "Form"}],
            "tokens": ["Instructions not followed"],
            "weights": {"blunder/Instructions not followed": 10.0},
        },
        {"kind": "yes_no", "name": "usable", "title": "Could it be published as it is?", "weight": 3.0},
        {
            "kind": "choice",
            "name": "tone",
            "title": "Is the tone right?",
            "options": [{"value": 0.0, "label": "too casual"}, {"value": 2.0, "label": "right"}],
        },
        {"kind": "text", "name": "why", "title": "Why?"},
        {"kind": "post_edit"},
    ],
}


_FORM = Span(start=0, end=3, severity="slip", category="Form")


def _example(
    output: str, payload: CustomPayload, score: float, why: str, prefill: tuple[Span, ...] | None = None
) -> WorkedExample[CustomPayload]:
    return WorkedExample(_SOURCE, output, payload, score, why, options=_OPTIONS, prefill=prefill)


def _answer(fluency: float, usable: float, text: str, *errors: Span, tone: float = 2.0) -> CustomPayload:
    scores = {"fluency": fluency, "usable": usable, "tone": tone}
    return CustomPayload(errors=errors, scores=scores, texts={"post-edit": text})


PROTOCOL = Protocol(
    name="custom",
    version=1,
    title="Protocol of the campaign's own",
    payload=CustomPayload,
    higher_is_better=True,
    scale=None,
    form=(SpansWidget(ERRORS, severities=(), omission=True), CriteriaWidget(SCORES), TextsWidget(TEXTS)),
    rubric=RUBRIC,
    instructions="Answer every question about the text.",
    contrastive=True,
    accepts_prefill=True,
    questions=list_questions,
    check=check_payload,
    score=score_judgment,
    options=CustomOptions,
    measures=list_measures,
    examples=(
        _example("Der Hund bellte.", _answer(95.0, 1.0, "Der Hund bellte."), 95.0, "nothing to mark or to change"),
        _example(
            "Die Hund bellte.",
            _answer(70.0, 0.0, "Der Hund bellte.", _FORM),
            70.0,
            "one slip; the first part that scores ranks",
        ),
        _example(
            "Wuff!",
            _answer(
                50.0, 0.0, "Der Hund bellte.", Span(severity="blunder", category="Instructions not followed"), tone=0.0
            ),
            50.0,
            "not a translation: an error of the whole text",
        ),
        _example(
            "Die Hund bellte.",
            _answer(80.0, 1.0, "Die Hund bellte."),
            80.0,
            "a prefilled error was wrong and was removed",
            prefill=(_FORM.model_copy(update={"prefill": "p1"}),),
        ),
    ),
)
