"""A plan, item by item: who is shown what, where, in which role, and with which probability."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from app.design.plan import Plan, PlanItem, Task
from app.domain.keys import SEAT
from app.services.plans.plans import decode_plan
from app.stats.ratings import RatingRole
from app.storage import campaigns, plan_items, plans
from app.storage.db import Database, Session
from app.storage.plan_items import Row

AT_A_TIME = 2000
START = (0, 0)


@dataclass(frozen=True, slots=True)
class PlannedRating:
    """The rating that an item belongs to. unit: the same for all ratings of the same outputs.

    nth: number of the rating.
    """

    group: int
    unit: int
    nth: int


@dataclass(frozen=True, slots=True)
class OriginalItemPlace:
    """The place of the item that a control item refers to. task: None in an earlier plan. number: of the task."""

    task: str | None
    number: int | None
    item: int


@dataclass(frozen=True, slots=True)
class PlannedItemView:
    """An item of a plan. at: the cursor after it in a list. task, state: None in an earlier plan."""

    at: tuple[int, int]
    plan: int
    task: str | None
    number: int | None
    rater: str | None
    state: str | None
    queue: int | None
    bucket: int | None
    arm: str | None
    chain: int | None
    presentation: str | None
    item: int
    screen: int | None
    column: int | None
    document: str
    first: int | None
    last: int | None
    role: str
    systems: tuple[str, ...]
    group: PlannedRating | None
    of: OriginalItemPlace | None
    variant: str | None
    reference: str | None
    prefill: str | None
    side_order: int | None
    propensity: float | None
    surplus: bool


def list_plan_items(
    session: Session, campaign: str, *, plan: int | None = None, after: tuple[int, int] = START, limit: int
) -> list[PlannedItemView]:
    """List items by task and position, after a place: of the plan in force as it is now, of an earlier one as compiled.

    Raises NotFound if the plan does not exist, PlanNotCompiledHere.
    """
    row = campaigns.load_campaign(session, campaign)
    version = int(plans.load_plan(session, row.id, None).version)
    if plan is None or plan == version:
        return [
            _view(one) for one in plan_items.load_plan_items_page(session, row.id, version, after=after, limit=limit)
        ]
    made = _make_item_views(plan, decode_plan(plans.load_plan(session, row.id, plan).compiled))
    return list(islice((one for one in made if one.at > after), limit))


def stream_plan_items(
    database: Database, campaign: str, plan: int | None = None
) -> Iterator[Sequence[PlannedItemView]]:
    """Stream all items in batches, from one snapshot.

    Raises the errors of `list_plan_items`, before the first batch.
    """
    with database.transaction() as session:
        row = campaigns.load_campaign(session, campaign)
        there = plans.load_plan(session, row.id, plan)
        if plan is not None and plan != plans.load_plan(session, row.id, None).version:
            return iter([list(_make_item_views(plan, decode_plan(there.compiled)))])
    return _iterate_items(database, campaign)


def _iterate_items(database: Database, campaign: str) -> Iterator[Sequence[PlannedItemView]]:
    with database.transaction(snapshot=True) as session:
        after = START
        while rows := list_plan_items(session, campaign, after=after, limit=AT_A_TIME):
            yield rows
            after = rows[-1].at


def _make_item_views(version: int, plan: Plan) -> Iterable[PlannedItemView]:
    """Yield the items of a plan as it was compiled, in order."""
    groups = {group.number: PlannedRating(group.number, group.unit, group.nth) for group in plan.groups}
    for task in sorted(plan.tasks, key=lambda one: one.number):
        for item in task.items:
            yield _make_item_view(version, plan, task, item, None if item.group is None else groups[item.group])


def _make_item_view(
    version: int, plan: Plan, task: Task, item: PlanItem, group: PlannedRating | None
) -> PlannedItemView:
    arm = None if task.arm is None else plan.arms[task.arm]
    return PlannedItemView(
        at=(task.number, item.position),
        plan=version,
        task=None,
        number=task.number,
        rater=None if task.rater.startswith(SEAT) else task.rater,
        state=None,
        queue=task.queue,
        bucket=task.bucket,
        arm=None if arm is None else arm.name,
        chain=task.chain,
        presentation=None if arm is None else arm.presentation,
        item=item.position,
        screen=item.screen,
        column=item.column,
        document=item.document,
        first=item.first,
        last=item.last,
        role=item.role,
        systems=item.systems,
        group=group,
        of=None if item.of is None else OriginalItemPlace(None, item.of.task, item.of.position),
        variant=item.variant,
        reference=item.reference,
        prefill=None if arm is None else arm.prefill,
        side_order=item.side_order,
        propensity=item.propensity,
        surplus=False,
    )


def _view(row: Row) -> PlannedItemView:
    return PlannedItemView(
        at=(row.task_id, row.item),
        plan=row.plan,
        task=row.task,
        number=row.number,
        rater=row.rater,
        state=row.state,
        queue=row.queue,
        bucket=row.bucket,
        arm=row.arm,
        chain=row.chain,
        presentation=row.presentation,
        item=row.item,
        screen=row.screen,
        column=row.column_,
        document=row.document,
        first=row.first,
        last=row.last,
        role=RatingRole(row.role).name.lower(),
        systems=tuple(row.systems),
        group=None if row.group is None else PlannedRating(row.group, row.unit, row.nth),
        of=None if row.of_task is None else OriginalItemPlace(row.of_task, row.of_number, row.of_item),
        variant=row.variant,
        reference=row.reference,
        prefill=row.prefill,
        side_order=row.side_order,
        propensity=row.propensity,
        surplus=row.surplus,
    )
