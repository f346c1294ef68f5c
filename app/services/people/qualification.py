"""The test before the first task: items with answers and reasons, and a pass mark. Every version is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

from app.domain.errors import Conflict, Invalid, Place
from app.reports.inputs.campaign import CampaignInfo
from app.services.access.tokens import Caller
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign as campaign_view
from app.services.people.qualification_grading import (
    QualificationAnswer,
    QualificationItem,
    is_answer_right,
    list_qualification_item_faults,
)
from app.services.people.raters import ActingRater, RaterErased
from app.storage import campaigns, qualification, raters
from app.storage.db import Session
from app.storage.sorting import SortCursor, format_sort_value

QualificationSort = Literal["rater", "-rater", "team", "-team", "attempts", "-attempts", "best", "-best", "at", "-at"]


class NoQualificationAttemptLeft(Conflict):
    """You have no attempts left."""

    published = "NoAttemptLeft"


class QualificationAlreadyPassed(Conflict):
    """You have passed the test already."""

    published = "PassedAlready"


class QualificationTestChanged(Conflict):
    """The test has changed; read it again."""

    published = "TestChanged"


@dataclass(frozen=True, slots=True)
class QualificationTest:
    """A version of the test. pass_mark: share of the items that must be right.

    attempts: how many are allowed; None: no limit.
    """

    version: int
    items: tuple[QualificationItem, ...]
    pass_mark: float
    attempts: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class QualificationStanding:
    """A rater's standing in the test. version: the version that they passed. left: attempts left; None: no limit."""

    tried: int
    left: int | None
    passed: bool
    version: int | None


@dataclass(frozen=True, slots=True)
class GradedQualificationAttempt:
    """The result of an attempt. right: for each item."""

    n: int
    version: int
    share: float
    passed: bool
    right: tuple[bool, ...]
    items: tuple[QualificationItem, ...]
    left: int | None


@dataclass(frozen=True, slots=True)
class RaterQualificationResult:
    """A rater's result, for the manager."""

    rater: str
    team: str | None
    attempts: int
    best: float | None
    passed: bool
    version: int | None
    waived: str | None
    at: datetime | None


def put_qualification_test(
    session: Session,
    campaign: str,
    items: Sequence[QualificationItem],
    *,
    pass_mark: float,
    attempts: int | None,
    actor: str,
) -> QualificationTest:
    """Store a new version; an identical test remains the same version.

    Raises NotFound, and Invalid naming the faults.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    view = campaign_view(session, campaign)
    places = [place for n, item in enumerate(items) for place in list_qualification_item_faults(view, n, item)]
    if places:
        raise Invalid("the test is not valid", places=tuple(places[:100]))
    stored = qualification.find_qualification_test(session, row.id)
    latest = None if stored is None else _test(stored)
    same = latest is not None and (latest.items, latest.pass_mark, latest.attempts) == (
        tuple(items),
        pass_mark,
        attempts,
    )
    if not same:
        version = 1 if latest is None else latest.version + 1
        values = {"version": version, "items": [asdict(item) for item in items], "actor": actor}
        qualification.insert_qualification_test(
            session, row.id, {**values, "pass_mark": pass_mark, "attempts": attempts}
        )
        what = {"version": version, "items": len(items), "pass_mark": pass_mark, "attempts": attempts}
        audit.record_action(session, row.id, actor=actor, action="qualification put", what=what)
    return get_qualification_test(session, campaign)


def get_qualification_test(session: Session, campaign: str, *, version: int | None = None) -> QualificationTest:
    """Return a version of the test with its answers, by default the latest. Raises NotFound."""
    return _load(session, campaigns.load_campaign(session, campaign).id, version)


def has_qualification_test(session: Session, campaign: str) -> bool:
    """Return whether the campaign has a test. Raises NotFound if the campaign does not exist."""
    return qualification.find_qualification_test(session, campaigns.load_campaign(session, campaign).id) is not None


def get_own_qualification_test_and_standing(
    session: Session, rater: ActingRater
) -> tuple[QualificationTest, QualificationStanding, CampaignInfo]:
    """Return the test that a rater must pass, their standing, and the campaign. Raises NotFound if there is no test."""
    test = _load(session, rater.campaign_id, None)
    standing = _make_standing(test, qualification.load_attempts_and_waivers(session, rater.rater_id))
    return test, standing, campaign_view(session, rater.campaign)


def attempt_qualification(
    session: Session, rater: ActingRater, *, version: int, answers: Sequence[QualificationAnswer]
) -> GradedQualificationAttempt:
    """Mark a rater's answers to the latest version of the test.

    Raises NotFound, QualificationTestChanged, QualificationAlreadyPassed, NoQualificationAttemptLeft, or Invalid, which
    names the answer that cannot be judged and does not count as an attempt.
    """
    qualification.lock_rater_for_attempt(session, rater.rater_id)
    test, standing, view = get_own_qualification_test_and_standing(session, rater)
    if version != test.version:
        raise QualificationTestChanged(f"it is version {test.version}")
    if standing.passed:
        raise QualificationAlreadyPassed
    if standing.left == 0:
        raise NoQualificationAttemptLeft
    verdicts = _verdicts(view, test.items, answers)
    share = sum(verdicts) / len(verdicts)
    passed = share >= test.pass_mark
    n = len(qualification.load_attempts_and_waivers(session, rater.rater_id)) + 1
    tried = {"n": n, "version": version, "answers": [asdict(one) for one in answers], "share": share, "passed": passed}
    qualification.insert_attempt_or_waiver(session, rater.campaign_id, rater.rater_id, {**tried, "actor": rater.actor})
    what = {"rater": rater.rater, "version": version, "attempt": n, "passed": passed}
    audit.record_action(session, rater.campaign_id, actor=rater.actor, action="qualification tried", what=what)
    left = None if standing.left is None else standing.left - 1
    return GradedQualificationAttempt(n, version, share, passed, verdicts, test.items, left)


def waive_qualification(session: Session, campaign: str, key: str, *, reason: str, by: Caller) -> None:
    """Waive the test for a rater, with a reason. Raises NotFound, QualificationAlreadyPassed, RaterErased."""
    row = campaigns.load_campaign(session, campaign, lock=True)
    account = raters.load_rater(session, row.id, key)
    if account.state is None:
        raise raters.RaterNotFound
    if account.state == "erased":
        raise RaterErased
    test = _load(session, row.id, None)
    qualification.lock_rater_for_attempt(session, account.id)
    before = qualification.load_attempts_and_waivers(session, account.id)
    if any(one.passed for one in before):
        raise QualificationAlreadyPassed
    spared = {"n": len(before) + 1, "version": test.version, "answers": [], "passed": True, "waived": reason}
    qualification.insert_attempt_or_waiver(session, row.id, account.id, {**spared, "actor": by.actor})
    what = {"rater": key, "version": test.version, "reason": reason}
    audit.record_action(session, row.id, actor=by.actor, action="qualification waived", what=what)


def list_qualification_results(
    session: Session,
    campaign: str,
    *,
    after: SortCursor | None,
    limit: int,
    passed: bool | None = None,
    sort: QualificationSort = "rater",
    q: str = "",
) -> list[RaterQualificationResult]:
    """List the results of enrolled raters in a given order, starting after a cursor.

    passed: only raters who passed or for whom the test was waived, or only the others. q: words, each of which must be
    part of the key of the rater or of the team.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows = qualification.load_qualification_results_page(
        session, campaign_id, after=after, limit=limit, passed=passed, sort=sort, words=q.split()
    )
    return [RaterQualificationResult(**row._asdict()) for row in rows]


def make_qualification_result_cursor(result: RaterQualificationResult, sort: QualificationSort) -> SortCursor:
    """Return the cursor that points after a rater's result in a sorted list."""
    value = getattr(result, sort.removeprefix("-"))
    return format_sort_value(value, qualification.RESULT_ORDERS[sort]), result.rater


def _load(session: Session, campaign_id: int, version: int | None) -> QualificationTest:
    row = qualification.find_qualification_test(session, campaign_id, version)
    if row is None:
        raise qualification.QualificationTestNotFound
    return _test(row)


def _test(row: qualification.Row) -> QualificationTest:
    items = tuple(QualificationItem.from_json(each) for each in row.items)
    return QualificationTest(row.version, items, row.pass_mark, row.attempts, row.at)


def _make_standing(test: QualificationTest, attempts: Sequence[qualification.Row]) -> QualificationStanding:
    tried = sum(one.version == test.version and one.waived is None for one in attempts)
    left = None if test.attempts is None else max(test.attempts - tried, 0)
    passed = next((one.version for one in attempts if one.passed), None)
    return QualificationStanding(tried, left, passed is not None, passed)


def _verdicts(
    campaign: CampaignInfo, items: Sequence[QualificationItem], answers: Sequence[QualificationAnswer]
) -> tuple[bool, ...]:
    if len(answers) != len(items):
        raise Invalid(places=(Place(("body", "answers"), f"there are {len(items)} items; answer each"),))
    places: list[Place] = []
    verdicts = []
    for n, (item, given) in enumerate(zip(items, answers, strict=True)):
        try:
            verdicts.append(is_answer_right(campaign, item, given))
        except Invalid as error:
            faults = error.places or (Place((), error.detail or error.title()),)
            places += [Place(("body", "answers", n, *place.loc), place.msg) for place in faults]
    if places:
        raise Invalid("some answers cannot be judged", places=tuple(places[:100]))
    return tuple(verdicts)
