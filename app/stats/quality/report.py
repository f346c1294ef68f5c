"""All evidence on the raters of a campaign, with a verdict for each if there is enough evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final, Literal

import numpy as np

from app.stats.quality import rater_q_values
from app.stats.quality.alike_raters import RaterPairSimilarity, measure_rater_pair_similarity
from app.stats.quality.change_within_tasks import (
    RaterJudgmentsInOrder,
    WithinTaskChange,
    measure_rater_change_within_tasks,
)
from app.stats.quality.controls import RaterControlTest, Verdict, run_control_tests
from app.stats.quality.drift import PositionsInRaterWork, SeverityDrift, estimate_drift_by_rater
from app.stats.quality.flags import Flag, FlagEvidenceByRater, flag_raters
from app.stats.quality.habits import ScoringHabits, compute_scoring_habits
from app.stats.quality.hidden_references import HiddenReferenceComparison, compare_hidden_references_by_rater
from app.stats.quality.levels import RaterLevelsAndResiduals, estimate_rater_levels_and_residuals
from app.stats.quality.pairing import find_original_rows, mask_first_rows_of_judgments, pair_with_originals
from app.stats.quality.panel import (
    RaterItemMeans,
    RaterPanelComparison,
    compare_raters_with_panel,
    compute_rater_item_means,
)
from app.stats.quality.quality_criteria import CHECKS, Check, RaterQualityCriteria
from app.stats.quality.rater_q_values import Orders
from app.stats.quality.repeats import RepeatConsistency, add_repeat_q_values, summarize_repeats
from app.stats.quality.seeded_errors import AttentionCheckCounts, SeededErrorHits
from app.stats.quality.speed import RaterPace, compute_rater_paces
from app.stats.rating_metadata import RatingEventTable, RepeatAndDegradedLinks
from app.stats.ratings import Bools, Floats, RatingRole, Ratings

Untested = Literal["complete", "review"]
Completion = Literal["complete", "review"]

ALONE: Final[frozenset[Check]] = frozenset({"controls", "habits", "speed"})
"""Checks of a rater that do not depend on the verdicts on others."""


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
    control: RaterControlTest | None
    repeats: RepeatConsistency | None
    panel: RaterPanelComparison | None
    habits: ScoringHabits
    speed: RaterPace | None
    drift: SeverityDrift | None
    flags: tuple[str, ...]
    beyond: tuple[Check, ...] = ()
    reference: HiddenReferenceComparison | None = None
    attention: AttentionCheckCounts | None = None
    span_hits: SeededErrorHits | None = None
    within_tasks: WithinTaskChange | None = None


@dataclass(frozen=True, slots=True)
class SimilarRaterPair:
    """Two raters, by key, whose answers are more alike than chance explains; figures as in `RaterPairSimilarity`."""

    raters: tuple[str, str]
    n: int
    equal: float
    distance: float
    usual: float
    p_value: float
    q_value: float


@dataclass(frozen=True, slots=True)
class RaterQualityReport:
    """Evidence on all raters, by key.

    unit: kind of the ratings used. counts: number of raters by verdict. alike: pairs of raters whose answers are too
    much alike.
    """

    raters: tuple[RaterQuality, ...]
    choices: RaterQualityCriteria
    higher_is_better: bool
    unit: str
    n_judgments: int
    counts: dict[str, int]
    warnings: tuple[str, ...]
    alike: tuple[SimilarRaterPair, ...] = ()


def make_rater_quality_report(
    ratings: Ratings,
    events: RatingEventTable | None = None,
    words: Floats | None = None,
    criteria: RaterQualityCriteria | None = None,
) -> RaterQualityReport:
    """Return evidence and verdict for every rater with judgments.

    Segment scores are used, or document scores if there are no others. The verdict is that of the control items alone;
    everything else is additional evidence.

    Parameters
    ----------
    events : times and positions of the rows; without them there is no speed, and order is by task and segment.
    words : words of the source shown with each row, NaN where unknown, shape (rows,).

    Sources: those of the other modules here; docs/quality.md explains the report.
    """
    chosen = criteria or RaterQualityCriteria()
    work = _Work.of(ratings, events, words, chosen)
    rows, controls = work.rows, work.controls
    shown = compare_hidden_references_by_rater(rows)
    evidence = _evidence(work, chosen)
    flags = flag_raters(chosen.limits, evidence, rows.labels.raters)
    raters = [_rater(rows, r, controls.get(r), evidence, flags[r]) for r in work.order]
    by_rater = [replace(one, reference=shown.get(r)) for one, r in zip(raters, work.order, strict=True)]
    counts = {verdict: sum(one.verdict == verdict for one in by_rater) for verdict in ("pass", "fail", "not_testable")}
    n = sum(one.n_judgments for one in by_rater)
    similar = tuple(
        _with_names(pair, rows.labels.raters) for pair in evidence.pairs if pair.q_value < chosen.limits.chance
    )
    warnings = (*_warnings(controls, work.events), *(_describe_pair(pair) for pair in similar))
    return RaterQualityReport(tuple(by_rater), chosen, rows.higher_is_better, work.unit, n, counts, warnings, similar)


def evaluate_one_rater_quality(
    ratings: Ratings,
    rater: str,
    checks: frozenset[Check],
    events: RatingEventTable | None = None,
    words: Floats | None = None,
    criteria: RaterQualityCriteria | None = None,
) -> RaterQuality | None:
    """Return the evidence on one rater from some of the checks, in less time; None if the rater has no rating.

    For these checks, verdict, flags and `beyond` are those of `make_rater_quality_report`, which has the same
    parameters. Evidence of other checks may be missing.
    """
    chosen = criteria or RaterQualityCriteria()
    names = ratings.labels.raters
    code = names.index(rater) if rater in names else -1
    # In the other checks, whom a rater is compared with depends on the verdicts on all raters.
    work = _Work.of(ratings, events, words, chosen, code if checks <= ALONE else None)
    if code not in work.order:
        return None
    evidence = _evidence(work, chosen, checks, only=code)
    flags = flag_raters(chosen.limits, evidence, names)[code]
    wanted = tuple((check, text) for check, text in flags if check in checks)
    return _rater(work.rows, code, work.controls.get(code), evidence, wanted)


def choose_completion_code_kind(verdict: Verdict, *, untested: Untested = "complete") -> Completion:
    """Return the kind of completion code for a verdict: by default only a failed test requires a review by a person.

    >>> choose_completion_code_kind("fail"), choose_completion_code_kind("not_testable")
    ('review', 'complete')
    >>> choose_completion_code_kind("not_testable", untested="review")
    'review'
    """
    return "review" if verdict == "fail" else untested if verdict == "not_testable" else "complete"


def select_rating_events(events: RatingEventTable, keep: Bools) -> RatingEventTable:
    """The events of the rows where `keep` is true."""
    return replace(events, **{one.name: getattr(events, one.name)[keep] for one in fields(RatingEventTable)})


def _choose_rating_kind(ratings: Ratings) -> tuple[Bools, str]:
    segments = np.asarray(ratings.segment >= 0)
    return (segments, "segment") if segments.any() or not len(ratings) else (~segments, "document")


def _order(rows: Ratings, events: RatingEventTable | None) -> Orders:
    """Return, by rater, the rows of their judgments in the order of work: by time if it is known, else by task."""
    once = np.flatnonzero(mask_first_rows_of_judgments(rows))
    position = events.position if events is not None else rows.segment
    time = events.submitted if events is not None else np.full(len(rows), -1)
    order = np.lexsort((rows.segment[once], position[once], rows.task[once], time[once], rows.rater[once]))
    rater, ordered = rows.rater[once][order], once[order]
    return {int(r): ordered[rater == r] for r in np.unique(rater)}


@dataclass(frozen=True, slots=True)
class _Work:
    """The ratings of one kind, each rater's in the order of work, and the tests of control items.

    words: of the source shown with each row; None where unknown.
    """

    rows: Ratings
    unit: str
    links: RepeatAndDegradedLinks
    order: Orders
    events: RatingEventTable | None
    words: Floats | None
    controls: dict[int, RaterControlTest]

    @classmethod
    def of(
        cls,
        ratings: Ratings,
        events: RatingEventTable | None,
        words: Floats | None,
        chosen: RaterQualityCriteria,
        only: int | None = None,
    ) -> _Work:
        """Prepare the ratings; only : the one rater whose control items are tested.

        Raises Invalid as `run_control_tests` does.
        """
        keep, unit = _choose_rating_kind(ratings)
        rows = ratings.where(keep)
        links = find_original_rows(rows)
        controls = run_control_tests(
            rows,
            links,
            test=chosen.test,
            min_pairs=chosen.min_pairs,
            adjust=chosen.adjust,
            alpha=chosen.alpha,
            only=only,
        )
        kept_events = None if events is None else select_rating_events(events, keep)
        return cls(
            rows, unit, links, _order(rows, kept_events), kept_events, None if words is None else words[keep], controls
        )


def _evidence(
    work: _Work, chosen: RaterQualityCriteria, checks: frozenset[Check] = frozenset(CHECKS), *, only: int | None = None
) -> FlagEvidenceByRater:
    """Collect the evidence for flags.

    Raters who fail by their controls, habits or pace are compared with the others, but others are not compared with
    them. checks: those whose evidence is wanted. only: code of the one rater in question.
    """
    limits, rows, order = chosen.limits, work.rows, work.order
    ways = {r: compute_scoring_habits(rows.score[at], rows.n_errors[at], rows.scale) for r, at in order.items()}
    ways = rater_q_values.add_habit_q_values(ways, rows, order, limits.min_judgments)
    speeds = rater_q_values.add_pace_q_values(compute_rater_paces(rows, work.events, work.words), limits.min_timed)
    none = FlagEvidenceByRater(ways, speeds, {}, {}, {}, {}, ())
    if checks <= ALONE:
        return none
    trusted = _reference_raters(work, flag_raters(limits, none, rows.labels.raters))
    cells, course = _cells(rows, order)
    rater_levels = estimate_rater_levels_and_residuals(cells, trusted.size, trusted)
    evidence = none
    if "panel" in checks:
        evidence = replace(
            evidence,
            panel=rater_q_values.add_level_and_correlation_q_values(
                compare_raters_with_panel(rows), cells, rater_levels
            ),
        )
    if "repeats" in checks:
        agreement, pairs = (
            summarize_repeats(rows, work.links, tolerance=chosen.tolerance),
            pair_with_originals(rows, work.links, RatingRole.REPEAT),
        )
        agreement = add_repeat_q_values(agreement, pairs, trusted, margin=limits.repeats, least=limits.min_repeats)
        evidence = replace(evidence, again=agreement)
    if "drift" in checks:
        drifting = estimate_drift_by_rater(
            cells,
            course,
            trusted.size,
            trusted,
            sign=rows.better_sign,
            k=chosen.k,
            h=chosen.h,
            chance=limits.drift_chance,
        )
        evidence = replace(evidence, drifts=drifting)
    if "within_tasks" in checks:
        evidence = replace(
            evidence, within=_test_within_tasks(_steps(rows, order, rater_levels, trusted), limits.chance, only)
        )
    if "alike" in checks:
        evidence = replace(evidence, pairs=measure_rater_pair_similarity(cells, course.document))
    return evidence


def _reference_raters(work: _Work, flags: Mapping[int, tuple[Flag, ...]]) -> Bools:
    """Return, by rater code, with whom others are compared: all raters if fewer than two would be left."""
    trusted = np.ones(len(work.rows.labels.raters), dtype=np.bool_)
    failed = {r for r, test in work.controls.items() if test.verdict == "fail"}
    trusted[[r for r, told in flags.items() if told or r in failed]] = False
    return trusted if trusted[list(work.order)].sum() > 1 else np.ones_like(trusted)


def _test_within_tasks(
    steps: dict[int, RaterJudgmentsInOrder], chance: float, only: int | None
) -> dict[int, WithinTaskChange]:
    """Test all raters; if one rater is in question, none if that rater's own p already rules out a flag.

    Over all raters the q-value is no smaller than the p-value, and drawing orders for all raters takes seconds.
    """
    if only is not None:
        own = measure_rater_change_within_tasks({only: steps[only]}).get(only)
        if own is None or own.p_value >= chance:
            return {}
    return measure_rater_change_within_tasks(steps)


def _cells(rows: Ratings, order: Orders) -> tuple[RaterItemMeans, PositionsInRaterWork]:
    """Return ratings by output and rater, with the position of each in the work of its rater, and its document."""
    ranked = np.isin(rows.role, (RatingRole.RATING, RatingRole.CALIBRATION))
    cells = compute_rater_item_means(rows.where(ranked))
    place = np.full(len(rows), np.nan)
    for at in order.values():
        place[at] = np.arange(at.size)
    address = np.stack((rows.system, rows.document, rows.segment, rows.rater), axis=1)[ranked]
    of, size = np.unique(address, axis=0, return_inverse=True)[1].ravel(), cells.item.size
    once = ~np.isnan(place[ranked])
    n = np.bincount(of[once], minlength=size)
    total = np.bincount(of[once], weights=place[ranked][once], minlength=size)
    units = rows.document if rows.documents_known else rows.segment
    document = np.zeros(size, dtype=np.int32)
    document[of] = units[ranked]
    return cells, PositionsInRaterWork(total / np.maximum(n, 1), document)


def _steps(
    rows: Ratings, order: Orders, rater_levels: RaterLevelsAndResiduals, trusted: Bools
) -> dict[int, RaterJudgmentsInOrder]:
    """Return each rater's judgments from the start to the end of tasks, with their distance from usual scores."""
    degraded = rows.role == RatingRole.DEGRADED
    group = np.where(degraded, len(rows.labels.systems), rows.system)
    level = np.where(degraded, 0.0, np.nan_to_num(rater_levels.of_rater)[rows.rater])
    usual = rater_q_values.compute_relative_deviation_in_group(rows.score - level, group, trusted[rows.rater])
    units = rows.document if rows.documents_known else rows.segment
    steps = {}
    for r, at in order.items():
        by_task = at[np.argsort(rows.task[at], kind="stable")]
        task = rows.task[by_task]
        first = np.searchsorted(task, task, "left")
        size = np.searchsorted(task, task, "right") - first
        place = (np.arange(task.size) - first + 0.5) / size
        steps[r] = RaterJudgmentsInOrder(task, units[by_task], place, usual[by_task])
    return steps


def _rater(
    rows: Ratings, rater: int, control: RaterControlTest | None, evidence: FlagEvidenceByRater, flags: tuple[Flag, ...]
) -> RaterQuality:
    verdict: Verdict = control.verdict if control else "not_testable"
    failed = {check for check, _ in flags} | ({"controls"} if verdict == "fail" else set())
    return RaterQuality(
        rater=rows.labels.raters[rater],
        n_judgments=evidence.habits[rater].n,
        verdict=verdict,
        why=control.why if control else "no degraded items",
        completion=choose_completion_code_kind(verdict),
        control=control,
        repeats=evidence.again.get(rater),
        panel=evidence.panel.get(rater),
        habits=evidence.habits[rater],
        speed=evidence.speeds.get(rater),
        drift=evidence.drifts.get(rater),
        flags=tuple(text for _, text in flags),
        beyond=tuple(check for check in CHECKS if check in failed),
        within_tasks=evidence.within.get(rater),
    )


def _with_names(pair: RaterPairSimilarity, names: tuple[str, ...]) -> SimilarRaterPair:
    figures = (pair.n, pair.equal, pair.distance, pair.usual, pair.p_value, pair.q_value)
    return SimilarRaterPair((names[pair.first], names[pair.second]), *figures)


def _describe_pair(pair: SimilarRaterPair) -> str:
    first, second = pair.raters
    return (
        f"{first} and {second} give more similar answers than two people who do not copy ({pair.equal:.0%} of "
        f"{pair.n} equal): "
        "copied answers count twice in every average; check their times and ask them before you exclude anything"
    )


def _warnings(controls: dict[int, RaterControlTest], events: RatingEventTable | None) -> tuple[str, ...]:
    warnings = []
    if not controls:
        warnings.append("no degraded items, so no rater can be tested; plan control items")
    lost = sum(one.n_unmatched for one in controls.values())
    if lost:
        warnings.append(
            f"{lost} degraded judgments are not tested, because their raters did not rate the originals; plan controls "
            "so that each rater judges both"
        )
    if events is None or not (events.submitted >= 0).any():
        warnings.append(
            "no times are known, so the order of work is taken from tasks and positions; import times if they are known"
        )
    return tuple(warnings)
