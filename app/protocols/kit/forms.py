"""Forms: what raters are asked at each level under a campaign's options, and whether an answer fits the questions.

All code that draws or checks a form uses this module, so that it need not know which protocol it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from app.domain.errors import Invalid, Place
from app.domain.spans import SEVERITIES
from app.protocols.base import (
    Basis,
    JudgedTexts,
    Level,
    Payload,
    PreferenceMode,
    PreferenceWidget,
    Protocol,
    ScoringOptions,
    SideBySideOptions,
    Span,
    SpansWidget,
    Widget,
)
from app.protocols.kit.column_preferences import FIELD, PreferencePayload
from app.protocols.kit.visible_texts import list_visible_text_labels, resolve_visible_text_kinds

LEVELS: tuple[Level, ...] = ("segment", "document", "screen")
RESTS_ON = {
    "source": "Judge by the source.",
    "reference": "Judge by the reference.",
    "both": "Judge by the source; the reference shows one way to say it.",
    "none": "Judge the text by itself.",
}
LEVEL_SAYS = {
    "segment": "",
    "document": "This is about the document as a whole.",
    "screen": "Compare the columns; those in one group are equal.",
}


class QuestionNotAsked(Invalid):
    """This campaign does not ask for this."""

    published = "NotAsked"


@dataclass(frozen=True, slots=True)
class RaterForm:
    """What a rater may see of a protocol; nothing here depends on a system, a role or a score.

    labels: of the texts, in the order of the screen. instructions: sentences. rubric: (value, meaning).
    """

    level: Level
    widgets: tuple[Widget, ...]
    rubric: tuple[tuple[str, str], ...]
    labels: tuple[str, ...]
    instructions: tuple[str, ...]


def list_judged_levels(protocol: Protocol[Any], options: ScoringOptions) -> tuple[Level, ...]:
    """Return the levels that raters judge: segments, documents, screens."""
    return tuple(level for level in LEVELS if list_widgets_at_level(protocol, options, level))


def list_widgets_at_level(protocol: Protocol[Any], options: ScoringOptions, level: Level) -> tuple[Widget, ...]:
    """Return the questions at a level, adapted to the options; () if there are none."""
    if level == "screen":
        mode = options.own.preference if isinstance(options.own, SideBySideOptions) else "none"
        return () if mode == "none" else list_screen_preference_widgets(protocol, mode)
    if protocol.questions is not None:
        return protocol.questions(options, level)
    form = protocol.form if level == protocol.level else ()
    if level == "document" and getattr(options.own, "document_score", False):
        form = protocol.document_form
    return form if protocol.adapt is None else tuple(protocol.adapt(widget, options) for widget in form)


def list_screen_preference_widgets(protocol: Protocol[Any], mode: PreferenceMode = "ranking") -> tuple[Widget, ...]:
    """Return the questions about all columns of a screen; () if outputs cannot be side by side."""
    return (PreferenceWidget(FIELD, mode),) if protocol.contrastive else ()


def list_known_severities(protocol: Protocol[Any], options: ScoringOptions) -> tuple[str, ...]:
    """Return the severities that marked errors can have: the usual ones, or those that the campaign defines."""
    if protocol.questions is None:
        return SEVERITIES
    widgets = protocol.questions(options, protocol.level)
    return tuple(name for widget in widgets if isinstance(widget, SpansWidget) for name in widget.severities)


def find_payload_type(protocol: Protocol[Any], level: Level) -> type[Payload]:
    """Return the type of an answer at this level."""
    return PreferencePayload if level == "screen" else protocol.payload


def make_rater_form(
    protocol: Protocol[Any], options: ScoringOptions, *, basis: Basis, level: Level = "segment", n_references: int = 1
) -> RaterForm:
    """Make the form at a level, adapted to what raters see: without a source, nothing can be marked on it.

    Raises QuestionNotAsked, naming what is asked, and Invalid if the protocol does not have this basis.
    """
    widgets = list_widgets_at_level(protocol, options, level)
    if not widgets:
        raise QuestionNotAsked(
            f"nothing is asked of a {level}, but of {', '.join(list_judged_levels(protocol, options))}"
        )
    seen = resolve_visible_text_kinds(protocol, basis)
    sentences = ("" if protocol.hides_source else RESTS_ON[basis], LEVEL_SAYS[level])
    return RaterForm(
        level=level,
        widgets=tuple(_without_source(widget) if not seen.source else widget for widget in widgets),
        rubric=make_rubric(protocol, options),
        labels=list_visible_text_labels(protocol, basis, n_references=n_references),
        instructions=(
            getattr(options.own, "instructions", None) or protocol.instructions,
            *(sentence for sentence in sentences if sentence),
        ),
    )


def make_rubric(protocol: Protocol[Any], options: ScoringOptions) -> tuple[tuple[str, str], ...]:
    """Return the meanings of values, without those of severities that the options do not offer.

    If the options of a protocol determine what is asked, they also contain the rubric.
    """
    if protocol.questions is not None:
        return tuple((entry.value, entry.meaning) for entry in getattr(options.own, "rubric", ()))
    offered = _severities(list_widgets_at_level(protocol, options, protocol.level))
    left_out = _severities(protocol.form) - offered
    return tuple((value, meaning) for value, meaning in protocol.rubric if value.partition(" ")[0] not in left_out)


def _severities(widgets: tuple[Widget, ...]) -> set[str]:
    return {name for widget in widgets if isinstance(widget, SpansWidget) for name in widget.severities}


def check_answer(
    protocol: Protocol[Any], payload: Payload, shown: JudgedTexts, options: ScoringOptions, form: RaterForm
) -> None:
    """Raise Invalid, naming each place, if an answer does not fit a form.

    This is stricter than `Protocol.check`, which applies to imports: a file may contain severities and categories that
    no form offers. So may prefilled errors, and answers that leave these unchanged may repeat them. Answers about a
    screen are checked by `check_preference`.
    """
    places = (*_not_asked(payload, form), *_marked_otherwise(protocol, payload, form, shown))
    try:
        protocol.check(payload, shown, options)
    except Invalid as error:  # if both find a fault at a place, the form's is reported, which may be narrower
        reported = {place.loc for place in places}
        places = (*places, *(place for place in error.places if place.loc not in reported))
        if not places:
            raise
    if places:
        raise Invalid("; ".join(".".join(map(str, p.loc)) + f" {p.msg}" for p in places[:3]), places=places)


def _without_source(widget: Widget) -> Widget:
    return replace(widget, source_side=False) if isinstance(widget, SpansWidget) else widget


def _not_asked(payload: Payload, form: RaterForm) -> Iterator[Place]:
    """Yield the fields that have a value although the form does not ask for one."""
    fields = {"protocol"}.union(*(widget.fields for widget in form.widgets))
    for name, field in type(payload).model_fields.items():
        if name not in fields and getattr(payload, name) != field.get_default(call_default_factory=True):
            yield Place((name,), f"is not asked of a {form.level}")


def _marked_otherwise(
    protocol: Protocol[Any], payload: Payload, form: RaterForm, shown: JudgedTexts
) -> Iterator[Place]:
    ready = {span.prefill: span for span in shown.prefill or () if span.prefill is not None}
    for widget in form.widgets:
        if not isinstance(widget, SpansWidget):
            continue
        spans: tuple[Span, ...] = getattr(payload, widget.field)
        if widget.most is not None and len(spans) > widget.most:
            yield Place((widget.field,), f"must be {widget.most} at most")
        for i, span in enumerate(spans):
            before = None if span.prefill is None else ready.get(span.prefill)
            for name, why in _not_offered(span, widget, prefilled=protocol.accepts_prefill):
                if before is None or getattr(span, name) != getattr(before, name):
                    yield Place((widget.field, i, name), why)


def _not_offered(span: Span, widget: SpansWidget, *, prefilled: bool) -> Iterator[tuple[str, str]]:
    """Yield the fields of an error with values that the widget does not offer."""
    if span.severity not in widget.severities:
        yield "severity", f"must be one of {', '.join(widget.severities)}"
    if span.side == "source" and not widget.source_side:
        yield "side", "the source is not there to mark"
    if span.omission and not widget.omission:
        yield "omission", "is not asked"
    if span.category is not None and not widget.free_category and span.category not in _category_names(widget):
        yield "category", "is none of the form's" if widget.categories else "is not asked"
    if span.prefill is not None and not prefilled:
        yield "prefill", "no errors are prefilled"


def _category_names(widget: SpansWidget) -> frozenset[str]:
    """Return categories as payloads name them: the upper one alone, or with the lower one after a slash."""
    upper = {name for name, _ in widget.categories}
    return frozenset(upper | {f"{name}/{lower}" for name, lowers in widget.categories for lower in lowers})
