"""Gives open groups a rater: their own if that rater stays and has room, else the one in the bucket with least."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.design.design_inputs import Rater, WorkSize
from app.design.grouping import GroupedOutputs
from app.design.plan import Bucket, PlannedItemGroup, UnmetRequest


@dataclass(frozen=True, slots=True)
class LatinSquareCellRater:
    """A rating in a Latin square: the rater, the number of the rating of the segment, and the rater's probability."""

    nth: int
    rater: str
    chance: float


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """A rating still to be made.

    material: index of its group in the material. before: the planned group that it continues. late: it contains only
    outputs added later to a finished group, whose rater should judge them as well. square: its cell in a Latin square,
    if it has one.
    """

    material: int
    unit: int
    nth: int
    bucket: int
    before: PlannedItemGroup | None
    late: bool
    square: LatinSquareCellRater | None = None

    @property
    def intended_rater(self) -> str | None:
        """The rater for whom it is intended."""
        return self.before.rater if self.before is not None else self.square.rater if self.square is not None else None


@dataclass(frozen=True, slots=True)
class OpenGroupAssignments:
    """The result of the assignment. assignments: every open group with its rater, None if nobody can judge it."""

    assignments: tuple[tuple[OpenGroup, str | None], ...]
    unmet: tuple[UnmetRequest, ...]


def assign_open_groups(
    rng: np.random.Generator,
    wanted: Sequence[OpenGroup],
    raters: Sequence[Rater],
    buckets: Sequence[Bucket],
    taken: Mapping[int, set[str]],
    held: Mapping[str, WorkSize],
    grouped: GroupedOutputs,
    *,
    rebalance: bool = False,
) -> OpenGroupAssignments:
    """Give every open group, as a whole, to one rater.

    taken: raters who judged (or began) a rating of a unit, and cannot get another. held: work that raters already have.
    Groups first stay with their rater, in random order and as far as capacities allow. The others go to the rater of
    their bucket with the fewest groups in it, then with least to do, with ties broken at random. With rebalance, groups
    are then passed on to raters of their bucket who have at least two fewer, until there are none; late outputs and
    squares stay.
    """
    hands = _GroupHolders(raters, buckets, taken, held, grouped)
    order = [wanted[n] for n in rng.permutation(len(wanted))]
    for group in order:
        own = group.intended_rater
        if own is not None and hands.can_take(group, own, again=group.late):
            hands.give_group(group, own)
    for group in order:
        if group.material not in hands.assignments:
            pool = hands.pools[group.bucket]
            shuffled = [pool[n] for n in rng.permutation(len(pool))]
            hands.give_to_least_loaded(group, [key for key in shuffled if hands.can_take(group, key)])
    if rebalance:
        hands.even_out(rng, [group for group in order if not group.late and group.square is None])
    return OpenGroupAssignments(
        tuple((group, hands.assignments[group.material]) for group in wanted),
        _list_unmet_requests(wanted, buckets, hands.assignments),
    )


class _GroupHolders:
    """Who has which open group, and who can take more. groups: number for each bucket and rater."""

    def __init__(
        self,
        raters: Sequence[Rater],
        buckets: Sequence[Bucket],
        taken: Mapping[int, set[str]],
        held: Mapping[str, WorkSize],
        grouped: GroupedOutputs,
    ) -> None:
        self.assignments: dict[int, str | None] = {}
        self.pools = {bucket.number: bucket.raters for bucket in buckets}
        self._able = {rater.key: rater for rater in raters}
        self._load = dict(held)
        self._on_unit: dict[int, set[str]] = defaultdict(set, {unit: set(names) for unit, names in taken.items()})
        self._groups: Counter[tuple[int, str]] = Counter()
        self._of: Counter[str] = Counter()
        self._found = grouped

    def can_take(self, group: OpenGroup, key: str, *, again: bool = False) -> bool:
        """Whether a rater is available, has room, and has no other rating of the unit (unless again)."""
        rater = self._able.get(key)
        if rater is None or (not again and key in self._on_unit[group.unit]):
            return False
        size = self._found.work_size_of_group(group.material)
        return rater.capacity is None or (self._load[key] + size).count_in(rater.capacity_unit) <= rater.capacity

    def give_group(self, group: OpenGroup, key: str) -> None:
        """Give a group to a rater."""
        self.assignments[group.material] = key
        self._load[key] += self._found.work_size_of_group(group.material)
        self._on_unit[group.unit].add(key)
        self._groups[group.bucket, key] += 1
        self._of[key] += 1

    def give_to_least_loaded(self, group: OpenGroup, able: Sequence[str]) -> None:
        """Give a group to the rater with fewest in its bucket, then with least to do; to nobody if `able` is empty."""
        if able:
            self.give_group(
                group, min(able, key=lambda key: (self._groups[group.bucket, key], self._load[key].segments))
            )
        else:
            self.assignments[group.material] = None

    def even_out(self, rng: np.random.Generator, groups: Sequence[OpenGroup]) -> None:
        """Pass groups on to raters who have at least two fewer; each move reduces the sum of squares, so this ends."""
        moved = True
        while moved:
            moved = False
            for n in rng.permutation(len(groups)):
                group, holder = groups[n], self.assignments[groups[n].material]
                fewer = [] if holder is None else self._with_fewer(group, holder)
                if holder is not None and fewer:
                    self._take_back_group(group, holder)
                    self.give_group(group, min(fewer, key=lambda key: (self._of[key], self._load[key].segments)))
                    moved = True

    def _with_fewer(self, group: OpenGroup, holder: str) -> list[str]:
        """Return raters of a group's bucket who have at least two groups fewer than its holder and can take it."""
        pool = self.pools[group.bucket]
        return [key for key in pool if self._of[key] + 2 <= self._of[holder] and self.can_take(group, key)]

    def _take_back_group(self, group: OpenGroup, key: str) -> None:
        self._load[key] += self._found.work_size_of_group(group.material).multiplied_by(-1)
        self._on_unit[group.unit].discard(key)
        self._groups[group.bucket, key] -= 1
        self._of[key] -= 1


def _list_unmet_requests(
    wanted: Sequence[OpenGroup], buckets: Sequence[Bucket], rater_of_group: Mapping[int, str | None]
) -> tuple[UnmetRequest, ...]:
    """Report ratings that nobody makes, and late outputs judged by other raters than the rest of their documents."""
    result = []
    lacking = {group.bucket for group in wanted if rater_of_group[group.material] is None}
    if lacking:
        missing = sum(rater_of_group[group.material] is None for group in wanted)
        names = ", ".join(bucket.name for bucket in buckets if bucket.number in lacking)
        why = f"in buckets {names} nobody is left who has room and has not judged them"
        result.append(UnmetRequest(f"{missing} ratings are not made", why))
    apart = sum(group.late and rater_of_group[group.material] not in (None, group.intended_rater) for group in wanted)
    if apart:
        what = f"{apart} late outputs are judged by others than the rest of their documents"
        why = "who judged those left, or has no room: these raters' leanings do not cancel in comparisons with them"
        result.append(UnmetRequest(what, why))
    return tuple(result)
