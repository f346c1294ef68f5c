"""Requests to a server for reports that take a long time: the job is polled until its report is ready."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from app.client.remote_server import Query, RemoteServer
from app.domain.errors import Conflict

if TYPE_CHECKING:
    import httpx

LOOK_EVERY = 1.0  # seconds
MOST_ASKED = 6  # attempts, while others change the data that a plan is compiled from
Progress = Callable[[int, int], None]


class PlanOvertakenByChanges(Conflict):
    """The campaign changes faster than its plan can be compiled; pause it, or try again when nobody is judging."""

    published = "ChangesTooFast"


def fetch_report_when_ready(
    remote: RemoteServer,
    method: str,
    path: str,
    query: Query,
    *,
    body: Mapping[str, object] | None = None,
    accept: str = "application/json",
    on_progress: Progress,
) -> bytes:
    """Return a report, however long it takes. Raises ServerRefusal with the error of a failed job, ServerUnreachable.

    accept: its media type if it is not JSON; the path must answer with this type.
    """
    answer = remote.request_result_without_waiting(method, path, query, body, accept=accept)
    if answer.status_code == 200:
        return answer.content
    _wait_for_job(remote, answer, on_progress)
    return remote.request_result_without_waiting("GET", f"{answer.headers['Location']}/report", accept=accept).content


def post_until_created(
    remote: RemoteServer, path: str, query: Query, body: Mapping[str, object], *, on_progress: Progress
) -> bytes:
    """Return what a POST creates. If a job must finish first, the request is sent again afterwards.

    Raises ServerRefusal with the error of a failed job, ServerUnreachable, PlanOvertakenByChanges.
    """
    once = secrets.token_hex(16)
    for _ in range(MOST_ASKED):
        answer = remote.request_result_without_waiting("POST", path, query, body, idempotency_key=once)
        if answer.status_code != 202:
            return answer.content
        job = _wait_for_job(remote, answer, on_progress)
        if job["state"] != "done":
            remote.request_result_without_waiting("GET", f"{answer.headers['Location']}/report")
    raise PlanOvertakenByChanges


def _wait_for_job(remote: RemoteServer, answer: httpx.Response, on_progress: Progress) -> dict[str, Any]:
    """Poll the job of an answer until it has ended, and return it."""
    address, told = answer.headers["Location"], ""
    while True:
        job: dict[str, Any] = answer.json()
        if job["state"] not in ("queued", "running"):
            return job
        if job["total"]:
            on_progress(job["done"], job["total"])
        if job["waiting"] and job["waiting"] != told:
            told = job["waiting"]
            print(f"plumbline: {told}", file=sys.stderr)  # noqa: T201  (this is the command line)
        time.sleep(LOOK_EVERY)
        answer = remote.request_result_without_waiting("GET", address)
