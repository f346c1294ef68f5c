"""What the page of invitations calls the checks that can decide about a completion code."""

from __future__ import annotations

from collections.abc import Mapping

from app.stats.quality.choices import Check
from app.ui.messages import message

CODE_CHECKS: Mapping[Check, str] = {
    "controls": message("Control items"),
    "habits": message("Habits, such as always the same score"),
    "speed": message("Speed"),
    "panel": message("Agreement with the others"),
    "repeats": message("Repeats"),
    "drift": message("Drift over time"),
    "within_tasks": message("Differences within tasks"),
    "alike": message("Answers like another rater's"),
}
