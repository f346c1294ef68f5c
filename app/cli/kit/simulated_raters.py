"""Simulated raters over HTTP: they send what front-ends would send, and measure how long the answers take.

They use the same requests as any front-end: lease, view, judge, heartbeat, hand in. All loops are bounded: a request
is tried at most `TRIES` times, and a rater waits for work no longer than the given patience.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import quantiles
from urllib.parse import quote

import httpx

from app.domain.errors import AppError, Unavailable
from app.domain.questionnaires import Question
from app.simulation import (
    AbandonTask,
    Act,
    CampaignRaterForms,
    DisplayedTask,
    HandInTask,
    Pause,
    RaterModel,
    SendHeartbeat,
    SendJudgment,
    SendPreference,
    SimulatedRater,
    draw_questionnaire_answers,
    generate_session_actions,
    parse_task,
)

TRIES = 8
SHORTEST_WAIT, LONGEST_WAIT = 0.05, 5.0  # seconds before a retry
AT_THE_END = frozenset({"finished", "capacity"})  # then the final questions are asked
ASK_AGAIN = 1.0  # most seconds until a waiting rater asks again, whatever the server says
MOST_ANSWERS = 2_000_000
TIMEOUT = httpx.Timeout(30.0)
Judged = Callable[[int], None]


class UnexpectedServerResponse(Unavailable):
    """The server's response is not the expected one."""

    published = "NotServed"


@dataclass(slots=True)
class RehearsalTally:
    """What happened. seconds: time of each request, in order of the answers. ended: why each rater stopped."""

    seconds: list[float] = field(default_factory=list)
    by_status: Counter[int] = field(default_factory=Counter)
    judgments: int = 0
    revisions: int = 0
    surplus: int = 0
    tasks: int = 0
    retries: int = 0
    ended: dict[str, str] = field(default_factory=dict)
    took: float = 0.0

    def as_json(self) -> dict[str, object]:
        """Return counts, requests per second, and median and 99th percentile of their time in milliseconds, as JSON."""
        cut = quantiles(self.seconds, n=100, method="inclusive") if len(self.seconds) > 1 else [0.0] * 99
        return {
            "judgments": self.judgments,
            "revisions": self.revisions,
            "surplus": self.surplus,
            "tasks_handed_in": self.tasks,
            "requests": len(self.seconds),
            "retries": self.retries,
            "statuses": {str(status): n for status, n in sorted(self.by_status.items())},
            "seconds": round(self.took, 2),
            "requests_per_second": round(len(self.seconds) / self.took, 1) if self.took else 0.0,
            "p50_ms": round(1000 * cut[49], 2),
            "p99_ms": round(1000 * cut[98], 2),
            "raters": dict(sorted(self.ended.items())),
        }


@dataclass(frozen=True, slots=True)
class SimulatedRaterSettings:
    """How raters work. workers: how many work at a time. speed: relative to people; 0 for no pauses at all.

    patience: seconds that a rater waits for work before giving up.
    """

    workers: int = 8
    speed: float = 0.0
    patience: float = 30.0


async def run_simulated_raters(
    server: str,
    model: RaterModel,
    tokens_by_rater: Mapping[str, str],
    settings: SimulatedRaterSettings,
    *,
    on_progress: Judged | None = None,
) -> RehearsalTally:
    """Let the raters of a model judge until there is nothing left for them.

    tokens_by_rater: raters without a token take no part. on_progress: called with the number of new judgments. Raises
    UnexpectedServerResponse if the server stops answering, NotFound and Invalid if the model does not fit this version.
    """
    tally, forms, began = RehearsalTally(), CampaignRaterForms.from_rater_model(model), time.monotonic()
    room = asyncio.Semaphore(settings.workers)
    async with _client(server, settings.workers) as client, asyncio.TaskGroup() as group:
        for rater in sorted(tokens_by_rater.keys() & model.raters.keys()):
            simulated = _Rater(
                SimulatedRater.from_rater_model(model, rater),
                forms,
                client,
                tokens_by_rater[rater],
                settings,
                tally,
                on_progress or _ignore_progress,
            )
            group.create_task(simulated.work(room))
    tally.took = time.monotonic() - began
    return tally


def _ignore_progress(_: int) -> None:
    """Do nothing."""


@asynccontextmanager
async def _client(server: str, workers: int) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=workers, max_keepalive_connections=workers)
    async with httpx.AsyncClient(base_url=server, limits=limits, timeout=TIMEOUT) as client:
        yield client


@dataclass(slots=True)
class _Rater:
    """A rater and their front-end."""

    mind: SimulatedRater
    forms: CampaignRaterForms
    client: httpx.AsyncClient
    secret: str
    pace: SimulatedRaterSettings
    tally: RehearsalTally
    judged: Judged
    waited: float = 0.0

    async def work(self, room: asyncio.Semaphore) -> None:
        """Work on one task after another, and let others take a turn between two tasks."""
        why: str | None = None
        while why is None:
            async with room:
                why, pause = await self._turn()
            if pause and self.waited >= self.pace.patience:
                why = "wait"
            elif pause:
                self.waited += pause
                await asyncio.sleep(pause)
        self.tally.ended[self.mind.rater] = why

    async def _turn(self) -> tuple[str | None, float]:
        """Work on a task if there is one. Return why there will be no other (or None), and how long to wait for one."""
        path = f"/v1/campaigns/{quote(self.mind.model.campaign, safe='')}/lease"
        told = (await self._send("POST", path, fine=(200,))).json()
        if told["task"] is None:
            if told["why"] == "consent" and await self._agree():
                return None, 0.0
            if told["why"] == "questionnaire" and await self._answer_questions("before"):
                return None, 0.0
            if told["why"] in AT_THE_END:
                await self._answer_questions("after")
            again = told["why"] == "wait" and told["retry_after"] is not None
            return (None, min(float(told["retry_after"]), ASK_AGAIN)) if again else (told["why"], 0.0)
        self.waited = 0.0
        return ("left" if await self._work_through_task(parse_task(told["task"])) else None), 0.0

    async def _agree(self) -> bool:
        """Give the consent that is asked for; return whether the server accepted it."""
        asked = (await self._send("GET", "/v1/me/consent", fine=(200,))).json()["asked"]
        if asked is None:
            return False
        body = {"version": asked["version"], "language": next(iter(asked["texts"]))}
        return (await self._send("POST", "/v1/me/consent", body, fine=(200, 409))).status_code == 200

    async def _answer_questions(self, moment: str) -> bool:
        """Answer the outstanding questions of a moment; return whether there were any."""
        own = (await self._send("GET", "/v1/me/questionnaires", fine=(200,))).json()["items"]
        asked = [one["questions"] for one in own if one["moment"] == moment and one["outstanding"]]
        for questions in asked:
            read = [Question.model_validate(one) for one in questions]
            body = {"answers": draw_questionnaire_answers(self.mind.draws, self.mind.rater, read)}
            await self._send("PUT", f"/v1/me/questionnaires/{moment}/answers", body, fine=(200,))
        return bool(asked)

    async def _work_through_task(self, task: DisplayedTask) -> bool:
        """Go through a task; return whether the rater left in the middle."""
        acts = generate_session_actions(self.mind, task, self.forms, page=secrets.token_hex(8))
        came: int | None = None
        for _ in itertools.count():
            try:
                act = acts.send(came)
            except StopIteration:
                return False
            if isinstance(act, AbandonTask):
                return True
            came, lost = await self._send_act(task, act)
            if lost:
                return False
        return False

    async def _send_act(self, task: DisplayedTask, act: Act) -> tuple[int | None, bool]:
        """Send one act; return the revision of the answer, and whether the task now belongs to somebody else."""
        path = f"/v1/tasks/{task.task}"
        match act:
            case SendJudgment():
                return await self._judge(path, act)
            case SendPreference():
                seen = {"If-Match": f'"{act.seen}"'}
                await self._send("PUT", f"{path}/judgments/screens/{act.screen}", act.payload, seen, fine=(200, 412))
            case SendHeartbeat():
                answer = await self._send("POST", f"{path}/heartbeat", {"events": list(act.events)}, fine=(200, 409))
                return None, answer.status_code == 409
            case Pause():
                await asyncio.sleep(act.seconds)
            case HandInTask():
                answer = await self._send("POST", f"{path}/submit", fine=(200, 409))
                self.tally.tasks += answer.status_code == 200
                return None, answer.status_code == 409
        return None, False

    async def _judge(self, path: str, act: SendJudgment) -> tuple[int | None, bool]:
        where = f"{path}/judgments/{act.item}" + ("" if act.segment is None else f"/{act.segment}")
        if self.pace.speed:
            await asyncio.sleep(act.seconds / self.pace.speed)
        answer = await self._send("PUT", where, act.payload, {"If-Match": f'"{act.seen}"'}, fine=(200, 409, 412))
        told = answer.json()
        if answer.status_code == 412:
            return int(told["stored"]["revision"]), False
        if answer.status_code == 409:
            return None, True
        new = int(told["revision"]) > act.seen  # repeating an answer creates no revision
        self.tally.judgments += new
        self.tally.revisions += new and act.seen > 0
        self.tally.surplus += told.get("kept") == "surplus"
        self.judged(act.seen == 0)
        return int(told["revision"]), told.get("kept") == "surplus"

    async def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        fine: tuple[int, ...],
    ) -> httpx.Response:
        """Send a request, and retry it while the server is unavailable or says that it is busy.

        Raises UnexpectedServerResponse.
        """
        given = {"Authorization": f"Bearer {self.secret}", **(headers or {})}
        wait = SHORTEST_WAIT
        said = ""
        for _ in range(TRIES):
            began = time.monotonic()
            try:
                answer = await self.client.request(method, path, json=body, headers=given)
            except httpx.TransportError as error:
                said = str(error) or type(error).__name__
            else:
                self._count(answer, time.monotonic() - began)
                if answer.status_code in fine:
                    return answer
                if answer.status_code not in (429, 503):
                    raise UnexpectedServerResponse(f"{method} {path}: {_problem_line(answer)}")
                said = _problem_line(answer)
            self.tally.retries += 1
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
        raise UnexpectedServerResponse(f"{method} {path}: {said}")

    def _count(self, answer: httpx.Response, took: float) -> None:
        self.tally.by_status[answer.status_code] += 1
        if len(self.tally.seconds) < MOST_ANSWERS:
            self.tally.seconds.append(took)


def _problem_line(answer: httpx.Response) -> str:
    """Return the message of a problem document in one line."""
    try:
        told = answer.json()
        return f"{answer.status_code} {told['title']}: {told['detail']} {told['errors']}"
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code}, and not as Plumbline says it"


def unwrap_error_group(group: BaseExceptionGroup[BaseException]) -> AppError:
    """Return the error that ended a group of raters if it is one of ours; raise any other error."""
    error = group.exceptions[0]
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, AppError):
        return error
    raise error
