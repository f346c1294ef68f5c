"""What becomes of the submissions of a crowd platform: paid, refused, or left to a person; by the completion codes.

Nothing here talks to anybody. Whoever is not certainly to be paid or to be refused is left to a person.
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
"""What stands for `{code}` in a template of a completion code."""
INVITATION = "i_[0-9a-f]{32}"
Action = Literal["approve", "refuse", "leave"]


class PlatformRefusal(AppError):
    """The platform refuses."""


@dataclass(frozen=True, slots=True)
class StudySubmission:
    """What a platform holds of somebody who took part. awaits: nobody has decided on it yet.

    code: that they entered; None where the platform lets them enter none, empty where they left it out.

    paid: it was approved before.
    """

    id: str
    participant: str
    code: str | None
    awaits: bool
    paid: bool


@dataclass(frozen=True, slots=True)
class StudyLinkIds:
    """What the link of a study names: the invitation that it leads to, and the study itself; None where it does not.

    A platform copies a study with its link. The id of the study in the link tells the first one from its copies, whose
    participants could otherwise be paid for what was handed in for the first.
    """

    invitation: str | None
    study: str | None

    @classmethod
    def from_link(cls, link: str) -> StudyLinkIds:
        """What a link names, in its fragment.

        >>> StudyLinkIds.from_link(f"https://plumbline.example.org/#invitation=i_{'0f' * 16}.secret&study=s1").study
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
    """An invitation's link that names the study that leads there, as `StudyLinkIds` reads it.

    >>> add_study_to_link("https://plumbline.example.org/#invitation=i.s", "s1")
    'https://plumbline.example.org/#invitation=i.s&study=s1'
    """
    return f"{link}&study={quote(study, safe='')}"


@dataclass(frozen=True, slots=True)
class PlatformWording:
    """How the commands speak of a platform.

    name: its own. command: of `plumbline`. refuse: what is done with who failed; refused: that it was done.
    question: what is asked before, with {paid} and {refused} in place of how many.
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
        """What the link of a study names."""

    def list_submissions(self, study: str) -> Iterator[StudySubmission]:
        """All submissions of a study."""

    def approve_submission(self, submission: str) -> bool:
        """Pay a submission, if it still awaits a decision; whether this did it."""

    def reject_submission(self, submission: str) -> bool:
        """Do not pay a submission, if it still awaits a decision; whether this did it."""


@dataclass(frozen=True, slots=True)
class CompletionCodeTemplates:
    """The templates of a campaign's completion codes; None where all codes are random and say nothing."""

    passed: str | None
    failed: str | None

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> CompletionCodeTemplates:
        """As the settings of a campaign have them."""
        quality = settings.get("quality")
        given = quality if isinstance(quality, Mapping) else {}
        return cls(given.get("code_pass"), given.get("code_fail"))

    def find_verdict(self, code: str) -> Literal["pass", "fail", "unknown"]:
        """What a code says.

        >>> CompletionCodeTemplates("OK-{code}", "NO-{code}").find_verdict("NO-0123456789")
        'fail'
        """
        if self.passed is None or self.failed is None:
            return "pass" if re.fullmatch(MADE_UP, code) else "unknown"
        fits = [_fits(template, code) for template in (self.passed, self.failed)]
        return "unknown" if fits[0] == fits[1] else "pass" if fits[0] else "fail"


@dataclass(frozen=True, slots=True)
class SubmissionDecision:
    """What is to be done with a submission, and why."""

    submission: StudySubmission
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class CollectedCompletionCodes:
    """What the participants of one study handed in.

    codes: of each participant's tasks. checks: how many of these are of attention checks, which are no work.

    other_participants: who handed in work of the campaign, but came by another invitation.
    """

    codes: Mapping[str, Sequence[str]]
    other_participants: Collection[str] = frozenset()
    checks: Mapping[str, int] = field(default_factory=dict)


def decide_submissions(
    submissions: Iterable[StudySubmission],
    handed_in: CollectedCompletionCodes,
    verdicts: CompletionCodeTemplates,
    *,
    tasks: int = 1,
) -> list[SubmissionDecision]:
    """A decision for each submission that awaits one. tasks: how many somebody has to hand in to be paid.

    Of several submissions of one participant one is paid at most, counting those that were approved before.
    """
    known = list(submissions)
    paid = {submission.participant for submission in known if submission.paid}
    decisions = []
    for submission in known:
        if not submission.awaits:
            continue
        action, reason = _decide(submission, handed_in, verdicts, tasks)
        if action == "approve" and submission.participant in paid:
            action, reason = "leave", "another submission of this participant is paid"
        if action == "approve":
            paid.add(submission.participant)
        decisions.append(SubmissionDecision(submission, action, reason))
    return decisions


def _decide(
    submission: StudySubmission, handed_in: CollectedCompletionCodes, verdicts: CompletionCodeTemplates, tasks: int
) -> tuple[Action, str]:
    codes = handed_in.codes.get(submission.participant, ())
    n = len(codes) - handed_in.checks.get(submission.participant, 0)
    if not n and submission.participant in handed_in.other_participants:
        return "leave", "this participant handed in work for another study or invitation"
    if not n:
        return "leave", "no task of this participant is handed in"
    if submission.code is not None and _as_typed(submission.code) not in map(_as_typed, codes):
        return "leave", "the code that was entered is not one of this participant's"
    by_verdict = {verdicts.find_verdict(code) for code in codes}
    if by_verdict == {"pass"} and n < tasks:
        return "leave", f"{n} handed in, of {tasks} that are to be paid together"
    if by_verdict == {"pass"}:
        return "approve", f"{n} handed in, with a code that passes"
    if by_verdict == {"fail"}:
        return "refuse", f"{n} handed in, with a code that fails"
    return "leave", "the codes of this participant say different things, or nothing"


def _as_typed(code: str) -> str:
    """A code in one form, however somebody typed it: codes have no blanks, and case does not tell whose they are."""
    return "".join(code.split()).casefold()


def _fits(template: str, code: str) -> bool:
    pattern = MADE_UP.join(map(re.escape, template.split(CODE)))
    return bool(re.fullmatch(f"(?:{pattern})", code))
