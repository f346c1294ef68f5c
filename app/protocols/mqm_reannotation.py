"""MQM re-annotation: a rater sees another rater's errors and keeps, changes, deletes or adds errors.

Source: Riley et al. 2025 (two-stage annotation: prior rater, prior error, deleted errors). This is a separate protocol:
the second answer depends on the first, so it is analysed as a separate method and never pooled with fresh ratings.
Raters see an opaque id with each error, but not whose it was; the store keeps that
(`app.protocols.anonymize_prior_errors`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from app.domain.errors import Invalid, Place
from app.domain.spans import SEVERITIES
from app.protocols.base import (
    ErrorMarkingOptions,
    JudgedTexts,
    JudgmentScore,
    Payload,
    Protocol,
    ScoringOptions,
    Span,
    SpansWidget,
    WorkedExample,
)
from app.protocols.kit.marked_errors import MOST_ERRORS, Marks, list_span_faults, score_errors, summarize_faults
from app.protocols.kit.prefilled_errors import list_prefill_id_faults
from app.protocols.mqm import CATEGORIES
from app.protocols.mqm import RUBRIC as SEVERITY_RUBRIC

RUBRIC = (
    ("keep", "An error that you would have marked in the same way."),
    ("change", "A real error, but at another place, of another severity or of another kind."),
    ("delete", "A mark that is not an error at all."),
    ("add", "Errors that were overlooked: read the text as if nothing had been marked."),
    *SEVERITY_RUBRIC,
)
Id = Annotated[str, Field(min_length=1, max_length=64)]


class MQMReannotationPayload(Payload):
    """The errors as they stand now, and the ids of those that the rater deleted, so that every deletion is recorded."""

    protocol: Literal["mqm_reannotation"] = "mqm_reannotation"
    errors: Marks = ()
    deleted: Annotated[tuple[Id, ...], Field(max_length=MOST_ERRORS, strict=False)] = ()


def check_payload(payload: MQMReannotationPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature)
    """Raise Invalid naming every error that does not fit the texts, and every shown one that is not accounted for."""
    places = (
        *list_span_faults(payload.errors, shown),
        *list_prefill_id_faults(payload.errors, shown),
        *_unresolved_prefills(payload, shown),
    )
    if places:
        raise Invalid(_line(places), places=places)


def _line(places: tuple[Place, ...]) -> str:
    return summarize_faults(places) if places[0].loc[0] == "errors" else "; ".join(p.msg for p in places[:3])


def _unresolved_prefills(payload: MQMReannotationPayload, shown: JudgedTexts) -> Iterator[Place]:
    kept = {span.prefill for span in payload.errors}
    known = None if shown.prefill is None else [span.prefill for span in shown.prefill if span.prefill is not None]
    for i, name in enumerate(payload.deleted):
        if name in kept:
            yield Place(("deleted", i), f"{name} is among the errors, too")
        elif name in payload.deleted[:i]:
            yield Place(("deleted", i), f"{name} is deleted twice")
        elif known is not None and name not in known:
            yield Place(("deleted", i), f"no error {name} was shown")
    for shown_id in known or ():
        if shown_id not in kept and shown_id not in payload.deleted:
            yield Place(("deleted",), f"{shown_id} was shown and is neither kept nor deleted")


def score_judgment(payload: MQMReannotationPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """Return the sum of the weights of the present errors (lower is better), and their number."""
    return score_errors(payload.errors, options)


_SOURCE = "The dog barked, and nobody woke up."
_OUTPUT = "Der Hund bellte und, niemand wachte auf."
_COMMA = Span(start=19, end=20, severity="minor", category="Fluency/Punctuation", prefill="p1")
_TASTE = Span(start=21, end=28, severity="major", category="Style/Awkward", prefill="p2")


def _example(
    errors: tuple[Span, ...], deleted: tuple[str, ...], value: float, why: str
) -> WorkedExample[MQMReannotationPayload]:
    payload = MQMReannotationPayload(errors=errors, deleted=deleted)
    return WorkedExample(_SOURCE, _OUTPUT, payload, value, why, prefill=(_COMMA, _TASTE))


PROTOCOL = Protocol(
    name="mqm_reannotation",
    version=1,
    title="Re-annotation of marked errors (MQM)",
    payload=MQMReannotationPayload,
    higher_is_better=False,
    scale=None,
    form=(
        SpansWidget(
            "errors",
            severities=SEVERITIES,
            categories=CATEGORIES,
            source_side=True,
            omission=True,
            deleted="deleted",
        ),
    ),
    rubric=RUBRIC,
    instructions="Review the marked errors: keep, change or delete each; then add errors that were overlooked.",
    accepts_prefill=True,
    requires_prefill=True,
    check=check_payload,
    score=score_judgment,
    uses_profile=True,
    options=ErrorMarkingOptions,
    examples=(
        _example((_COMMA, _TASTE), (), 5.1, "both stay as they were"),
        _example((_COMMA,), ("p2",), 0.1, "one is deleted: it was no error"),
        _example(
            (_COMMA, _TASTE.model_copy(update={"severity": "minor"})), (), 1.1, "one is lighter than it was marked"
        ),
        _example(
            (_COMMA, Span(start=4, end=8, severity="minor", category="Fluency/Spelling")),
            ("p2",),
            1.1,
            "one is deleted, one was overlooked",
        ),
    ),
)
