"""Judging: record one answer at one address, or many answers at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from anyio import to_thread

from app.domain.errors import AppError, Conflict, Invalid, Place, Unavailable
from app.protocols import PreferencePayload, check_answer, check_preference, find_payload_type
from app.protocols.base import Level, Payload, PreferenceWidget
from app.services.access.tokens import BadCredential
from app.services.people.raters import ActingRater
from app.services.tasks.answer_context import (
    AnswerableTask,
    AnswerContextCache,
    TaskAnswerContext,
    load_task_answer_context,
)
from app.services.tasks.judging_rules import load_judging_rules
from app.services.tasks.task_content import TaskAddressNotFound
from app.services.tasks.tasks import CampaignClosedToRaters, OwnAnswersByAddress, TaskHandedIn, TaskReleased
from app.storage.db import Database, Session
from app.storage.leases import expired_task_answers, leases
from app.storage.recorder import comparisons as recorder_comparisons
from app.storage.recorder import judgments as recorder_judgments
from app.storage.recorder.answer_recorder import AnswerRecorder
from app.storage.recorder.comparisons import ScreenComparison
from app.storage.recorder.judgments import STORED, AnswerOutcome, CampaignWriteTarget, Connection, RaterAnswer
from app.storage.tasks import TaskNotFound

T = TypeVar("T")
Written = RaterAnswer | ScreenComparison
MOST_PLACES = 100
ATTEMPTS = 3  # an attempt fails only if the settings change while it runs


class StaleJudgment(AppError):
    """This has been judged again since you read it; compare both answers."""

    kind = "precondition_failed"


class JudgedAlready(Conflict):
    """This is judged, and this presentation does not allow changes."""


@dataclass(frozen=True, slots=True)
class AnswerAddress:
    """The address of an answer. segment: None for the item as a whole."""

    item: int
    segment: int | None


@dataclass(frozen=True, slots=True)
class ScreenAnswerAddress:
    """The address of an answer that compares the columns of a screen."""

    screen: int


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """An answer as it is sent. seen: the revision that the sender saw, None if the request does not say."""

    address: AnswerAddress | ScreenAnswerAddress
    payload: Payload
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class JudgmentReceipt:
    """An answer that is on disk. score: None for a screen. surplus: stored, although somebody else has the task now."""

    score: float | None
    revision: int
    surplus: bool
    leased_until: datetime | None


class CampaignSettingsChanging(Unavailable):
    """The campaign's settings are being changed."""

    published = "SettingsChanging"


@dataclass(frozen=True, slots=True)
class JudgingService:
    """What judging needs from this process: the recorder, the database for reading, and the cached tasks.

    pending_loads: running loads that several callers may wait for.
    """

    recorder: AnswerRecorder
    database: Database
    tasks: AnswerContextCache
    pending_loads: dict[object, asyncio.Future[Any]] = field(default_factory=dict)

    async def load_answerable_task(self, public_id: str, rater: ActingRater) -> AnswerableTask:
        """Return a task that the rater has or had, from the cache or the database. Raises TaskNotFound."""
        rules = self.tasks.find_judging_rules(rater.campaign_id)
        if rules is None:
            load_rules = partial(load_judging_rules, key=rater.campaign)
            rules = await self._run_once(rater.campaign_id, load_rules, self.tasks.cache_judging_rules)
        context = self.tasks.find_answer_context(public_id, rater.rater_id)
        if context is None or context.campaign_id != rater.campaign_id:
            load = partial(load_task_answer_context, rules=rules, public_id=public_id, rater_id=rater.rater_id)
            keep = partial(self.tasks.cache_answer_context, public_id, rater_id=rater.rater_id)
            loaded: TaskAnswerContext = await self._run_once((public_id, rater.rater_id), load, keep)
            return AnswerableTask(loaded, rules)
        return AnswerableTask(context, rules)

    async def retry_write_on_settings_change(
        self,
        public_id: str,
        rater: ActingRater,
        write: Callable[[AnswerableTask], Awaitable[Sequence[T]]],
        outdated: Callable[[T], bool],
    ) -> tuple[AnswerableTask, Sequence[T]]:
        """Write by the campaign's current rules, and try again if the settings have changed since they were read.

        outdated: returns whether an outcome means that nothing was written for this reason. Raises
        CampaignSettingsChanging, and whatever `write` raises.
        """
        for _ in range(ATTEMPTS):
            task = await self.load_answerable_task(public_id, rater)
            outcomes = await write(task)
            if not any(map(outdated, outcomes)):
                return task, outcomes
            self.tasks.forget_judging_rules(task.rules)
        raise CampaignSettingsChanging(retry_after=1)

    async def run_transaction_in_thread(self, work: Callable[[Session], T]) -> T:
        """Run some work in a thread, in a transaction of its own."""

        def run() -> T:
            with self.database.transaction() as session:
                return work(session)

        return await to_thread.run_sync(run)

    async def _run_once(self, key: object, work: Callable[[Session], T], keep: Callable[[T], T]) -> T:
        """Run some work in a thread, once for all callers that wait for it, even if one of them is cancelled.

        keep: stores the result in memory and returns what was stored. It does so before the work counts as done.
        Otherwise, a caller that came in between would find neither the work nor its result, and would repeat the work.
        """

        async def kept() -> T:
            return keep(await self.run_transaction_in_thread(work))

        load = self.pending_loads.get(key)
        if load is None:
            load = self.pending_loads[key] = asyncio.ensure_future(kept())
            load.add_done_callback(partial(self._end, key))
        done: T = await asyncio.shield(load)
        return done

    def _end(self, key: object, load: asyncio.Future[Any]) -> None:
        del self.pending_loads[key]
        if not load.cancelled():
            load.exception()  # marks the error as retrieved, in case no caller is waiting any more


async def record_answers(
    service: JudgingService, public_id: str, given: Sequence[SentAnswer], *, rater: ActingRater, all_or_nothing: bool
) -> list[JudgmentReceipt]:
    """Record answers; each is on disk when this returns.

    all_or_nothing: record all or none, with `("body", i)` in errors.

    Raises Invalid naming the field, NotFound, StaleJudgment with both answers, Conflict, Unavailable, StorageFull.
    """

    async def write(task: AnswerableTask) -> list[tuple[Written, AnswerOutcome]]:
        answers = _check_answers(task, given, rater, all_or_nothing=all_or_nothing)
        return list(
            zip(
                answers, await _write_answers(service, task, answers, rater, all_or_nothing=all_or_nothing), strict=True
            )
        )

    task, written = await service.retry_write_on_settings_change(
        public_id, rater, write, lambda one: one[1].verdict == "outdated"
    )
    answers, outcomes = [one for one, _ in written], [one for _, one in written]
    if any(one.verdict == "lapsed" for one in outcomes):
        outcomes = await _record_late_answers(service, task, answers, rater)
    if rater.answers_since is not None and any(one.verdict == "stale" for one in outcomes):
        outcomes = await service.run_transaction_in_thread(
            partial(_redact_outcomes, task_id=task.context.task_id, answers=answers, outcomes=outcomes, rater=rater)
        )
    _raise_first_refusal(given, outcomes, all_or_nothing=all_or_nothing)
    return [
        JudgmentReceipt(getattr(answer, "score", None), one.revision, one.surplus, one.leased_until)
        for answer, one in zip(answers, outcomes, strict=True)
    ]


async def _write_answers(
    service: JudgingService,
    task: AnswerableTask,
    answers: Sequence[Written],
    rater: ActingRater,
    *,
    all_or_nothing: bool,
) -> Sequence[AnswerOutcome]:
    judged = [one for one in answers if isinstance(one, RaterAnswer)]
    if len(judged) == len(answers):
        return await service.recorder.record_answers(
            task.rules.write_target, judged, actor=rater.actor, all_or_nothing=all_or_nothing
        )
    return await service.recorder.run_transaction(
        partial(_record_in_transaction, write_target=task.rules.write_target, answers=answers, by=rater.actor),
        keep=_are_all_stored,
    )


async def _record_in_transaction(
    connection: Connection, *, write_target: CampaignWriteTarget, answers: Sequence[Written], by: str
) -> list[AnswerOutcome]:
    """Write answers of both kinds in one transaction, and return their outcomes in the same order."""
    judged = [one for one in answers if isinstance(one, RaterAnswer)]
    compared = [one for one in answers if isinstance(one, ScreenComparison)]
    of_judged = iter(await recorder_judgments.write_judgments(connection, write_target, judged, by) if judged else [])
    of_compared = iter(
        await recorder_comparisons.write_comparisons(connection, write_target, compared, by) if compared else []
    )
    return [next(of_judged if isinstance(one, RaterAnswer) else of_compared) for one in answers]


def _are_all_stored(outcomes: Sequence[AnswerOutcome]) -> bool:
    return all(one.verdict in STORED for one in outcomes)


def _check_answers(
    task: AnswerableTask, given: Sequence[SentAnswer], rater: ActingRater, *, all_or_nothing: bool
) -> list[Written]:
    """Check answers against what was shown, and return them in the stored form. Raises Invalid, TaskAddressNotFound."""
    answers: list[Written] = []
    places: list[Place] = []
    for i, judgment in enumerate(given):
        try:
            answers.append(_check_answer(task, judgment, rater))
        except Invalid as error:
            before: tuple[str | int, ...] = ("body", i, "payload") if all_or_nothing else ("body",)
            faults = error.places or (Place((), error.detail),)
            places += [Place((*before, *place.loc), place.msg) for place in faults]
        except TaskAddressNotFound as error:
            if not all_or_nothing:
                raise
            places.append(Place(("body", i, _name_unknown_part(task, judgment.address)), error.detail))
    places += _list_duplicate_answers(given)
    if places:
        raise Invalid("the answer does not fit what is shown and asked", places=tuple(places[:MOST_PLACES]))
    return answers


def _name_unknown_part(task: AnswerableTask, address: AnswerAddress | ScreenAnswerAddress) -> str:
    """Return which part of an address does not exist in the task."""
    if isinstance(address, ScreenAnswerAddress):
        return "screen"
    return "item" if address.segment is None or not task.context.has_item(address.item) else "segment"


def _list_duplicate_answers(given: Sequence[SentAnswer]) -> list[Place]:
    """List the answers whose address an earlier answer already has."""
    first: dict[AnswerAddress | ScreenAnswerAddress, int] = {}
    repeats = ((i, first.setdefault(one.address, i)) for i, one in enumerate(given))
    return [Place(("body", i), f"answers the same as number {before}") for i, before in repeats if before != i]


def _check_answer(task: AnswerableTask, given: SentAnswer, rater: ActingRater) -> Written:
    if isinstance(given.address, ScreenAnswerAddress):
        return _check_comparison(task, given.address.screen, given, rater)
    rules = task.rules
    segment_id, shown = task.segment_id_and_texts(given.address.item, given.address.segment)
    level: Level = "document" if segment_id is None else "segment"
    if not isinstance(given.payload, find_payload_type(rules.protocol, level)):
        why = f"the campaign judges by {rules.protocol.name}"
        raise Invalid(why, places=(Place(("protocol",), why),))
    check_answer(rules.protocol, given.payload, shown, rules.options, rules.forms[level])
    scored = rules.protocol.score(given.payload, shown, rules.options)
    return RaterAnswer(
        token_id=rater.token_id,
        rater_id=rater.rater_id,
        task_id=task.context.task_id,
        item_id=task.context.item_id(given.address.item),
        segment_id=segment_id,
        payload=given.payload.model_dump_json(),
        score=scored.score,
        n_errors=scored.n_errors,
        seen=given.seen,
        final=task.context.answers_are_final,
        session_id=rater.session_id,
    )


def _check_comparison(task: AnswerableTask, screen: int, given: SentAnswer, rater: ActingRater) -> ScreenComparison:
    """Check an answer that compares the columns of a screen, and return it in the stored form."""
    columns = task.context.count_screen_columns(screen)
    if "screen" not in task.rules.forms or columns < 2:
        raise TaskAddressNotFound("nothing is asked of this screen")
    asked = next(widget for widget in task.rules.forms["screen"].widgets if isinstance(widget, PreferenceWidget))
    if not isinstance(given.payload, PreferencePayload):
        why = "a screen takes a preference"
        raise Invalid(why, places=(Place(("preference",), why),))
    check_preference(given.payload, asked, protocol=task.rules.protocol.name, columns=columns)
    return ScreenComparison(
        token_id=rater.token_id,
        rater_id=rater.rater_id,
        task_id=task.context.task_id,
        screen=screen,
        payload=given.payload.model_dump_json(),
        seen=given.seen,
        final=task.context.answers_are_final,
        session_id=rater.session_id,
    )


def _redact_outcomes(
    session: Session,
    *,
    task_id: int,
    answers: Sequence[Written],
    outcomes: Sequence[AnswerOutcome],
    rater: ActingRater,
) -> list[AnswerOutcome]:
    """Return the outcomes, without the stored answers that the rater's credential may not show."""
    stored = OwnAnswersByAddress.load(session, rater.campaign_id, task_id, rater.rater_id, since=rater.answers_since)

    def hidden(answer: Written) -> bool:
        had = (
            stored.screens[answer.screen]
            if isinstance(answer, ScreenComparison)
            else stored.at[answer.key_in_flush[:2]]
        )
        return had.hidden

    return [
        replace(one, payload={}) if one.verdict == "stale" and one.revision and hidden(answer) else one
        for answer, one in zip(answers, outcomes, strict=True)
    ]


def make_lease_request(rater: ActingRater, duration: timedelta) -> leases.LeaseRequest:
    """Make a rater's request for a lease of a given duration."""
    return leases.LeaseRequest(
        rater.campaign_id, rater.rater_id, rater.token_id, duration, rater.actor, session_id=rater.session_id
    )


async def _record_late_answers(
    service: JudgingService, task: AnswerableTask, answers: Sequence[Written], rater: ActingRater
) -> list[AnswerOutcome]:
    """Record answers to a task whose lease has expired: all of them, or none if one cannot be stored."""
    asking = make_lease_request(rater, task.rules.lease_duration)
    kept = [replace(answer, lapsed=True) for answer in answers]

    async def work(connection: Connection) -> list[AnswerOutcome]:
        await expired_task_answers.renew_or_hand_over_expired_task(connection, task.context.task_id, asking)
        return await _record_in_transaction(
            connection, write_target=task.rules.write_target, answers=kept, by=asking.actor
        )

    return await service.recorder.run_transaction(work, keep=_are_all_stored)


REFUSALS: Mapping[str, type[AppError]] = {
    "unauthorized": BadCredential,
    "unknown": TaskNotFound,
    "closed": CampaignClosedToRaters,
    "outdated": CampaignSettingsChanging,
    "handed_in": TaskHandedIn,
    "final": JudgedAlready,
    "released": TaskReleased,
    "stale": StaleJudgment,
}


def _raise_first_refusal(
    given: Sequence[SentAnswer], outcomes: Sequence[AnswerOutcome], *, all_or_nothing: bool
) -> None:
    """Raise the error for the first refused answer, naming all refused answers."""
    bad = [i for i, one in enumerate(outcomes) if one.verdict not in STORED]
    if not bad:
        return
    kind = REFUSALS[outcomes[bad[0]].verdict]
    places = (
        tuple(Place(("body", i), REFUSALS[outcomes[i].verdict].title()) for i in bad[:MOST_PLACES])
        if all_or_nothing
        else ()
    )
    error = kind(places=places)
    if kind is StaleJudgment:
        first = outcomes[bad[0]]
        error.members = {
            "stored": {"revision": first.revision, "payload": first.payload},
            "sent": {"seen": given[bad[0]].seen, "payload": given[bad[0]].payload.model_dump(mode="json")},
        }
    raise error
