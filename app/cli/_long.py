"""Reports that take long, asked of a server: the job is looked at until its report is there."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

from app.cli._remote import Query, Remote

LOOK_EVERY = 1.0  # seconds


def report(
    remote: Remote,
    method: str,
    path: str,
    query: Query,
    *,
    body: Mapping[str, object] | None = None,
    accept: str = "application/json",
    on_progress: Callable[[int, int], None],
) -> bytes:
    """The report, however long it takes. Raises Refused with what the job failed for, NotReached.

    accept: its media type, where it is not JSON; the path must be one that answers with it.
    """
    answer = remote.ask(method, path, query, body, accept=accept)
    if answer.status_code == 200:
        return answer.content
    address, told = answer.headers["Location"], ""
    while True:
        job = answer.json()
        if job["state"] not in ("queued", "running"):
            return remote.ask("GET", f"{address}/report", accept=accept).content
        if job["total"]:
            on_progress(job["done"], job["total"])
        if job["waiting"] and job["waiting"] != told:
            told = job["waiting"]
            print(f"plumbline: {told}", file=sys.stderr)  # noqa: T201  (this is the command line)
        time.sleep(LOOK_EVERY)
        answer = remote.ask("GET", address)
