"""Normalized entropy of the work, and assignment towards a target (Riley et al. 2024, §6.1.2 and appendix 10.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.assignment import assign_groups_evenly, check_pool_sizes, compute_rater_loads
from app.design.design_inputs import Bools, Codes, Floats
from app.domain.errors import Invalid, Place

TOLERANCE = 0.03
RESTARTS = 200
DESCENTS = 20
_MOST_SETS = 2_000
_DIGITS = 9
"""Entropies are rounded before they are compared, so that the last bits of a logarithm decide nothing."""


def normalized_entropy(load: Codes) -> Floats:
    """Return −Σ p log p / log R over the last axis; R includes raters without work. 1 for a single rater.

    Source: Riley et al. 2024, §6.1.2.

    Examples
    --------
    >>> np.round(normalized_entropy(np.array([[78, 78, 25, 0, 0, 0, 0]])), 6)
    array([0.513357])
    """
    n = load.shape[-1]
    if n == 1:
        return np.ones(load.shape[:-1])
    total = np.maximum(load.sum(axis=-1), 1).astype(np.float64)
    return np.asarray((np.log(total) - _xlogx(load).sum(axis=-1) / total) / np.log(n), dtype=np.float64)


def compute_normalized_entropy_of_counts(counts: Sequence[int]) -> float:
    """Return the normalized entropy of the work of one group of raters, from one count each.

    >>> round(compute_normalized_entropy_of_counts([10, 10]), 6), compute_normalized_entropy_of_counts([10, 0])
    (1.0, 0.0)
    """
    return float(normalized_entropy(np.array(counts, dtype=np.int64)))


def _xlogx(x: Codes) -> Floats:
    return np.asarray(x * np.log(np.maximum(x, 1)), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _RaterSetChoices:
    """The sets of raters that a group can have. sets: shape (menus, P, K), −1 pads; size: sets in each menu."""

    sets: Codes
    size: Codes
    of_group: Codes


def _menus(rng: np.random.Generator, layout: AllocationInput) -> _RaterSetChoices:
    kinds, of_group = np.unique(np.stack([layout.buckets_of_groups, layout.ratings]), axis=1, return_inverse=True)
    lists = [_sets(rng, layout.pools[bucket], int(k)) for bucket, k in kinds.T]
    most, wide = max(len(sets) for sets in lists), int(kinds[1].max())
    padded = np.full((len(lists), most, wide), -1, dtype=np.int64)
    for n, sets in enumerate(lists):
        padded[n, : len(sets), : sets.shape[1]] = sets
    return _RaterSetChoices(padded, np.array([len(sets) for sets in lists]), of_group.ravel())


def _sets(rng: np.random.Generator, pool: Codes, k: int) -> Codes:
    """Return all sets of k raters; if these are too many, the runs of k in random orders."""
    if comb(len(pool), k) <= _MOST_SETS:
        return np.array(list(combinations(pool.tolist(), k)), dtype=np.int64)
    orders = rng.permuted(np.broadcast_to(pool, (max(1, _MOST_SETS // len(pool)), len(pool))), axis=1)
    places = (np.arange(len(pool))[:, None] + np.arange(k)) % len(pool)
    return orders[:, places].reshape(-1, k)


def assign_groups_for_target_entropy(
    rng: np.random.Generator, layout: AllocationInput, target: float, studies: int = 1, *, restarts: int = RESTARTS
) -> Codes:
    """Assign groups so that the normalized entropy of the work is within .03 of a target, in many studies at once.

    Each group gets a random set of raters of its bucket. Then each, in random order, is given the set that brings the
    entropy closest to the target, with ties broken at random. Studies outside the tolerance start again.

    Returns
    -------
    Rater codes, shape (studies, G, K), −1 where a group has fewer than K.

    Raises
    ------
    Invalid
        The target is out of reach; the message gives the range found.

    Source: Riley et al. 2024, appendix 10.3.
    """
    check_pool_sizes(layout)
    menus = _menus(rng, layout)
    result: Codes = np.empty((studies, layout.n_groups, menus.sets.shape[2]), dtype=np.int64)
    left, entropies = np.arange(studies), list[float]()
    for _ in range(restarts):
        attempt = _attempt(rng, layout, menus, target, len(left))
        entropy = normalized_entropy(compute_rater_loads(layout, attempt))
        near = np.round(np.abs(entropy - target), _DIGITS) <= TOLERANCE
        result[left[near]] = attempt[near]
        left = left[~near]
        if not len(left):
            return result
        entropies += [float(entropy.min()), float(entropy.max())]
    raise _out_of_reach(target, restarts, *_widen_range(estimate_reachable_entropies(rng, layout), entropies))


def _widen_range(bounds: tuple[float, float], entropies: list[float]) -> tuple[float, float]:
    """Extend the range to entropies that attempts have reached, because these are certainly possible."""
    return min(bounds[0], *entropies), max(bounds[1], *entropies)


def _out_of_reach(target: float, restarts: int, low: float, high: float) -> Invalid:
    return Invalid(
        f"a normalized entropy of {target:g} (± {TOLERANCE}) was not reached in {restarts} attempts; "
        f"found reachable with these buckets: {low:.3f} to {high:.3f}",
        places=(Place(("balance",), f"reachable: {low:.3f} to {high:.3f}"),),
    )


def _attempt(
    rng: np.random.Generator, layout: AllocationInput, menus: _RaterSetChoices, target: float, studies: int
) -> Codes:
    rows = np.arange(studies)
    sizes = np.broadcast_to(menus.size[menus.of_group], (studies, layout.n_groups))
    choice = rng.integers(0, sizes)
    load = np.zeros((studies, layout.n_raters + 1), dtype=np.int64)  # the last column collects the padding
    load[:, :-1] = compute_rater_loads(layout, menus.sets[menus.of_group[None, :], choice])
    order = rng.permuted(np.broadcast_to(np.arange(layout.n_groups), (studies, layout.n_groups)), axis=1)
    for visit in range(layout.n_groups):
        group = order[:, visit]
        menu, weight = menus.of_group[group], layout.weight[group]
        raters = menus.sets[menu, choice[rows, group]]
        load[rows[:, None], raters] -= weight[:, None]
        sets = menus.sets[menu]
        off = _distance(load, sets, weight, target)
        off[np.arange(sets.shape[1]) >= menus.size[menu][:, None]] = np.inf
        best = off == off.min(axis=1, keepdims=True)
        pick = np.where(best, rng.integers(0, 1 << 30, size=best.shape), -1).argmax(axis=1)
        choice[rows, group] = pick
        load[rows[:, None], sets[rows, pick]] += weight[:, None]
    return menus.sets[menus.of_group[None, :], choice]


def _distance(load: Codes, sets: Codes, weight: Codes, target: float) -> Floats:
    """Return the distance from the target after adding a group to each set, shape (studies, P)."""
    n = load.shape[1] - 1
    if n == 1:
        return np.zeros(sets.shape[:2])
    there: Bools = sets >= 0
    now = load[np.arange(len(load))[:, None, None], sets]
    gain = np.where(there, _xlogx(now + weight[:, None, None]) - _xlogx(np.where(there, now, 0)), 0.0).sum(axis=2)
    base = _xlogx(load[:, :-1]).sum(axis=1)
    total = (load[:, :-1].sum(axis=1)[:, None] + there.sum(axis=2) * weight[:, None]).astype(np.float64)
    entropy = (np.log(np.maximum(total, 1)) - (base[:, None] + gain) / np.maximum(total, 1)) / np.log(n)
    return np.asarray(np.round(np.abs(entropy - target), _DIGITS), dtype=np.float64)


def estimate_reachable_entropies(
    rng: np.random.Generator, layout: AllocationInput, *, starts: int = DESCENTS
) -> tuple[float, float]:
    """Estimate the lowest and highest normalized entropy: by greedy descent and even assignment, the best of 20 each.

    One even assignment is not enough: with few groups in a bucket, chance decides to whom the buckets give their
    remainder.

    The search is ours; the paper does not say how it found its range.
    """
    check_pool_sizes(layout)
    high = max(_entropy_of_even_deal(rng, layout) for _ in range(starts))
    low = min(float(normalized_entropy(_descend(rng, layout)[None])[0]) for _ in range(starts))
    return min(low, high), high


def _entropy_of_even_deal(rng: np.random.Generator, layout: AllocationInput) -> float:
    even = np.full((layout.n_groups, int(layout.ratings.max(initial=1))), -1, dtype=np.int64)
    assign_groups_evenly(rng, layout, even)
    return float(normalized_entropy(compute_rater_loads(layout, even[None]))[0])


def _descend(rng: np.random.Generator, layout: AllocationInput) -> Codes:
    """Return loads after repeatedly moving all possible groups to the rater with most, shape (R,)."""
    may: Bools = np.zeros((len(layout.pools), layout.n_raters), dtype=np.bool_)
    for row, pool in enumerate(layout.pools):
        may[row, pool] = True
    bucket, missing = layout.buckets_of_groups, layout.ratings.copy()
    menus = _menus(rng, layout)
    start = menus.sets[menus.of_group, rng.integers(0, menus.size[menus.of_group])]
    load, fixed = compute_rater_loads(layout, start[None])[0], np.zeros(layout.n_raters, dtype=np.int64)
    todo: Bools = np.ones(layout.n_raters, dtype=np.bool_)
    while missing.any():
        rater = int(np.where(todo, load, -1).argmax())
        takes = may[bucket, rater] & (missing > 0)
        fixed[rater] = layout.weight[takes].sum()
        missing[takes] -= 1
        todo[rater] = False
        load = _capacity_left(layout, may & todo, missing)
    return fixed


def _capacity_left(layout: AllocationInput, may: Bools, missing: Codes) -> Codes:
    """Return what each rater could still take at most, shape (R,)."""
    left = np.bincount(layout.buckets_of_groups, weights=layout.weight * (missing > 0), minlength=len(layout.pools))
    return np.asarray(np.rint(may.T @ left), dtype=np.int64)
