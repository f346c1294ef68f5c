"""Within tasks: does a rater start carefully and end carelessly?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.stats.document_draws import iterate_draw_block_sizes
from app.stats.quality.simulated_chances import ExceedanceCount, refine_p_values
from app.stats.ratings import Bools, Codes, Floats
from app.stats.testing.adjust import benjamini_hochberg

CUTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
MIN_JUDGMENTS = 20
FIRST_DRAWS, DRAWS = 199, 4_999
DOUBT = 0.1
SEED = 1971


@dataclass(frozen=True, slots=True)
class WithinTaskChange:
    """One rater from the beginnings of their tasks to the ends.

    n: judgments. cut: share of a task after which the difference is clearest. early, late: how far the scores before
    and after it lie from what is usual for the system (or for degraded outputs), once the rater's level before the cut
    is taken out, as multiples of what it is on average over all raters. p_value: one-sided, of a difference as clear if
    the documents had stood in another order; q_value: over all raters (Benjamini–Hochberg).
    """

    n: int
    cut: float
    early: float
    late: float
    p_value: float
    q_value: float


@dataclass(frozen=True, slots=True)
class RaterJudgmentsInOrder:
    """Judgments of one rater in the order of work, task after task; all of shape (judgments,).

    task, document: codes. place: from 0 to 1 within the task. beside: the signed difference of the score from what is
    usual.
    """

    task: Codes
    document: Codes
    place: Floats
    beside: Floats


def measure_rater_change_within_tasks(raters: dict[int, RaterJudgmentsInOrder]) -> dict[int, WithinTaskChange]:
    """Measure every rater (by code) with at least 20 judgments.

    The clearest of seven cuts is compared with the clearest one after the documents of each task are shuffled and the
    task is rotated by any number of steps, so that the segments of one document stay together.

    Source: the cumulative sum for a change at an unknown place (Page 1954), with chances from drawn orders.
    """
    able = {r: steps for r, steps in raters.items() if steps.beside.size >= MIN_JUDGMENTS}
    chances = refine_p_values(
        {r: _tally(steps, r) for r, steps in able.items()},
        lambda r, part: _orders_as_clear(able[r], DRAWS, (SEED, r, part)),
        DRAWS,
    )
    q_values = benjamini_hochberg(np.array(list(chances.values()))).tolist()
    return {
        r: WithinTaskChange(*_clearest_change(steps), chances[r], q)
        for (r, steps), q in zip(able.items(), q_values, strict=True)
    }


def _tally(steps: RaterJudgmentsInOrder, rater: int) -> ExceedanceCount:
    tally = ExceedanceCount(_orders_as_clear(steps, FIRST_DRAWS, (SEED, rater)), FIRST_DRAWS)
    return tally if tally.p_value > DOUBT else ExceedanceCount(_orders_as_clear(steps, DRAWS, (SEED, rater)), DRAWS)


def _orders_as_clear(steps: RaterJudgmentsInOrder, draws: int, seed: tuple[int, ...]) -> int:
    """Count drawn orders whose clearest cut is at least as clear as that of the given one."""
    late = _mark_late_judgments(steps)
    reached = _contrasts(steps.beside[None, :], late, steps.task).max() - 1e-9
    return sum(
        int((_contrasts(orders, late, steps.task).max(axis=1) >= reached).sum())
        for orders in _draw_orders(steps, draws, seed)
    )


def _mark_late_judgments(steps: RaterJudgmentsInOrder) -> Bools:
    return np.stack([steps.place > cut for cut in CUTS], axis=1)


def _clearest_change(steps: RaterJudgmentsInOrder) -> tuple[int, float, float, float]:
    late = _mark_late_judgments(steps)
    best = int(_contrasts(steps.beside[None, :], late, steps.task)[0].argmax())
    after = late[:, best]
    distance = _distances(steps.beside[None, :], after)[0]
    early, late_ones = (float(distance[at].mean()) if at.any() else 0.0 for at in (~after, after))
    return steps.beside.size, CUTS[best], early, late_ones


def _distances(orders: Floats, late: Bools) -> Floats:
    """Distance of each score from the level of those before the cut; shape (orders, judgments)."""
    level = orders @ (~late / max(int((~late).sum()), 1))
    return np.asarray(np.abs(orders - level[:, None]))


def _contrasts(orders: Floats, late: Bools, task: Codes) -> Floats:
    """Distances after each cut minus those before it, within tasks; shape (orders, cuts)."""
    weights = _contrast(task, late)
    return np.stack([_distances(orders, late[:, i]) @ weights[:, i] for i in range(late.shape[1])], axis=1)


def _contrast(task: Codes, late: Bools) -> Floats:
    """Weights, by cut, of late minus early within each task, of length 1; shape (judgments, cuts)."""
    code = np.unique(task, return_inverse=True)[1]
    n = np.bincount(code)
    share = np.stack([np.bincount(code, weights=late[:, i]) / n for i in range(late.shape[1])], axis=1)
    weights = late - share[code]
    length = np.sqrt((weights**2).sum(axis=0))
    return np.asarray(np.where(length > 0, weights / np.where(length > 0, length, 1.0), 0.0))


def _draw_orders(steps: RaterJudgmentsInOrder, draws: int, seed: tuple[int, ...]) -> Iterator[Floats]:
    """Yield the differences from the usual in drawn orders, shape (some draws, judgments)."""
    task = np.unique(steps.task, return_inverse=True)[1].ravel()
    block = np.unique(np.stack((steps.task, steps.document)), axis=1, return_inverse=True)[1].ravel()
    n_blocks = int(block.max()) + 1
    n = np.bincount(task)
    start = np.cumsum(n) - n
    # One stream of numbers: first those that shuffle the documents of all draws, then those that rotate the tasks.
    ordering, turning = np.random.PCG64(seed), np.random.PCG64(seed)
    turning.advance(draws * n_blocks)
    for some in iterate_draw_block_sizes(draws, task.size):
        drawn = np.random.Generator(ordering).random((some, n_blocks))[:, block]
        order = np.argsort(task + drawn, axis=1, kind="stable")
        turned = np.random.Generator(turning).integers(0, n, (some, n.size))[:, task]
        within = (np.arange(task.size) - start[task] + turned) % n[task]
        yield np.take_along_axis(steps.beside[order], start[task] + within, axis=1)
