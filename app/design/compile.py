"""Compiles a design into tasks: what each rater judges. Pure; the same seed gives the same plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from app.design.allocation_input import AllocationInput
from app.design.assemble import assemble_tasks
from app.design.assignment import check_pool_sizes
from app.design.balanced_assignment import GroupAllocation, assign_raters_to_groups
from app.design.buckets import RaterDocumentBuckets, keep_one_account_per_person, make_rater_document_buckets
from app.design.calibration import draw_common_documents, sample_common_calibration_items
from app.design.design_choices import Design
from app.design.design_inputs import Codes, Floats, Rater, System, TestSet, WorkSize
from app.design.grouping import (
    GroupedOutputs,
    group_outputs,
    make_allocation_input,
    split_documents_into_segment_ranges,
)
from app.design.item_order import ItemToPlace
from app.design.latin_square import assign_outputs_by_latin_squares, describe_outputs_without_rater
from app.design.overlap import choose_overlap_documents
from app.design.plan import Bucket, Plan, PlanItem, PlannedDocument, Task, UnmetRequest, hash_json
from app.design.sampling import choose_documents, choose_systems
from app.design.task_maker import TaskInputs
from app.domain.errors import Invalid, Place
from app.domain.plural_forms import pluralize


def compile_plan(
    design: Design,
    test_set: TestSet,
    systems: Sequence[System],
    raters: Sequence[Rater],
    seed: int | None = None,
) -> Plan:
    """Compile a design into a plan.

    Parameters
    ----------
    raters : all who may be given work, in any order. seed : overrides the design's own; one of them is needed.

    Returns
    -------
    The plan. `unmet` contains the requests of the design that it could not meet, with reasons.

    Raises
    ------
    Invalid
        The design cannot be met; the message says why, and what is possible.

    Examples
    --------
    >>> from app.design.design_inputs import DocumentToPlan
    >>> documents = tuple(DocumentToPlan(f"d{n}", (10, 12)) for n in range(6))
    >>> outputs = {(d.key, s): (f"{d.key}{s}1", f"{d.key}{s}2") for d in documents for s in "AB"}
    >>> raters = [Rater("r1"), Rater("r2"), Rater("r3")]
    >>> plan = compile_plan(Design(), TestSet(documents, outputs), [System("A"), System("B")], raters, seed=1)
    >>> [(task.rater, task.size.items) for task in plan.tasks]
    [('r1', 4), ('r2', 4), ('r3', 4)]
    """
    seed = design.seed if seed is None else seed
    if seed is None:
        raise Invalid("a plan needs a seed", places=(Place(("seed",), "is needed"),))
    design = replace(design, seed=seed)  # whether drawn or given, the same seed gives the same plan
    draw = SeedStreams(seed)
    able, idle = keep_one_account_per_person(raters)
    if not able:
        raise Invalid("there are no raters")
    names = choose_systems(design, systems)
    chosen, inclusion = choose_documents(draw.rng("documents"), design, test_set.documents)
    common = _common(draw, design, test_set, names, chosen)
    keys = [document.key for document in test_set.documents]
    buckets = make_rater_document_buckets(draw.rng("buckets"), design, able, keys, chosen[~np.isin(chosen, common)])
    grouped, dealt, layout = _allocate_groups(draw, design, test_set, names, able, buckets)
    shared = _shared_packs(draw, design, test_set, names, common)
    work = TaskInputs(design, test_set, names, able, grouped, layout, dealt, shared)
    assembled = assemble_tasks(draw.rng, work)
    documents = _documents(keys, chosen, common, buckets, inclusion)
    left_out = [key for key in (keys[n] for n in chosen) if key not in {document.key for document in documents}]
    notes = [f"{rater.key} is another account of a person who has work, and gets none" for rater in idle]
    return Plan(
        design=design,
        seed=seed,
        systems=names,
        raters=tuple(rater.key for rater in able),
        buckets=_buckets(buckets, able, keys),
        documents=documents,
        groups=assembled.groups,
        tasks=assembled.tasks,
        unmet=(
            *_unmet_documents(left_out),
            *_unmet_outputs(test_set, grouped, buckets),
            *_unmet_overlap(design, layout),
            *_unmet_squares(design, dealt, names),
            *_unmet_capacity(able, assembled.tasks),
            *assembled.unmet,
        ),
        notes=tuple(notes),
        evened=dealt.evened,
        common=_items(shared),
        inputs=hash_design_inputs(test_set, names, raters),
    )


@dataclass(frozen=True, slots=True)
class SeedStreams:
    """Generators for each purpose, all from one seed, so that a choice about one leaves the others unchanged."""

    seed: int

    def rng(self, purpose: str, n: int = 0) -> np.random.Generator:
        """Return the generator for a purpose (and number)."""
        return np.random.default_rng([self.seed, n, *purpose.encode()])


def hash_design_inputs(test_set: TestSet, systems: Sequence[str], raters: Sequence[Rater]) -> str:
    """Return the SHA-256, in hex, of the inputs of a design; the order of outputs and raters does not matter."""
    outputs = sorted((*key, marks) for key, marks in test_set.outputs.items() if key[1] in set(systems))
    people = [asdict(rater) for rater in sorted(raters, key=lambda one: one.key)]
    documents = [asdict(document) for document in (*test_set.documents, *test_set.calibration)]
    for document in documents:  # the level of a pair is fixed by its set
        del document["stratum"]
    return hash_json([documents, outputs, list(systems), people])


def _items(shared: Sequence[Sequence[ItemToPlace]]) -> tuple[PlanItem, ...]:
    """Return what everyone judges as a separate list of items."""
    pieces = [piece for pack in shared for piece in pack]
    return tuple(
        PlanItem(n, n, 1, piece.document, piece.first, piece.last, piece.role, piece.system, piece.systems)
        for n, piece in enumerate(pieces, start=1)
    )


def _common(draw: SeedStreams, design: Design, test_set: TestSet, names: Sequence[str], chosen: Codes) -> Codes:
    """Return the indices of the documents that everyone judges."""
    wanted = design.calibration.common_items if design.calibration else None
    if not wanted:
        return np.empty(0, dtype=np.int64)
    grouped = group_outputs(
        design, test_set, names, split_documents_into_segment_ranges(design, test_set.documents, chosen.tolist())
    )
    items = np.zeros(len(test_set.documents), dtype=np.int64)
    for entry in grouped.entries:
        items[grouped.stretches[entry.stretch].document] += 1
    return chosen[draw_common_documents(draw.rng("common"), wanted, items[chosen])]


def _shared_packs(
    draw: SeedStreams, design: Design, test_set: TestSet, names: Sequence[str], common: Codes
) -> tuple[tuple[ItemToPlace, ...], ...]:
    """Return what every rater judges, in packs that stay together."""
    if design.calibration is None:
        return ()
    pieces = sample_common_calibration_items(draw.rng("calibration"), design.calibration, test_set.calibration)
    packs: list[tuple[ItemToPlace, ...]] = [(piece,) for piece in pieces]
    if len(common):
        grouped = group_outputs(
            design, test_set, names, split_documents_into_segment_ranges(design, test_set.documents, common.tolist())
        )
        for members in grouped.groups:
            stretch = grouped.stretches[grouped.entries[members[0]].stretch]
            key = test_set.documents[stretch.document].key
            credited = [grouped.entries[n].systems for n in members]
            packs.append(
                tuple(
                    ItemToPlace(key, stretch.first, stretch.last, stretch.words, "calibration", who[0], who)
                    for who in credited
                )
            )
    return tuple(packs)


def _allocate_groups(
    draw: SeedStreams,
    design: Design,
    test_set: TestSet,
    names: Sequence[str],
    raters: Sequence[Rater],
    buckets: RaterDocumentBuckets,
) -> tuple[GroupedOutputs, GroupAllocation, AllocationInput]:
    dealt_documents = np.flatnonzero(buckets.of_document >= 0)
    grouped = group_outputs(
        design,
        test_set,
        names,
        split_documents_into_segment_ranges(design, test_set.documents, dealt_documents.tolist()),
    )
    ratings = _ratings(draw, design, grouped, buckets)
    layout = make_allocation_input(design, grouped, buckets.of_document, buckets.pools, len(raters), ratings)
    if design.structure == "latin_square":
        return grouped, _latin(draw, grouped, layout, names, buckets), layout
    return grouped, assign_raters_to_groups(draw.rng("deal"), design, grouped, layout, raters, buckets.names), layout


def _ratings(draw: SeedStreams, design: Design, grouped: GroupedOutputs, buckets: RaterDocumentBuckets) -> Codes:
    """Return the number of raters for each group, shape (G,)."""
    ratings = np.full(len(grouped.groups), design.ratings_per_item, dtype=np.int64)
    if design.overlap:
        sizes = np.array([len(pool) for pool in buckets.pools])
        several = choose_overlap_documents(draw.rng("overlap"), design.overlap, buckets.of_document, sizes)
        document = np.array(
            [grouped.stretches[grouped.segment_range_index_of_group(g)].document for g in range(len(grouped.groups))]
        )
        ratings[np.isin(document, several)] = design.overlap.ratings_per_item
    return ratings


def _latin(
    draw: SeedStreams,
    grouped: GroupedOutputs,
    layout: AllocationInput,
    names: Sequence[str],
    buckets: RaterDocumentBuckets,
) -> GroupAllocation:
    """Assign raters by Latin squares; outputs that no rater of the square edits have none."""
    check_pool_sizes(layout, buckets.names)
    raters = np.full((layout.n_groups, 1), -1, dtype=np.int64)
    propensity: Floats = np.zeros((layout.n_groups, 1))
    code = {name: n for n, name in enumerate(names)}
    group_of = {
        (grouped.segment_range_index_of_group(g), code[grouped.entries[members[0]].systems[0]]): g
        for g, members in enumerate(grouped.groups)
    }
    if len(group_of) < len(grouped.stretches) * len(names):
        raise Invalid("structure latin_square needs an output of every system for every segment")
    for bucket, pool in enumerate(buckets.pools):
        if len(pool) > len(names):
            where = Place(("buckets",), f"bucket {buckets.names[bucket]} has {len(pool)} raters, {len(names)} systems")
            raise Invalid("structure latin_square needs at most as many raters in a bucket as systems", places=(where,))
        sentences = [
            n for n, stretch in enumerate(grouped.stretches) if buckets.of_document[stretch.document] == bucket
        ]
        squares = assign_outputs_by_latin_squares(draw.rng("latin", bucket), len(sentences), len(names), len(pool))
        for sentence, row in zip(sentences, squares, strict=True):
            for rater, system in zip(pool, row, strict=True):
                raters[group_of[sentence, int(system)], 0] = rater
                propensity[group_of[sentence, int(system)], 0] = 1 / len(names)
    return GroupAllocation(raters, propensity)


def _documents(
    keys: Sequence[str], chosen: Codes, common: Codes, buckets: RaterDocumentBuckets, inclusion: Floats
) -> tuple[PlannedDocument, ...]:
    for_all = set(common.tolist())
    return tuple(
        PlannedDocument(keys[n], None if n in for_all else int(buckets.of_document[n]) + 1, float(inclusion[n]))
        for n in chosen.tolist()
        if n in for_all or buckets.of_document[n] >= 0
    )


def _buckets(buckets: RaterDocumentBuckets, raters: Sequence[Rater], keys: Sequence[str]) -> tuple[Bucket, ...]:
    return tuple(
        Bucket(
            n + 1,
            name,
            tuple(raters[code].key for code in buckets.pools[n]),
            tuple(keys[d] for d in np.flatnonzero(buckets.of_document == n).tolist()),
        )
        for n, name in enumerate(buckets.names)
    )


def _unmet_documents(left_out: Sequence[str]) -> tuple[UnmetRequest, ...]:
    if not left_out:
        return ()
    named = ", ".join(left_out[:5]) + (" …" if len(left_out) > 5 else "")
    what = pluralize(len(left_out), "document is not judged", "documents are not judged")
    return (UnmetRequest(what, f"in no bucket: {named}"),)


def _unmet_outputs(
    test_set: TestSet, grouped: GroupedOutputs, buckets: RaterDocumentBuckets
) -> tuple[UnmetRequest, ...]:
    """Report documents in a bucket for which no system has a complete output."""
    judged = {stretch.document for stretch in grouped.stretches}
    bare = [n for n in np.flatnonzero(buckets.of_document >= 0).tolist() if n not in judged]
    if not bare:
        return ()
    named = ", ".join(test_set.documents[n].key for n in bare[:5]) + (" …" if len(bare) > 5 else "")
    what = pluralize(len(bare), "document has nothing to judge", "documents have nothing to judge")
    return (UnmetRequest(what, f"no system has a whole output: {named}"),)


def _unmet_squares(design: Design, dealt: GroupAllocation, names: Sequence[str]) -> tuple[UnmetRequest, ...]:
    """Report outputs that no rater of their square edits."""
    number = int((dealt.raters < 0).all(axis=1).sum()) if design.structure == "latin_square" else 0
    return describe_outputs_without_rater(number, len(names))


def _unmet_capacity(raters: Sequence[Rater], tasks: Sequence[Task]) -> tuple[UnmetRequest, ...]:
    """Report raters who are given more than their capacity, counting everything in their tasks."""
    work = {rater.key: WorkSize() for rater in raters}
    for task in tasks:
        work[task.rater] += task.size
    over = [
        f"{rater.key} ({work[rater.key].count_in(rater.capacity_unit)} of {rater.capacity} {rater.capacity_unit})"
        for rater in raters
        if rater.capacity is not None and work[rater.key].count_in(rater.capacity_unit) > rater.capacity
    ]
    if not over:
        return ()
    named = ", ".join(over[:5]) + (" …" if len(over) > 5 else "")
    return (
        UnmetRequest(
            pluralize(
                len(over), "rater is given more than their capacity", "raters are given more than their capacity"
            ),
            f'balance {{"capacity": true}} would respect it, except for shared items: {named}',
        ),
    )


def _unmet_overlap(design: Design, layout: AllocationInput) -> tuple[UnmetRequest, ...]:
    if design.overlap is None or design.overlap.share == 0 or (layout.ratings > design.ratings_per_item).any():
        return ()
    wanted = design.overlap.ratings_per_item
    return (UnmetRequest("no documents are judged by several people", f"no bucket has {wanted} raters (people)"),)
