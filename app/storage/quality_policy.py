"""Queries about the actions of quality control: those on record, paused raters, and completion codes of tasks."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

ACTION = "quality control"
_DONE = """
SELECT CAST(what AS jsonb) ->> 'check' FROM audit_log
WHERE campaign_id = :campaign AND action = :action AND CAST(what AS jsonb) ->> 'rater' = :rater
  AND CAST(what AS jsonb) ->> 'then' = :then"""
_PAUSE = """
UPDATE enrolments SET state = 'paused', settings_version = settings_version + 1
WHERE campaign_id = :campaign AND rater_id = :rater AND state = 'active'"""
_CODE = """
UPDATE tasks SET completion_code = coalesce(completion_code, :code)
WHERE campaign_id = :campaign AND public_id = :task AND state = 'handed_in' RETURNING completion_code"""
_HOLDS = """
SELECT EXISTS (SELECT FROM tasks WHERE campaign_id = :campaign AND rater_id = :rater AND state = 'leased')"""


def find_checks_already_acted_on(session: Session, campaign_id: int, rater: str, action: str) -> set[str]:
    """Return the checks for which the audit log already has an action about a rater."""
    keys = {"campaign": campaign_id, "action": ACTION, "rater": rater, "then": action}
    return set(session.execute(text(_DONE), keys).scalars())


def pause_rater_enrolment(session: Session, campaign_id: int, rater_id: int) -> None:
    """Pause an active enrolment."""
    session.execute(text(_PAUSE), {"campaign": campaign_id, "rater": rater_id})


def assign_task_completion_code(session: Session, campaign_id: int, public_id: str, code: str) -> str | None:
    """Give a handed-in task its completion code, unless it already has one; return its current code."""
    settled = session.execute(text(_CODE), {"campaign": campaign_id, "task": public_id, "code": code}).scalar()
    return None if settled is None else str(settled)


def has_leased_task(session: Session, campaign_id: int, rater_id: int) -> bool:
    """Tell whether a rater has a leased task."""
    return bool(session.execute(text(_HOLDS), {"campaign": campaign_id, "rater": rater_id}).scalar())
