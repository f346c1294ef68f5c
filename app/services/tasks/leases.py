"""Leases: get a task, keep it, and give up expired leases."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal

from app.domain.errors import Invalid, Place
from app.services.access.tokens import BadCredential
from app.services.campaigns.attention_settings import get_attention_check_settings
from app.services.campaigns.numeric_settings import get_lease_duration
from app.services.people import questionnaires, raters
from app.services.people.raters import ActingRater
from app.services.tasks import hand_in_checks, tasks
from app.services.tasks.answer_context import AnswerableTask, TaskAnswerContext
from app.services.tasks.judging import MOST_PLACES, JudgingService, make_lease_request
from app.services.tasks.tasks import TaskHandedIn, TaskView
from app.storage import campaigns, pearmut
from app.storage import sessions as stored_sessions
from app.storage import tokens as stored_tokens
from app.storage.db import Session
from app.storage.leases import leases
from app.storage.leases.attention import AttentionCheckSampling
from app.storage.recorder import activity
from app.storage.recorder.activity import ActivityEvent, Heartbeat, LeaseAfterHeartbeat
from app.storage.recorder.answer_recorder import CampaignWriteQueue
from app.storage.recorder.judgments import Connection
from app.storage.tasks import TaskNotFound

Blocked = Literal["consent", "qualification", "questionnaire"]
Why = Literal["finished", "nothing_planned", "wait", "paused", "capacity", "not_enrolled"] | Blocked

BEATS_SHARE = 0.1
"""Seconds that a heartbeat waits at most to be written together with others: nobody looks at its answer."""


@dataclass(frozen=True, slots=True)
class LeaseResult:
    """A task, or the reason why there is none now and the seconds until the next request (None: no task will come)."""

    task: TaskView | None
    why: Why | None = None
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class LeaseExtension:
    """The new end of the lease; None, with `surplus` set, if somebody else has the task."""

    leased_until: datetime | None
    surplus: bool


async def lease_task(service: JudgingService, *, rater: ActingRater) -> LeaseResult:
    """Return the task that the rater holds, or the next one. Raises NotFound, BadCredential, Unavailable."""
    asking, why = await service.run_transaction_in_thread(partial(_ask, rater=rater))
    if why is not None:
        return LeaseResult(None, why)
    leased = await service.recorder.run_transaction(partial(leases.lease_held_or_next_task, request=asking))
    if isinstance(leased, leases.RaterCredentialEnded):
        raise BadCredential
    if isinstance(leased, leases.NoTaskReason):
        return LeaseResult(None, leased.why, leased.retry_after)
    return LeaseResult(
        await service.run_transaction_in_thread(partial(tasks.load_task_view, public_id=leased.public_id, rater=rater))
    )


def _ask(session: Session, rater: ActingRater) -> tuple[leases.LeaseRequest, Why | None]:
    """Return the lease request, and what the rater must do before getting a task, if anything."""
    settings = campaigns.load_campaign(session, rater.campaign).settings
    lasts = get_lease_duration(settings)
    asking = replace(make_lease_request(rater, lasts), checks=_find_attention_draw(session, rater, settings))
    why = _find_first_step(session, rater, settings)
    if why is not None and not _is_signed_in(session, rater):  # otherwise the leasing statement checks it
        raise BadCredential
    stored_tokens.note_token_use_by_id(session, rater.token_id)
    return asking, why


def _find_first_step(session: Session, rater: ActingRater, settings: Mapping[str, object]) -> Why | None:
    blocked = raters.find_rater_block_reason(session, rater.campaign_id, rater.rater_id)
    if blocked in ("consent", "qualification"):
        return blocked
    if blocked is None and questionnaires.is_questionnaire_outstanding(session, settings, rater, "before"):
        return "questionnaire"
    return "finished" if hand_in_checks.is_rater_stopped_by_checks(session, rater) else None


def _is_signed_in(session: Session, rater: ActingRater) -> bool:
    """Return whether the credential of a rater from the cache is still valid."""
    there = rater.session_id is None or stored_sessions.is_session_live(session, rater.session_id)
    return there and stored_tokens.is_token_live(session, rater.token_id)


def _find_attention_draw(
    session: Session, rater: ActingRater, settings: Mapping[str, object]
) -> AttentionCheckSampling | None:
    """Return how attention checks are drawn. Pearmut's campaigns have their own checks, which Pearmut's pages draw."""
    asked = get_attention_check_settings(settings)
    if not asked.rate or pearmut.find_pearmut_campaign(session, rater.campaign_id, loaded=False) is not None:
        return None
    return AttentionCheckSampling(asked.rate, asked.seed)


async def extend_lease(
    service: JudgingService, public_id: str, events: Sequence[ActivityEvent], *, rater: ActingRater
) -> LeaseExtension:
    """Extend the lease and record the rater's activity, each event once.

    Raises TaskNotFound, Invalid for events that name items or segments that the task does not have, TaskHandedIn,
    BadCredential, Unavailable.
    """

    def beat_as_asked(task: AnswerableTask) -> Awaitable[list[LeaseAfterHeartbeat]]:
        _check_places(task.context, events)
        write_target = task.rules.write_target

        async def flush(connection: Connection, beats: Sequence[Heartbeat], _: str) -> list[LeaseAfterHeartbeat]:
            return await activity.extend_leases_and_store_events(connection, write_target, beats)

        def lane() -> CampaignWriteQueue[Heartbeat, LeaseAfterHeartbeat]:
            return CampaignWriteQueue(flush, lambda one: one.task_id, lambda _: True, at_once=True, sharing=BEATS_SHARE)

        beat = Heartbeat(rater.token_id, rater.rater_id, task.context.task_id, tuple(events), rater.session_id)
        return service.recorder.queue_and_await_flush(
            ("beats", *write_target.flush_group_key), lane, [beat], actor=rater.actor, all_or_nothing=False
        )

    task, (beaten,) = await service.retry_write_on_settings_change(
        public_id, rater, beat_as_asked, lambda one: one.standing == "outdated"
    )
    if beaten.standing == "unauthorized":
        raise BadCredential
    if beaten.standing == "unknown":
        raise TaskNotFound
    if beaten.standing == "handed_in":
        raise TaskHandedIn
    if beaten.standing == "lapsed":
        asking = make_lease_request(rater, task.rules.lease_duration)
        again = await service.recorder.run_transaction(
            partial(leases.renew_lapsed_lease, request=asking, task_id=task.context.task_id)
        )
        return LeaseExtension(again.leased_until if again is not None else None, surplus=False)
    return LeaseExtension(beaten.leased_until, surplus=beaten.standing == "surplus")


def _check_places(context: TaskAnswerContext, events: Sequence[ActivityEvent]) -> None:
    """Check that all events are about something that the task shows. Raises Invalid."""
    places = []
    for n, event in enumerate(events):
        if event.item is None:
            continue
        if not context.has_item(event.item):
            places.append(Place(("body", "events", n, "item"), "the task has no such item"))
        elif event.segment is not None and event.segment > context.count_item_segments(event.item):
            places.append(Place(("body", "events", n, "segment"), "the item has no such segment"))
    if places:
        raise Invalid("events name what the task does not have", places=tuple(places[:MOST_PLACES]))
