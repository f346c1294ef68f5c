"""Overlap: documents that several raters judge although the others have fewer, spread over pairs of raters."""

from __future__ import annotations

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.assignment import count_groups_by_bucket_and_rater, draw_documents_from_buckets
from app.design.design_choices import OverlapRules
from app.design.design_inputs import Codes


def choose_overlap_documents(
    rng: np.random.Generator, overlap: OverlapRules, bucket_of_document: Codes, n_raters_by_bucket: Codes
) -> Codes:
    """Return the indices of overlap documents, drawn equally from the buckets with enough people.

    bucket_of_document: shape (D,), −1 for documents that are not assigned. At least one document is drawn if the share
    is not 0.
    """
    able = np.flatnonzero(n_raters_by_bucket >= overlap.ratings_per_item)
    members = [np.flatnonzero(bucket_of_document == bucket) for bucket in able]
    sizes = np.array([len(documents) for documents in members], dtype=np.int64)
    dealt = int((bucket_of_document >= 0).sum())
    wanted = min(max(1, int(overlap.share * dealt + 0.5)), int(sizes.sum())) if overlap.share > 0 else 0
    if not wanted:
        return np.empty(0, dtype=np.int64)
    drawn = draw_documents_from_buckets(rng, sizes, wanted, 1)[0]
    return np.sort(np.concatenate([documents[of] for documents, of in zip(members, drawn, strict=True)]))


def assign_overlap_groups(rng: np.random.Generator, layout: AllocationInput, raters: Codes, groups: Codes) -> None:
    """Assign groups to raters, in place: of those with fewest in the bucket, the ones who share the fewest groups.

    So loads within a bucket differ by at most one group, and every pair of raters that a bucket allows shares some.
    """
    have = count_groups_by_bucket_and_rater(layout, raters)
    in_cell = np.zeros((len(layout.bucket), layout.n_raters), dtype=np.int64)
    common = np.zeros((layout.n_raters, layout.n_raters), dtype=np.int64)
    buckets_of_groups = layout.buckets_of_groups
    for group in rng.permutation(groups):
        bucket = buckets_of_groups[group]
        pool = rng.permutation(layout.pools[bucket])
        picked: list[int] = []
        for _ in range(int(layout.ratings[group])):
            free = pool[~np.isin(pool, picked)]
            shared = common[free][:, picked].sum(axis=1)
            order = np.lexsort(
                (common[free].sum(axis=1), shared, in_cell[layout.cell[group], free], have[bucket, free])
            )
            picked.append(int(free[order[0]]))
        raters[group, : len(picked)] = picked
        have[bucket, picked] += 1
        in_cell[layout.cell[group], picked] += 1
        common[np.ix_(picked, picked)] += 1
