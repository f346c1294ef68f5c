"""Marked errors: whether they fit the texts, and how they are weighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from app.domain.errors import Invalid, Place
from app.domain.media_elements import parse_media_element
from app.domain.spans import SEVERITIES
from app.protocols.base import JudgedTexts, JudgmentScore, Payload, ScoringOptions, Span, SpansWidget, Widget
from app.protocols.kit.prefilled_errors import list_prefill_id_faults
from app.protocols.kit.scales import find_value_fault
from app.stats.ratings import ScoreScale
from app.stats.scoring import has_severity_weight, sum_error_weights, weigh_error

MOST_ERRORS = 1000
WEIGHTLESS = ("neutral", "undecided")
Marks = Annotated[tuple[Span, ...], Field(max_length=MOST_ERRORS, strict=False)]


class MarkedErrorsPayload(Payload):
    """Marked errors and nothing else; none marked is a judgment too."""

    protocol: str
    errors: Marks = ()


def check_marked_errors_payload(payload: MarkedErrorsPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid naming every error that does not fit the texts."""
    check_error_spans(payload.errors, shown)


def score_marked_errors_payload(
    payload: MarkedErrorsPayload,
    shown: JudgedTexts,  # noqa: ARG001 (one signature for all)
    options: ScoringOptions,
) -> JudgmentScore:
    """Return the sum of the weights of the errors (lower is better), and their number, including those of weight 0."""
    return score_errors(payload.errors, options)


def list_span_faults(
    errors: Sequence[Span], shown: JudgedTexts, severities: Sequence[str] = SEVERITIES
) -> tuple[Place, ...]:
    """Return every field of an error that does not fit the texts or the known severities, and why."""
    by_error = ((i, _fault(span, shown, severities)) for i, span in enumerate(errors))
    return tuple(Place(("errors", i, fault[0]), fault[1]) for i, fault in by_error if fault)


def summarize_faults(places: Sequence[Place]) -> str:
    """Describe the first faults in one line."""
    return "; ".join(" ".join(map(str, ("error", *p.loc[1:], p.msg))) for p in places[:3])


def check_error_spans(errors: Sequence[Span], shown: JudgedTexts) -> None:
    """Raise Invalid naming every error that does not fit the texts."""
    places = list_span_faults(errors, shown)
    if places:
        raise Invalid(summarize_faults(places), places=places)


def check_error_spans_and_score(errors: Sequence[Span], score: float, shown: JudgedTexts, scale: ScoreScale) -> None:
    """Raise Invalid naming every error that does not fit the texts, and a score that is not a value of the scale."""
    places = (*list_span_faults(errors, shown), *list_prefill_id_faults(errors, shown))
    if places:
        raise Invalid(summarize_faults(places), places=places)
    why = find_value_fault(score, scale)
    if why:
        raise Invalid(f"score {why}", places=(Place(("score",), why),))


def limit_widget_to_weighted_severities(widget: Widget, options: ScoringOptions) -> Widget:
    """Limit a widget to severities that have a weight under the profile, or are without weight in every profile.

    If no severity with a weight remains, all are offered; the ranking reports errors without weight.
    """
    if not isinstance(widget, SpansWidget):
        return widget
    named = tuple(
        name for name in widget.severities if name in WEIGHTLESS or has_severity_weight(options.profile, name)
    )
    return replace(widget, severities=named) if set(named) - set(WEIGHTLESS) else widget


def choose_score_or_error_penalty(errors: Sequence[Span], score: float, options: ScoringOptions) -> JudgmentScore:
    """Return the score (higher is better), or the weight of the errors (lower is better); and the number of errors."""
    return score_errors(errors, options) if options.measure == "spans" else JudgmentScore(score + 0.0, len(errors))


def score_errors(errors: Sequence[Span], options: ScoringOptions) -> JudgmentScore:
    """Return the sum of the weights of the errors (lower is better), and their number, including those of weight 0."""
    weights = [(span, *weigh_error(options.profile, span.severity, span.category)) for span in errors]
    unmatched = tuple(f"{span.severity}/{span.category or ''}" for span, _, matched in weights if not matched)
    return JudgmentScore(sum_error_weights(value for _, value, _ in weights), len(errors), unmatched)


def _fault(span: Span, shown: JudgedTexts, severities: Sequence[str]) -> tuple[str, str] | None:
    """Return the field of a span that is wrong, and why."""
    if span.severity not in severities:
        return "severity", f"must be one of {', '.join(severities)}"
    if span.start_ms is not None or span.end_ms is not None:
        return _time_fault(span, shown)
    if span.start is None or span.end is None:
        return None if span.start is span.end else ("end", "start and end go together")
    if span.end < span.start:
        return "end", "must not be before start"
    length = shown.count_characters(span.side)
    if length is not None and span.end > length:
        return "end", f"is outside the {span.side} text of {length} characters"
    return None


def _time_fault(span: Span, shown: JudgedTexts) -> tuple[str, str] | None:
    """Return the field of a time range that is wrong, and why."""
    if span.start is not None or span.end is not None:
        return "start", "an error has a place in the text or a time, not both"
    if span.start_ms is None or span.end_ms is None:
        return "end_ms", "start_ms and end_ms go together"
    if span.end_ms < span.start_ms:
        return "end_ms", "must not be before start_ms"
    if not shown.lengths and shown.text is None and not shown.durations:
        return None  # it is unknown what was shown
    duration = shown.durations.get(span.side)
    if duration is None and parse_media_element(shown.source if span.side == "source" else shown.text) is not None:
        return None  # only the file determines its duration
    if duration is None:
        return "start_ms", f"the {span.side} is no audio or video"
    if span.end_ms > duration:
        return "end_ms", f"is outside the {span.side}, which is {duration} ms long"
    return None
