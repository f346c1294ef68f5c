"""Changes of the raw scores, made before normalization."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, get_args

import numpy as np

from app.domain.errors import Invalid
from app.stats.rating_metadata import DocumentTable
from app.stats.ratings import Bools, Floats, RatingRole, Ratings, ScoreScale

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
"""Most raters, documents or systems that are left out in turn; more would need too many rankings."""


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One change.

    group: the experiment it belongs to. what: `WHAT:KEY` of the unit left out, or the factor d. left_out: rows of these
    systems are removed everywhere. scaled: scores of these systems are degraded or inflated. references: whether rows
    of references are removed or scaled too. unshown: systems that are not ranked, neither before nor after the change,
    so that only its effect on the others is seen.
    """

    group: Group
    what: str
    left_out: frozenset[str] = frozenset()
    scaled: frozenset[str] = frozenset()
    references: bool = False
    factor: float | None = None
    unshown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ScoreChangePrerequisites:
    """The facts that decide which changes are possible.

    order: systems, best first. humans: keys of human translations.
    """

    order: tuple[str, ...]
    humans: frozenset[str]
    documents: DocumentTable | None = None


def list_score_changes(
    rows: Ratings, facts: ScoreChangePrerequisites, groups: Sequence[Group]
) -> tuple[ScoreChange, ...]:
    """Return every change of the requested groups that is possible with these data, in a fixed order."""
    return tuple(change for group in GROUPS if group in groups for change in _changes_of_group(rows, facts, group))


def explain_missing_change(rows: Ratings, facts: ScoreChangePrerequisites, group: Group) -> str | None:
    """Return why a group has no change here; None if it has one."""
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


def _changes_of_group(rows: Ratings, facts: ScoreChangePrerequisites, group: Group) -> Iterator[ScoreChange]:
    if group in {"references", "degraded", "degraded_reference_rows"}:
        return _changes_of_references(rows, facts, group)
    return (
        _changes_of_ranks(facts, group)
        if group in {"lowest", "highest", "inflated", "system"}
        else _changes_of_units(rows, facts, group)
    )


def _changes_of_references(rows: Ratings, facts: ScoreChangePrerequisites, group: Group) -> Iterator[ScoreChange]:
    """Yield the removal or degradation by each factor of human systems and reference rows; humans are unranked."""
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


def _changes_of_ranks(facts: ScoreChangePrerequisites, group: Group) -> Iterator[ScoreChange]:
    """Yield changes of systems by rank: the last or first removed, the last inflated, or each removed in turn."""
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


def _changes_of_units(rows: Ratings, facts: ScoreChangePrerequisites, group: Group) -> Iterator[ScoreChange]:
    """Yield the removal of each rater, document or domain."""
    names = _domains(rows, facts) if group == "domain" else _units(rows, group)
    if 1 < len(names) <= MOST_UNITS:
        yield from (ScoreChange(group, f"{group}:{name}") for name in names)


def _domains(rows: Ratings, facts: ScoreChangePrerequisites) -> list[str]:
    if facts.documents is None or not rows.documents_known:
        return []
    return sorted({facts.documents.domain[code] or "unknown" for code in np.unique(rows.document)})


def _units(rows: Ratings, group: Group) -> list[str]:
    if group == "rater":
        return [rows.labels.raters[code] for code in np.unique(rows.rater)]
    return [rows.labels.documents[code] for code in np.unique(rows.document)] if rows.documents_known else []


def apply_score_change(rows: Ratings, change: ScoreChange, documents: DocumentTable | None = None) -> Ratings:
    """Return the ratings with the change applied to their raw scores.

    Raises Invalid if the scale has no end towards which to degrade or inflate.
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
    """Make every score worse by d: min + (x − min)/d where higher is better, x·d for a penalty.

    Raises Invalid if the scale has no lower end.

    Source: Knowles 2021, §5.2 (raw scores divided by d). The forms for penalties and for scales that do not start at 0
    are our own.
    """
    if not rows.higher_is_better:
        return np.asarray(rows.score * d, dtype=np.float64)
    low = require_scale_end(rows, lowest=True)
    return np.asarray(low + (rows.score - low) / d, dtype=np.float64)


def inflate_scores(rows: Ratings, d: float) -> Floats:
    """Make every score better by d: max − (max − x)/d where higher is better, x/d for a penalty.

    Raises Invalid if the scale has no upper end.

    Source: our own, the counterpart of `degrade_scores`.
    """
    if not rows.higher_is_better:
        return np.asarray(rows.score / d, dtype=np.float64)
    high = require_scale_end(rows, lowest=False)
    return np.asarray(high - (high - rows.score) / d, dtype=np.float64)


class ScoreScaleInfo(Protocol):
    """The meaning of scores."""

    @property
    def scale(self) -> ScoreScale | None:
        """The scale with its ends, if known."""

    @property
    def standardised(self) -> bool:
        """Whether the scores were normalized before import."""


def require_scale_end(scale_info: ScoreScaleInfo, *, lowest: bool) -> float:
    """Return the end towards which scores are moved. Raises Invalid if there is none."""
    scale = scale_info.scale
    end = None if scale is None else scale.minimum if lowest else scale.maximum
    if end is None or not np.isfinite(end) or scale_info.standardised:
        raise Invalid(f"the scale has no {'lower' if lowest else 'upper'} end to move scores towards")
    return float(end)
