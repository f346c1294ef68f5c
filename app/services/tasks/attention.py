"""Attention checks: documents with known answers among a rater's tasks, and what comes of them at the hand-in.

A segment of such a document says in `meta.attention` which text is judged, or which texts side by side, and what the
right judgment is, or which rules an answer must keep. What comes of it goes to the task; no ranking counts the answers.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from app.domain.attention import KIND
from app.domain.errors import Invalid, Place
from app.domain.faults import list_first_faults
from app.reports.source.campaign import CampaignInfo
from app.services.campaigns.attention_settings import AttentionSettings, get_attention_settings
from app.services.campaigns.campaigns import get_campaign
from app.services.people.answer_rules import (
    MOST_COLUMNS,
    MOST_RULES,
    AnswerRule,
    check_answer_rules,
    list_broken_rules,
)
from app.services.people.qualification_marks import (
    QualificationAnswer,
    QualificationItem,
    check_qualification_item,
    is_answer_right,
)
from app.services.people.raters import ActingRater
from app.services.tasks.task_content import TaskContent, load_task_content
from app.services.tasks.tasks import OwnAnswers, load_own_task
from app.storage import attention, campaigns
from app.storage.db import Session

LONGEST = 20_000
Outcome = Literal["passed", "failed", "untested"]
Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]


class AttentionNote(BaseModel):
    """What a segment says of itself under `attention` in its `meta`.

    columns: several texts, in the place of one. payload, tolerance: the right judgment of one text, and how far an
    answer may be from it. rules: what answers must keep, each with what a warned rater is told.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    text: Text | None = None
    columns: tuple[Text, ...] = Field((), max_length=MOST_COLUMNS)
    payload: dict[str, JsonValue] | None = None
    tolerance: dict[str, float] | None = None
    rules: tuple[AnswerRule, ...] = Field((), max_length=MOST_RULES)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that are judged."""
        return self.columns or ((self.text,) if self.text is not None else ())

    def items(self, source: str | None) -> list[QualificationItem]:
        """The question of each column."""
        first = QualificationItem(source=source, payload=self.payload, tolerance=self.tolerance, reasons={})
        return [replace(first, text=text) for text in self.texts]


@dataclass(frozen=True, slots=True)
class AttentionWarning:
    """What a rater is told who did not pass a loud check: texts by language. again: the check comes once more."""

    texts: tuple[Mapping[str, str], ...]
    again: bool


@dataclass(frozen=True, slots=True)
class AttentionResult:
    """How a rater did in checks, for the manager. checks, passed, failed: of first tries. tries: all hand-ins."""

    rater: str
    team: str | None
    checks: int
    passed: int
    failed: int
    tries: int
    at: datetime | None


def check_attention_document(campaign: CampaignInfo, metas: Sequence[Mapping[str, object]]) -> None:
    """Raise Invalid, naming each place, unless the segments of a check say what they should."""
    places = [place for n, meta in enumerate(metas) for place in _list_note_faults(campaign, n, meta)]
    if not places and not any(_is_known(note) for meta in metas if (note := _read_note(meta)) is not None):
        places = [Place(("body", "segments"), "one at least needs rules or the right judgment, under meta.attention")]
    if places:
        raise Invalid("the attention check is not valid", places=tuple(places[:100]))


def settle_attention_check(session: Session, rater: ActingRater, public_id: str) -> AttentionWarning | None:
    """Say what came of a task that was handed in, if it is a check; the warning for its rater, if there is one.

    Asking twice says the same. Raises TaskNotFound.
    """
    row = load_own_task(session, public_id, rater, lock=True)
    note = row.meta.get(KIND)
    if row.plan is not None or row.state != "handed_in" or not isinstance(note, Mapping):
        return None
    result = note.get("result")
    if result is None:
        view = get_campaign(session, rater.campaign)
        asked = get_attention_settings(view.settings)
        result = _make_result(session, view, load_task_content(session, public_id), rater.rater_id, asked)
        result |= {"again": result["warns"] and int(note.get("try", 1)) <= asked.repeats}
        attention.store_check_result(session, row.campaign_id, row.id, json.dumps(result))
        if result["again"]:
            _repeat(session, row, note)
    if not result["warns"]:
        return None
    return AttentionWarning(tuple(result["warnings"]), result["again"])


def list_attention_results(session: Session, campaign: str, *, after: str | None, limit: int) -> list[AttentionResult]:
    """How every enrolled rater did, by key after `after`. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows = attention.load_attention_results(session, campaign_id, after=after, limit=limit)
    return [AttentionResult(**row._asdict()) for row in rows]


def _make_result(
    session: Session, view: CampaignInfo, sheet: TaskContent, rater_id: int, asked: AttentionSettings
) -> dict[str, Any]:
    """outcome; broken: rules by number of segment and rule, from 1 (rule null: the right judgment was missed)."""
    answers = OwnAnswers.load(session, sheet.campaign_id, sheet.task_id, rater_id)
    outcomes: set[bool] = set()
    broken: list[dict[str, int | None]] = []
    warnings: list[Mapping[str, str]] = []
    for segment in attention.load_check_segments(session, sheet.campaign_id, sheet.task_id):
        note = _read_note(segment.meta)
        given = _find_payloads(sheet, answers, segment.id, note)
        if note is None or given is None:
            continue
        marked = _mark(view, note, segment.source, given)
        if marked is None:
            continue
        missed, rules = marked
        outcomes.add(not missed and not rules)
        broken += [{"segment": segment.position, "rule": n} for n in ([None] if missed else [])]
        broken += [{"segment": segment.position, "rule": note.rules.index(rule) + 1} for rule in rules]
        warnings += [rule.warning for rule in rules if rule.warning]
    outcome: Outcome = "untested" if not outcomes else "passed" if all(outcomes) else "failed"
    warns = outcome == "failed" and asked.loud
    return {"outcome": outcome, "broken": broken, "warns": warns, "warnings": warnings if warns else []}


def _find_payloads(
    sheet: TaskContent, answers: OwnAnswers, segment_id: int, note: AttentionNote | None
) -> list[Mapping[str, object]] | None:
    """What was answered to each column of a segment, or to the documents where only these are judged."""
    if note is None:
        return None
    given = []
    for item in list(sheet.items.values())[: len(note.texts)]:
        answer = answers.at.get((item.id, segment_id)) or answers.at.get((item.id, None))
        if answer is None:
            return None
        given.append(answer.payload)
    return given if len(given) == len(note.texts) else None


def _mark(
    view: CampaignInfo, note: AttentionNote, source: str | None, given: Sequence[Mapping[str, object]]
) -> tuple[bool, list[AnswerRule]] | None:
    """Whether the right judgment was missed, and which rules were; None where nothing is known that fits the campaign.

    What an import brought, or another protocol was asked for, is not held against anybody.
    """
    items = note.items(source)
    rules = () if any(check_answer_rules(view, note.texts, note.rules)) else note.rules
    known = note.payload is not None and not any(check_qualification_item(view, 0, items[0]))
    if not known and not rules:
        return None
    try:
        missed = known and not is_answer_right(view, items[0], QualificationAnswer(payload=given[0]))
        return missed, list_broken_rules(view, items, rules, given)
    except Invalid:
        return None


def _repeat(session: Session, row: Any, note: Mapping[str, Any]) -> None:
    """Give the rater the same check once more, before all else."""
    key = f"{str(row.key).split('~again')[0]}~again{note['try']}"
    meta = {"document": note["document"], "try": note["try"] + 1, "pooled": note.get("pooled", False)}
    values = {"public_id": f"t_{secrets.token_hex(16)}", "key": key, "meta": json.dumps(meta)}
    attention.repeat_check(session, row.campaign_id, row.id, values)


def _read_note(meta: Mapping[str, object]) -> AttentionNote | None:
    """What a segment says of itself; None where an import brought something else."""
    try:
        return AttentionNote.model_validate(meta[KIND])
    except (KeyError, ValidationError):
        return None


def _is_known(note: AttentionNote) -> bool:
    return note.payload is not None or bool(note.rules)


def _list_note_faults(campaign: CampaignInfo, n: int, meta: Mapping[str, object]) -> Iterator[Place]:
    here = ("body", "segments", n, "meta", KIND)
    if KIND not in meta:
        return
    try:
        note = AttentionNote.model_validate(meta[KIND])
    except ValidationError as error:
        for fault in list_first_faults(error, 20):
            yield Place((*here, *fault["loc"]), fault["msg"])
        return
    if note.columns and (note.text is not None or note.payload is not None):
        yield Place((*here, "columns"), "are in the place of text and payload; give rules for the right answer")
        return
    if _is_known(note) and not note.texts:
        yield Place((*here, "text"), "is required if there are rules or the right judgment")
        return
    for place in check_answer_rules(campaign, note.texts, note.rules):
        yield Place((*here, "rules", *place.loc), place.msg)
    if note.payload is not None:
        for place in check_qualification_item(campaign, n, note.items(None)[0]):
            yield Place((*here, *place.loc[3:]), place.msg)
