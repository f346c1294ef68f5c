"""Assigns a campaign's groups with the balance that its design requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.assignment import assign_groups_evenly, check_pool_sizes, count_groups_by_bucket_and_rater
from app.design.assignment_by_capacity import assign_groups_by_capacity
from app.design.design_choices import Design
from app.design.design_inputs import Bools, Codes, Floats, Rater
from app.design.entropy import assign_groups_for_target_entropy
from app.design.grouping import GroupedOutputs
from app.design.load_rebalancing import LoadRebalancingResult, even_out_loads
from app.design.overlap import assign_overlap_groups
from app.domain.errors import Invalid, Place


@dataclass(frozen=True, slots=True, eq=False)
class GroupAllocation:
    """Raters of groups. raters: shape (G, K), −1 pads. propensity: for each (group, rater), same shape, 0 pads."""

    raters: Codes
    propensity: Floats
    evened: LoadRebalancingResult | None = None


def assign_raters_to_groups(
    rng: np.random.Generator,
    design: Design,
    grouped: GroupedOutputs,
    layout: AllocationInput,
    raters: Sequence[Rater],
    bucket_names: Sequence[str],
) -> GroupAllocation:
    """Assign raters to every group.

    Raises
    ------
    Invalid
        A bucket has too few people, an entropy is out of reach, or the capacities do not suffice.
    """
    check_pool_sizes(layout, tuple(bucket_names))
    if design.balance.kind == "entropy" and design.balance.entropy is not None:
        dealt = assign_groups_for_target_entropy(rng, layout, design.balance.entropy)[0]
        return GroupAllocation(dealt, _given_loads(layout, dealt))
    if design.balance.kind == "capacity":
        dealt = assign_groups_by_capacity(
            rng, layout, *compute_rater_capacities_and_group_sizes(design, grouped, raters)
        )
        return GroupAllocation(dealt, _given_loads(layout, dealt))
    dealt = np.full((layout.n_groups, int(layout.ratings.max(initial=1))), -1, dtype=np.int64)
    assign_overlap_groups(rng, layout, dealt, np.flatnonzero(layout.ratings > design.ratings_per_item))
    if design.unit == "items":
        assign_groups_evenly(rng, layout, dealt)
    else:
        assign_weighted_groups_evenly(rng, layout, dealt)
    if not design.even_out:
        return GroupAllocation(dealt, _by_chance(layout, dealt))
    evened = even_out_loads(rng, layout, dealt)
    return GroupAllocation(dealt, _given_loads(layout, dealt), evened)


def compute_rater_capacities_and_group_sizes(
    design: Design, grouped: GroupedOutputs, raters: Sequence[Rater]
) -> tuple[Codes, Codes]:
    """Return each rater's capacity for regular work, in the rater's own unit, and what each group counts in it.

    Control items take their share of every task, so they are subtracted.
    """
    lacking = [rater.key for rater in raters if rater.capacity is None]
    if lacking:
        place = Place(("balance", "capacity"), f"these raters have none: {', '.join(lacking)}")
        raise Invalid("balance by capacity needs the capacity of every rater", places=(place,))
    controls = design.controls
    control_share = controls.bad_reference + controls.repeat + controls.reference
    left = 1 - max(control_share, controls.reference * design.task.columns)  # a screen holds one reference
    room = [int((rater.capacity or 0) * left + 1e-9) for rater in raters]
    sizes = {unit: grouped.group_sizes(unit) for unit in {rater.capacity_unit for rater in raters}}
    return np.array(room, dtype=np.int64), np.stack([sizes[rater.capacity_unit] for rater in raters], axis=1)


def assign_weighted_groups_evenly(rng: np.random.Generator, layout: AllocationInput, raters: Codes) -> None:
    """Assign like `assign_groups_evenly`, but with even weights too: heavy groups and least loaded raters first.

    The groups of a cell are assigned in blocks of as many as there are raters, so the numbers of groups still differ by
    at most one.
    """
    weights = np.zeros((len(layout.pools), layout.n_raters), dtype=np.int64)
    have = count_groups_by_bucket_and_rater(layout, raters)
    group, place = np.nonzero(raters >= 0)
    np.add.at(weights, (layout.buckets_of_groups[group], raters[group, place]), layout.weight[group])
    todo: Bools = np.asarray((raters < 0).all(axis=1), dtype=np.bool_)
    for cell, members in enumerate(layout.item_groups_by_cell()):
        bucket = layout.bucket[cell]
        pool, groups = layout.pools[bucket], rng.permutation(members[todo[members]])
        groups = groups[np.argsort(-layout.weight[groups], kind="stable")]
        for start in range(0, len(groups), len(pool)):
            block = groups[start : start + len(pool)]
            order = rng.permutation(pool)
            order = order[np.lexsort((weights.sum(axis=0)[order], weights[bucket, order], have[bucket, order]))]
            for j, group_id in enumerate(block):
                k = int(layout.ratings[group_id])
                raters_given = order[(j * k + np.arange(k)) % len(pool)]
                raters[group_id, :k] = raters_given
                have[bucket, raters_given] += 1
                weights[bucket, raters_given] += layout.weight[group_id]


def _by_chance(layout: AllocationInput, raters: Codes) -> Floats:
    """Return k/n for every group of a bucket of n raters, because assignment treats all raters of a bucket alike."""
    sizes = np.array([len(pool) for pool in layout.pools], dtype=np.float64)
    return np.where(raters >= 0, (layout.ratings / sizes[layout.buckets_of_groups])[:, None], 0.0)


def _given_loads(layout: AllocationInput, raters: Codes) -> Floats:
    """Return the rater's share of the cell's groups: the probability given the loads, which groups do not affect."""
    have = np.zeros((len(layout.bucket), layout.n_raters), dtype=np.int64)
    group, place = np.nonzero(raters >= 0)
    np.add.at(have, (layout.cell[group], raters[group, place]), 1)
    total = np.bincount(layout.cell, minlength=len(layout.bucket))
    share = have[layout.cell[:, None], np.maximum(raters, 0)] / total[layout.cell][:, None]
    return np.where(raters >= 0, share, 0.0)
