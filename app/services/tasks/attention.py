"""Attention checks: documents with known answers among a rater's tasks, and what comes of them at the hand-in.

A segment of such a document says in `meta.attention` which text is judged, or which texts side by side, and what the
right judgment is, or which rules an answer must keep. What comes of it goes to the task; no ranking counts the answers.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from app.domain.attention import KIND
from app.domain.errors import Invalid, Place
from app.domain.faults import list_first_validation_errors
from app.protocols import list_known_severities, span_faults
from app.protocols.base import JudgedTexts, Span
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.services.campaigns.attention_settings import AttentionCheckSettings, get_attention_check_settings
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.quality_settings import parse_rater_quality_settings
from app.services.people.answer_rule import MOST_COLUMNS, AnswerRule
from app.services.people.answer_rules import list_broken_rules
from app.services.people.known_answers import KnownAnswer, KnownAnswerSegment, list_known_answer_faults
from app.services.people.qualification_marks import QualificationAnswer, is_answer_right
from app.services.people.raters import ActingRater
from app.services.plans.plan_prefills import TAKES_NONE
from app.services.plans.prefilled_errors import MOST_SPANS
from app.services.tasks.task_content import TaskContent, load_task_content
from app.services.tasks.tasks import OwnAnswers, load_own_task
from app.storage import attention, campaigns
from app.storage.db import Session
from app.storage.sorting import SortCursor, format_sort_value

Outcome = Literal["passed", "failed", "untested"]
AttentionState = Literal["none", "passed", "failed"]
AttentionSort = Literal[
    "rater",
    "-rater",
    "team",
    "-team",
    "checks",
    "-checks",
    "passed",
    "-passed",
    "failed",
    "-failed",
    "at",
    "-at",
]


class AttentionCheckSegmentMeta(KnownAnswer):
    """What a segment says of itself under `attention` in its `meta`.

    prefill: errors that are marked in advance, a list for each text; shown where tasks show any.
    """

    prefill: tuple[Annotated[tuple[Span, ...], Field(max_length=MOST_SPANS)], ...] = Field((), max_length=MOST_COLUMNS)


@dataclass(frozen=True, slots=True)
class AttentionCheckWarning:
    """What a rater is told who did not pass a loud check: texts by language. again: the check comes once more."""

    texts: tuple[Mapping[str, str], ...]
    again: bool


@dataclass(frozen=True, slots=True)
class RaterAttentionCheckResults:
    """How a rater did in checks, for the manager. checks, passed, failed: of first tries. tries: all hand-ins.

    verdict: by the share of checks that the campaign wants passed; None where it wants none, or nothing is known.
    """

    rater: str
    team: str | None
    checks: int
    passed: int
    failed: int
    tries: int
    at: datetime | None
    verdict: Literal["pass", "fail"] | None


def list_attention_check_faults(campaign: CampaignInfo, segments: Sequence[KnownAnswerSegment]) -> Iterator[Place]:
    """What is wrong with the segments of a check, each by its index; () is the document."""
    notes: list[AttentionCheckSegmentMeta | None] = []
    for n, segment in enumerate(segments):
        try:
            note = AttentionCheckSegmentMeta.model_validate(segment.meta[KIND]) if KIND in segment.meta else None
        except ValidationError as error:
            notes.append(None)
            for fault in list_first_validation_errors(error, 20):
                yield Place((n, "meta", KIND, *fault["loc"]), fault["msg"])
            continue
        if note is not None:
            notes.append(note)
            faults = chain(
                list_known_answer_faults(campaign, note, segment.source),
                _list_prefill_faults(campaign, note, segment.source),
            )
            yield from (Place((n, "meta", KIND, *place.loc), place.msg) for place in faults)
    if not any(note is None or note.has_right_answer for note in notes):
        yield Place((), "one segment at least needs rules or the right judgment, under meta.attention")


def is_attention_check_meta_valid(meta: Mapping[str, object]) -> bool:
    """Whether what a segment says of a check, if anything, has the form that it must have."""
    return KIND not in meta or _read_note(meta) is not None


def record_attention_check_result(session: Session, rater: ActingRater, public_id: str) -> AttentionCheckWarning | None:
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
        asked = get_attention_check_settings(view.settings)
        result = _make_result(session, view, load_task_content(session, public_id), rater.rater_id, asked)
        result |= {"again": result["warns"] and int(note.get("try", 1)) <= asked.repeats}
        attention.store_attention_check_result(session, row.campaign_id, row.id, json.dumps(result))
        if result["again"]:
            _repeat(session, row, note)
    if not result["warns"]:
        return None
    return AttentionCheckWarning(tuple(result["warnings"]), result["again"])


def list_attention_check_results(
    session: Session,
    campaign: str,
    *,
    after: SortCursor | None,
    limit: int,
    state: AttentionState | None = None,
    sort: AttentionSort = "rater",
    q: str = "",
) -> list[RaterAttentionCheckResults]:
    """How every enrolled rater did, after a place in an order. Raises NotFound.

    state: only those who met no check, failed none or failed some. q: words, each a part of the rater's or the team's
    key.
    """
    row = campaigns.load_campaign(session, campaign)
    least = parse_rater_quality_settings(row.settings).code_attention
    rows = attention.load_attention_results_by_rater(
        session, row.id, after=after, limit=limit, state=state, sort=sort, words=q.split()
    )
    return [
        RaterAttentionCheckResults(**row._asdict(), verdict=_decide_verdict(row.passed, row.failed, least))
        for row in rows
    ]


def _decide_verdict(passed: int, failed: int, least: float | None) -> Literal["pass", "fail"] | None:
    if least is None or not passed + failed:
        return None
    return "pass" if passed / (passed + failed) >= least else "fail"


def make_attention_check_result_cursor(result: RaterAttentionCheckResults, sort: AttentionSort) -> SortCursor:
    """The cursor after a rater's result in a sorted list."""
    value = getattr(result, sort.removeprefix("-"))
    return format_sort_value(value, attention.RESULT_ORDERS[sort]), result.rater


def _make_result(
    session: Session, view: CampaignInfo, sheet: TaskContent, rater_id: int, asked: AttentionCheckSettings
) -> dict[str, Any]:
    """outcome; broken: rules by number of segment and rule, from 1 (rule null: the right judgment was missed)."""
    answers = OwnAnswers.load(session, sheet.campaign_id, sheet.task_id, rater_id)
    outcomes: set[bool] = set()
    broken: list[dict[str, int | None]] = []
    warnings: list[Mapping[str, str]] = []
    for segment in attention.load_attention_check_segments(session, sheet.campaign_id, sheet.task_id):
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
    sheet: TaskContent, answers: OwnAnswers, segment_id: int, note: AttentionCheckSegmentMeta | None
) -> list[Mapping[str, object]] | None:
    """What was answered to each column of a segment, or to the documents where only these are judged."""
    if note is None:
        return None
    given = []
    for item in list(sheet.items.values())[: len(note.texts_to_judge)]:
        answer = answers.at.get((item.id, segment_id)) or answers.at.get((item.id, None))
        if answer is None:
            return None
        given.append(answer.payload)
    return given if len(given) == len(note.texts_to_judge) else None


def _mark(
    view: CampaignInfo, note: AttentionCheckSegmentMeta, source: str | None, given: Sequence[Mapping[str, object]]
) -> tuple[bool, list[AnswerRule]] | None:
    """Whether the right judgment was missed, and which rules were; None where nothing is known that fits the campaign.

    What was written for another protocol is not held against anybody.
    """
    if not note.has_right_answer or any(list_known_answer_faults(view, note, source)):
        return None
    items = note.make_qualification_items(source)
    try:
        missed = note.payload is not None and not is_answer_right(view, items[0], QualificationAnswer(payload=given[0]))
        return missed, list_broken_rules(view, items, note.rules, given)
    except Invalid:
        return None


def _repeat(session: Session, row: Any, note: Mapping[str, Any]) -> None:
    """Give the rater the same check once more, before all else."""
    key = f"{str(row.key).split('~again')[0]}~again{note['try']}"
    meta = {"document": note["document"], "try": note["try"] + 1, "pooled": note.get("pooled", False)}
    values = {"public_id": f"t_{secrets.token_hex(16)}", "key": key, "meta": json.dumps(meta)}
    attention.insert_repeated_attention_check(session, row.campaign_id, row.id, values)


def _read_note(meta: Mapping[str, object]) -> AttentionCheckSegmentMeta | None:
    """What a segment says of itself; None where an import brought something else."""
    try:
        return AttentionCheckSegmentMeta.model_validate(meta[KIND])
    except (KeyError, ValidationError):
        return None


def _list_prefill_faults(
    campaign: CampaignInfo, note: AttentionCheckSegmentMeta, source: str | None
) -> Iterator[Place]:
    protocol = find_campaign_protocol(campaign)
    if not note.prefill:
        return
    if not protocol.accepts_prefill:
        yield Place(("prefill",), TAKES_NONE)
        return
    if len(note.prefill) != len(note.texts_to_judge):
        yield Place(("prefill",), f"has {len(note.prefill)} lists; there are {len(note.texts_to_judge)} texts")
        return
    severities = list_known_severities(protocol, parse_campaign_scoring_options(campaign))
    for n, (text, spans) in enumerate(zip(note.texts_to_judge, note.prefill, strict=True)):
        for place in span_faults(spans, JudgedTexts(source, text), severities):
            yield Place(("prefill", n, *place.loc[1:]), place.msg)
