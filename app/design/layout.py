"""What the allocator sees: groups in dealing cells, cells in buckets, and who may rate what, all as integer codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.design.design import Grouping
from app.design.values import Bools, Codes


@dataclass(frozen=True, slots=True, eq=False)
class AllocationInput:
    """Groups to be dealt to raters.

    cell: dealing cell of each group, shape (G,); within a cell the groups are dealt as one pack.
    bucket: bucket of each cell, shape (C,). pools: rater codes of each bucket, ascending. n_raters: of the campaign.
    weight: what each group counts, shape (G,). ratings: how many raters each group gets, shape (G,).
    """

    cell: Codes
    bucket: Codes
    pools: tuple[Codes, ...]
    n_raters: int
    weight: Codes
    ratings: Codes

    @property
    def bucket_of_group(self) -> Codes:
        """Bucket of each group, shape (G,)."""
        return self.bucket[self.cell]

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.cell)

    @property
    def pool_sizes(self) -> Codes:
        """Raters of each bucket, shape (B,)."""
        return np.fromiter(map(len, self.pools), dtype=np.int64, count=len(self.pools))

    def groups_sorted_by_cell(self) -> Codes:
        """All groups, cell by cell, ascending within each."""
        few = len(self.bucket) < np.iinfo(np.int16).max  # numpy sorts short integers by their digits
        return np.argsort(self.cell.astype(np.int16) if few else self.cell, kind="stable")

    def groups_of_each_cell(self) -> list[Codes]:
        """Groups of each cell, ascending."""
        order = self.groups_sorted_by_cell()
        return np.split(order, np.searchsorted(self.cell[order], np.arange(1, len(self.bucket))))


@dataclass(frozen=True, slots=True, eq=False)
class OutputAllocationInput:
    """A layout of the outputs of some systems on some documents. group: of each (document, system), −1 where none."""

    layout: AllocationInput
    group: Codes

    def raters_of_outputs(self, dealt: Codes) -> Codes:
        """Raters of each output: from shape (studies, G, K) to (studies, D, S, K), −1 where there is no output."""
        raters = np.take(dealt, np.maximum(self.group, 0), axis=1)
        missing = self.group < 0
        if missing.any():
            raters[:, missing, :] = -1
        return raters


def make_output_allocation_input(
    grouping: Grouping,
    bucket_of_document: Codes,
    n_systems: int,
    pools: Sequence[Codes],
    n_raters: int,
    *,
    ratings: int = 1,
    present: Bools | None = None,
) -> OutputAllocationInput:
    """Lay out the outputs of all systems on documents for dealing, each output counting one.

    Parameters
    ----------
    grouping : `psxs` makes one group of a document; `system_balanced` deals each system's outputs apart; `none` deals
        all outputs of a bucket as one pack (Riley et al. 2024, §6.1.1 and appendix 10.3).
    bucket_of_document : shape (D,). pools : rater codes of each bucket.
    present : which outputs there are, shape (D, S); None for all.

    Examples
    --------
    >>> items = make_output_allocation_input("psxs", np.array([0, 0, 1]), 2, [np.array([0, 1]), np.array([1, 2])], 3)
    >>> items.layout.weight, items.group[:, 0]
    (array([2, 2, 2]), array([0, 1, 2]))
    """
    n_documents = len(bucket_of_document)
    there: Bools = np.ones((n_documents, n_systems), dtype=np.bool_) if present is None else present
    group: Codes = np.full((n_documents, n_systems), -1, dtype=np.int64)
    if grouping == "psxs":
        held = np.flatnonzero(there.any(axis=1))
        group[held] = np.arange(len(held))[:, None]
        group[~there] = -1
        cell, weight, cell_bucket = bucket_of_document[held], there[held].sum(axis=1), np.arange(len(pools))
    else:
        document, system = np.nonzero(there)
        group[document, system] = np.arange(len(document))
        weight = np.ones(len(document), dtype=np.int64)
        cell, cell_bucket = bucket_of_document[document], np.arange(len(pools))
        if grouping == "system_balanced":
            cell, cell_bucket = cell * n_systems + system, np.repeat(np.arange(len(pools)), n_systems)
    counts = np.full(len(cell), ratings, dtype=np.int64)
    layout = AllocationInput(
        cell.astype(np.int64), cell_bucket.astype(np.int64), tuple(pools), n_raters, weight.astype(np.int64), counts
    )
    return OutputAllocationInput(layout, group)
