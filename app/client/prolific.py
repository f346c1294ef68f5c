"""A client for Prolific's HTTP interface, limited to studies and decisions on their submissions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

import httpx

from app.client.crowd_platform import (
    PlatformRefusal,
    PlatformWording,
    StudyLinkIds,
    StudySubmission,
    add_study_to_link,
)
from app.domain.errors import Unavailable

TIMEOUT = 30.0  # seconds
READS = 4  # attempts to read
FIRST_PAUSE = 0.5  # seconds, doubled each time
BUSY = frozenset({429, 500, 502, 503, 504})
AWAITS, APPROVED = "AWAITING REVIEW", frozenset({"APPROVED", "PARTIALLY APPROVED"})
COMPLETION_URL = "https://app.prolific.com/submissions/complete?cc={code}"
RETURN_REASON = "The checks of this study were not passed; see the study's description."


class ProlificRefusal(PlatformRefusal):
    """Prolific refuses."""


class ProlificUnreachable(Unavailable):
    """Prolific cannot be reached."""


@dataclass(frozen=True, slots=True)
class StudyDetails:
    """The texts and terms of a study. minutes: its duration. reward: per participant, in the smallest currency unit."""

    name: str
    description: str
    minutes: int
    reward: int
    places: int


class ProlificClient:
    """Prolific with a researcher's token. url: without a path."""

    words: ClassVar[PlatformWording] = PlatformWording(
        name="Prolific",
        command="prolific",
        refuse="return",
        refused="asked to return it",
        question="Pay {paid}, and ask {refused} to return their submission?",
    )

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Token {token}"}
        self._http = httpx.Client(base_url=f"{url.rstrip('/')}/api/v1/", headers=headers, timeout=TIMEOUT)

    def __enter__(self) -> ProlificClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def create_study(self, details: StudyDetails, url: str, codes: Mapping[str, str]) -> str:
        """Create an unpublished study; return its id. url: for the participants. codes: by their types.

        The study's own id is added to its address afterwards, because Prolific chooses the id.

        Raises ProlificRefusal, ProlificUnreachable.
        """
        body = {
            "name": details.name,
            "description": details.description,
            "external_study_url": url,
            "prolific_id_option": "url_parameters",
            "completion_codes": [
                {"code": code, "code_type": kind, "actor": "participant", "actions": [{"action": "MANUALLY_REVIEW"}]}
                for kind, code in codes.items()
            ],
            "total_available_places": details.places,
            "estimated_completion_time": details.minutes,
            "reward": details.reward,
        }
        study = str(self._change("POST", "studies/", body)["id"])
        self._change("PATCH", _study(study), {"external_study_url": add_study_to_link(url, study)})
        return study

    def fetch_study_link_ids(self, study: str) -> StudyLinkIds:
        """Return the ids in a study's address. Raises as `create_study`, ProlificRefusal also for an unknown study."""
        return StudyLinkIds.from_link(str(self._read(_study(study)).get("external_study_url") or ""))

    def list_submissions(self, study: str) -> Iterator[StudySubmission]:
        """Yield all submissions of a study, page by page. Raises ProlificRefusal, ProlificUnreachable."""
        address: str | None = f"{_study(study)}submissions/"
        while address:
            page = self._read(address)
            yield from map(_submission, page["results"])
            address = self._following(page)

    def _following(self, page: Mapping[str, Any]) -> str | None:
        """Return the address of the next page. Raises ProlificRefusal if another server would get the token."""
        address = ((page.get("_links") or {}).get("next") or {}).get("href")
        if not address:
            return None
        here, there = self._http.base_url, self._http.base_url.join(address)
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise ProlificRefusal(f"the list of submissions goes on at {there.host}")
        return str(there)

    def approve_submission(self, submission: str) -> bool:
        """Pay a submission if it awaits a decision; return whether it was paid. Raises as `list_submissions`."""
        return self._decide(submission, "transition/", {"action": "APPROVE"})

    def refuse_payment(self, submission: str) -> bool:
        """Ask a participant to return a submission unpaid; return whether this did it. Raises as `list_submissions`."""
        return self._decide(submission, "request-return/", {"request_return_reasons": [RETURN_REASON]})

    def _decide(self, submission: str, step: str, body: Mapping[str, object]) -> bool:
        """Decide after a fresh read of the state. A lost answer causes no retry: the next run reads the result."""
        if not _submission(self._read(f"submissions/{submission}/")).awaits:
            return False
        self._change("POST", f"submissions/{submission}/{step}", body)
        return True

    def _read(self, address: str) -> dict[str, Any]:
        pause = FIRST_PAUSE
        for attempt in range(1, READS + 1):
            try:
                answer = self._http.get(address)
            except httpx.TransportError as error:
                if attempt == READS:
                    raise ProlificUnreachable(str(error) or type(error).__name__) from error
            else:
                if answer.status_code not in BUSY or attempt == READS:
                    return _body(answer)
            time.sleep(pause)
            pause *= 2
        raise ProlificUnreachable

    def _change(self, method: str, address: str, body: Mapping[str, object]) -> dict[str, Any]:
        try:
            answer = self._http.request(method, address, json=body)
        except httpx.TransportError as error:
            raise ProlificUnreachable(str(error) or type(error).__name__) from error
        return _body(answer)


def _study(study: str) -> str:
    return f"studies/{quote(study, safe='')}/"


def _body(answer: httpx.Response) -> dict[str, Any]:
    """Return the body of an answer. Raises ProlificRefusal."""
    if not answer.is_success:
        raise ProlificRefusal(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {_why(answer)}")
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise ProlificRefusal(f"{answer.request.url.path} does not answer as Prolific does")
    return body


def _why(answer: httpx.Response) -> str:
    try:
        error = answer.json()["error"]
        return str(error.get("detail") or error.get("title"))[:500]
    except (ValueError, KeyError, TypeError, AttributeError):
        return answer.reason_phrase


def _submission(row: Mapping[str, Any]) -> StudySubmission:
    participant = row.get("participant_id") or row.get("participant")
    status = str(row["status"]).upper()
    if status == AWAITS and row.get("return_requested"):
        status = "RETURN REQUESTED"
    code = row.get("study_code") or None
    return StudySubmission(str(row["id"]), str(participant), code, awaits=status == AWAITS, paid=status in APPROVED)
