"""The manager's view of the tasks: who has them and what they contain; reassigning and reopening a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.attention_checks import KIND, ROLE
from app.domain.errors import Conflict, Invalid, Place
from app.services.campaigns import audit
from app.stats.ratings import RatingRole
from app.storage import campaigns, raters, replans, tasks
from app.storage.db import Session
from app.storage.leases import handover as leases_handover
from app.storage.tasks import TaskNotFound

ROLES = {role.value: role.name.lower() for role in RatingRole} | {ROLE: KIND}


class TaskAlreadyHandedIn(Conflict):
    """This task is handed in; reopen it first."""

    published = "HandedInAlready"


class ReopenOfOpenTask(Conflict):
    """Only a task that is handed in can be reopened."""

    published = "NotHandedIn"


class LinkedTaskHandedIn(Conflict):
    """Other tasks of the same chain are handed in, and one person judges the whole chain; use a replan."""

    published = "PartHandedIn"


class PersonRatedAlready(Conflict):
    """This person has another rating of something in this task."""

    published = "PersonHasIt"


class AttentionCheckImmutable(Conflict):
    """This is an attention check: it is its rater's, and what came of it stands."""

    published = "AttentionCheckBound"


class TaskWithdrawn(Conflict):
    """This task is withdrawn."""

    published = "Withdrawn"


@dataclass(frozen=True, slots=True)
class ManagerTaskView:
    """A task as managers see it. items: each with its role and the systems that it is credited to."""

    id: int
    public_id: str
    key: str
    state: str
    rater: str | None
    bucket: int | None
    plan: int | None
    presentation: str | None
    words: int | None
    segments: int | None
    lease: int
    leased_until: datetime | None
    handed_in_at: datetime | None
    completion_code: str | None
    items: tuple[Mapping[str, Any], ...]


def list_tasks(
    session: Session,
    campaign: str,
    *,
    after: int,
    limit: int,
    state: str | None,
    rater: str | None,
    bucket: int | None,
) -> list[ManagerTaskView]:
    """List the tasks of plans in the order in which they were created. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows = tasks.load_tasks_page(
        session, campaign_id, after=after, limit=limit, state=state, rater=rater, bucket=bucket
    )
    return _views(session, campaign_id, rows)


def reassign_task(
    session: Session, campaign: str, public_id: str, *, rater: str | None, reason: str, actor: str
) -> ManagerTaskView:
    """Give a task that is not handed in, and the rest of its chain, to another rater or back to its bucket (None).

    If a rater has begun the task, the original is withdrawn and keeps the answers as surplus, and an empty copy
    replaces it. Raises NotFound, Invalid for a rater who is not enrolled, PersonRatedAlready, TaskAlreadyHandedIn,
    TaskWithdrawn, LinkedTaskHandedIn, AttentionCheckImmutable.
    """
    replans.block_new_leases(session, campaigns.load_campaign(session, campaign).id)
    row, task = _lock_task(session, campaign, public_id)
    if task.state == "handed_in":
        raise TaskAlreadyHandedIn
    if task.state == "withdrawn":
        raise TaskWithdrawn
    rater_id = raters.find_enrolled_rater_id(session, row.id, rater) if rater is not None else None
    if rater is not None and rater_id is None:
        raise Invalid(places=(Place(("body", "rater"), "is not enrolled"),))
    parts = tasks.lock_tasks_of_chain(session, row.id, task.id)
    if any(part.state == "handed_in" and part.rater_id != rater_id for part in parts):
        raise LinkedTaskHandedIn
    rest = [part for part in parts if part.state != "handed_in"]
    if rater_id is not None and any(
        leases_handover.has_person_rating_clash(session, row.id, part.id, rater_id) for part in rest
    ):
        raise PersonRatedAlready
    names = {part.id: part.public_id for part in rest}
    for part in rest:
        if part.rater_id == rater_id and not part.pooled:
            continue
        names[part.id] = _move(session, row.id, part, rater_id, actor=actor)
        what = {"task": names[part.id], "from": part.public_id, "rater": rater, "reason": reason}
        audit.record_action(session, row.id, actor=actor, action="task reassigned", what=what)
    return _load_board_task(session, row.id, names[task.id])


def _move(session: Session, campaign_id: int, task: tasks.Row, rater_id: int | None, *, actor: str) -> str:
    """Free a task for a rater or for its bucket, and return the name under which the task continues."""
    tasks.record_how_lease_ended(session, campaign_id, task.id, "reassigned")
    task_id, name = task.id, task.public_id
    if leases_handover.has_judgments_not_counting_for_rater(session, campaign_id, task.id, rater_id=rater_id):
        task_id = leases_handover.replace_locked_task_with_empty_copy(session, campaign_id, task.id, actor=actor)
        name = tasks.load_task_public_id(session, campaign_id, task_id)
    tasks.free_task(session, campaign_id, task_id, {"rater_id": rater_id, "pooled": False})
    return str(name)


def reopen_task(session: Session, campaign: str, public_id: str, *, reason: str, actor: str) -> ManagerTaskView:
    """Let the rater of a handed-in task continue it. Raises NotFound, ReopenOfOpenTask, AttentionCheckImmutable."""
    row, task = _lock_task(session, campaign, public_id)
    if task.state != "handed_in":
        raise ReopenOfOpenTask
    tasks.free_task(session, row.id, task.id, {"pooled": False})
    campaigns.take_next_data_version(session, row.id, actor=actor, what="task reopened")
    what = {"task": public_id, "reason": reason}
    audit.record_action(session, row.id, actor=actor, action="task reopened", what=what)
    return _load_board_task(session, row.id, public_id)


def _lock_task(session: Session, campaign: str, public_id: str) -> tuple[campaigns.CampaignRecord, tasks.Row]:
    row = campaigns.load_campaign(session, campaign, lock=True)
    task = tasks.load_task(session, public_id, lock=True)
    if task.campaign_id != row.id:
        raise TaskNotFound
    if task.plan is None:
        raise AttentionCheckImmutable
    return row, task


def _load_board_task(session: Session, campaign_id: int, public_id: str) -> ManagerTaskView:
    return _views(session, campaign_id, tasks.load_tasks_page(session, campaign_id, task=public_id))[0]


def _views(session: Session, campaign_id: int, rows: Sequence[tasks.Row]) -> list[ManagerTaskView]:
    items = [item for row in rows for item in row.items or ()]
    documents = tasks.load_document_or_system_keys_by_id(
        session, campaign_id, "documents", {item["document"] for item in items}
    )
    shown = tasks.load_system_ids_by_item(session, campaign_id, {item["id"] for item in items})
    systems = tasks.load_document_or_system_keys_by_id(
        session, campaign_id, "systems", {one for of in shown.values() for one in of}
    )

    def item_view(item: Mapping[str, Any]) -> Mapping[str, Any]:
        keys = {"document": documents[item["document"]], "systems": sorted(systems[one] for one in shown[item["id"]])}
        return {name: value for name, value in item.items() if name != "id"} | keys | {"role": ROLES[item["role"]]}

    def view(row: tasks.Row) -> ManagerTaskView:
        fields = {name: getattr(row, name) for name in ManagerTaskView.__slots__}
        return ManagerTaskView(**{**fields, "items": tuple(map(item_view, row.items or ()))})

    return [view(row) for row in rows]
