"""The plan in force, item by item: who is shown what, where, as whose, and with which probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.stats.ratings import Role
from app.storage import campaigns, plan_items, plans
from app.storage.db import Database, Session
from app.storage.plan_items import Row

AT_A_TIME = 2000
START = (0, 0)


@dataclass(frozen=True, slots=True)
class Group:
    """The rating that an item is part of. unit: the same for all ratings of the same outputs; nth: which of these."""

    group: int
    unit: int
    nth: int


@dataclass(frozen=True, slots=True)
class Original:
    """Where the item stands that a control item goes back to."""

    task: str
    item: int


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An item of a plan. at: where a list goes on after it."""

    at: tuple[int, int]
    plan: int
    task: str
    number: int | None
    rater: str | None
    state: str
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
    group: Group | None
    of: Original | None
    variant: str | None
    reference: str | None
    prefill: str | None
    side_order: int | None
    propensity: float | None
    surplus: bool


def page(session: Session, campaign: str, *, after: tuple[int, int] = START, limit: int) -> list[PlannedItem]:
    """Items of the plan in force, by task and place in it, after a place. Raises NotFound where there is no plan."""
    row = campaigns.get(session, campaign)
    version = int(plans.get(session, row.id, None).version)
    return [_view(one) for one in plan_items.page(session, row.id, version, after=after, limit=limit)]


def every(database: Database, campaign: str) -> Iterator[Sequence[PlannedItem]]:
    """All items of the plan in force, some at a time, from one snapshot. Raises NotFound before the first."""
    with database.transaction() as session:
        plans.get(session, campaigns.get(session, campaign).id, None)
    return _every(database, campaign)


def _every(database: Database, campaign: str) -> Iterator[Sequence[PlannedItem]]:
    with database.transaction(snapshot=True) as session:
        after = START
        while found := page(session, campaign, after=after, limit=AT_A_TIME):
            yield found
            after = found[-1].at


def _view(row: Row) -> PlannedItem:
    return PlannedItem(
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
        role=Role(row.role).name.lower(),
        systems=tuple(row.systems),
        group=None if row.group is None else Group(row.group, row.unit, row.nth),
        of=None if row.of_task is None else Original(row.of_task, row.of_item),
        variant=row.variant,
        reference=row.reference,
        prefill=row.prefill,
        side_order=row.side_order,
        propensity=row.propensity,
        surplus=row.surplus,
    )
