"""Labels, on the page of invitations, for the checks that can decide about a completion code."""

from __future__ import annotations

from collections.abc import Mapping

from app.stats.quality.quality_criteria import Check
from app.ui.messages import mark_translatable

CODE_CHECKS: Mapping[Check, str] = {
    "controls": mark_translatable("Control items"),
    "habits": mark_translatable("Habits, such as always the same score"),
    "speed": mark_translatable("Speed"),
    "panel": mark_translatable("Agreement with the others"),
    "repeats": mark_translatable("Repeats"),
    "drift": mark_translatable("Drift over time"),
    "within_tasks": mark_translatable("Differences within tasks"),
    "alike": mark_translatable("Answers like another rater's"),
}
