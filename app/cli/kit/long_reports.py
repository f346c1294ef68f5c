"""Reports that take long, asked of a server: the job is looked at until its report is there."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from app.client.remote import Query, RemoteServer
from app.domain.errors import Conflict

if TYPE_CHECKING:
    import httpx

LOOK_EVERY = 1.0  # seconds
MOST_ASKED = 6  # times, while others go on with what a plan is compiled for
Progress = Callable[[int, int], None]


class CampaignChangesTooFast(Conflict):
    """The campaign changes faster than its plan can be compiled; pause it, or try again when nobody is judging."""

    published = "ChangesTooFast"


def wait_for_report(
    remote: RemoteServer,
    method: str,
    path: str,
    query: Query,
    *,
    body: Mapping[str, object] | None = None,
    accept: str = "application/json",
    on_progress: Progress,
) -> bytes:
    """The report, however long it takes. Raises ServerRefusal with what the job failed for, ServerUnreachable.

    accept: its media type, where it is not JSON; the path must be one that answers with it.
    """
    answer = remote.ask_without_waiting(method, path, query, body, accept=accept)
    if answer.status_code == 200:
        return answer.content
    _wait_for_job(remote, answer, on_progress)
    return remote.ask_without_waiting("GET", f"{answer.headers['Location']}/report", accept=accept).content


def post_and_wait_for_job(
    remote: RemoteServer, path: str, query: Query, body: Mapping[str, object], *, on_progress: Progress
) -> bytes:
    """What a POST makes, asked again once the job is done that it waits for.

    Raises ServerRefusal with what the job failed for, ServerUnreachable, CampaignChangesTooFast.
    """
    once = secrets.token_hex(16)
    for _ in range(MOST_ASKED):
        answer = remote.ask_without_waiting("POST", path, query, body, creates=once)
        if answer.status_code != 202:
            return answer.content
        job = _wait_for_job(remote, answer, on_progress)
        if job["state"] != "done":
            remote.ask_without_waiting("GET", f"{answer.headers['Location']}/report")
    raise CampaignChangesTooFast


def _wait_for_job(remote: RemoteServer, answer: httpx.Response, on_progress: Progress) -> dict[str, Any]:
    """The job of an answer, looked at until it has ended."""
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
        answer = remote.ask_without_waiting("GET", address)
