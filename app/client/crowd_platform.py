"""Decide on submissions of a crowd platform by completion codes: pay them, refuse them, or leave them to a person.

This module sends no requests. Unless a submission is certainly to be paid or refused, it is left to a person.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol
from urllib.parse import parse_qs, quote, urlsplit

from app.domain.errors import AppError

CODE = "{code}"
MADE_UP = "[0-9A-F]{10}"
"""The pattern that replaces `{code}` in a template of a completion code."""
INVITATION = "i_[0-9a-f]{32}"
Action = Literal["approve", "refuse", "leave"]


class PlatformRefusal(AppError):
    """The platform refuses."""


@dataclass(frozen=True, slots=True)
class StudySubmission:
    """A participant's submission on a platform. awaits: nobody has decided on it yet.

    code: as entered; None if the platform has no field for it, empty if the participant left it out.

    paid: it was approved before.
    """

    id: str
    participant: str
    code: str | None
    awaits: bool
    paid: bool


@dataclass(frozen=True, slots=True)
class StudyLinkIds:
    """The ids in a study's link: the invitation to which it leads, and the study itself; None if missing.

    A platform copies a study together with its link. The study's id in the link distinguishes the original from its
    copies. Otherwise, participants of a copy could be paid for work handed in for the original.
    """

    invitation: str | None
    study: str | None

    @classmethod
    def from_link(cls, link: str) -> StudyLinkIds:
        """Read the ids from the fragment of a link.

        >>> link = f"https://plumbline.example.org/#invitation=i_{'0f' * 16}.secret&study=s1"
        >>> StudyLinkIds.from_link(link).study
        's1'
        """
        try:
            fields = parse_qs(urlsplit(link).fragment)
        except ValueError:
            return cls(None, None)
        invitation = fields.get("invitation", [""])[0].partition(".")[0]
        study = fields.get("study", [None])[0]
        return cls(invitation if re.fullmatch(INVITATION, invitation) else None, study)


def add_study_to_link(link: str, study: str) -> str:
    """Add a study to an invitation's link, as `StudyLinkIds` reads it.

    >>> add_study_to_link("https://plumbline.example.org/#invitation=i.s", "s1")
    'https://plumbline.example.org/#invitation=i.s&study=s1'
    """
    return f"{link}&study={quote(study, safe='')}"


@dataclass(frozen=True, slots=True)
class PlatformWording:
    """The words that commands use for a platform.

    name: its name. command: of `plumbline`. refuse: the verb for failed participants; refused: its past participle.
    question: the confirmation, with the numbers at {paid} and {refused}.
    """

    name: str
    command: str
    refuse: str
    refused: str
    question: str


class CrowdPlatform(Protocol):
    """A platform whose studies can be settled. Its methods raise PlatformRefusal or Unavailable."""

    words: ClassVar[PlatformWording]

    def fetch_study_link_ids(self, study: str) -> StudyLinkIds:
        """Return the ids in the link of a study."""

    def list_submissions(self, study: str) -> Iterator[StudySubmission]:
        """Yield all submissions of a study."""

    def approve_submission(self, submission: str) -> bool:
        """Pay a submission if it awaits a decision; return whether it was paid."""

    def refuse_payment(self, submission: str) -> bool:
        """Refuse to pay a submission if it awaits a decision; return whether this did it."""


@dataclass(frozen=True, slots=True)
class CompletionCodeTemplates:
    """The templates of a campaign's completion codes; None if all codes are random, without a meaning."""

    passed: str | None
    failed: str | None

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> CompletionCodeTemplates:
        """Read the templates from the settings of a campaign."""
        quality = settings.get("quality")
        given = quality if isinstance(quality, Mapping) else {}
        return cls(given.get("code_pass"), given.get("code_fail"))

    def find_verdict(self, code: str) -> Literal["pass", "fail", "unknown"]:
        """Return the verdict in a code.

        >>> CompletionCodeTemplates("OK-{code}", "NO-{code}").find_verdict("NO-0123456789")
        'fail'
        """
        if self.passed is None or self.failed is None:
            return "pass" if re.fullmatch(MADE_UP, code) else "unknown"
        fits = [_fits(template, code) for template in (self.passed, self.failed)]
        return "unknown" if fits[0] == fits[1] else "pass" if fits[0] else "fail"


@dataclass(frozen=True, slots=True)
class SubmissionDecision:
    """The action for a submission, with its reason."""

    submission: StudySubmission
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class IssuedCompletionCodes:
    """The completion codes of the participants of one study.

    codes: of each participant's tasks. checks: how many of these belong to attention checks, which do not count as
    work.

    other_participants: those who handed in work of the campaign, but came by another invitation.
    """

    codes: Mapping[str, Sequence[str]]
    other_participants: Collection[str] = frozenset()
    checks: Mapping[str, int] = field(default_factory=dict)


def decide_submissions(
    submissions: Iterable[StudySubmission],
    issued_codes: IssuedCompletionCodes,
    templates: CompletionCodeTemplates,
    *,
    tasks: int = 1,
) -> list[SubmissionDecision]:
    """Decide on each submission that awaits a decision. tasks: how many tasks a participant must hand in to be paid.

    If a participant has several submissions, at most one is paid, including those approved before.
    """
    known = list(submissions)
    paid = {submission.participant for submission in known if submission.paid}
    decisions = []
    for submission in known:
        if not submission.awaits:
            continue
        action, reason = _decide(submission, issued_codes, templates, tasks)
        if action == "approve" and submission.participant in paid:
            action, reason = "leave", "another submission of this participant is paid"
        if action == "approve":
            paid.add(submission.participant)
        decisions.append(SubmissionDecision(submission, action, reason))
    return decisions


def _decide(
    submission: StudySubmission, issued_codes: IssuedCompletionCodes, templates: CompletionCodeTemplates, tasks: int
) -> tuple[Action, str]:
    codes = issued_codes.codes.get(submission.participant, ())
    n = len(codes) - issued_codes.checks.get(submission.participant, 0)
    if not n and submission.participant in issued_codes.other_participants:
        return "leave", "this participant handed in work for another study or invitation"
    if not n:
        return "leave", "no task of this participant is handed in"
    if submission.code is not None and _as_typed(submission.code) not in map(_as_typed, codes):
        return "leave", "the code that was entered is not one of this participant's"
    by_verdict = {templates.find_verdict(code) for code in codes}
    if by_verdict == {"pass"} and n < tasks:
        return "leave", f"{n} handed in, of {tasks} that are to be paid together"
    if by_verdict == {"pass"}:
        return "approve", f"{n} handed in, with a code that passes"
    if by_verdict == {"fail"}:
        return "refuse", f"{n} handed in, with a code that fails"
    return "leave", "the codes of this participant say different things, or nothing"


def _as_typed(code: str) -> str:
    """Normalize a code as typed: codes contain no blanks, and upper or lower case makes no difference."""
    return "".join(code.split()).casefold()


def _fits(template: str, code: str) -> bool:
    pattern = MADE_UP.join(map(re.escape, template.split(CODE)))
    return bool(re.fullmatch(f"(?:{pattern})", code))
