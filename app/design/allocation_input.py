"""The input of assignment: groups in cells, cells in buckets, and who may rate what, all as integer codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.design.design_choices import Grouping
from app.design.design_inputs import Bools, Codes


@dataclass(frozen=True, slots=True, eq=False)
class AllocationInput:
    """Groups to be assigned to raters.

    cell: the cell of each group, shape (G,); within a cell the groups are assigned together. bucket: bucket of each
    cell, shape (C,). pools: rater codes of each bucket, ascending. n_raters: in the campaign. weight: what each group
    counts, shape (G,). ratings: how many raters each group gets, shape (G,).
    """

    cell: Codes
    bucket: Codes
    pools: tuple[Codes, ...]
    n_raters: int
    weight: Codes
    ratings: Codes

    @property
    def buckets_of_groups(self) -> Codes:
        """The bucket of each group, shape (G,)."""
        return self.bucket[self.cell]

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.cell)

    @property
    def n_raters_by_bucket(self) -> Codes:
        """The number of raters of each bucket, shape (B,)."""
        return np.fromiter(map(len, self.pools), dtype=np.int64, count=len(self.pools))

    def item_groups_sorted_by_cell(self) -> Codes:
        """All groups, cell by cell, ascending within each."""
        few = len(self.bucket) < np.iinfo(np.int16).max  # numpy uses radix sort for short integers
        return np.argsort(self.cell.astype(np.int16) if few else self.cell, kind="stable")

    def item_groups_by_cell(self) -> list[Codes]:
        """The groups of each cell, ascending."""
        order = self.item_groups_sorted_by_cell()
        return np.split(order, np.searchsorted(self.cell[order], np.arange(1, len(self.bucket))))


@dataclass(frozen=True, slots=True, eq=False)
class OutputAllocationInput:
    """The input for outputs of some systems on some documents. group: of each (document, system), −1 if none."""

    layout: AllocationInput
    group: Codes

    def map_group_raters_to_outputs(self, group_raters: Codes) -> Codes:
        """Convert raters of groups, shape (studies, G, K), to those of outputs, (studies, D, S, K), −1 if none."""
        raters = np.take(group_raters, np.maximum(self.group, 0), axis=1)
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
    """Make the input for assigning the outputs of all systems on documents, each output counting as one.

    Parameters
    ----------
    grouping : `psxs` makes one group of a document; `system_balanced` assigns each system's outputs separately; `none`
        assigns all outputs of a bucket together (Riley et al. 2024, §6.1.1 and appendix 10.3).
    bucket_of_document : shape (D,). pools : rater codes of each bucket.
    present : which outputs exist, shape (D, S); None for all.

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
