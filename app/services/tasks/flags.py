"""Flags: a rater reports a problem with an item without leaving the task, and a manager answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.errors import Conflict, Invalid, Place
from app.services.campaigns import audit
from app.services.people.raters import ActingRater
from app.services.tasks.task_content import TaskAddressNotFound, load_task_content
from app.services.tasks.tasks import load_own_task
from app.storage import campaigns, flags
from app.storage.db import Session


class FlagsChangedMeanwhile(Conflict):
    """Some of these flags have changed since you read them; read them again."""


@dataclass(frozen=True, slots=True)
class FlagView:
    """A flag as managers see it. item, segment: None if the flag is about the whole task or the whole item."""

    id: int
    public_id: str
    task: str
    item: int | None
    segment: int | None
    document: str | None
    systems: tuple[str, ...]
    rater: str
    reason: str
    note: str | None
    at: datetime
    answer: str | None
    answered_by: str | None
    answered_at: datetime | None
    assignee: str | None


def create_flag(
    session: Session,
    public_id: str,
    *,
    item: int | None,
    segment: int | None,
    reason: str,
    note: str | None,
    rater: ActingRater,
) -> str:
    """Report a problem with a task that the rater has or had, and return the flag's public id.

    Raises TaskNotFound, TaskAddressNotFound.
    """
    row = load_own_task(session, public_id, rater)
    item_id = None
    if item is not None:
        there = load_task_content(session, public_id).item_at(item)
        if segment is not None and segment > len(there.segments):
            raise TaskAddressNotFound(f"the item has the segments 1 to {len(there.segments)}")
        item_id = there.id
    return flags.insert_flag(
        session,
        row.campaign_id,
        task_id=row.id,
        item_id=item_id,
        segment=segment,
        rater_id=rater.rater_id,
        reason=reason,
        note=note,
    )


def list_flags(
    session: Session,
    campaign: str,
    *,
    after: int,
    limit: int,
    answered: bool | None,
    rater: str | None = None,
    q: str = "",
) -> tuple[list[FlagView], int | None]:
    """List flags in the order in which they were raised, and the last one examined if the search must continue.

    rater: only flags of this rater. q: words, each of which must be part of reason, note, rater, document or assignee.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows, reached = flags.load_flags_page(
        session, campaign_id, after=after, limit=limit, answered=answered, rater=rater, words=q.split()
    )
    return [_view(row) for row in rows], reached


def answer_flag(session: Session, campaign: str, public_id: str, *, answer: str, actor: str) -> FlagView:
    """Answer a flag; a second answer replaces the first. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    row = flags.load_flag(session, campaign_id, public_id)
    flags.store_flag_answer(session, row.id, answer=answer, actor=actor)
    audit.record_action(session, campaign_id, actor=actor, action="flag answered", what={"flag": public_id})
    return _view(flags.load_flag(session, campaign_id, public_id))


def change_flags(
    session: Session,
    campaign: str,
    public_ids: Sequence[str],
    values: Mapping[str, str | None],
    *,
    expected: Mapping[str, str | None] | None = None,
    actor: str,
) -> list[FlagView]:
    """Answer, reopen or assign several flags, all or none, and return them as they were before.

    values: `answer` (None reopens the flag), `assignee` (None removes the assignee), or both. expected: the values that
    every flag must have now. Raises Invalid, which names each flag that does not exist or is named twice, and
    FlagsChangedMeanwhile, which names each flag whose values differ from `expected`.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    known = flags.lock_flags_by_public_id(session, campaign_id, public_ids)
    faults = {
        i: "is named twice" if name in known else "is not a flag of this campaign"
        for i, name in enumerate(public_ids)
        if name not in known or public_ids.index(name) != i
    }
    if faults:
        places = tuple(Place(("body", "flags", i), f"{public_ids[i]!r} {fault}") for i, fault in faults.items())
        raise Invalid("no flag was changed because some of these cannot be", places=places)
    changed = tuple(
        Place(("body", "flags", i), f"{public_ids[i]!r} was changed meanwhile")
        for i, name in enumerate(public_ids)
        if any(getattr(known[name], field) != value for field, value in (expected or {}).items())
    )
    if changed:
        raise FlagsChangedMeanwhile("no flag was changed because some have changed meanwhile", places=changed)
    flags.update_flags(session, [known[name].id for name in public_ids], values, actor=actor)
    audit.record_action(
        session,
        campaign_id,
        actor=actor,
        action="flags changed",
        what={"flags": list(public_ids), "fields": sorted(values)},
    )
    return [_view(known[name]) for name in public_ids]


def _view(row: flags.Row) -> FlagView:
    fields = {name: getattr(row, name) for name in FlagView.__slots__}
    return FlagView(**{**fields, "systems": tuple(row.systems or ())})
