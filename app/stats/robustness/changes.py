"""Changes of the raw scores, made before anything is normalized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, get_args

import numpy as np

from app.domain.errors import Invalid
from app.stats.ratings import Bools, Floats, RatingRole, Ratings, ScoreScale
from app.stats.side_tables import DocumentTable

Group = Literal[
    "references",
    "lowest",
    "highest",
    "degraded",
    "degraded_reference_rows",
    "inflated",
    "system",
    "rater",
    "document",
    "domain",
]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
FACTORS: Final = (1.25, 1.5, 2.0, 4.0, 10.0)
MOST_UNITS = 2_000
"""Raters, documents or systems that are left out in turn; with more there are too many rankings to make."""


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One change. group: which experiment it belongs to.

    what: `WHAT:KEY` of the unit left out, or the factor d. left_out: rows of these systems go from everything.
    scaled: scores of these systems are degraded or inflated. references: rows of references go or are scaled too.
    unshown: systems that are not ranked, neither before nor after the change, so that only what they do to others
    is seen.
    """

    group: Group
    what: str
    left_out: frozenset[str] = frozenset()
    scaled: frozenset[str] = frozenset()
    references: bool = False
    factor: float | None = None
    unshown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ScoreChangeContext:
    """What decides which changes there are. order: systems, best first. humans: keys of human translations."""

    order: tuple[str, ...]
    humans: frozenset[str]
    documents: DocumentTable | None = None


def list_score_changes(rows: Ratings, facts: ScoreChangeContext, groups: Sequence[Group]) -> tuple[ScoreChange, ...]:
    """Every change of the groups asked for that these data can have, in a fixed order."""
    return tuple(change for group in GROUPS if group in groups for change in _changes_of_group(rows, facts, group))


def explain_missing_change(rows: Ratings, facts: ScoreChangeContext, group: Group) -> str | None:
    """Why a group has no change here; None where it has some."""
    if next(_changes_of_group(rows, facts, group), None) is not None:
        return None
    if group == "degraded_reference_rows":
        return "there are no reference rows"
    if group in {"references", "degraded"}:
        return "there are no human systems and no reference rows"
    if group in {"lowest", "highest", "inflated", "system"}:
        return f"this requires 3 to {MOST_UNITS:,} ranked systems"
    if group != "rater" and not rows.documents_known:
        return "documents are unknown"
    return f"this requires 2 to {MOST_UNITS:,} {group}s"


def _changes_of_group(rows: Ratings, facts: ScoreChangeContext, group: Group) -> Iterator[ScoreChange]:
    if group in {"references", "degraded", "degraded_reference_rows"}:
        return _changes_of_references(rows, facts, group)
    return (
        _changes_of_ranks(facts, group)
        if group in {"lowest", "highest", "inflated", "system"}
        else _changes_of_units(rows, facts, group)
    )


def _changes_of_references(rows: Ratings, facts: ScoreChangeContext, group: Group) -> Iterator[ScoreChange]:
    """Human systems and reference rows: gone, or worse by each factor; the humans are not ranked."""
    humans = facts.humans & frozenset(facts.order)
    reference_rows = bool((rows.role == RatingRole.REFERENCE).any())
    only_rows = group == "degraded_reference_rows"
    if not reference_rows and (only_rows or not humans):
        return
    if group == "references":
        yield ScoreChange(group, "references", left_out=humans, references=True, unshown=humans)
        return
    scaled: frozenset[str] = frozenset() if only_rows else humans
    for d in FACTORS:
        yield ScoreChange(group, f"{d:g}", scaled=scaled, references=True, factor=d, unshown=humans)


def _changes_of_ranks(facts: ScoreChangeContext, group: Group) -> Iterator[ScoreChange]:
    """Systems by their rank: the last, the first, the last made better, each."""
    if not 2 < len(facts.order) <= MOST_UNITS:
        return
    if group == "inflated":
        last = frozenset({facts.order[-1]})
        yield from (ScoreChange(group, f"{d:g}", scaled=last, factor=d, unshown=last) for d in FACTORS)
        return
    chosen = {"lowest": facts.order[-1:], "highest": facts.order[:1]}.get(group, facts.order)
    for system in chosen:
        gone = frozenset({system})
        yield ScoreChange(group, f"system:{system}", left_out=gone, unshown=gone)


def _changes_of_units(rows: Ratings, facts: ScoreChangeContext, group: Group) -> Iterator[ScoreChange]:
    """Raters, documents and domains, each in turn."""
    names = _domains(rows, facts) if group == "domain" else _units(rows, group)
    if 1 < len(names) <= MOST_UNITS:
        yield from (ScoreChange(group, f"{group}:{name}") for name in names)


def _domains(rows: Ratings, facts: ScoreChangeContext) -> list[str]:
    if facts.documents is None or not rows.documents_known:
        return []
    return sorted({facts.documents.domain[code] or "unknown" for code in np.unique(rows.document)})


def _units(rows: Ratings, group: Group) -> list[str]:
    if group == "rater":
        return [rows.labels.raters[code] for code in np.unique(rows.rater)]
    return [rows.labels.documents[code] for code in np.unique(rows.document)] if rows.documents_known else []


def apply_score_change(rows: Ratings, change: ScoreChange, documents: DocumentTable | None = None) -> Ratings:
    """The ratings with the change made in their raw scores.

    Raises Invalid where the scale has no end to degrade or inflate towards.
    """
    touched = _rows_of_systems(rows, change.left_out | change.scaled)
    if change.references:
        touched = touched | (rows.role == RatingRole.REFERENCE)
    if change.factor is not None:
        pull = inflate_scores if change.group == "inflated" else degrade_scores
        score = np.where(touched, pull(rows, change.factor), rows.score)
        return replace(rows, score=score).in_canonical_order()
    what, _, key = change.what.partition(":")
    if what in {"rater", "document", "domain"}:
        touched = _rows_of_unit(rows, what, key, documents)
    return rows.where(~touched)


def _rows_of_systems(rows: Ratings, systems: frozenset[str]) -> Bools:
    codes = [code for code, key in enumerate(rows.labels.systems) if key in systems]
    return np.asarray(np.isin(rows.system, codes), dtype=np.bool_)


def _rows_of_unit(rows: Ratings, what: str, key: str, documents: DocumentTable | None) -> Bools:
    if what == "domain":
        if documents is None:
            raise ValueError("domains are needed")
        held = np.array([(name or "unknown") == key for name in documents.domain], dtype=np.bool_)
        return np.asarray(held[rows.document], dtype=np.bool_)
    labels, codes = (rows.labels.raters, rows.rater) if what == "rater" else (rows.labels.documents, rows.document)
    return np.asarray(codes == labels.index(key), dtype=np.bool_)


def degrade_scores(rows: Ratings, d: float) -> Floats:
    """Every score made worse by d: min + (x − min)/d where higher is better, x·d for a penalty.

    Raises Invalid where the scale has no lower end.

    Source: Knowles 2021, §5.2 (raw scores divided by d). The forms for penalties and for scales that do not begin
    at 0 are our own.
    """
    if not rows.higher_is_better:
        return np.asarray(rows.score * d, dtype=np.float64)
    low = find_scale_end(rows, lowest=True)
    return np.asarray(low + (rows.score - low) / d, dtype=np.float64)


def inflate_scores(rows: Ratings, d: float) -> Floats:
    """Every score made better by d: max − (max − x)/d where higher is better, x/d for a penalty.

    Raises Invalid where the scale has no upper end.

    Source: our own, the counterpart of `degrade_scores`.
    """
    if not rows.higher_is_better:
        return np.asarray(rows.score / d, dtype=np.float64)
    high = find_scale_end(rows, lowest=False)
    return np.asarray(high - (high - rows.score) / d, dtype=np.float64)


class ScoreScaleInfo(Protocol):
    """What scores mean."""

    @property
    def scale(self) -> ScoreScale | None:
        """Their ends, where they are known."""

    @property
    def standardised(self) -> bool:
        """Whether they were normalized before they came."""


def find_scale_end(meaning: ScoreScaleInfo, *, lowest: bool) -> float:
    """The end that scores are moved towards. Raises Invalid where there is none."""
    scale = meaning.scale
    end = None if scale is None else scale.minimum if lowest else scale.maximum
    if end is None or not np.isfinite(end) or meaning.standardised:
        raise Invalid(f"the scale has no {'lower' if lowest else 'upper'} end to move scores towards")
    return float(end)
