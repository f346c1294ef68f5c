"""From a test set to what is assigned: stretches of documents, their distinct outputs, and groups of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.design_choices import ControlRules, Design
from app.design.design_inputs import Codes, DocumentToPlan, SegmentRange, TestSet, Unit, WorkSize
from app.design.duplicates import group_systems_by_text
from app.domain.errors import Invalid


@dataclass(frozen=True, slots=True)
class DistinctOutput:
    """A text to judge on one stretch; every system of `systems` produced it, and the first is the one shown."""

    stretch: int
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupedOutputs:
    """Everything that a plan assigns. groups: entries of each group, which go to the same raters."""

    stretches: tuple[SegmentRange, ...]
    entries: tuple[DistinctOutput, ...]
    groups: tuple[tuple[int, ...], ...]

    def work_size_of_group(self, group: int) -> WorkSize:
        """Return how much there is to judge in a group."""
        members = self.groups[group]
        return self.stretches[self.entries[members[0]].stretch].work_size.multiplied_by(len(members))

    def segment_range_index_of_group(self, group: int) -> int:
        """Return the stretch of a group."""
        return self.entries[self.groups[group][0]].stretch

    def group_sizes(self, unit: Unit) -> Codes:
        """Return the sizes of all groups in one unit, shape (G,)."""
        return np.array(
            [self.work_size_of_group(group).count_in(unit) for group in range(len(self.groups))], dtype=np.int64
        )


def split_documents_into_segment_ranges(
    design: Design, documents: Sequence[DocumentToPlan], chosen: Sequence[int]
) -> list[SegmentRange]:
    """Split documents (given by index) into what an item shows: whole documents, stretches, or single segments."""
    limit = _longest_stretch(design)
    result = []
    for index in chosen:
        words = documents[index].words
        pieces = len(words) if design.has_single_segment_items else -(-len(words) // limit) if limit else 1
        for n in range(pieces):  # as even as possible
            first, last = len(words) * n // pieces, len(words) * (n + 1) // pieces
            result.append(SegmentRange(index, first + 1, last, sum(words[first:last])))
    return result


def _longest_stretch(design: Design) -> int | None:
    """Return the most segments of a stretch; a single item and its control items must fit into one task."""
    task = design.task
    if task.split_documents == "never" or task.max_segments is None:
        return None
    return max(1, task.max_segments // (1 + sum(count_needed_control_items(design.controls, 1).values())))


def count_needed_control_items(controls: ControlRules, regular: int) -> dict[str, int]:
    """Return how many control items of each kind a task needs besides the given number of regular items.

    This is the least number with which the share of each kind, of all items of the task, reaches its rate.

    Examples
    --------
    >>> count_needed_control_items(ControlRules(bad_reference=0.1, repeat=0.1, reference=0.1), 70)
    {'degraded': 10, 'repeat': 10, 'reference': 10}
    """
    return dict(_counts(controls, regular))


@lru_cache(maxsize=4096)
def _counts(controls: ControlRules, regular: int) -> tuple[tuple[str, int], ...]:
    rates = {"degraded": controls.bad_reference, "repeat": controls.repeat, "reference": controls.reference}
    needed = {kind: 0 for kind, rate in rates.items() if rate > 0}
    while regular:
        total = regular + sum(needed.values())
        wider = {kind: max(n, ceil(round(rates[kind] * total, 9))) for kind, n in needed.items()}
        if wider == needed:
            break
        needed = wider
    return tuple(needed.items())


def count_least_control_items_for_total(controls: ControlRules, total: int) -> dict[str, int]:
    """Return the least number of control items of each kind in a task with `total` items, including controls."""
    rates = {"degraded": controls.bad_reference, "repeat": controls.repeat, "reference": controls.reference}
    return {kind: ceil(round(rate * total, 9)) for kind, rate in rates.items()}


def count_needed_control_screens(controls: ControlRules, regular: int, widths: Sequence[int]) -> int:
    """Return how many of these screens, repeated in order, provide the control items of a task.

    Every column of such a screen is a control item: columns beyond the rates are repeats, and a screen contains at most
    one reference. The loop ends if the rate of references times the columns is at most one half, as designs guarantee.

    Parameters
    ----------
    regular : items of the task that are not controls. widths : columns of each screen that can be shown again.

    Examples
    --------
    >>> count_needed_control_screens(ControlRules(bad_reference=0.1, repeat=0.1), 12, [3, 3, 3, 3])
    2
    >>> count_needed_control_screens(ControlRules(reference=0.1), 12, [3, 3, 3, 3])
    2
    """
    count, total = 0, regular
    while True:
        needed = count_least_control_items_for_total(controls, total)
        if needed["reference"] <= count and sum(needed.values()) <= total - regular:
            return count
        total += widths[count % len(widths)]
        count += 1


def group_outputs(
    design: Design, test_set: TestSet, systems: Sequence[str], stretches: Sequence[SegmentRange]
) -> GroupedOutputs:
    """Find the distinct outputs of each stretch, and put them into groups.

    Stretches without any output are dropped.

    Raises
    ------
    Invalid
        There is nothing to judge.
    """
    kept: list[SegmentRange] = []
    entries: list[DistinctOutput] = []
    groups: list[tuple[int, ...]] = []
    for stretch in stretches:
        key = test_set.documents[stretch.document].key
        marks = {
            name: test_set.output_fingerprints_in_range(key, name, stretch.first, stretch.last) for name in systems
        }
        outputs = [
            DistinctOutput(len(kept), names)
            for names in group_systems_by_text(marks, share_duplicates=design.share_duplicates)
        ]
        if not outputs:
            continue
        kept.append(stretch)
        numbers = range(len(entries), len(entries) + len(outputs))
        together = design.grouping == "psxs" and design.structure != "latin_square"
        groups.extend([tuple(numbers)] if together else [(n,) for n in numbers])
        entries.extend(outputs)
    if not groups:
        raise Invalid("there is nothing to judge: no system has an output for a whole document of the choice")
    return GroupedOutputs(tuple(kept), tuple(entries), tuple(groups))


def make_allocation_input(
    design: Design,
    grouped: GroupedOutputs,
    bucket_of_document: Codes,
    pools: Sequence[Codes],
    n_raters: int,
    ratings: Codes,
) -> AllocationInput:
    """Make the input for assigning the groups of a campaign.

    bucket_of_document: by index of the test set. ratings: of each group, shape (G,).
    """
    entry = [members[0] for members in grouped.groups]
    bucket = bucket_of_document[[grouped.stretches[grouped.entries[n].stretch].document for n in entry]]
    cell, cell_bucket = bucket, np.arange(len(pools))
    if design.grouping == "system_balanced":
        names = sorted({grouped.entries[n].systems[0] for n in entry})
        code = {name: n for n, name in enumerate(names)}
        cell = bucket * len(names) + np.array([code[grouped.entries[n].systems[0]] for n in entry])
        cell_bucket = np.repeat(np.arange(len(pools)), len(names))
    return AllocationInput(cell, cell_bucket, tuple(pools), n_raters, grouped.group_sizes(design.unit), ratings)
