"""Answers: an opinion turned into a filled-in form, in one way per kind of widget, for any protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.protocols import RaterForm
from app.protocols.base import (
    ChoiceWidget,
    CountWidget,
    CriteriaWidget,
    CriterionScale,
    LinkWidget,
    PreferenceWidget,
    SliderWidget,
    Span,
    SpansWidget,
    TextEditWidget,
    TextField,
    TextsWidget,
    Widget,
)
from app.simulation.draws import SeededRandom
from app.simulation.simulated_rater import POINTS_A_WEIGHT, WEIGHTS, TextOpinion
from app.simulation.task_view import DisplayedSegment

MAJOR = WEIGHTS["major"]
POINTS_A_CRITICAL = 20.0  # counted down from the middle of the scale, for each critical error
WRONG = "xxx"  # replaces a word that is edited


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """What an answer is made from. lower_is_better: names of criteria or fields for which lower values are better.
    stray_marks: the probability that a rater marks an error where none is planted."""

    shown: DisplayedSegment
    opinion: TextOpinion
    draws: SeededRandom
    stray_marks: float = 0.0
    lower_is_better: frozenset[str] = frozenset()

    def flip_opinion_if_lower_better(self, name: str) -> float:
        """Return the opinion, from 0 to 1; reversed for a field or criterion for which lower values are better."""
        value = self.opinion.value / 100.0
        return 1.0 - value if name in self.lower_is_better else value


def fill_in_form(protocol: str, form: RaterForm, context: AnswerContext) -> dict[str, object]:
    """Return the payload, with an answer to every question of the form."""
    payload: dict[str, object] = {"protocol": protocol}
    for widget in form.widgets:
        for field, value in _field_value(widget, context).items():
            before = payload.get(field)  # several widgets may fill in parts of one field
            both = isinstance(before, dict) and isinstance(value, dict)
            payload[field] = {**before, **value} if both else value  # type: ignore[dict-item]  # both are dicts
    return payload


def make_preference_payload(protocol: str, widget: PreferenceWidget, values: Sequence[float]) -> dict[str, object]:
    """Return the columns in order of opinion, best first. values: 0 to 100, one per column."""
    groups = [
        [column for column, value in enumerate(values, 1) if value == wanted]
        for wanted in sorted(set(values), reverse=True)
    ]
    if widget.mode == "best" and len(groups) > 1:
        groups = [groups[0], sorted(column for group in groups[1:] for column in group)]
    elif widget.mode == "best_worst" and len(groups) > 3:
        groups = [groups[0], sorted(column for group in groups[1:-1] for column in group), groups[-1]]
    return {"protocol": protocol, widget.field: groups}


def _field_value(widget: Widget, sheet: AnswerContext) -> Mapping[str, object]:
    match widget:
        case SliderWidget():
            return {
                widget.field: _on_scale(
                    sheet.flip_opinion_if_lower_better(widget.field), widget.minimum, widget.maximum, widget.step
                )
            }
        case ChoiceWidget():
            points = [value for value, _ in sorted(widget.points)]
            return {
                widget.field: points[
                    min(int(sheet.flip_opinion_if_lower_better(widget.field) * len(points)), len(points) - 1)
                ]
            }
        case CriteriaWidget():
            return {widget.field: {one.name: _criterion(one, sheet) for one in widget.criteria}}
        case CountWidget():
            below = max(50.0 - sheet.opinion.value, 0.0) / POINTS_A_CRITICAL
            return {widget.field: min(_random_round(below, sheet, "count"), widget.most)}
        case SpansWidget():
            return _error_fields(widget, sheet)
        case TextsWidget():
            return {widget.field: {one.name: _written_text(one, sheet) for one in widget.texts}}
        case TextEditWidget():
            return {widget.field: _edited_text(widget, sheet)[: widget.most]}
        case LinkWidget():
            return {widget.field: None}
        case PreferenceWidget():
            return {}


def _written_text(field: TextField, sheet: AnswerContext) -> str:
    """Return one of several texts: the edited output, or one word if the text is required."""
    if field.start == "output":
        return _edited_text(TextEditWidget(field.name, "output"), sheet)[: field.most]
    return WRONG[: field.most] if field.required else ""


def _on_scale(value: float, minimum: float, maximum: float, step: float | None) -> float:
    """Convert a value between 0 and 1 to a scale."""
    if step is None:
        return minimum + value * (maximum - minimum)
    steps = round((maximum - minimum) / step)
    return minimum + min(round(value * steps), steps) * step


def _criterion(scale: CriterionScale, sheet: AnswerContext) -> float:
    """Return the value of a criterion: mostly the opinion, with a small deviation of its own."""
    own = 0.1 * (sheet.draws.uniform(*sheet.opinion.key, scale.name) - 0.5)
    value = min(max(sheet.flip_opinion_if_lower_better(scale.name) + own, 0.0), 1.0)
    if scale.points:
        values = sorted(point for point, _ in scale.points)
        return values[min(int(value * len(values)), len(values) - 1)]
    return _on_scale(value, scale.minimum, scale.maximum, scale.step)


def _random_round(value: float, sheet: AnswerContext, what: str) -> int:
    """Round a value up or down at random, so that the mean is the value."""
    whole = int(value)
    return whole + sheet.draws.happens(value - whole, *sheet.opinion.key, what)


def _error_fields(widget: SpansWidget, sheet: AnswerContext) -> Mapping[str, object]:
    """Return the errors that are seen, or errors whose weight fits the opinion; most prefilled ones are kept."""
    ready = sheet.shown.prefill or ()
    kept = [span for n, span in enumerate(ready) if not sheet.draws.happens(0.2, *sheet.opinion.key, "deleted", n)]
    room = None if widget.most is None else max(widget.most - len(kept), 0)
    seen = [_in_words_of(widget, span) for span in _errors_seen(widget, sheet)]
    errors = [*kept, *[span for span in seen if _is_allowed(widget, span)][:room]]
    out: dict[str, object] = {widget.field: [span.model_dump(mode="json", exclude_defaults=True) for span in errors]}
    if widget.deleted is not None:
        out[widget.deleted] = [span.prefill for span in ready if span not in kept and span.prefill is not None]
    return out


def _errors_seen(widget: SpansWidget, sheet: AnswerContext) -> Iterator[Span]:
    known = sheet.opinion.errors
    if known is None:
        weight = (100.0 - sheet.opinion.value) / POINTS_A_WEIGHT
        if sheet.shown.prefill:
            weight /= 2
        majors = int(weight // MAJOR)
        minors = _random_round(weight - majors * MAJOR, sheet, "minors")
        for n, severity in enumerate(["major"] * majors + ["minor"] * minors):
            yield _mark(widget, sheet, severity, n)
        return
    yield from known
    if sheet.draws.happens(sheet.stray_marks, *sheet.opinion.key, "taste"):
        yield _mark(widget, sheet, "minor", len(known))


def _in_words_of(widget: SpansWidget, span: Span) -> Span:
    """Translate a mark into the form's severities (ordered from light to grave) and categories, if they differ."""
    names = widget.severities
    if span.severity not in names:
        grave = WEIGHTS.get(span.severity, MAJOR) >= MAJOR
        span = span.model_copy(update={"severity": names[-1] if grave else names[0]})
    upper = {name for name, _ in widget.categories}
    if span.category is not None and span.category.partition("/")[0] not in upper and not widget.free_category:
        span = span.model_copy(update={"category": _first_category(widget)})
    return span


def _first_category(widget: SpansWidget) -> str | None:
    if not widget.categories:
        return None
    upper, lower = widget.categories[0]
    return f"{upper}/{lower[0]}" if lower else upper


def _is_allowed(widget: SpansWidget, span: Span) -> bool:
    """Return whether the form allows what a mark says."""
    side = span.side == "target" or widget.source_side
    return side and span.severity in widget.severities and (widget.omission or not span.omission)


def _mark(widget: SpansWidget, sheet: AnswerContext, severity: str, n: int) -> Span:
    """Mark a word of the text; if there is no text, return an omission without a position."""
    chosen = severity if severity in widget.severities else widget.severities[0]
    category = _first_category(widget)
    text = sheet.shown.source_or_target_text("target")
    words = text.split()
    if not words:
        return Span(severity=chosen, category=category, omission=widget.omission)
    word = words[sheet.draws.whole_number_below(len(words), *sheet.opinion.key, "word", n)]
    start = text.index(word)
    return Span(start=start, end=start + len(word), severity=chosen, category=category)


def _edited_text(widget: TextEditWidget, sheet: AnswerContext) -> str:
    """Replace as large a share of words as the opinion finds wrong; if it starts empty, write a text of that length."""
    words = sheet.shown.judged_text.split()
    if widget.start == "empty":
        return " ".join([WRONG] * max(len(words), 1))
    wrong = _random_round((1.0 - sheet.opinion.value / 100.0) * len(words), sheet, "edits")
    places = sorted(range(len(words)), key=lambda n: sheet.draws.uniform(*sheet.opinion.key, "edit", n))[:wrong]
    return " ".join(WRONG if n in set(places) else word for n, word in enumerate(words))
