"""Assigning work in proportion to the capacity of each rater, and never above it."""

from __future__ import annotations

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.assignment import check_pool_sizes
from app.design.design_inputs import Codes
from app.domain.errors import Invalid
from app.domain.plural_forms import pluralize

_FINE = 1_000_000  # shares of a capacity are compared in whole millionths


def assign_groups_by_capacity(
    rng: np.random.Generator, layout: AllocationInput, capacity: Codes, weight: Codes
) -> Codes:
    """Assign every group to the raters of its bucket whose used share of capacity is lowest.

    Heavy groups are assigned first, and ties are broken at random. Raters above their capacity pass groups on, along
    chains.

    Parameters
    ----------
    capacity : of each rater, in that rater's own unit, shape (R,).
    weight : what each group counts for each rater, in that unit, shape (G, R).

    Returns
    -------
    Rater codes, shape (G, K), −1 where a group has fewer than K.

    Raises
    ------
    Invalid
        No assignment within the capacities was found; the message says by how much they fall short. If groups differ in
        size, this is a search and not a proof: an assignment may exist that it does not find.
    """
    check_pool_sizes(layout)
    result = np.full((layout.n_groups, int(layout.ratings.max(initial=1))), -1, dtype=np.int64)
    load = np.zeros(layout.n_raters, dtype=np.int64)
    shuffled = rng.permutation(layout.n_groups)
    bucket = layout.buckets_of_groups
    for group in shuffled[np.argsort(-layout.weight[shuffled], kind="stable")]:
        pool = rng.permutation(layout.pools[bucket[group]])
        filled = (load[pool] + weight[group, pool]) * _FINE // np.maximum(capacity[pool], 1)
        over = load[pool] + weight[group, pool] > capacity[pool]
        chosen = pool[np.lexsort((filled, over))[: layout.ratings[group]]]
        result[group, : len(chosen)] = chosen
        load[chosen] += weight[group, chosen]
    _unload_overfull_raters(layout, result, load, capacity, weight)
    over = np.flatnonzero(load > capacity)
    if len(over):
        missing, asked = int((load - capacity)[over].sum()), pluralize(len(over), "rater", "raters")
        raise Invalid(
            f"the capacities do not suffice: with these buckets {asked} would be asked for {missing} more "
            f"than they can do; they have room for {int(capacity.sum())} in all, {int(load.sum())} are needed"
        )
    return result


def _unload_overfull_raters(
    layout: AllocationInput, raters: Codes, load: Codes, capacity: Codes, weight: Codes
) -> None:
    """Pass groups from raters above their capacity to others with room, in place, as long as that helps."""
    stuck: set[int] = set()
    while True:
        over = [int(r) for r in np.flatnonzero(load > capacity) if int(r) not in stuck]
        if not over:
            return
        chain = _chain(layout, raters, load, capacity, weight, over[0])
        if chain is None:
            chain = _swap(layout, raters, load, capacity, weight, over[0])
        if chain is None:
            stuck.add(over[0])
            continue
        for group, giver, taker in chain:
            raters[group, raters[group] == giver] = taker
            load[giver] -= weight[group, giver]
            load[taker] += weight[group, taker]


def _chain(
    layout: AllocationInput, raters: Codes, load: Codes, capacity: Codes, weight: Codes, source: int
) -> list[tuple[int, int, int]] | None:
    """Find moves (group, giver, taker) that take work from the source and leave nobody else above their capacity."""
    came: dict[int, tuple[int, int]] = {source: (-1, -1)}
    front = [source]
    bucket = layout.buckets_of_groups
    while front:
        giver = front.pop(0)
        owns = np.flatnonzero((raters == giver).any(axis=1))
        for group in owns:
            received = weight[came[giver][0], giver] if came[giver][0] >= 0 else 0
            if giver != source and load[giver] + received - weight[group, giver] > capacity[giver]:
                continue
            for taker in layout.pools[bucket[group]].tolist():
                if taker in came or taker in raters[group]:
                    continue
                came[taker] = (int(group), giver)
                if load[taker] + weight[group, taker] <= capacity[taker]:
                    return _trace_moves(came, taker)
                front.append(taker)
    return None


def _swap(
    layout: AllocationInput, raters: Codes, load: Codes, capacity: Codes, weight: Codes, source: int
) -> list[tuple[int, int, int]] | None:
    """Find two moves that exchange a group of the source for a lighter one, with the partner where this helps most."""
    bucket = layout.buckets_of_groups
    best: tuple[int, list[tuple[int, int, int]]] | None = None
    for group in np.flatnonzero((raters == source).any(axis=1)).tolist():
        for partner in layout.pools[bucket[group]].tolist():
            if partner in raters[group]:
                continue
            theirs = np.flatnonzero((raters == partner).any(axis=1) & ~(raters == source).any(axis=1))
            theirs = theirs[[source in layout.pools[bucket[other]] for other in theirs]]
            after = load[partner] + weight[group, partner] - weight[theirs, partner]
            relief = np.where(after <= capacity[partner], weight[group, source] - weight[theirs, source], 0)
            if len(relief) and relief.max() > (best[0] if best else 0):
                other = int(theirs[relief.argmax()])
                best = (int(relief.max()), [(group, source, partner), (other, partner, source)])
    return best[1] if best else None


def _trace_moves(came: dict[int, tuple[int, int]], taker: int) -> list[tuple[int, int, int]]:
    moves = []
    while came[taker][0] >= 0:
        group, giver = came[taker]
        moves.append((group, giver, taker))
        taker = giver
    return moves[::-1]
