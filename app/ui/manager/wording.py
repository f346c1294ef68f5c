"""The phrases at the top of the page for a campaign's own wording: those that raters read in a task."""

from __future__ import annotations

import json
from collections.abc import Iterator

from app.reports.inputs.campaign import CampaignInfo
from app.ui.annotation_forms import rater_forms_json

IN_TASKS = (
    "Source",
    "Reference",
    "Document {n} of {total}",
    "Segment {n}",
    "Text {n}",
    "The document as a whole",
    "{judged} of {total} judged",
    "There are no errors",
    "Next segment",
    "Next task",
    "Hand in",
    "Why can’t I hand in?",
    "Still missing: {what}.",
    "Comment on this text",
    "Report a problem",
    "What is wrong",
    "saved",
    "Handed in. Thank you.",
    "Get another task",
    "Your completion code:",
)
"""Phrases of every task, in the order in which raters meet them."""


def list_translatable_task_phrases(campaign: CampaignInfo) -> list[str]:
    """Return the phrases of every task, then the protocol's texts for raters, which catalogues may lack."""
    return list(dict.fromkeys((*IN_TASKS, *_list_texts(json.loads(rater_forms_json(campaign))))))


def _list_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name in sorted(value, key=lambda name: name == "widgets"):  # first the question, then how it is answered
            yield from _list_texts(value[name])
    elif isinstance(value, list):
        for part in value:
            yield from _list_texts(part)
