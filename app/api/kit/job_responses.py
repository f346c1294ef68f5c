"""Jobs in answers, and waiting for a job."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from anyio import to_thread
from fastapi import Header, Request, Response
from pydantic import BaseModel, Field

from app.api.models.times import Time
from app.reports.kit.report import StoredReport
from app.services.jobs import jobs
from app.services.jobs.jobs import JobView, State
from app.storage.db import Database
from app.web.admission import release_admission_slot
from app.web.server_sent_events import STOPPING

WAIT, LONGEST_WAIT = 5, 30  # seconds
MOST_WAITING = 100  # in one process; further clients get the job at once
FIRST_LOOK, LAST_LOOK = 0.05, 0.5  # seconds between checks, which become rarer
RETRY_AFTER = 2  # seconds
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})")
Found = TypeVar("Found")
Prefer = Annotated[
    str,
    Header(max_length=200, description="`wait=N`: seconds to wait for the result, at most 30.", examples=["wait=10"]),
]


class JobError(BaseModel):
    """Why a job failed, in the form of a problem."""

    title: str
    detail: str
    errors: list[dict[str, Any]] = Field(description="What is wrong with the request, and where.")


class JobOut(BaseModel):
    """Work in the background."""

    job: str
    kind: str = Field(description="Kind of report that it makes.")
    campaigns: dict[str, int] = Field(description="Campaigns that it reads, each at its data version.")
    state: State
    done: int = Field(description="Parts computed so far.")
    total: int | None = Field(description="Number of parts; null until the data have been read.")
    seconds: float = Field(description="Seconds from start to end, or until now.")
    created_at: Time
    waiting: str | None = Field(description="Why it does not run.")
    report: str | None = Field(description="Address of the report, once it is done.")
    error: JobError | None
    workers: dict[str, int] = Field(description="Parts by worker, once it is done.")

    @classmethod
    def from_view(cls, view: JobView) -> JobOut:
        """As it is shown."""
        error = view.error
        told = None
        if error is not None:
            errors = [{"loc": loc, "msg": msg} for loc, msg in error["errors"]]
            told = JobError(title=error["title"], detail=error["detail"] or error["title"], errors=errors)
        return cls(
            job=view.job,
            kind=view.kind.rpartition("/")[2],
            campaigns=dict(view.campaigns),
            state=view.state,
            done=view.done,
            total=view.total,
            seconds=round(view.seconds, 1),
            created_at=view.created_at,
            waiting=view.waiting,
            report=f"{make_job_path(view)}/report" if view.state == "done" else None,
            error=told,
            workers=dict(view.workers),
        )


EXAMPLE = JobOut(
    job="j_" + "0" * 32,
    kind="stability",
    campaigns={"sxs-ende": 2},
    state="running",
    done=41,
    total=108,
    seconds=31.2,
    created_at="2026-11-20T12:00:00Z",
    waiting=None,
    report=None,
    error=None,
    workers={},
)
LATER: dict[int | str, dict[str, Any]] = {
    202: {
        "model": JobOut,
        "description": "The answer takes longer: the job that computes it.",
        "content": {"application/json": {"example": EXAMPLE.model_dump(mode="json")}},
        "headers": {
            "Location": {"description": "The job.", "schema": {"type": "string"}},
            "Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}},
        },
    }
}


def make_job_path(view: JobView) -> str:
    """Return the path of a job."""
    return f"/v1/jobs/{view.job}"


def job_response(view: JobView, status: int = 202, *, location: str | None = None) -> Response:
    """Return the job as an answer with `Retry-After`, or the report's address. location: if not the job's path."""
    headers = {"Cache-Control": "no-store"}
    if status == 202:
        headers["Location"] = location or make_job_path(view)
    elif view.state == "done":
        headers["Location"] = f"{make_job_path(view)}/report"
    if not view.has_ended:
        headers["Retry-After"] = str(RETRY_AFTER)
    return Response(JobOut.from_view(view).model_dump_json(), status, headers=headers, media_type="application/json")


def parse_prefer_wait(prefer: str) -> int:
    """Return the seconds to wait, from a `Prefer` header (RFC 7240).

    >>> parse_prefer_wait(""), parse_prefer_wait("respond-async, wait=12"), parse_prefer_wait("wait=900")
    (5, 12, 30)
    """
    match = _WAIT.search(prefer)
    return min(int(match[1]), LONGEST_WAIT) if match else WAIT


async def wait_for_report_or_job(
    request: Request, database: Database, prefer: str, find_or_queue: Callable[[], Found | JobView]
) -> Found | StoredReport | JobView:
    """Return the report if it is ready while the client waits; otherwise the job.

    A waiting request occupies no thread, no connection and no place among the requests. Raises as `find_or_queue` does,
    and the error of a failed job.
    """
    until = time.monotonic() + parse_prefer_wait(prefer)
    answer = await to_thread.run_sync(find_or_queue)
    if not isinstance(answer, JobView) or not _take_waiting_place(request):
        return answer
    release_admission_slot(request.scope)
    stopping: asyncio.Event = getattr(request.state, STOPPING, None) or asyncio.Event()
    pause = FIRST_LOOK
    try:
        while not answer.has_ended and time.monotonic() + pause < until and not stopping.is_set():
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LAST_LOOK)
            answer = await to_thread.run_sync(partial(_load_job, database, answer.job))
    finally:
        request.app.state.waiting -= 1
    return await to_thread.run_sync(partial(_load_job_report, database, answer)) if answer.has_ended else answer


def _take_waiting_place(request: Request) -> bool:
    state = request.app.state
    waiting = getattr(state, "waiting", 0)
    if waiting >= MOST_WAITING:
        return False
    state.waiting = waiting + 1
    return True


def _load_job(database: Database, job: str) -> JobView:
    with database.transaction() as session:
        return jobs.get_job(session, job)


def _load_job_report(database: Database, view: JobView) -> StoredReport:
    with database.transaction() as session:
        return jobs.get_job_report(session, view)
