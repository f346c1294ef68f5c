"""A new plan for the rest of a campaign: whole groups move, finished ones stay, half-finished ones are judged again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from app.design.added_latin_squares import AddedDocumentSquares, make_added_document_squares
from app.design.assemble import assemble_tasks
from app.design.buckets import keep_one_account_per_person
from app.design.compile import SeedStreams, hash_design_inputs
from app.design.design_inputs import Rater, SegmentRange, System, TestSet
from app.design.grouping import GroupedOutputs, group_outputs, split_documents_into_segment_ranges
from app.design.open_groups import OpenGroup, OpenGroupAssignments, assign_open_groups
from app.design.plan import Bucket, ChangeKind, Plan, PlannedDocument, PlannedItemGroup, UnmetRequest
from app.design.remaining_work import (
    list_remaining_shared_items,
    make_task_inputs_of_remaining_groups,
    sum_kept_work_by_rater,
)
from app.domain.errors import Invalid

Unit = tuple[str, int, int, str]
"""Document, first and last segment, and the system if a group is one output ("" if it is a whole stretch)."""


@dataclass(frozen=True, slots=True)
class ReplannedRating:
    """What happened to one rating of one unit. before: its earlier rater, None if new; after: None if it is dropped."""

    what: ChangeKind
    document: str
    first: int
    last: int
    nth: int
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Replan:
    """A new plan for the rest of a campaign.

    plan: the open groups, and the tasks that replace the free ones. kept_tasks, kept_groups: numbers in the earlier
    plan that stay unchanged. surplus: groups of the earlier plan that were begun and are judged again. credited: (group
    of the earlier plan, late system) if a late text was already judged under another system.
    """

    plan: Plan
    kept_tasks: tuple[int, ...]
    kept_groups: tuple[int, ...]
    surplus: tuple[int, ...]
    credited: tuple[tuple[int, str], ...]
    changes: tuple[ReplannedRating, ...]

    def count_ratings_by_change(self) -> Mapping[str, int]:
        """Count the ratings that stayed, moved, are redone, are new, or are dropped."""
        return Counter(change.what for change in self.changes)


def plan_remaining_tasks(
    plan: Plan,
    test_set: TestSet,
    systems: Sequence[System],
    raters: Sequence[Rater],
    *,
    handed_in: Collection[int],
    started: Collection[int] = (),
    added_documents: Collection[str] = (),
    seed: int | None = None,
    rebalance: bool = False,
) -> Replan:
    """Plan the remaining work after changes of raters, capacities, systems or documents.

    Parameters
    ----------
    plan : the plan in force. test_set, systems, raters : as they are now; raters who left are not among them.
    handed_in, started : numbers of the plan's tasks. A started task stays with its rater, if the rater stays.
    added_documents : documents of the test set that were not in the plan.
    rebalance : whether all open groups are distributed evenly, also to new raters; otherwise only those move that must.

    Returns
    -------
    Finished groups stay, and open ones stay with their rater as far as that rater stays and has capacity. Others go, as
    a whole, to the raters of their bucket who have least. If a rater left in the middle of a group, it is judged again.
    A late system is judged in open groups with the others, and on finished stretches by the raters who judged them.

    Raises
    ------
    Invalid
        There are no raters left.
    """
    able, _ = keep_one_account_per_person(raters)
    if not able:
        raise Invalid("there are no raters")
    draw = SeedStreams(plan.seed if seed is None else seed)
    state = _PlanProgress(plan, {rater.key for rater in able}, set(handed_in), set(started))
    account = {rater.person_key: rater.key for rater in able}
    same = {rater.key: account[rater.person_key] for rater in raters}
    taken = {unit: {same.get(key, key) for key in keys} for unit, keys in state.taken.items()}
    buckets = _buckets(plan, able, added_documents, rebalance=rebalance)
    now = tuple(sorted(system.key for system in systems))
    grouped = _material(plan, test_set, now, buckets)
    squares = _squares(draw, plan, state, test_set, now, buckets, grouped)
    grouped, wanted, credited = _open_work(plan, state, test_set, grouped, buckets, squares)
    held = sum_kept_work_by_rater(plan, state.kept, able)
    filled = assign_open_groups(draw.rng("replan"), wanted, able, buckets, taken, held, grouped, rebalance=rebalance)
    shared = {rater.key: list_remaining_shared_items(plan, test_set, now, rater.key, state.kept) for rater in able}
    assembled = assemble_tasks(
        draw.rng, make_task_inputs_of_remaining_groups(plan, test_set, now, able, grouped, filled, buckets, shared)
    )
    changes = tuple(_changes(plan, state, wanted, filled, grouped, test_set))
    surplus = tuple(sorted(state.begun))
    renewed = replace(
        plan,
        seed=draw.seed,
        systems=now,
        raters=tuple(rater.key for rater in able),
        buckets=buckets,
        documents=_documents(plan, buckets),
        groups=assembled.groups,
        tasks=assembled.tasks,
        unmet=(*squares.unmet, *filled.unmet, *assembled.unmet),
        notes=(),
        evened=None,
        inputs=hash_design_inputs(test_set, now, raters),
    )
    return Replan(renewed, tuple(sorted(state.kept)), tuple(sorted(state.finished)), surplus, credited, changes)


class _PlanProgress:
    """Which parts of a plan are done, kept, or begun in vain."""

    def __init__(self, plan: Plan, staying: set[str], handed_in: set[int], started: set[int]) -> None:
        by_number = {task.number: task for task in plan.tasks}
        self.staying = staying
        self.kept = handed_in | {n for n in started if by_number[n].rater in staying}
        chains = {by_number[n].chain for n in self.kept if by_number[n].rater in staying} - {None}
        self.kept |= {task.number for task in plan.tasks if task.chain in chains and task.rater in staying}
        tasks_of: dict[int, set[int]] = defaultdict(set)
        self.entries: dict[int, set[str]] = defaultdict(set)
        for task in plan.tasks:
            for item in task.items:
                if item.group is not None:
                    tasks_of[item.group].add(task.number)
                    self.entries[item.group].update(item.systems)
        self.finished = {group for group, tasks in tasks_of.items() if tasks <= self.kept}
        touched = handed_in | started
        self.begun = {group for group, tasks in tasks_of.items() if tasks & touched} - self.finished
        self.units: dict[int, list[PlannedItemGroup]] = defaultdict(list)
        self.taken: dict[int, set[str]] = defaultdict(set)
        for group in plan.groups:
            self.units[group.unit].append(group)
            if group.number in self.finished or group.number in self.begun:
                self.taken[group.unit] |= {group.rater, *(by_number[n].rater for n in tasks_of[group.number])}

        self.nth_of_document: dict[str, int] = {}
        for group in plan.groups:
            self.nth_of_document[group.document] = max(self.nth_of_document.get(group.document, 0), group.nth)

    @staticmethod
    def single(plan: Plan) -> bool:
        """Whether a unit is one output, not a whole stretch."""
        return plan.design.grouping != "psxs"

    def continues_from(self, planned: Sequence[PlannedItemGroup]) -> tuple[PlannedItemGroup | None, bool]:
        """Return the group that the rest of a rating continues, and whether a part of the rating is finished."""
        still = [group for group in planned if group.number not in self.finished]
        theirs = [group for group in planned if group.rater in self.staying]
        return next(iter((*still, *theirs, *planned)), None), len(still) < len(planned)

    def names(self, plan: Plan, group: PlannedItemGroup) -> Iterator[Unit]:
        """Yield what identifies a unit across plans; an output of several systems is identified by each of them."""
        for system in self.entries[group.number] if self.single(plan) else ("",):
            yield (group.document, group.first, group.last, system)


def _buckets(
    plan: Plan, raters: Sequence[Rater], added_documents: Collection[str], *, rebalance: bool
) -> tuple[Bucket, ...]:
    """Return buckets with the remaining raters; new raters join the buckets they name, else those that lost somebody.

    With rebalance they join all buckets, and so do raters without work.

    Added documents go to the buckets with the fewest documents; buckets without raters are used only if none has
    raters.
    """
    now = {rater.key for rater in raters}
    known = {group.rater for group in plan.groups} if rebalance else set(plan.raters)
    fresh = [rater for rater in raters if rater.key not in known]
    everywhere = {bucket.number for bucket in plan.buckets}
    lost = {bucket.number for bucket in plan.buckets if set(bucket.raters) - now}
    lost = everywhere if rebalance or not lost else lost
    left: dict[int, tuple[str, ...]] = {}
    for bucket in plan.buckets:
        joining = [
            rater.key for rater in fresh if (bucket.name in rater.buckets if rater.buckets else bucket.number in lost)
        ]
        stay = [key for key in bucket.raters if key in now]
        left[bucket.number] = tuple(sorted({*stay, *joining}))
    documents = {bucket.number: list(bucket.documents) for bucket in plan.buckets}
    staffed = [number for number, keys in left.items() if keys] or list(left)
    for key in sorted(set(added_documents)):
        fewest = min(staffed, key=lambda number: (len(documents[number]), number))
        documents[fewest].append(key)
    return tuple(
        replace(bucket, raters=left[bucket.number], documents=tuple(documents[bucket.number]))
        for bucket in plan.buckets
    )


def _material(plan: Plan, test_set: TestSet, systems: Sequence[str], buckets: Sequence[Bucket]) -> GroupedOutputs:
    """Return all groups in the present documents of the buckets."""
    index = {document.key: n for n, document in enumerate(test_set.documents)}
    chosen = sorted(index[key] for bucket in buckets for key in bucket.documents if key in index)
    return group_outputs(
        plan.design, test_set, systems, split_documents_into_segment_ranges(plan.design, test_set.documents, chosen)
    )


def _squares(
    draw: SeedStreams,
    plan: Plan,
    state: _PlanProgress,
    test_set: TestSet,
    systems: Sequence[str],
    buckets: Sequence[Bucket],
    grouped: GroupedOutputs,
) -> AddedDocumentSquares:
    """Return Latin squares over the added documents; a late system has no place in complete squares."""
    if plan.design.structure != "latin_square":
        return AddedDocumentSquares({}, ())
    before = set(plan.systems) & set(systems)
    edited = [set[str]().union(*(state.entries[group.number] for group in groups)) for groups in state.units.values()]
    squares = make_added_document_squares(
        lambda bucket: draw.rng("latin", bucket),
        grouped,
        test_set,
        systems,
        buckets,
        state.nth_of_document,
        uncovered=sum(len(before - each) for each in edited),
    )
    late = sorted(set(systems) - set(plan.systems))
    if not late:
        return squares
    why = f"their squares are dealt already: {', '.join(late)}"
    return replace(
        squares, unmet=(*squares.unmet, UnmetRequest("late systems have no part in documents planned before", why))
    )


def _open_work(
    plan: Plan,
    state: _PlanProgress,
    test_set: TestSet,
    grouped: GroupedOutputs,
    buckets: Sequence[Bucket],
    squares: AddedDocumentSquares,
) -> tuple[GroupedOutputs, list[OpenGroup], tuple[tuple[int, str], ...]]:
    """Return every rating still to be made, its group of the new material, and late systems that need none."""
    bucket_of = {key: bucket.number for bucket in buckets for key in bucket.documents}
    old = {name: groups for groups in state.units.values() for name in state.names(plan, groups[0])}
    fresh = count(max((group.unit for group in plan.groups), default=0) + 1)
    units: dict[Unit, int] = {}
    members: list[tuple[int, ...]] = []
    wanted: list[OpenGroup] = []
    credited: list[tuple[int, str]] = []
    for of, pack in enumerate(grouped.groups):
        stretch, key = _place(grouped, pack, test_set)
        systems_of = grouped.entries[pack[0]].systems
        names = [(key, stretch.first, stretch.last, name) for name in (systems_of if state.single(plan) else ("",))]
        groups = next((old[name] for name in names if name in old), [])
        square = squares.find_post_editor(grouped.segment_range_index_of_group(of), systems_of[0])
        ratings = [(square.nth, ())] if square else _ratings(plan, state, groups, key, systems_of)
        if ratings and names[0] not in units:
            units[names[0]] = groups[0].unit if groups else next(fresh)
        for nth, planned in ratings:
            rest, known = _open_entries(grouped, pack, state, planned)
            credited += known
            if rest:
                before, late = state.continues_from(planned)
                wanted.append(OpenGroup(len(members), units[names[0]], nth, bucket_of[key], before, late, square))
                members.append(rest)
    return GroupedOutputs(grouped.stretches, grouped.entries, tuple(members)), wanted, tuple(credited)


def _ratings(
    plan: Plan, state: _PlanProgress, groups: Sequence[PlannedItemGroup], document: str, systems: Sequence[str]
) -> Sequence[tuple[int, Sequence[PlannedItemGroup]]]:
    """Return the ratings of a unit, (nth, planned groups): as planned, or as its document (or the design) needs.

    A rating has several groups if a system was added later: that of the first texts, and that of the later ones.
    """
    latin = plan.design.structure == "latin_square"
    planned: dict[int, list[PlannedItemGroup]] = defaultdict(list)
    for group in groups:
        if not latin or state.entries[group.number] & set(systems):  # only outputs that a rater of the square edits
            planned[group.nth].append(group)
    if planned or latin:
        return list(planned.items())
    ratings = state.nth_of_document.get(document, plan.design.ratings_per_item)
    return [(n + 1, ()) for n in range(ratings)]


def _open_entries(
    grouped: GroupedOutputs, pack: tuple[int, ...], state: _PlanProgress, planned: Sequence[PlannedItemGroup]
) -> tuple[tuple[int, ...], list[tuple[int, str]]]:
    """Return a pack's entries still to be judged, and systems whose text a finished group judged under another name."""
    done = {group.number: state.entries[group.number] for group in planned if group.number in state.finished}
    judged = set().union(*done.values())
    rest = tuple(n for n in pack if not judged & set(grouped.entries[n].systems))
    known = {
        (number, name)
        for number, systems in done.items()
        for names in (grouped.entries[n].systems for n in pack)
        if systems & set(names)
        for name in names
        if name not in judged
    }
    return rest, sorted(known)


def _place(grouped: GroupedOutputs, pack: Sequence[int], test_set: TestSet) -> tuple[SegmentRange, str]:
    stretch = grouped.stretches[grouped.entries[pack[0]].stretch]
    return stretch, test_set.documents[stretch.document].key


def _documents(plan: Plan, buckets: Sequence[Bucket]) -> tuple[PlannedDocument, ...]:
    known = {document.key for document in plan.documents}
    fresh = [
        PlannedDocument(key, bucket.number, 1.0) for bucket in buckets for key in bucket.documents if key not in known
    ]
    return (*plan.documents, *fresh)


def _changes(
    plan: Plan,
    state: _PlanProgress,
    wanted: Sequence[OpenGroup],
    filled: OpenGroupAssignments,
    grouped: GroupedOutputs,
    test_set: TestSet,
) -> Iterable[ReplannedRating]:
    """Yield what happened to every rating, including those that stay unchanged."""
    for number in sorted(state.finished):
        stays = plan.groups[number - 1]
        yield ReplannedRating("stayed", stays.document, stays.first, stays.last, stays.nth, stays.rater, stays.rater)
    for group, after in filled.assignments:
        stretch, key = _place(grouped, grouped.groups[group.material], test_set)
        before = None if group.before is None or group.before.number in state.finished else group.before
        what: ChangeKind = "new" if before is None else "stayed" if after == before.rater else "moved"
        if before is not None and before.number in state.begun:
            what = "redone"
        whose = None if before is None else before.rater
        yield ReplannedRating(
            "dropped" if after is None else what, key, stretch.first, stretch.last, group.nth, whose, after
        )
    still = {(group.unit, group.nth) for group in wanted if group.before is not None}
    for gone in plan.groups:
        if (gone.unit, gone.nth) not in still and gone.number not in state.finished:
            yield ReplannedRating("dropped", gone.document, gone.first, gone.last, gone.nth, gone.rater, None)
