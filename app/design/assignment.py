"""Assigning groups to raters in many studies at once; campaigns and simulated studies share this code.

Only permutations of integers are drawn, so a seed gives the same assignment on every machine.
"""

from __future__ import annotations

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.design_inputs import Bools, Codes
from app.domain.errors import Invalid, Place


def draw_pool_assignments(
    rng: np.random.Generator, *, draws: int, groups: int, raters: int, ratings: int = 1, before: Codes | None = None
) -> Codes:
    """Assign groups to the places of a pool, in `draws` independent draws.

    The groups are shuffled. For each block of n groups, the n raters get a new random order, and group j of the block
    gets those at positions jk … jk+k−1 (mod n). So every complete block gives each rater k groups.

    Parameters
    ----------
    raters : n, size of the pool. ratings : k, raters of each group, at most n.
    before : groups that each place of the pool has already, shape (n,), differing by at most one; the last block then
        begins with those who have fewest, so that nobody ends up more than one ahead.

    Returns
    -------
    Places in the pool, shape (draws, groups, ratings).

    Source: Riley et al. 2024, appendix 10.3, for any number of raters and ratings.

    Examples
    --------
    >>> dealt = draw_pool_assignments(np.random.default_rng(1), draws=1, groups=6, raters=3, ratings=2)
    >>> np.bincount(dealt.ravel())
    array([4, 4, 4])
    """
    if not 1 <= ratings <= raters:
        raise ValueError("a group cannot have more raters than its pool holds")
    blocks = max(1, -(-groups // raters))
    orders = _permute_rows(rng, draws * blocks, raters).reshape(draws, blocks, raters)
    if before is not None:
        fewest = np.argsort(before[orders[:, -1]], axis=1, kind="stable")
        orders[:, -1] = np.take_along_axis(orders[:, -1], fewest, axis=1)
    j = np.arange(groups)
    slots = ((j % raters)[:, None] * ratings + np.arange(ratings)) % raters
    of_group = (j // raters * raters)[:, None] + slots  # places in the orders of a row, (groups, ratings)
    at = np.take(of_group, _permute_rows(rng, draws, groups), axis=0)
    at += (np.arange(draws) * (blocks * raters))[:, None, None]
    return np.asarray(np.take(orders, at), dtype=np.int64)


def _permute_rows(rng: np.random.Generator, rows: int, n: int) -> Codes:
    """Return the numbers below n in a random order in each row, shape (rows, n).

    Rows are contiguous in memory. From a merely broadcast array, numpy would make one ordered by columns, from which
    indexing takes ten times as long.
    """
    numbers: Codes = np.empty((rows, n), dtype=np.int64)
    numbers[:] = np.arange(n)
    return np.asarray(rng.permuted(numbers, axis=1, out=numbers), dtype=np.int64)


def check_pool_sizes(layout: AllocationInput, bucket_names: tuple[str, ...] | None = None) -> None:
    """Check that every bucket has at least as many people as its groups need.

    Raises Invalid naming the bucket.
    """
    most = np.zeros(len(layout.pools), dtype=np.int64)
    np.maximum.at(most, layout.buckets_of_groups, layout.ratings)
    for bucket in np.flatnonzero(most > layout.n_raters_by_bucket).tolist():
        name = bucket_names[bucket] if bucket_names else str(bucket + 1)
        why = f"bucket {name} has {len(layout.pools[bucket])} raters (people), and its items need {most[bucket]} each"
        raise Invalid(why, places=(Place(("ratings_per_item",), why),))


def assign_groups_in_simulated_studies(rng: np.random.Generator, layout: AllocationInput, studies: int) -> Codes:
    """Assign every cell separately, as evenly as possible, in many independent studies.

    All groups get the same number of raters (that of the first). Cells of equal shape are assigned in one step.

    Returns
    -------
    Rater codes, shape (studies, G, K).

    Source: Riley et al. 2024, appendix 10.3. `balance: full` in simulated studies is exactly this.
    """
    check_pool_sizes(layout)
    ratings = int(layout.ratings[0]) if layout.n_groups else 1
    result: Codes = np.empty((studies, layout.n_groups, ratings), dtype=np.int64)
    if not layout.n_groups:
        return result
    order, wide = layout.item_groups_sorted_by_cell(), layout.n_raters_by_bucket
    groups = np.bincount(layout.cell, minlength=len(layout.bucket))
    begin = np.cumsum(groups) - groups
    raters, first_rater = np.concatenate(layout.pools), np.cumsum(wide) - wide
    held = np.flatnonzero(groups)
    shape = groups[held] * (wide.max(initial=0) + 1) + wide[layout.bucket[held]]
    first = [int(np.argmax(shape == one)) for one in np.flatnonzero(np.bincount(shape))]
    for at in sorted(first):  # shapes in the order in which they first occur, which determines the draws of a seed
        alike = held[shape == shape[at]]
        n_groups, n_raters = int(groups[held[at]]), int(wide[layout.bucket[held[at]]])
        places = draw_pool_assignments(
            rng, draws=studies * len(alike), groups=n_groups, raters=n_raters, ratings=ratings
        )
        dealt = places.reshape(studies, len(alike), n_groups, -1)
        dealt += first_rater[layout.bucket[alike]][:, None, None]
        result[:, order[begin[alike][:, None] + np.arange(n_groups)]] = np.take(raters, dealt)
    return result


def assign_groups_evenly(rng: np.random.Generator, layout: AllocationInput, raters: Codes) -> None:
    """Assign the groups that have no raters yet, in place: cell by cell, to those who have fewest in the bucket.

    raters: shape (G, K), −1 if nobody is assigned; groups with raters count as assigned. With one cell per bucket this
    is `assign_groups_in_simulated_studies` for one study. With several (system-balanced) the remainders of the systems
    go to different raters, so that the total stays even, too.
    """
    check_pool_sizes(layout)
    have = count_groups_by_bucket_and_rater(layout, raters)
    todo: Bools = np.asarray((raters < 0).all(axis=1), dtype=np.bool_)
    for cell, members in enumerate(layout.item_groups_by_cell()):
        bucket = layout.bucket[cell]
        pool = layout.pools[bucket]
        for k in np.unique(layout.ratings[members]):
            groups = members[todo[members] & (layout.ratings[members] == k)]
            if not len(groups):
                continue
            places = draw_pool_assignments(
                rng, draws=1, groups=len(groups), raters=len(pool), ratings=int(k), before=have[bucket, pool]
            )
            raters[groups, :k] = pool[places[0]]
            np.add.at(have[bucket], raters[groups, :k].ravel(), 1)


def count_groups_by_bucket_and_rater(layout: AllocationInput, raters: Codes) -> Codes:
    """Count the groups of each rater in each bucket, shape (buckets, R), from raters of shape (G, K), −1 for nobody."""
    have = np.zeros((len(layout.pools), layout.n_raters), dtype=np.int64)
    group, place = np.nonzero(raters >= 0)
    np.add.at(have, (layout.buckets_of_groups[group], raters[group, place]), 1)
    return have


def compute_rater_loads(layout: AllocationInput, raters: Codes) -> Codes:
    """Return the weight of each rater, shape (studies, R), from raters of shape (studies, G, K), −1 for nobody."""
    studies = len(raters)
    result = np.zeros((studies, layout.n_raters + 1), dtype=np.int64)
    weight = np.broadcast_to(layout.weight[None, :, None], raters.shape)
    np.add.at(result, (np.arange(studies)[:, None, None], raters), weight)
    return result[:, :-1]


def draw_documents_from_buckets(
    rng: np.random.Generator, sizes: Codes, total: int, draws: int
) -> list[tuple[Codes, ...]]:
    """Draw `total` documents, equally from the buckets, in `draws` independent draws.

    A remainder goes, one document each, to randomly ordered buckets that still have documents.

    Parameters
    ----------
    sizes : documents of each bucket, shape (B,).

    Returns
    -------
    For each draw, for each bucket, which of its documents (from 0), ascending.

    Raises
    ------
    Invalid
        More documents are asked for than there are.

    Source: Riley et al. 2024, §6.1.4.
    """
    available = int(sizes.sum())
    if not 0 < total <= available:
        raise Invalid(f"{total} documents are asked for; the buckets hold {available}")
    result = []
    for _ in range(draws):
        quota = np.zeros_like(sizes)
        left = total
        while left:
            open_buckets = np.flatnonzero(quota < sizes)
            share = max(1, min(left // len(open_buckets), int((sizes - quota)[open_buckets].min())))
            chosen = open_buckets if left >= len(open_buckets) else rng.permutation(open_buckets)[:left]
            quota[chosen] += share
            left -= share * len(chosen)
        result.append(
            tuple(np.sort(rng.permutation(int(size))[: int(q)]) for size, q in zip(sizes, quota, strict=True))
        )
    return result
