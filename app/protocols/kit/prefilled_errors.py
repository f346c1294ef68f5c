"""Prefilled errors: what raters kept, changed, removed and added, and whether an answer refers to them correctly.

A prefilled error may come from a metric (Zouhar et al. 2025) or from another rater (Riley et al. 2025). Raters see an
opaque id with each, but not whose it was. `anonymize_prior_errors` assigns the ids and returns what the store keeps
about them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from app.domain.errors import Place
from app.protocols.base import JudgedTexts, Payload, Span


@dataclass(frozen=True, slots=True)
class PrefillOutcomeCounts:
    """Counts of what happened to prefilled errors.

    kept: as shown. changed: kept with another position, severity or category. removed: no longer in the answer. added:
    in the answer but not shown. kept + changed + removed were shown, kept + changed + added are in the answer.
    """

    kept: int
    changed: int
    removed: int
    added: int


@dataclass(frozen=True, slots=True)
class PrefilledErrorOrigin:
    """The origin of a prefilled error, for the store only.

    id: as raters see it. prior_error: index of the error in the first answer, from 0.
    """

    id: str
    prior_rater: str
    prior_error: int


def count_prefill_outcomes(shown: Sequence[Span], payload: Payload) -> PrefillOutcomeCounts:
    """Count what a rater did with the prefilled errors.

    A second error with the same id counts as added, a shown error without an id as removed. Notes do not count as
    changes.

    Source: Zouhar et al. 2025 (shares kept, edited, removed, added, to see how far raters rely on what is shown).
    """
    left = {span.prefill: _content_key(span) for span in shown if span.prefill is not None}
    kept = changed = added = 0
    for span in list_errors_marked_by_answer(payload):
        before = left.pop(span.prefill, None) if span.prefill is not None else None
        kept += before == _content_key(span)
        changed += before is not None and before != _content_key(span)
        added += before is None
    return PrefillOutcomeCounts(kept, changed, len(shown) - kept - changed, added)


def count_prefill_outcomes_without_ids(stored: Sequence[Span], payload: Payload) -> PrefillOutcomeCounts:
    """Count like `count_prefill_outcomes` if some errors were stored without an id, before ids were introduced.

    Raters may have been shown these without one. So an error in the answer with the same content and no id counts as
    kept. A change to such an error cannot be distinguished from a removal and an addition.
    """
    shown, marks = assign_error_ids(stored), list_errors_marked_by_answer(payload)
    audit, named = count_prefill_outcomes(shown, payload), {span.prefill for span in marks}
    nameless = Counter(
        _content_key(now)
        for was, now in zip(stored, shown, strict=True)
        if not was.prefill and now.prefill not in named
    )
    same = (nameless & Counter(_content_key(span) for span in marks if not span.prefill)).total()
    return PrefillOutcomeCounts(audit.kept + same, audit.changed, audit.removed - same, audit.added - same)


def list_errors_marked_by_answer(payload: Payload) -> tuple[Span, ...]:
    """Return all errors that an answer marks, in whichever field; empty if its protocol asks for none."""
    fields = (getattr(payload, name) for name in type(payload).model_fields)
    return tuple(item for value in fields if isinstance(value, tuple) for item in value if isinstance(item, Span))


def anonymize_prior_errors(
    errors: Iterable[Span], *, prior_rater: str
) -> tuple[tuple[Span, ...], tuple[PrefilledErrorOrigin, ...]]:
    """Return another rater's errors as they are shown to the next rater, and the origin of each for the store.

    Ids reveal nothing about the rater, and notes are omitted because they are the first rater's own words.
    """
    shown, priors = [], []
    for n, error in enumerate(errors):
        shown.append(error.model_copy(update={"prefill": f"p{n + 1}", "note": None}))
        priors.append(PrefilledErrorOrigin(f"p{n + 1}", prior_rater, n))
    return tuple(shown), tuple(priors)


def assign_error_ids(errors: Sequence[Span]) -> tuple[Span, ...]:
    """Return errors ready to be prefilled: those without an id, or with a duplicate one, get a new id."""
    ids = {span.prefill for span in errors}
    free = (name for n in count(1) if (name := f"p{n}") not in ids)
    seen: set[str | None] = {None, ""}
    shown = []
    for span in errors:
        shown.append(span.model_copy(update={"prefill": next(free)}) if span.prefill in seen else span)
        seen.add(span.prefill)
    return tuple(shown)


def list_prefill_id_faults(errors: Sequence[Span], shown: JudgedTexts) -> tuple[Place, ...]:
    """Return faults for ids that were not shown, or that two errors have; none if it is unknown what was shown."""
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
