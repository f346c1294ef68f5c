"""The allocator: even deals, entropies, and remainders evened out as far as the buckets allow."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.design.allocation_input import AllocationInput, make_output_allocation_input
from app.design.assignment import (
    assign_groups_evenly,
    assign_groups_in_simulated_studies,
    compute_rater_loads,
    draw_documents_from_buckets,
    draw_pool_assignments,
)
from app.design.assignment_by_capacity import assign_groups_by_capacity
from app.design.entropy import (
    TOLERANCE,
    assign_groups_for_target_entropy,
    estimate_reachable_entropies,
    normalized_entropy,
)
from app.design.load_rebalancing import even_out_loads
from app.design.overlap import assign_overlap_groups
from app.domain.errors import Invalid

GROUPINGS = ("psxs", "system_balanced", "none")


@given(st.integers(1, 30), st.integers(1, 6), st.data())
def test_every_group_gets_k_places_and_loads_differ_by_at_most_one(
    groups: int, raters: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, raters))
    dealt = draw_pool_assignments(
        np.random.default_rng(data.draw(st.integers(0, 99))), draws=3, groups=groups, raters=raters, ratings=k
    )
    assert dealt.shape == (3, groups, k)
    for row in dealt:
        assert all(len(set(places)) == k for places in row.tolist())
        assert np.ptp(np.bincount(row.ravel(), minlength=raters)) <= 1


def test_a_deal_treats_all_raters_alike() -> None:
    dealt = draw_pool_assignments(np.random.default_rng(7), draws=30_000, groups=5, raters=3, ratings=1)[:, :, 0]
    shares = np.stack([np.bincount(column, minlength=3) for column in dealt.T]) / len(dealt)
    assert np.abs(shares - 1 / 3).max() < 4 * np.sqrt(2 / 9 / len(dealt))


@given(st.integers(0, 500), st.lists(st.integers(0, 1), min_size=2, max_size=5), st.integers(1, 14))
def test_who_had_more_before_is_not_more_than_one_ahead_after(seed: int, before: list[int], groups: int) -> None:
    had = np.array(before)
    for k in range(1, len(before) + 1):
        dealt = draw_pool_assignments(
            np.random.default_rng(seed), draws=1, groups=groups, raters=len(had), ratings=k, before=had
        )
        assert np.ptp(had + np.bincount(dealt.ravel(), minlength=len(had))) <= 1


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_study_rates_each_output_once_by_a_rater_of_its_bucket(grouping: str) -> None:
    bucket = np.repeat([0, 1, 2], [7, 5, 9])
    pools = [np.array([0, 1, 2]), np.array([2, 3]), np.array([1, 3, 4])]
    items = make_output_allocation_input(grouping, bucket, 4, pools, 5)
    raters = items.map_group_raters_to_outputs(
        assign_groups_in_simulated_studies(np.random.default_rng(3), items.layout, 20)
    )
    assert raters.shape == (20, 21, 4, 1)
    for document, of in enumerate(bucket):
        assert set(raters[:, document].ravel().tolist()) <= set(pools[of].tolist())
    if grouping == "psxs":
        assert (raters == raters[:, :, :1]).all()
    if grouping == "system_balanced":
        for study, system, of in product(range(20), range(4), range(3)):
            assert np.ptp([(raters[study, bucket == of, system] == rater).sum() for rater in pools[of]]) <= 1
    if grouping == "none":
        assert all(np.ptp(np.bincount(raters[s, bucket == 1].ravel(), minlength=4)[2:]) <= 1 for s in range(20))


def test_outputs_that_there_are_not_get_no_rater() -> None:
    present = np.array([[True, False], [True, True]])
    items = make_output_allocation_input("none", np.array([0, 0]), 2, [np.array([0, 1])], 2, present=present)
    raters = items.map_group_raters_to_outputs(
        assign_groups_in_simulated_studies(np.random.default_rng(0), items.layout, 5)
    )
    assert (raters[:, 0, 1] == -1).all()
    assert (raters[:, present] >= 0).all()


@pytest.mark.parametrize(("people", "dealt"), [(2, False), (3, True)])
def test_a_campaign_needs_as_many_people_in_a_bucket_as_an_output_has_ratings(people: int, dealt: bool) -> None:
    layout = make_output_allocation_input(
        "psxs", np.zeros(4, dtype=np.int64), 2, [np.arange(people)], people, ratings=3
    ).layout
    raters = np.full((4, 3), -1)
    if dealt:
        assign_groups_evenly(np.random.default_rng(1), layout, raters)
        assert [sorted(row) for row in raters.tolist()] == [[0, 1, 2]] * 4
    else:
        with pytest.raises(Invalid, match="bucket 1 has 2 raters"):
            assign_groups_evenly(np.random.default_rng(1), layout, raters)


def test_a_campaign_deals_by_the_code_that_deals_studies() -> None:
    items = make_output_allocation_input("psxs", np.repeat([0, 1], [6, 3]), 3, [np.arange(3), np.arange(3)], 3)
    dealt = np.full((9, 1), -1, dtype=np.int64)
    assign_groups_evenly(np.random.default_rng(5), items.layout, dealt)
    assert np.ptp(compute_rater_loads(items.layout, dealt[None])) == 0
    assert (
        np.ptp(
            compute_rater_loads(
                items.layout, assign_groups_in_simulated_studies(np.random.default_rng(5), items.layout, 1)
            )
        )
        == 0
    )


@pytest.mark.parametrize(
    ("shares", "raters", "entropy"),
    [((3, 3, 1), 7, 0.516079), ((78, 78, 25), 7, 0.513357), ((1, 1), 6, 0.386853)],
)
def test_normalized_entropy_is_that_of_fixture_f6(shares: tuple[int, ...], raters: int, entropy: float) -> None:
    load = np.zeros((1, raters), dtype=np.int64)
    load[0, : len(shares)] = shares
    assert normalized_entropy(load)[0] == pytest.approx(entropy, abs=5e-7)


def test_two_buckets_of_three_reach_the_published_least_entropy() -> None:
    """Riley et al. 2024, §6.1.2: 0.38 for en-zh (2 buckets of 90–91 documents, 6 raters)."""
    items = make_output_allocation_input("psxs", np.repeat([0, 1], [90, 91]), 13, [np.arange(3), np.arange(3, 6)], 6)
    low, high = estimate_reachable_entropies(np.random.default_rng(1), items.layout)
    assert low == pytest.approx(0.386844, abs=1e-6)
    assert high > 0.9999


def exact_range(layout: AllocationInput) -> tuple[float, float]:
    sets = [
        list(combinations(layout.pools[b].tolist(), k))
        for b, k in zip(layout.buckets_of_groups, layout.ratings, strict=True)
    ]
    found = []
    for choice in product(*sets):
        load = np.zeros(layout.n_raters, dtype=np.int64)
        for weight, chosen in zip(layout.weight, choice, strict=True):
            load[list(chosen)] += weight
        found.append(float(normalized_entropy(load)))
    return min(found), max(found)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 2))
def test_the_reachable_range_found_is_inside_the_true_one_and_near_it(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    pools = [np.sort(rng.permutation(4)[: int(rng.integers(2, 4))]) for _ in range(2)]
    layout = make_output_allocation_input("psxs", rng.integers(0, 2, size=6), 2, pools, 4, ratings=k).layout
    low, high = estimate_reachable_entropies(rng, layout)
    true_low, true_high = exact_range(layout)
    assert true_low - 1e-9 <= low <= true_low + 0.1
    assert true_high - 0.1 <= high <= true_high + 1e-9


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(GROUPINGS), st.sampled_from([0.6, 0.7, 0.85]), st.integers(1, 2), st.integers(0, 99))
def test_an_entropy_target_is_met_within_its_tolerance(grouping: str, target: float, k: int, seed: int) -> None:
    pools = [np.sort(np.array([0, 1, 3]) + n) % 7 for n in range(7)]
    layout = make_output_allocation_input(
        grouping, np.arange(70) % 7, 3, [np.sort(pool) for pool in pools], 7, ratings=k
    ).layout
    if k == 2:
        target = max(target, 0.85)
    dealt = assign_groups_for_target_entropy(np.random.default_rng(seed), layout, target, studies=5)
    assert (np.abs(normalized_entropy(compute_rater_loads(layout, dealt)) - target) <= TOLERANCE + 1e-9).all()
    assert all(len(set(group)) == k for group in dealt.reshape(-1, k).tolist())


def test_an_entropy_out_of_reach_is_refused_with_the_range() -> None:
    layout = make_output_allocation_input("psxs", np.zeros(12, dtype=np.int64), 2, [np.arange(3)], 6).layout
    with pytest.raises(Invalid, match=r"found reachable with these buckets: 0\.000 to 0\.613"):
        assign_groups_for_target_entropy(np.random.default_rng(1), layout, 0.9)


def test_the_range_of_a_refusal_denies_nothing_that_can_be_dealt() -> None:
    """Five documents in five buckets: one even deal gives several of them to one rater, by chance."""
    pools = [np.array([0, 1, n + 2]) for n in range(5)]
    layout = make_output_allocation_input("psxs", np.arange(5), 2, pools, 10).layout
    low, high = exact_range(layout)
    for seed in range(20):
        with pytest.raises(Invalid, match=rf"found reachable with these buckets: {low:.3f} to {high:.3f}"):
            assign_groups_for_target_entropy(np.random.default_rng(seed), layout, 0.85)


def least_spread(layout: AllocationInput) -> tuple[int, int]:
    """By trying every way to hand out the extra groups: the least largest load, and the least difference."""
    base = np.zeros(layout.n_raters, dtype=np.int64)
    choices = []
    for bucket, pool in enumerate(layout.pools):
        slots = int(layout.ratings[layout.buckets_of_groups == bucket].sum())
        base[pool] += slots // len(pool)
        choices.append(list(combinations(pool.tolist(), slots % len(pool))))
    used = np.unique(np.concatenate(layout.pools))
    found = []
    for chosen in product(*choices):
        load = base.copy()
        for some in chosen:
            load[list(some)] += 1
        found.append((int(load.max()), int(np.ptp(load[used]))))
    return min(largest for largest, _ in found), min(spread for _, spread in found)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_evening_out_reaches_what_brute_force_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_raters, n_buckets = int(rng.integers(3, 6)), int(rng.integers(2, 6))
    pools = [np.sort(rng.permutation(n_raters)[: int(rng.integers(2, 4))]) for _ in range(n_buckets)]
    bucket = np.repeat(np.arange(n_buckets), rng.integers(2, 6, size=n_buckets))
    layout = make_output_allocation_input("psxs", bucket, 3, pools, n_raters, ratings=int(rng.integers(1, 3))).layout
    dealt = assign_groups_in_simulated_studies(rng, layout, 1)[0]
    evened = even_out_loads(rng, layout, dealt)
    held = Counter(dealt.ravel().tolist())
    used = np.unique(np.concatenate(pools)).tolist()
    largest, spread = least_spread(layout)
    assert max(held.values()) == evened.largest == evened.bound == largest
    assert evened.largest - evened.smallest == max(held[r] for r in used) - min(held[r] for r in used) == spread
    assert all(len(set(group)) == len(group) for group in dealt.tolist())
    for n, pool in enumerate(pools):
        mine = dealt[bucket == n].ravel()
        assert set(mine.tolist()) <= set(pool.tolist())
        assert np.ptp([(mine == rater).sum() for rater in pool]) <= 1


def test_documents_are_drawn_equally_and_what_is_left_over_one_by_one() -> None:
    sizes = np.array([26, 26, 3, 25])
    for drawn in draw_documents_from_buckets(np.random.default_rng(2), sizes, 30, 50):
        taken = [len(documents) for documents in drawn]
        assert taken[2] == 3
        assert sum(taken) == 30
        assert taken[0] == taken[1] == taken[3] == 9
    for drawn in draw_documents_from_buckets(np.random.default_rng(2), sizes, 10, 50):
        assert sorted(len(documents) for documents in drawn) == [2, 2, 3, 3]


def test_more_documents_than_there_are_is_refused() -> None:
    with pytest.raises(Invalid, match="11 documents are asked for; the buckets hold 10"):
        draw_documents_from_buckets(np.random.default_rng(2), np.array([5, 5]), 11, 1)


@pytest.mark.parametrize("seed", range(3))
def test_several_people_share_each_systems_outputs_out_evenly_too(seed: int) -> None:
    """36 outputs, 12 of each of three systems, two ratings each by four raters: 18 for each, some 6 of every system."""
    layout = make_output_allocation_input(
        "system_balanced", np.zeros(12, dtype=np.int64), 3, [np.arange(4)], 4, ratings=2
    ).layout
    raters = np.full((36, 2), -1)
    assign_overlap_groups(np.random.default_rng(seed), layout, raters, np.arange(36))
    of_system = np.zeros((3, 4), dtype=np.int64)
    np.add.at(of_system, (layout.cell[:, None], raters), 1)
    assert np.ptp(of_system.sum(axis=0)) <= 1
    assert np.ptp(of_system, axis=1).max() <= 2


@pytest.mark.parametrize("capacity", [(10, 30), (30, 10), (12, 36)])
def test_who_has_room_for_three_times_as_much_gets_three_times_as_many(capacity: tuple[int, int]) -> None:
    groups = np.zeros(8, dtype=np.int64)
    every = AllocationInput(groups, np.array([0]), (np.array([0, 1]),), 2, groups + 1, groups + 1)
    for seed in range(5):
        dealt = assign_groups_by_capacity(
            np.random.default_rng(seed), every, np.array(capacity), np.ones((8, 2), np.int64)
        )
        assert sorted(np.bincount(dealt.ravel(), minlength=2)) == [2, 6]
        assert np.bincount(dealt.ravel()).argmax() == np.argmax(capacity)
