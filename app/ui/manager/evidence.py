"""Evidence of whether a ranking can be trusted: what stored reports say, and the pages that say more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.reports.kit.request import ReportRequest, parse_report_options
from app.reports.kit.store import look_up_report
from app.reports.quality.report import REPORT as QUALITY
from app.reports.quality.view import RaterQualityView
from app.reports.stability.report import REPORT as STABILITY
from app.reports.stability.view import StabilityPointView, StabilityView
from app.services.access.tokens import Caller
from app.storage.db import Session
from app.ui.manager.stability import parse_stability_form
from app.ui.messages import PageMessages, mark_translatable


@dataclass(frozen=True, slots=True)
class RankingQuestionAndAnswer:
    """A question about a ranking. answer: what is known so far. page: the end of the address that says more."""

    question: str
    answer: str
    page: str


def list_ranking_questions_and_answers(
    session: Session, campaign: str, caller: Caller, messages: PageMessages
) -> list[RankingQuestionAndAnswer]:
    """Return the questions that the caller may ask. Only stored reports are read. Raises NotFound."""
    return list(_evidence(session, campaign, caller, messages))


def _evidence(
    session: Session, campaign: str, caller: Caller, messages: PageMessages
) -> Iterator[RankingQuestionAndAnswer]:
    say = messages.translate
    yield RankingQuestionAndAnswer(
        say(mark_translatable("Would another study give the same ranking?")),
        _stability(session, campaign, messages),
        STABILITY_PAGE,
    )
    yield RankingQuestionAndAnswer(
        say(mark_translatable("Does it hold under other choices?")),
        say(mark_translatable("Recipes side by side, and the pairs on which they disagree.")),
        "/recipes",
    )
    if caller.has_rights_of("manager"):
        yield RankingQuestionAndAnswer(
            say(mark_translatable("Did the raters work well?")), _quality(session, campaign, messages), "/quality"
        )
        yield RankingQuestionAndAnswer(
            say(mark_translatable("What did raters mark?")),
            say(mark_translatable("The judgments behind each score, in their texts.")),
            "/items",
        )
    yield RankingQuestionAndAnswer(
        say(mark_translatable("Do raters agree?")),
        say(mark_translatable("Agreement by every usual coefficient.")),
        "/reports/agreement",
    )


STABILITY_PAGE = "/stability?designs=by+grouping"


def _stability(session: Session, campaign: str, messages: PageMessages) -> str:
    asked = ReportRequest(STABILITY, (campaign,), parse_stability_form({}).report_options())
    body = look_up_report(session, asked).body
    last = None if body is None else _last_point(StabilityView.model_validate_json(body))
    if last is None:
        return messages.translate(mark_translatable("Not computed yet; it takes a while."))
    return messages.translate(
        mark_translatable(
            "{share} % of studies with {documents} documents would not contradict the claims of another such study."
        ),
        share=messages.format_whole_number(round(100 * last.srp)),
        documents=messages.format_whole_number(last.documents),
    )


def _last_point(view: StabilityView) -> StabilityPointView | None:
    """Return the study of the first design that has the most documents; None if there is none."""
    points = view.curves[0].points if view.curves else []
    return points[-1] if points else None


def _quality(session: Session, campaign: str, messages: PageMessages) -> str:
    body = look_up_report(session, ReportRequest(QUALITY, (campaign,), parse_report_options(QUALITY, {}))).body
    if body is None:
        return messages.translate(mark_translatable("Control items, repeats, pace and habits of each rater."))
    counts = RaterQualityView.model_validate_json(body).counts
    return messages.translate(
        mark_translatable("Control items: {passed} raters pass, {failed} fail, {few} have too few."),
        passed=messages.format_whole_number(counts.get("pass", 0)),
        failed=messages.format_whole_number(counts.get("fail", 0)),
        few=messages.format_whole_number(counts.get("not_testable", 0)),
    )
