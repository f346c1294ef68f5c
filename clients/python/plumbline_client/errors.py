"""What can go wrong. Every error of this package is a `PlumblineError`, and says in one line what the server said."""

from __future__ import annotations

from dataclasses import dataclass

import httpx
from pydantic import BaseModel, ValidationError

PREFIX = "urn:plumbline:problem:"


class PlumblineError(Exception):
    """Something went wrong."""


class ServerUnreachable(PlumblineError):
    """Nobody answers at the address, or the connection broke, and trying again did not help."""


class NotPlumbline(PlumblineError):
    """Something answers, but not as Plumbline does: a sign-on page in front of it, or another program."""


class UploadChanged(PlumblineError):
    """An upload that was begun has another file under this name; begin a new one."""


@dataclass(frozen=True, slots=True)
class ProblemPlace:
    """One thing that is wrong with the input. loc: a path into the body, a parameter, or a file and its line."""

    loc: tuple[str | int, ...]
    msg: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.loc))}: {self.msg}"


class Problem(PlumblineError):
    """The server refuses the request (RFC 9457).

    kind: stable name of the problem, such as `campaign-not-found`. request_id: names it in the log of the server.
    retry_after: seconds, where the server says when to try again.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *,
        kind: str = "",
        request_id: str = "",
        places: tuple[ProblemPlace, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        self.status, self.title, self.detail = status, title, detail
        self.kind, self.request_id, self.places, self.retry_after = kind, request_id, places, retry_after
        message = title if detail in ("", title) else f"{title}: {detail}"
        where = f" ({'; '.join(map(str, places))})" if places else ""
        super().__init__(f"{status} {message}{where}")


class JobError(PlumblineError):
    """A job ended without a report. state: `failed` or `cancelled`."""

    def __init__(self, job: str, state: str, reason: str) -> None:
        self.job, self.state = job, state
        super().__init__(f"{job} {state}{f': {reason}' if reason else ''}")


class ProblemBody(BaseModel):
    """A problem document as it is sent."""

    class Place(BaseModel):
        """One thing that is wrong."""

        loc: tuple[str | int, ...]
        msg: str

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[Place]


def problem_of(answer: httpx.Response) -> PlumblineError:
    """The error that a refusing answer, whose body was read, stands for."""
    try:
        body = ProblemBody.model_validate_json(answer.content)
    except ValidationError:
        return NotPlumbline(f"{answer.request.url} answers {answer.status_code}, and not as Plumbline does")
    return Problem(
        answer.status_code,
        body.title,
        body.detail,
        kind=body.type.removeprefix(PREFIX),
        request_id=body.instance,
        places=tuple(ProblemPlace(place.loc, place.msg) for place in body.errors),
        retry_after=retry_after(answer),
    )


def retry_after(answer: httpx.Response) -> float | None:
    """Seconds after which the server wants to be asked again; None where it does not say."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None
