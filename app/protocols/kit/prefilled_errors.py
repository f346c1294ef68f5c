"""Prefilled errors: what raters kept, changed, took out and added, and whether an answer speaks of them rightly.

A prefilled error may come from a metric (Zouhar et al. 2025) or from another rater (Riley et al. 2025). Raters see
an opaque id with each, never whose it was; `anonymize_prior_errors` gives the ids and says what to remember beside
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from app.domain.errors import Place
from app.protocols.base import JudgedTexts, Payload, Span


@dataclass(frozen=True, slots=True)
class PrefillAudit:
    """What became of the prefilled errors, in counts.

    kept: as shown. changed: kept with another place, severity or category. removed: not in the answer any more.
    added: in the answer and not shown. kept + changed + removed were shown, kept + changed + added were answered.
    """

    kept: int
    changed: int
    removed: int
    added: int


@dataclass(frozen=True, slots=True)
class PriorErrorSource:
    """Where a prefilled error comes from, for the store only. id: what raters see. prior_error: its place in the
    first answer, from 0."""

    id: str
    prior_rater: str
    prior_error: int


def audit_prefill(shown: Sequence[Span], payload: Payload) -> PrefillAudit:
    """Count what a rater did with the prefilled errors.

    A second error under one id counts as added, one shown without an id as removed. Notes do not make a change.

    Source: Zouhar et al. 2025 (shares kept, edited, removed, added, to see how far raters rely on what is shown).
    """
    left = {span.prefill: _content_key(span) for span in shown if span.prefill is not None}
    kept = changed = added = 0
    for span in list_marked_errors(payload):
        before = left.pop(span.prefill, None) if span.prefill is not None else None
        kept += before == _content_key(span)
        changed += before is not None and before != _content_key(span)
        added += before is None
    return PrefillAudit(kept, changed, len(shown) - kept - changed, added)


def audit_stored_prefill(stored: Sequence[Span], payload: Payload) -> PrefillAudit:
    """As `audit_prefill`, where some errors may be stored without an id, from before each got one.

    Raters may have been shown these without one, so an answered error without an id that says the same is it, kept;
    what was changed of one cannot be told from what was taken out and added.
    """
    shown, marks = assign_error_ids(stored), list_marked_errors(payload)
    audit, named = audit_prefill(shown, payload), {span.prefill for span in marks}
    nameless = Counter(
        _content_key(now)
        for was, now in zip(stored, shown, strict=True)
        if not was.prefill and now.prefill not in named
    )
    same = (nameless & Counter(_content_key(span) for span in marks if not span.prefill)).total()
    return PrefillAudit(audit.kept + same, audit.changed, audit.removed - same, audit.added - same)


def list_marked_errors(payload: Payload) -> tuple[Span, ...]:
    """All errors that an answer marks, in whichever field; none where its protocol asks none."""
    fields = (getattr(payload, name) for name in type(payload).model_fields)
    return tuple(item for value in fields if isinstance(value, tuple) for item in value if isinstance(item, Span))


def anonymize_prior_errors(
    errors: Iterable[Span], *, prior_rater: str
) -> tuple[tuple[Span, ...], tuple[PriorErrorSource, ...]]:
    """Another's errors as they are shown to the next rater, and what the store remembers of each.

    Ids say nothing of the rater, and notes are left out: they are the first rater's own words.
    """
    shown, priors = [], []
    for n, error in enumerate(errors):
        shown.append(error.model_copy(update={"prefill": f"p{n + 1}", "note": None}))
        priors.append(PriorErrorSource(f"p{n + 1}", prior_rater, n))
    return tuple(shown), tuple(priors)


def assign_error_ids(errors: Sequence[Span]) -> tuple[Span, ...]:
    """Errors as they can be prefilled: those without an id, or with an earlier one's, get one no other has."""
    ids = {span.prefill for span in errors}
    free = (name for n in count(1) if (name := f"p{n}") not in ids)
    seen: set[str | None] = {None, ""}
    shown = []
    for span in errors:
        shown.append(span.model_copy(update={"prefill": next(free)}) if span.prefill in seen else span)
        seen.add(span.prefill)
    return tuple(shown)


def list_prefill_id_faults(errors: Sequence[Span], shown: JudgedTexts) -> tuple[Place, ...]:
    """Every id that was not shown, or that two errors bear; none where nobody knows what was shown."""
    if shown.prefill is None:
        return ()
    known = {span.prefill for span in shown.prefill} - {None}
    times: Counter[str] = Counter()
    places = []
    for i, span in enumerate(errors):
        if span.prefill is None:
            continue
        times[span.prefill] += 1
        if span.prefill not in known:
            places.append(Place(("errors", i, "prefill"), "no error with this id was shown"))
        elif times[span.prefill] > 1:
            places.append(Place(("errors", i, "prefill"), "an earlier error has it, too"))
    return tuple(places)


def _content_key(span: Span) -> tuple[object, ...]:
    place = (span.side, span.start, span.end, span.start_ms, span.end_ms)
    return *place, span.severity, span.category, span.omission
