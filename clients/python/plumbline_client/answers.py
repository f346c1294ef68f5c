"""Reading answers."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from plumbline_client.errors import JobError, NotPlumbline
from plumbline_client.models import Job

ACCEPTED = 202
A = TypeVar("A", bound=BaseModel)


class Busy(Exception):
    """An answer that is no file; it may be worth asking again."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer


def parse(model: type[A], answer: httpx.Response) -> A:
    """A body as a model. Raises NotPlumbline where it is none."""
    try:
        return model.model_validate_json(answer.content)
    except ValidationError as error:
        raise NotPlumbline(f"{answer.request.url} does not answer as Plumbline does: {error}") from error


def parse_json(answer: httpx.Response) -> Any:
    """A body as JSON. Raises NotPlumbline where it is none."""
    try:
        return json.loads(answer.content)
    except ValueError as error:
        raise NotPlumbline(f"{answer.request.url} does not answer with JSON") from error


def check_done(job: Job) -> Job:
    """The job. Raises JobError if it is not done."""
    if job.state == "done":
        return job
    reason = "" if job.error is None else job.error.detail or job.error.title
    raise JobError(job.job, job.state, reason)
