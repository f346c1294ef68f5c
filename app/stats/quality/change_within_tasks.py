"""Within tasks: does a rater start carefully and end carelessly?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.stats.quality.monte_carlo_p_values import ExceedanceCount, refine_p_values
from app.stats.ratings import Codes, Floats
from app.stats.testing.adjust import benjamini_hochberg

CUTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
MIN_JUDGMENTS = 20
FIRST_DRAWS, DRAWS = 199, 4_999
DOUBT = 0.1
SEED = 1971
HELD = 1 << 18  # differences of drawn orders that are held at once: what fits into a cache is computed twice as fast


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
    cuts = _Cuts.of(steps)
    reached = cuts.contrasts(steps.beside[None, :]).max() - 1e-9
    clearest = (cuts.contrasts(orders).max(axis=1) for orders in _draw_orders(steps, draws, seed))
    return sum(int((of_each >= reached).sum()) for of_each in clearest)


def _clearest_change(steps: RaterJudgmentsInOrder) -> tuple[int, float, float, float]:
    cuts, given = _Cuts.of(steps), steps.beside[None, :]
    best = int(cuts.contrasts(given)[0].argmax())
    late = steps.place > CUTS[best]
    distance = cuts.distances(given, best)[0]
    early, late_ones = (float(distance[at].mean()) if at.any() else 0.0 for at in (~late, late))
    return steps.beside.size, CUTS[best], early, late_ones


@dataclass(frozen=True, slots=True)
class _Cuts:
    """The cuts of a rater's tasks; both of shape (cuts, judgments).

    level: weights of the mean over the judgments before a cut. late_minus_early: weights of late minus early within
    each task, of length 1.
    """

    level: Floats
    late_minus_early: Floats

    @classmethod
    def of(cls, steps: RaterJudgmentsInOrder) -> _Cuts:
        late = np.stack([steps.place > cut for cut in CUTS])
        early = ~late / np.maximum((~late).sum(axis=1, keepdims=True), 1)
        code = np.unique(steps.task, return_inverse=True)[1].ravel()
        n = np.bincount(code)
        weights: Floats = late - np.stack([(np.bincount(code, weights=after) / n)[code] for after in late])
        length = np.sqrt((weights**2).sum(axis=1, keepdims=True))
        return cls(early, np.where(length > 0, weights / np.where(length > 0, length, 1.0), 0.0))

    def distances(self, orders: Floats, cut: int, out: Floats | None = None) -> Floats:
        """Distance of each score from the level of those before the cut; shape (orders, judgments)."""
        beside = np.subtract(orders, (orders @ self.level[cut])[:, None], out=out)
        return np.asarray(np.abs(beside, out=beside))

    def contrasts(self, orders: Floats) -> Floats:
        """Distances after each cut minus those before it, within tasks; shape (orders, cuts)."""
        room = np.empty_like(orders)  # used for every cut, because new memory takes longer than the figures
        return np.stack(
            [self.distances(orders, i, room) @ weights for i, weights in enumerate(self.late_minus_early)], axis=1
        )


def _draw_orders(steps: RaterJudgmentsInOrder, draws: int, seed: tuple[int, ...]) -> Iterator[Floats]:
    """Yield the differences from the usual in drawn orders, shape (some draws, judgments)."""
    task = np.unique(steps.task, return_inverse=True)[1].ravel()
    (of_task, _), block = np.unique(np.stack((task, steps.document)), axis=1, return_inverse=True)
    by_block, length = np.argsort(block.ravel(), kind="stable"), np.bincount(block.ravel())
    first = np.cumsum(length) - length
    n = np.bincount(task)
    start, size = (np.cumsum(n) - n)[task], n[task]
    step = np.arange(task.size)
    # One stream of numbers: first those that shuffle the documents of all draws, then those that rotate the tasks.
    ordering, turning = np.random.PCG64(seed), np.random.PCG64(seed)
    turning.advance(draws * length.size)
    most = max(1, HELD // task.size)
    for done in range(0, draws, most):
        some = min(most, draws - done)
        # Documents are sorted instead of their many judgments, which then follow from the lengths.
        blocks = np.argsort(of_task + np.random.Generator(ordering).random((some, length.size)), axis=1)
        lengths = length[blocks]
        shift = first[blocks] - (np.cumsum(lengths, axis=1) - lengths)
        order = by_block[np.repeat(shift.ravel(), lengths.ravel()).reshape(some, task.size) + step]
        within = step - start + np.random.Generator(turning).integers(0, n, (some, n.size))[:, task]
        within -= np.where(within >= size, size, 0)
        yield np.take_along_axis(steps.beside[order], start + within, axis=1)
