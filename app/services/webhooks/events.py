"""Events for webhooks, written to the outbox in the transaction in which they happen."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from app.storage import webhooks
from app.storage.db import Session

EventKind = Literal[
    "task.handed_in",
    "campaign.milestone",
    "campaign.done",
    "campaign.state_changed",
    "rater.failed",
    "job.done",
    "job.failed",
]
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)
MEANINGS: Mapping[EventKind, str] = MappingProxyType(
    {
        "task.handed_in": "a rater handed in a task",
        "campaign.milestone": "25, 50 or 75 % of the tasks are handed in",
        "campaign.done": "all tasks are handed in",
        "campaign.state_changed": "the campaign was opened, paused or closed",
        "rater.failed": "a rater failed a quality check that the settings act on",
        "job.done": "a job finished; its report can be fetched",
        "job.failed": "a job ended without a report",
    }
)
TEST: Literal["webhook.test"] = "webhook.test"
DeliveredKind = Literal[EventKind, "webhook.test"]
MILESTONES = (25, 50, 75)


def record_webhook_event(
    session: Session, campaign_id: int, kind: EventKind, data: Mapping[str, object], *, rater_id: int | None = None
) -> None:
    """Notify the campaign's webhooks, if any. Call it last, because others wait until the transaction ends.

    data: JSON values, without names of people. rater_id: whom the event is about; the key is added on sending.
    """
    webhooks.append_event(session, campaign_id, kind=kind, data=data, rater_id=rater_id)


def record_hand_in_and_milestone_events(
    session: Session, campaign_id: int, task: str, rater_id: int, *, counts: bool
) -> None:
    """Notify webhooks of a task handed in just now, and of the milestones that it reached.

    A milestone is reported again if tasks were reopened and handed in again. counts: whether the task is part of the
    campaign's work; an attention check reaches no milestone.
    """
    if not webhooks.has_webhooks(session, campaign_id):
        return
    done, total = webhooks.count_handed_in_and_all_tasks(session, campaign_id)
    reached = {"tasks_handed_in": done, "tasks": total}
    record_webhook_event(session, campaign_id, "task.handed_in", {"task": task, **reached}, rater_id=rater_id)
    if not counts:
        return
    for percent in list_newly_reached_milestones(done, total):
        record_webhook_event(session, campaign_id, "campaign.milestone", {"percent": percent, **reached})
    if done == total:
        record_webhook_event(session, campaign_id, "campaign.done", reached)


def list_newly_reached_milestones(done: int, total: int) -> list[int]:
    """Return the percentages reached by the last of `done` tasks of `total`.

    >>> [list_newly_reached_milestones(done, 8) for done in (1, 2, 4, 6, 8)]
    [[], [25], [50], [75], []]
    >>> list_newly_reached_milestones(1, 2)
    [25, 50]
    """
    return [percent for percent in MILESTONES if (done - 1) * 100 < percent * total <= done * 100]
