"""A compiled design: tasks and their items, with everything stored about them. A plan is a value with a digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any, Literal

from app.design.design_choices import Arm, Design
from app.design.design_inputs import Role, WorkSize
from app.design.load_rebalancing import LoadRebalancingResult


@dataclass(frozen=True, slots=True)
class OriginalItemPosition:
    """The position of the item on which a control item is based: task number and position, both from 1."""

    task: int
    position: int


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One system's output on one stretch, in one position of one task.

    position: in the task, from 1. screen: from 1; column: on the screen, from 1. first, last: segments, from 1. role:
    why it is shown. system: whose text is shown, None for a reference or a calibration pair. systems: those credited
    with the judgment, none for calibration pairs, references and degraded copies. group: number of its group, None
    outside groups. of: the original of a repeat or degraded copy. variant: name of the set of degraded texts shown
    instead of the output. reference: name of the reference shown. side_order: 1 if a protocol that hides which side is
    the source shows it second. propensity: probability with which this rater was given this item, see docs/designs.md.
    """

    position: int
    screen: int
    column: int
    document: str
    first: int
    last: int
    role: Role
    system: str | None
    systems: tuple[str, ...]
    group: int | None = None
    of: OriginalItemPosition | None = None
    variant: str | None = None
    reference: str | None = None
    side_order: int = 0
    propensity: float | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """What one rater does in one session.

    number: from 1, in the order of raters' keys and of each rater's tasks. queue: place among the rater's own, from 1.
    arm: index into the plan's arms. bucket: number of the bucket, None if items of several are mixed. chain: the same
    for tasks that share a group, None for others.
    """

    number: int
    rater: str
    queue: int
    items: tuple[PlanItem, ...]
    size: WorkSize
    bucket: int | None = None
    arm: int | None = None
    chain: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedItemGroup:
    """Items that go to one rater. unit: the same for all ratings of the same outputs. nth: which rating, from 1."""

    number: int
    bucket: int
    unit: int
    nth: int
    document: str
    first: int
    last: int
    rater: str
    propensity: float
    arm: int | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    """Documents judged by the same people. number: from 1."""

    number: int
    name: str
    raters: tuple[str, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """A document of the campaign: its bucket (None: judged by all), and the probability with which it was included."""

    key: str
    bucket: int | None
    inclusion: float


@dataclass(frozen=True, slots=True)
class UnmetRequest:
    """Something the design asks for that the plan does not do, why, and how far it went."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A frozen design. Everything in it follows from (design, test set, systems, raters, seed).

    common: the items that every rater judges, in the order of the test set. inputs: SHA-256 of the design's inputs, in
    hex.
    """

    design: Design
    seed: int
    systems: tuple[str, ...]
    raters: tuple[str, ...]
    buckets: tuple[Bucket, ...]
    documents: tuple[PlannedDocument, ...]
    groups: tuple[PlannedItemGroup, ...]
    tasks: tuple[Task, ...]
    unmet: tuple[UnmetRequest, ...] = ()
    notes: tuple[str, ...] = ()
    evened: LoadRebalancingResult | None = None
    common: tuple[PlanItem, ...] = ()
    inputs: str = ""

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The conditions compared."""
        return self.design.arms

    def tasks_of_rater(self, rater: str) -> tuple[Task, ...]:
        """Return a rater's tasks, in order."""
        return tuple(task for task in self.tasks if task.rater == rater)

    def digest(self) -> str:
        """SHA-256, in hex, of everything in the plan, written as canonical JSON."""
        return hash_json(self)


def hash_json(value: object) -> str:
    """Return the SHA-256, in hex, of a value as canonical JSON; dataclasses become objects with their fields."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=_by_field)
    return hashlib.sha256(text.encode()).hexdigest()


def _by_field(value: Any) -> dict[str, object]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


ChangeKind = Literal["stayed", "moved", "redone", "new", "dropped"]
