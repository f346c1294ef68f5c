# Made from ../aio/jobs.py by make_sync.py; change that.
"""Jobs, followed to their end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx

from plumbline_client.answers import ACCEPTED, check_done, parse, parse_json
from plumbline_client.calls import Call, path, report_call
from plumbline_client.errors import JobError, retry_after
from plumbline_client.models import Job
from plumbline_client.reports import Report
from plumbline_client.sync.transport import Transport

Progress = Callable[[Job], object]
LOOK_EVERY = 1.0  # seconds, where the server does not say
MOST_ASKED = 6  # times, while others change the campaign that a job is about


class Jobs:
    """Work in the background. The same question, by whomever, is the same job."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, job: str) -> Job:
        """How far it is."""
        return self._transport.ask(Job, Call("GET", path("jobs", job)))

    def cancel(self, job: str) -> Job:
        """Stop it; one that has ended stays as it is."""
        return self._transport.ask(Job, Call("DELETE", path("jobs", job)))

    def follow(self, job: str, *, on_progress: Progress | None = None, timeout: float | None = None) -> Job:
        """Wait until it has ended. on_progress: is given the job at each look. timeout: seconds.

        Raises JobError if it failed or was cancelled, TimeoutError; the job goes on then.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            answer = self._transport.send(Call("GET", path("jobs", job)))
            state = parse(Job, answer)
            if on_progress is not None:
                on_progress(state)
            if state.ended:
                return check_done(state)
            pause = min(retry_after(answer) or LOOK_EVERY, LOOK_EVERY)
            if until is not None and time.monotonic() + pause > until:
                raise TimeoutError(f"{job} has not ended; it goes on, and can be followed again")
            time.sleep(pause)

    def report(self, job: str) -> Report:
        """What a job that is done made."""
        return Report(parse_json(self._transport.send(report_call(job))))

    def answer_or_follow(
        self, call: Call, *, on_progress: Progress | None, timeout: float | None, accept: str
    ) -> httpx.Response:
        """What a report's address answers, however long it takes. Raises JobError, TimeoutError."""
        answer = self._transport.send(call)
        if answer.status_code != ACCEPTED:
            return answer
        job = parse(Job, answer).job
        self.follow(job, on_progress=on_progress, timeout=timeout)
        return self._transport.send(report_call(job, accept))

    def get_until_made(self, call: Call, *, on_progress: Progress | None, timeout: float | None) -> httpx.Response:
        """What a report's address answers, asked again with all its options when the job is done.

        The address of a job's report does not know all of them. Judgments may have come in meanwhile, so the second
        question is about the data that the job has read: its report is stored. Raises as `post_until_made`.
        """
        job = ""
        for _ in range(MOST_ASKED):
            answer = self._transport.send(call)
            if answer.status_code != ACCEPTED:
                return answer
            queued = parse(Job, answer)
            job, call = queued.job, call.as_of_versions(queued.campaigns.values())
            self.follow(job, on_progress=on_progress, timeout=timeout)
        raise JobError(job, "done", "but the campaign changes faster than a report of it is made; pause it")

    def post_until_made(self, call: Call, *, on_progress: Progress | None, timeout: float | None) -> Any:
        """What a POST makes, sent again with the same key when the job that it waits for is done.

        Raises JobError, also where the campaign changes faster than it is computed; TimeoutError.
        """
        job = ""
        for _ in range(MOST_ASKED):
            answer = self._transport.send(call)
            if answer.status_code != ACCEPTED:
                return answer
            job = parse(Job, answer).job
            self.follow(job, on_progress=on_progress, timeout=timeout)
        raise JobError(job, "done", "but the campaign changes faster than a plan of it is compiled; pause it")
