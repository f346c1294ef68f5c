"""All evidence on the raters of a campaign, with a verdict each where there is enough of it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Literal

import numpy as np

from app.stats.quality.controls import (
    ALPHA,
    MIN_PAIRS,
    ControlAdjust,
    ControlTest,
    ControlTestName,
    Verdict,
    control_tests,
)
from app.stats.quality.drift import DECISION, REFERENCE, Course, Drift, drifts
from app.stats.quality.flags import CHECKS, Check, Flag, Limits, flagged
from app.stats.quality.pairing import first_rows, originals
from app.stats.quality.panel import Against, against_panel, cells_of
from app.stats.quality.references import References, references
from app.stats.quality.repeats import Repeats, repeats
from app.stats.quality.runs import Habits, habits
from app.stats.quality.seeded import Attention, SpanHits
from app.stats.quality.speed import Speed, paces
from app.stats.ratings import Bools, Floats, Ratings, Role
from app.stats.side_tables import Events

Orders = dict[int, np.ndarray[tuple[int], np.dtype[np.intp]]]
Untested = Literal["complete", "review"]
Completion = Literal["complete", "review"]


@dataclass(frozen=True, slots=True)
class Choices:
    """How raters are judged. k, h: of the CUSUM. tolerance: of repeats, None for a tenth of the scale."""

    test: ControlTestName = "signed_rank"
    min_pairs: int = MIN_PAIRS
    adjust: ControlAdjust = "bh"
    alpha: float = ALPHA
    tolerance: float | None = None
    k: float = REFERENCE
    h: float = DECISION
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class RaterQuality:
    """Evidence on one rater; None where there is none. flags: what a person should look at, in words.

    beyond: the checks that failed, `controls` for the verdict, each once. reference: of hidden references. attention,
    span_hits: of errors put into texts; what is known of these is no part of `Ratings`, whoever has it adds it.
    """

    rater: str
    n_judgments: int
    verdict: Verdict
    why: str | None
    completion: Completion
    control: ControlTest | None
    repeats: Repeats | None
    panel: Against | None
    habits: Habits
    speed: Speed | None
    drift: Drift | None
    flags: tuple[str, ...]
    beyond: tuple[Check, ...] = ()
    reference: References | None = None
    attention: Attention | None = None
    span_hits: SpanHits | None = None


@dataclass(frozen=True, slots=True)
class QualityReport:
    """Evidence on all raters, by key. unit: kind of the ratings looked at. counts: raters by verdict."""

    raters: tuple[RaterQuality, ...]
    choices: Choices
    higher_is_better: bool
    unit: str
    n_judgments: int
    counts: dict[str, int]
    warnings: tuple[str, ...]


def quality(
    ratings: Ratings, events: Events | None = None, words: Floats | None = None, choices: Choices | None = None
) -> QualityReport:
    """Evidence and verdict for every rater who judged something.

    Segment scores are looked at, document scores where there are no others. The verdict is that of the control items
    alone; everything else is evidence beside it.

    Parameters
    ----------
    events : times and positions of the rows; without them there is no speed, and order is by task and segment.
    words : words of the source shown with each row, NaN where unknown, shape (rows,).

    Source: PB-9.
    """
    chosen = choices or Choices()
    keep, unit = _one_kind(ratings)
    rows = ratings.where(keep)
    links = originals(rows)
    controls = control_tests(
        rows, links, test=chosen.test, min_pairs=chosen.min_pairs, adjust=chosen.adjust, alpha=chosen.alpha
    )
    again = repeats(rows, links, tolerance=chosen.tolerance)
    shown = references(rows)
    panel = against_panel(rows)
    told = None if events is None else of_rows(events, keep)
    order = _order(rows, told)
    speeds = paces(rows, told, None if words is None else words[keep])
    ways = {r: habits(rows.score[at], rows.n_errors[at], rows.scale) for r, at in order.items()}
    drifts = _drifts(rows, order, chosen)
    flags = flagged(chosen.limits, ways, speeds, panel, again, drifts)
    made = [
        _rater(rows, r, controls.get(r), again.get(r), panel.get(r), ways[r], speeds.get(r), drifts.get(r), flags[r])
        for r in order
    ]
    found = [replace(one, reference=shown.get(r)) for one, r in zip(made, order, strict=True)]
    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in ("pass", "fail", "not_testable")}
    n = sum(one.n_judgments for one in found)
    return QualityReport(tuple(found), chosen, rows.higher_is_better, unit, n, counts, _warnings(controls, told))


def completion(verdict: Verdict, *, untested: Untested = "complete") -> Completion:
    """What the verdict means for a completion code: only a failed test sends work to a person.

    >>> completion("fail"), completion("not_testable"), completion("not_testable", untested="review")
    ('review', 'complete', 'review')
    """
    return "review" if verdict == "fail" else untested if verdict == "not_testable" else "complete"


def of_rows(events: Events, keep: Bools) -> Events:
    """The events of the rows where `keep` is true."""
    return replace(events, **{one.name: getattr(events, one.name)[keep] for one in fields(Events)})


def _one_kind(ratings: Ratings) -> tuple[Bools, str]:
    segments = np.asarray(ratings.segment >= 0)
    return (segments, "segment") if segments.any() or not len(ratings) else (~segments, "document")


def _order(rows: Ratings, events: Events | None) -> Orders:
    """By rater the rows of their judgments in the order of work: by time where it is known, else by task."""
    once = np.flatnonzero(first_rows(rows))
    position = events.position if events is not None else rows.segment
    time = events.submitted if events is not None else np.full(len(rows), -1)
    order = np.lexsort((rows.segment[once], position[once], rows.task[once], time[once], rows.rater[once]))
    rater, ordered = rows.rater[once][order], once[order]
    return {int(r): ordered[rater == r] for r in np.unique(rater)}


def _drifts(rows: Ratings, order: Orders, chosen: Choices) -> dict[int, Drift]:
    """Drift on residuals from the other raters of an item, one a document, positive is lenient."""
    ranked = np.isin(rows.role, (Role.RATING, Role.CALIBRATION))
    cells = cells_of(rows.where(ranked))
    place = np.zeros(len(rows))
    for at in order.values():
        place[at] = np.arange(at.size)
    once = first_rows(rows)
    address = np.stack((rows.system, rows.document, rows.segment, rows.rater), axis=1)[ranked]
    of = np.unique(address, axis=0, return_inverse=True)[1].ravel()
    n, size = np.bincount(of, weights=once[ranked], minlength=cells.item.size), cells.item.size
    total = np.bincount(of, weights=place[ranked] * once[ranked], minlength=size)
    units = rows.document if rows.documents_known else rows.segment
    document = np.zeros(size, dtype=np.int32)
    document[of] = units[ranked]
    course = Course(total / np.maximum(n, 1), document)
    chance = chosen.limits.drift_chance
    n_raters = len(rows.labels.raters)
    return drifts(cells, course, n_raters, sign=rows.better_sign, k=chosen.k, h=chosen.h, chance=chance)


def _rater(
    rows: Ratings,
    rater: int,
    control: ControlTest | None,
    again: Repeats | None,
    panel: Against | None,
    ways: Habits,
    pace: Speed | None,
    moved: Drift | None,
    flags: tuple[Flag, ...],
) -> RaterQuality:
    verdict: Verdict = control.verdict if control else "not_testable"
    why = control.why if control else "no degraded items"
    name = rows.labels.raters[rater]
    told = tuple(text for _, text in flags)
    failed = {check for check, _ in flags} | ({"controls"} if verdict == "fail" else set())
    beyond = tuple(check for check in CHECKS if check in failed)
    return RaterQuality(
        name, ways.n, verdict, why, completion(verdict), control, again, panel, ways, pace, moved, told, beyond
    )


def _warnings(controls: dict[int, ControlTest], events: Events | None) -> tuple[str, ...]:
    told = []
    if not controls:
        told.append("no degraded items: no rater can be tested")
    lost = sum(one.n_unmatched for one in controls.values())
    if lost:
        told.append(f"{lost} degraded judgments have no rated original by the same rater")
    if events is None or not (events.submitted >= 0).any():
        told.append("no times are known: the order of work is that of tasks and positions")
    return tuple(told)
