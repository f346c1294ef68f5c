"""A client for Mechanical Turk, limited to HITs and decisions on their assignments. It needs the extra `mturk`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from app.client.crowd_platform import INVITATION, PlatformRefusal, PlatformWording, StudyLinkIds, StudySubmission
from app.client.mturk_question import CODE_FIELD, make_hit_question_xml
from app.domain.errors import Invalid, Place, Unavailable

REGION = "us-east-1"  # the only one
TIMEOUT = 30  # seconds
AWAITS, APPROVED = "Submitted", "Approved"
ALREADY_THERE = "alreadyexists"  # part of the refusal of a second HIT with the same token
FEEDBACK = "The checks of this task were not passed; see its description."
ANNOTATION = "plumbline "  # followed by the invitation; only requesters see it, so no worker can change it
_ANSWERS = "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd}"


class MTurkRefusal(PlatformRefusal):
    """Mechanical Turk refuses."""


class MTurkUnreachable(Unavailable):
    """Mechanical Turk cannot be reached."""


class Boto3NotInstalled(Invalid):
    """Mechanical Turk needs boto3, which is not installed; install plumbline[mturk]."""


@dataclass(frozen=True, slots=True)
class HitDetails:
    """The texts and terms of a HIT. minutes: time that a worker has for it. reward: for each worker, in cents.

    days: how long it is offered. pay_after_days: when Mechanical Turk pays assignments without a decision.
    """

    title: str
    description: str
    keywords: str
    minutes: int
    reward: int
    places: int
    days: int
    pay_after_days: int


class MTurkClient:
    """Mechanical Turk, or its sandbox, with the credentials that boto3 finds. url: without a path."""

    words: ClassVar[PlatformWording] = PlatformWording(
        name="Mechanical Turk",
        command="mturk",
        refuse="reject",
        refused="rejected",
        question="Pay {paid}, and reject {refused}? Who is rejected gets nothing, and a worse record.",
    )

    def __init__(self, url: str) -> None:
        self._submit_url = _submit_url(url)
        # Reads, and creations with a request token, are retried. A decision is not: the next run reads its result.
        self._client, self._deciding = (_make_client(url, tries) for tries in (4, 1))

    def create_study(self, details: HitDetails, link: str, invitation: str) -> str:
        """Create a HIT, which is offered at once; return its id. link: for the workers. invitation: that of the link.

        Raises MTurkRefusal, MTurkUnreachable; after the latter, the HIT may exist.
        """
        annotation = f"{ANNOTATION}{invitation}"
        try:
            return self._create_hit(details, link, invitation, annotation)
        except MTurkRefusal as refused:
            if ALREADY_THERE not in refused.detail.lower():
                raise
            return self._find_hit(annotation)  # the answer to an earlier attempt was lost
        except MTurkUnreachable as error:
            raise MTurkUnreachable(f"{error.detail}; look there for the HIT before you create another") from error

    def _create_hit(self, details: HitDetails, link: str, invitation: str, annotation: str) -> str:
        with _own_errors():
            made = self._client.create_hit(
                Title=details.title,
                Description=details.description,
                Keywords=details.keywords,
                Reward=f"{details.reward // 100}.{details.reward % 100:02}",
                MaxAssignments=details.places,
                AssignmentDurationInSeconds=details.minutes * 60,
                LifetimeInSeconds=details.days * 86_400,
                AutoApprovalDelayInSeconds=details.pay_after_days * 86_400,
                Question=make_hit_question_xml(details.title, details.description, link, self._submit_url),
                RequesterAnnotation=annotation,
                UniqueRequestToken=invitation,
            )
        return str(made["HIT"]["HITId"])

    def _find_hit(self, annotation: str) -> str:
        """Find the HIT with a note, which exists. Raises only MTurkUnreachable, because its invitation must stay."""
        try:
            with _own_errors():
                for hit in self._list_hits():
                    if hit.get("RequesterAnnotation") == annotation:
                        return str(hit["HITId"])
        except (MTurkRefusal, MTurkUnreachable) as error:
            raise MTurkUnreachable(f"the HIT was created; look there for its id: {error.detail}") from error
        raise MTurkUnreachable("the HIT was created; look there for its id")

    def list_invitations_with_hits(self) -> set[str]:
        """Return the invitations to which HITs of this requester lead. Raises the errors of `create_study`."""
        with _own_errors():
            notes = [str(hit.get("RequesterAnnotation") or "") for hit in self._list_hits()]
        return {note.removeprefix(ANNOTATION) for note in notes if note.startswith(ANNOTATION)}

    def _list_hits(self) -> Iterator[Mapping[str, Any]]:
        for page in self._client.get_paginator("list_hits").paginate():
            yield from page["HITs"]

    def fetch_study_link_ids(self, study: str) -> StudyLinkIds:
        """Return the invitation of a HIT, None if it was made elsewhere. Raises the errors of `create_study`."""
        with _own_errors():
            annotation = str(self._client.get_hit(HITId=study)["HIT"].get("RequesterAnnotation") or "")
        invitation = annotation.removeprefix(ANNOTATION)
        return StudyLinkIds(invitation if re.fullmatch(INVITATION, invitation) else None, study)

    def list_submissions(self, study: str) -> Iterator[StudySubmission]:
        """Yield all submitted assignments of a HIT, page by page. Raises the errors of `create_study`."""
        with _own_errors():
            for page in self._client.get_paginator("list_assignments_for_hit").paginate(HITId=study):
                yield from map(_submission, page["Assignments"])

    def approve_submission(self, submission: str) -> bool:
        """Pay an assignment that awaits a decision; return whether it was paid. Raises as `create_study`."""
        with _own_errors():
            if not self._awaits(submission):
                return False
            self._deciding.approve_assignment(AssignmentId=submission)
        return True

    def refuse_payment(self, submission: str) -> bool:
        """Reject an assignment that awaits a decision; return whether it was rejected. Raises as `create_study`."""
        with _own_errors():
            if not self._awaits(submission):
                return False
            self._deciding.reject_assignment(AssignmentId=submission, RequesterFeedback=FEEDBACK)
        return True

    def _awaits(self, submission: str) -> bool:
        assignment = self._client.get_assignment(AssignmentId=submission)["Assignment"]
        return bool(assignment["AssignmentStatus"] == AWAITS)


def _make_client(url: str, tries: int) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise Boto3NotInstalled from None
    config = Config(
        connect_timeout=TIMEOUT, read_timeout=TIMEOUT, retries={"total_max_attempts": tries, "mode": "standard"}
    )
    with _own_errors():
        return boto3.client("mturk", region_name=REGION, endpoint_url=url, config=config)


@contextmanager
def _own_errors() -> Iterator[None]:
    """Translate boto3's errors into our own."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        NoCredentialsError,
        ParamValidationError,
        PartialCredentialsError,
        ProfileNotFound,
    )

    try:
        yield
    except ClientError as error:
        said, code = error.response.get("Error", {}), error.response.get("TurkErrorCode")
        why = f"{error.operation_name}: {said.get('Message') or said.get('Code')}{f' ({code})' if code else ''}"
        about = error.response["ResponseMetadata"]
        failed = about["HTTPStatusCode"] >= HTTPStatus.INTERNAL_SERVER_ERROR
        # An earlier attempt may have succeeded although a later one is refused, as when too many requests come at once.
        unknown = bool(about.get("RetryAttempts")) and ALREADY_THERE not in why.lower()
        raise (MTurkUnreachable if failed or unknown else MTurkRefusal)(why) from error
    except ParamValidationError as error:
        raise MTurkRefusal(str(error)[:500]) from error
    except NoCredentialsError as error:
        why = "is needed, with AWS_SECRET_ACCESS_KEY, or another way in which boto3 finds credentials"
        raise Invalid("the settings are not valid", places=(Place(("AWS_ACCESS_KEY_ID",), why),)) from error
    except (PartialCredentialsError, ProfileNotFound) as error:
        raise Invalid("the settings are not valid", places=(Place(("AWS",), str(error)),)) from error
    except BotoCoreError as error:
        raise MTurkUnreachable(str(error)) from error


def _submit_url(url: str) -> str:
    """Return where answers are sent: workers of the sandbox have a separate site.

    >>> _submit_url("https://mturk-requester-sandbox.us-east-1.amazonaws.com")
    'https://workersandbox.mturk.com/mturk/externalSubmit'
    """
    site = "workersandbox" if "sandbox" in (urlsplit(url).hostname or "") else "www"
    return f"https://{site}.mturk.com/mturk/externalSubmit"


def _submission(row: Mapping[str, Any]) -> StudySubmission:
    status = row["AssignmentStatus"]
    code = _read_code(str(row.get("Answer") or ""))
    return StudySubmission(row["AssignmentId"], row["WorkerId"], code, awaits=status == AWAITS, paid=status == APPROVED)


def _read_code(answer: str) -> str:
    """Return the code that a worker entered; empty, matching nobody's, if missing or in an unknown form."""
    try:
        answers = ET.fromstring(answer)  # noqa: S314  (Amazon's XML: workers' words are text in it)
    except ET.ParseError:
        return ""
    for field in answers.iter(f"{_ANSWERS}Answer"):
        if field.findtext(f"{_ANSWERS}QuestionIdentifier") == CODE_FIELD:
            return (field.findtext(f"{_ANSWERS}FreeText") or "").strip()
    return ""
