"""A new plan during a campaign: a rater leaves, a system comes late or is withdrawn, documents are bought."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from app.design.design_inputs import System
from app.design.plan import Plan, PlannedItemGroup, Task
from app.design.replan import Replan, plan_remaining_tasks
from app.domain.errors import Conflict, Invalid, Place
from app.domain.keys import SEAT
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.services.plans import plan_input, plan_prefills, plan_report, plan_storage, plans
from app.services.plans import variance_components as plan_components
from app.services.plans.plan_input import PlanInput
from app.services.plans.plans import PlanView
from app.stats.planning.forecast_components import ForecastVarianceComponents
from app.storage import campaigns, replans
from app.storage import plans as stored
from app.storage.db import Session

MOST_CHANGES = 2000  # changes that a report lists one by one
ATTEMPTS = 3  # attempts to compile a plan before its input changes


class NoPlanYet(Conflict):
    """There is no plan to change; compile one first."""


@dataclass(frozen=True, slots=True)
class MergedPlan:
    """The plan in force after a replan. tasks, groups: the new number of each that is kept, by its old one.

    added_tasks, added_groups: the new ones, with their numbers in the plan.
    """

    plan: Plan
    tasks: Mapping[int, int]
    groups: Mapping[int, int]
    added_tasks: tuple[Task, ...]
    added_groups: tuple[PlannedItemGroup, ...]


def replan_campaign(
    session: Session,
    campaign: str,
    *,
    bought: Sequence[str] | None,
    reason: str,
    dry_run: bool,
    actor: str,
    rebalance: bool = False,
    make: Make | None = None,
) -> PlanView:
    """Plan the remaining work of a campaign again.

    Finished groups are kept, and half-done ones are judged again completely. A closed campaign can also be replanned,
    and then reopened. bought: documents to add; None adds all that the plan does not know, unless its design chose
    documents. rebalance: whether open work is shared out evenly, also with newcomers. make: compiles the plan; by
    default `compile_replan`.

    The plan is compiled while raters continue, and only storing it blocks them. If its input has changed in the
    meantime, it is compiled again. The last of ATTEMPTS blocks leasing and judging.

    Raises NotFound, NoPlanYet, NoRaterEnrolled if no rater is left, Invalid for documents that cannot be bought.
    """
    make = make or compile_replan
    for left in range(ATTEMPTS if not dry_run else 1, 0, -1):
        if left == 1 and not dry_run:
            block_judging(session, campaign)
        replanned = make(session, campaign, ReplanRequest(bought, rebalance))
        if dry_run:
            return replanned.make_preview(reason)
        with session.begin_nested() as held:  # a rollback to this savepoint releases the locks taken after it
            block_judging(session, campaign)
            if left == 1 or load_replan_input(session, campaign) == replanned.basis:
                return replanned.freeze(session, reason=reason, actor=actor)
            held.rollback()
    raise AssertionError  # the last attempt returns


def block_judging(session: Session, campaign: str) -> None:
    """Block leasing and judging.

    Take the locks in the order of leasing: first the advisory lock, then the campaign's row.
    """
    replans.block_new_leases(session, campaigns.load_campaign(session, campaign).id)
    campaigns.load_campaign(session, campaign, lock=True)


@dataclass(frozen=True, slots=True)
class ReplanRequest:
    """What a replan must do. bought: documents to add, None for all new ones.

    rebalance: whether work is shared out evenly.
    """

    bought: Sequence[str] | None = None
    rebalance: bool = False


@dataclass(frozen=True, slots=True)
class ReplanInput:
    """What a replan depends on: the plan in force, the state of its tasks, and the data to plan for."""

    version: int
    tasks: tuple[stored.Row, ...]
    material: PlanInput


def load_replan_input(session: Session, campaign: str) -> ReplanInput:
    """Load the current input. Raises NotFound, NoPlanYet, NothingToJudge, NoRaterEnrolled."""
    row = campaigns.load_campaign(session, campaign)
    before = stored.find_plan_in_force(session, row.id)
    if before is None:
        raise NoPlanYet
    tasks = replans.load_plan_tasks_not_withdrawn(session, row.id, before.version)
    return ReplanInput(
        int(before.version), tuple(tasks), plan_input.load_plan_input(session, get_campaign(session, campaign), row.id)
    )


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """The work that is left to plan. It determines the new plan, whoever compiles it and when.

    before: the stored plan in force. old: this plan, with its tasks assigned to the raters who have them. material:
    with the pairs of its calibration set only. handed_in, started: numbers of its tasks. bought: documents to add.
    rebalance: whether open work is shared out evenly.
    """

    view: CampaignInfo
    before: stored.Row
    old: Plan
    material: PlanInput
    handed_in: frozenset[int]
    started: frozenset[int]
    bought: tuple[str, ...]
    rebalance: bool = False

    def plan_remaining_work(self) -> Replan:
        """Plan the remaining work. Raises Invalid if no rater is left."""
        return plan_remaining_tasks(
            self.old,
            self.material.test_set,
            _systems(self.old, self.material),
            self.material.raters,
            handed_in=self.handed_in,
            started=self.started,
            added_documents=self.bought,
            seed=self.old.seed + int(self.before.version),
            rebalance=self.rebalance,
        )

    def load_variance_components(self, session: Session, version: int | None = None) -> ForecastVarianceComponents:
        """Load the components for the forecast. version: of the campaign's judgments, if its own are used."""
        kept = plan_components.parse_pilot_components_from_report(self.before.report)
        return kept or plan_components.load_or_fit_forecast_components(session, self.view, version=version)

    def make_plan_report(self, plan: Plan, components: ForecastVarianceComponents) -> Mapping[str, object]:
        """Make the report of the resulting plan."""
        return plan_report.make_plan_report(self.view, _with_past(self.material, plan), plan, components)


def compute_remaining_work(
    session: Session, campaign: str, inputs: ReplanInput, request: ReplanRequest
) -> RemainingWork:
    """Compute the remaining work from a replan's input.

    Raises Invalid for documents that cannot be bought, and for prefilled errors that do not exist,
    CalibrationSetMissing.
    """
    before = stored.load_plan(session, campaigns.load_campaign(session, campaign).id, inputs.version)
    old = assign_tasks_to_current_holders(plans.decode_plan(before.compiled), inputs.tasks, inputs.material.seats)
    view = get_campaign(session, campaign)
    plan_prefills.check_prefill_in_settings_exists(session, int(before.campaign_id), view, old.design)
    calibration = old.design.calibration.set if old.design.calibration else None
    material = plan_input.restrict_to_calibration_set(inputs.material, calibration)
    done = frozenset(task.number for task in inputs.tasks if task.state == "handed_in")
    begun = frozenset(task.number for task in inputs.tasks if task.state != "handed_in" and task.begun)
    wanted = _choose_added_documents(old, material, request.bought)
    return RemainingWork(view, before, old, material, done, begun, wanted, request.rebalance)


def compile_replan(session: Session, campaign: str, request: ReplanRequest) -> CompiledReplan:
    """Compile the new plan now. Raises the errors of `load_replan_input` and `compute_remaining_work`."""
    inputs = load_replan_input(session, campaign)
    return compile_remaining_work(session, inputs, compute_remaining_work(session, campaign, inputs, request))


def compile_remaining_work(session: Session, inputs: ReplanInput, left: RemainingWork) -> CompiledReplan:
    """Compile the new plan of the remaining work now."""
    replanned = left.plan_remaining_work()
    merged = merge_plans(left.old, replanned)
    return CompiledReplan(
        left, inputs, replanned, merged, left.make_plan_report(merged.plan, left.load_variance_components(session))
    )


@dataclass(frozen=True, slots=True)
class CompiledReplan:
    """A compiled replan that is not stored yet."""

    remaining_work: RemainingWork
    basis: ReplanInput
    replan: Replan
    merged: MergedPlan
    report: Mapping[str, object]

    @property
    def digest(self) -> bytes:
        """Digest of the plan's full contents."""
        return plans.hash_plan(self.merged.plan, self.remaining_work.material)

    def make_preview(self, reason: str) -> PlanView:
        """Return the preview of the plan."""
        view = self.remaining_work.view
        given = (view, self.remaining_work.before.design, self.merged.plan, self.report, self.digest, view.data_version)
        return plans.make_plan_preview(*given, change=make_replan_change_record(self.replan, reason))

    def freeze(self, session: Session, *, reason: str, actor: str) -> PlanView:
        """Store the plan. What its input was read from must be locked."""
        campaign, before, merged = self.remaining_work.view.key, self.basis.version, self.merged
        row, digest = campaigns.load_campaign(session, campaign), self.digest
        old_groups = replans.load_group_ids_of_items(session, row.id, before)
        given = (row, self.remaining_work.before.design, merged.plan, self.report, digest)
        version = plans.store_frozen_plan(
            session, *given, actor=actor, change=make_replan_change_record(self.replan, reason)
        )
        data_version = int(campaigns.load_campaign(session, campaign).data_version)
        tasks = self.basis.tasks
        _apply(session, row.id, tasks, self.remaining_work.old, self.replan, merged, old_groups, version, data_version)
        target = plan_storage.PlanStorageTarget(
            row.id, version, get_campaign(session, campaign), self.remaining_work.material
        )
        plan_storage.store_plan_rows(session, target, merged.plan, tasks=merged.added_tasks, groups=merged.added_groups)
        what = {"plan": version, "hash": digest.hex(), "reason": reason, **self.replan.count_ratings_by_change()}
        audit.record_action(session, row.id, actor=actor, action="plan renewed", what=what)
        return replace(plans.get_plan(session, campaign, version), stale=())


Make = Callable[[Session, str, ReplanRequest], CompiledReplan]
"""Compiles the remaining work of a campaign."""


def make_replan_change_record(replanned: Replan, reason: str) -> dict[str, object]:
    """Return what a replan moved, and why."""
    changes = [asdict(one) for one in replanned.changes][:MOST_CHANGES]
    return {"reason": reason, "counts": dict(replanned.count_ratings_by_change()), "changes": changes}


def assign_tasks_to_current_holders(plan: Plan, tasks: Sequence[stored.Row], seats: Collection[str]) -> Plan:
    """Return the plan with reassigned tasks, and their groups, assigned to the raters who have them now.

    seats: those that still exist. Tasks that an invited rater holds from a removed seat move to the rater's current
    seat. Unfinished tasks of a rater who left belong to no existing seat.
    """
    return assign_held_tasks_to_holders(plan, find_task_holders(plan, tasks, seats))


def find_task_holders(plan: Plan, tasks: Sequence[stored.Row], seats: Collection[str]) -> dict[int, str]:
    """Return who has which task, by number, if that may differ from the plan."""
    now = {task.number: task.rater for task in tasks if task.rater and not task.pooled and not task.invited}
    now |= _seats_of_tasks(plan, tasks, seats)
    return now | {task.number: f"{SEAT}{task.rater}" for task in tasks if task.gone and task.state != "handed_in"}


def assign_held_tasks_to_holders(plan: Plan, holders: Mapping[int, str]) -> Plan:
    """Return the plan with tasks and their groups assigned to those who have them, by task number."""
    held = tuple(replace(task, rater=holders.get(task.number, task.rater)) for task in plan.tasks)
    whose = {item.group: task.rater for task in reversed(held) for item in task.items if task.number in holders}
    groups = tuple(replace(group, rater=whose.get(group.number, group.rater)) for group in plan.groups)
    return replace(plan, tasks=held, groups=groups)


def _seats_of_tasks(plan: Plan, tasks: Sequence[stored.Row], seats: Collection[str]) -> dict[int, str]:
    """Return new seats, by task number, for tasks that invited raters hold from removed seats.

    Each rater gets one seat, if possible one for which a task of theirs was planned.
    """
    planned = {task.number: task.rater for task in plan.tasks}
    held: dict[str, list[int]] = defaultdict(list)
    for task in tasks:
        if task.rater and task.seated:
            held[task.rater].append(task.number)
    free, seat_of = sorted(seats), dict[str, str]()
    for own in (True, False):
        for rater in sorted(held.keys() - seat_of.keys()):
            theirs = {planned[number] for number in held[rater]}
            seat = next((seat for seat in free if not own or seat in theirs), None)
            if seat is not None:
                seat_of[rater] = seat
                free.remove(seat)
    gone = {key for key in planned.values() if key.startswith(SEAT)} - set(seats)
    return {n: seat for rater, seat in seat_of.items() for n in held[rater] if planned[n] in gone}


def _apply(
    session: Session,
    campaign_id: int,
    tasks: Sequence[stored.Row],
    old: Plan,
    replanned: Replan,
    merged: MergedPlan,
    old_groups: Mapping[tuple[int, int], int],
    version: int,
    data_version: int,
) -> None:
    """Apply the replan to the stored tasks."""
    kept = [task for task in tasks if task.number in merged.tasks]
    replans.withdraw_or_delete_tasks(
        session, campaign_id, [task.id for task in tasks if task.number not in merged.tasks]
    )
    numbers = [merged.tasks[task.number] for task in kept]
    replans.move_tasks_to_plan(
        session, campaign_id, version, replans.RetainedTasks([task.id for task in kept], numbers)
    )
    ids = _ids_of_groups(old, old_groups)
    surplus = [ids[number] for number in replanned.surplus if number in ids]
    replans.mark_judged_items_surplus(session, campaign_id, surplus, data_version)
    for group, system in replanned.credited:
        if group in ids:
            replans.credit_group_items_to_system(session, campaign_id, ids[group], system)


def _ids_of_groups(old: Plan, stored_groups: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """Return the database ids of a plan's groups, found through an item of each."""
    return {
        item.group: stored_groups[task.number, item.position]
        for task in old.tasks
        for item in task.items
        if item.group is not None and (task.number, item.position) in stored_groups
    }


def merge_plans(old: Plan, replanned: Replan) -> MergedPlan:
    """Merge the kept part of the old plan with the new part. Tasks and groups are numbered from 1.

    Groups that were begun in vain are dropped, so their items in kept tasks belong to no group.
    """
    kept_groups = [group for group in old.groups if group.number in set(replanned.kept_groups)]
    groups = {group.number: n for n, group in enumerate(kept_groups, 1)}
    kept_tasks = [task for task in old.tasks if task.number in set(replanned.kept_tasks)]
    tasks = {task.number: n for n, task in enumerate(kept_tasks, 1)}
    stays = [_renumber_task(task, tasks, groups) for task in kept_tasks]
    new_groups = {group.number: len(groups) + n for n, group in enumerate(replanned.plan.groups, 1)}
    new_tasks = {task.number: len(tasks) + n for n, task in enumerate(replanned.plan.tasks, 1)}
    queue: dict[str, int] = {}
    for task in stays:
        queue[task.rater] = max(queue.get(task.rater, 0), task.queue)
    chains = max((task.number for task in stays), default=0)
    added = tuple(
        replace(
            _renumber_task(task, new_tasks, new_groups),
            queue=queue.get(task.rater, 0) + task.queue,
            chain=None if task.chain is None else chains + task.chain,
        )
        for task in replanned.plan.tasks
    )
    added_groups = tuple(replace(group, number=new_groups[group.number]) for group in replanned.plan.groups)
    plan = replace(
        replanned.plan,
        seed=old.seed,
        raters=tuple(sorted({*replanned.plan.raters, *(task.rater for task in stays)})),
        systems=tuple(sorted({*replanned.plan.systems, *_systems_shown(stays)})),
        groups=(*(replace(group, number=groups[group.number]) for group in kept_groups), *added_groups),
        tasks=(*stays, *added),
    )
    return MergedPlan(plan, tasks, groups, added, added_groups)


def _systems_shown(tasks: Sequence[Task]) -> set[str]:
    return {name for task in tasks for item in task.items if item.role == "rating" for name in item.systems}


def _renumber_task(task: Task, tasks: Mapping[int, int], groups: Mapping[int, int]) -> Task:
    items = tuple(
        replace(
            item,
            group=None if item.group is None else groups.get(item.group),
            of=None if item.of is None or item.of.task not in tasks else replace(item.of, task=tasks[item.of.task]),
        )
        for item in task.items
    )
    return replace(task, number=tasks[task.number], items=items)


def _systems(old: Plan, material: PlanInput) -> tuple[System, ...]:
    """Return the systems that take part now, limited to those that the design names, if any."""
    named = old.design.systems
    return tuple(system for system in material.systems if named is None or system.key in named)


def _choose_added_documents(old: Plan, material: PlanInput, asked: Sequence[str] | None) -> tuple[str, ...]:
    known = {document.key for document in old.documents}
    there = [document.key for document in material.test_set.documents]
    if asked is None:
        chose = old.design.documents.keys is not None or old.design.documents.sample is not None
        return () if chose else tuple(key for key in there if key not in known)
    wrong = [
        Place(("body", "documents", n), "is in the plan already" if key in known else "there is no such document")
        for n, key in enumerate(asked)
        if key in known or key not in there
    ]
    if wrong:
        raise Invalid(places=tuple(wrong))
    return tuple(asked)


def _with_past(material: PlanInput, plan: Plan) -> PlanInput:
    """Return the input with all seats in the plan, because a report also covers raters who left."""
    return replace(material, seats=material.seats & frozenset(plan.raters))
