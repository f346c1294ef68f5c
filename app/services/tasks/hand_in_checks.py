"""Quality control in a running campaign: what a hand-in shows, what follows, and which code the rater gets.

Nothing here leaves out a rating. That takes a recipe, or an exclusion with a reason. A rater sees only the code, and
that there is no further task.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from app.domain.errors import Invalid
from app.reports.inputs.snapshot import CampaignSnapshot, load_snapshot
from app.reports.inputs.timed_ratings import load_control_ratings, load_ratings_with_times
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.quality_settings import CODE, RaterQualitySettings, parse_rater_quality_settings
from app.services.people.raters import ActingRater
from app.services.tasks import tasks
from app.services.tasks.attention_checks import AttentionCheckWarning, record_attention_check_result
from app.services.tasks.overall_verdict import OverallRaterVerdict, decide_overall_rater_verdict
from app.services.webhooks.events import record_webhook_event
from app.stats.quality.control_verdicts import decide_rater_verdicts_by_controls
from app.stats.quality.quality_criteria import Check
from app.stats.quality.report import RaterQuality, evaluate_one_rater_quality
from app.storage import attention_checks, campaigns, quality_policy, raters, tutorials
from app.storage.db import Database, Session

ACTOR = "quality control"


@dataclass(frozen=True, slots=True)
class HandInReceipt:
    """What a rater gets for a task. warning: if it was an attention check that warns."""

    code: str
    warning: AttentionCheckWarning | None


def hand_in_task_and_check_rater(database: Database, public_id: str, *, rater: ActingRater) -> HandInReceipt:
    """Hand a task in, check the rater's work, and do what the campaign's settings require.

    The hand-in is committed before the check, so that no later failure can undo it. A repeated request completes what
    is left to do. Raises the same errors as `tasks.hand_in_task`.
    """
    with database.transaction() as session:
        asked = parse_rater_quality_settings(get_campaign(session, rater.campaign).settings)
        assign_code = not asked.has_completion_codes_by_verdict
        code = tasks.hand_in_task(session, public_id, rater=rater, assign_code=assign_code)
        warning = record_attention_check_result(session, rater, public_id)
    if code is not None and not asked.has_verdict_consequences:
        return HandInReceipt(code, warning)
    with database.transaction() as session:
        quality = evaluate_rater_quality_checks(
            session, rater.campaign, rater.rater, asked, asked.checks_with_consequences
        )
    with database.transaction() as session:
        campaigns.load_campaign(session, rater.campaign, lock=True)
        if code is None:
            right = tutorials.load_correct_answer_share(session, rater.campaign_id, rater.rater_id)
            passed = _load_passed_share(session, asked, rater.campaign_id, rater.rater_id)
            fresh = _code(asked, decide_overall_rater_verdict(asked, quality, right, passed))
            code = quality_policy.assign_task_completion_code(session, rater.campaign_id, public_id, fresh) or fresh
        if quality is not None:
            _act(session, rater, asked, quality)
    return HandInReceipt(code, warning)


def is_rater_stopped_by_checks(session: Session, rater: ActingRater) -> bool:
    """Return whether a rater gets no new task because a check that ends tasks fails. A task in hand stays theirs."""
    asked = parse_rater_quality_settings(get_campaign(session, rater.campaign).settings)
    ending = asked.checks_leading_to("end_task")
    if not ending or quality_policy.has_leased_task(session, rater.campaign_id, rater.rater_id):
        return False
    quality = evaluate_rater_quality_checks(session, rater.campaign, rater.rater, asked, ending)
    return quality is not None and not ending.isdisjoint(quality.beyond)


def evaluate_rater_quality_checks(
    session: Session,
    campaign: str,
    rater: str,
    asked: RaterQualitySettings,
    checks: frozenset[Check],
    *,
    all_evidence: bool = False,
) -> RaterQuality | None:
    """Return what some checks show about a rater's work, compared with the others; None if nothing can follow.

    checks: those that can have consequences; no others are made. If these are only control items, control items and the
    ratings that they go back to are read first. All ratings are read only for a rater who fails this check, or if
    `all_evidence` asks for them.
    """
    about = load_snapshot(session, campaign, None)
    try:
        if not all_evidence and checks <= {"controls"} and not _fails_controls(session, about, rater, asked):
            return None
        read = load_ratings_with_times(session, about, activity="speed" in asked.actions)
        return evaluate_one_rater_quality(read.rows, rater, checks, read.events, read.words, asked.to_criteria())
    except Invalid:  # a protocol without scores gives the checks nothing to work with
        return None


def _fails_controls(session: Session, about: CampaignSnapshot, rater: str, asked: RaterQualitySettings) -> bool:
    rows, of_segments = load_control_ratings(session, about)
    results = decide_rater_verdicts_by_controls(rows, asked.to_criteria(), of_segments=of_segments, only_rater=rater)
    return results.get(rater) == "fail"


def compute_overall_rater_verdict(session: Session, campaign: str, rater: str) -> OverallRaterVerdict:
    """Return the verdict that would decide the rater's next completion code. Raises NotFound."""
    about = get_campaign(session, campaign)
    asked = parse_rater_quality_settings(about.settings)
    campaign_id = campaigns.load_campaign(session, campaign).id
    rater_id = raters.load_rater(session, campaign_id, rater).id
    right = tutorials.load_correct_answer_share(session, campaign_id, rater_id)
    quality = evaluate_rater_quality_checks(
        session, campaign, rater, asked, frozenset(asked.code_checks), all_evidence=True
    )
    passed = _load_passed_share(session, asked, campaign_id, rater_id)
    return decide_overall_rater_verdict(asked, quality, right, passed)


def _load_passed_share(session: Session, asked: RaterQualitySettings, campaign_id: int, rater_id: int) -> float | None:
    """Return the share of attention checks passed at the first attempt; None if it has no consequences."""
    return (
        None
        if asked.code_attention is None
        else attention_checks.load_first_try_pass_share_of_rater(session, campaign_id, rater_id)
    )


def _code(asked: RaterQualitySettings, overall: OverallRaterVerdict) -> str:
    """Return a completion code for the verdict."""
    template = (asked.code_fail if overall.verdict == "fail" else asked.code_pass) or CODE
    return template.replace(CODE, secrets.token_hex(5).upper())


def _act(session: Session, rater: ActingRater, asked: RaterQualitySettings, quality: RaterQuality) -> None:
    """Record each failed check once for each action, and pause the enrolment if a check blocks the rater."""
    for check in quality.beyond:
        then = asked.actions.get(check)
        if then is None or check in quality_policy.find_checks_already_acted_on(
            session, rater.campaign_id, rater.rater, then
        ):
            continue
        if then == "block":
            quality_policy.pause_rater_enrolment(session, rater.campaign_id, rater.rater_id)
        what = {"rater": rater.rater, "check": check, "then": then, "verdict": quality.verdict, "flags": quality.flags}
        audit.record_action(session, rater.campaign_id, actor=ACTOR, action=quality_policy.ACTION, what=what)
        about = {"check": check, "then": then, "verdict": quality.verdict, "flags": quality.flags}
        record_webhook_event(session, rater.campaign_id, "rater.failed", about, rater_id=rater.rater_id)
