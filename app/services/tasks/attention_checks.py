"""Attention checks: documents with known answers among a rater's tasks, and the results of these checks at hand-in.

In `meta.attention`, a segment of such a document gives the text to judge, or the texts to judge side by side. It also
gives the right judgment, or the rules that an answer must follow. The result is stored with the task. No ranking counts
these answers.
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

from app.domain.attention_checks import KIND
from app.domain.errors import Invalid, Place
from app.domain.validation_errors import list_first_validation_errors
from app.protocols import list_known_severities, span_faults
from app.protocols.base import JudgedTexts, Span
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.services.campaigns.attention_settings import AttentionCheckSettings, get_attention_check_settings
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.quality_settings import parse_rater_quality_settings
from app.services.people.answer_rules import list_broken_rules
from app.services.people.expected_answer_rule import MOST_COLUMNS, ExpectedAnswerRule
from app.services.people.known_answers import KnownAnswerSegment, TextsWithKnownAnswer, list_known_answer_faults
from app.services.people.qualification_grading import QualificationAnswer, is_answer_right
from app.services.people.raters import ActingRater
from app.services.plans.plan_prefills import TAKES_NONE
from app.services.plans.prefill_encoding import MOST_SPANS
from app.services.tasks.task_content import TaskContent, load_task_content
from app.services.tasks.tasks import OwnAnswersByAddress, load_own_task
from app.storage import attention_checks, campaigns
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


class AttentionCheckSegmentMeta(TextsWithKnownAnswer):
    """What a segment says about its check under `attention` in its `meta`.

    prefill: prefilled errors, one list for each text; shown if the tasks of the campaign show any.
    """

    prefill: tuple[Annotated[tuple[Span, ...], Field(max_length=MOST_SPANS)], ...] = Field((), max_length=MOST_COLUMNS)


@dataclass(frozen=True, slots=True)
class AttentionCheckWarning:
    """The warning to a rater who failed a loud check: texts by language. again: whether the check is repeated."""

    texts: tuple[Mapping[str, str], ...]
    again: bool


@dataclass(frozen=True, slots=True)
class RaterAttentionCheckResults:
    """A rater's results in attention checks, for the manager.

    checks, passed, failed: counts of first attempts. tries: counts all hand-ins. verdict: compares the share passed
    with the share that the campaign requires; None if it requires none, or if the rater has no results.
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
    """Yield the faults in the segments of a check, each with the index of its segment; () stands for the document."""
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
    if not any(note is None or note.is_right_answer_defined for note in notes):
        yield Place((), "one segment at least needs rules or the right judgment, under meta.attention")


def is_attention_check_meta_valid(meta: Mapping[str, object]) -> bool:
    """Return whether the `meta` of a segment says nothing about a check, or describes it in the required form."""
    return KIND not in meta or _read_note(meta) is not None


def record_attention_check_result(session: Session, rater: ActingRater, public_id: str) -> AttentionCheckWarning | None:
    """Record the result of a handed-in task if it is a check, and return the warning for its rater, if any.

    Repeated calls return the same warning. Raises TaskNotFound.
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
        attention_checks.store_attention_check_result(session, row.campaign_id, row.id, json.dumps(result))
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
    """List the results of enrolled raters in a given order, starting after a cursor. Raises NotFound.

    state: only raters without checks, without failures, or with failures. q: words, each of which must be part of the
    key of the rater or of the team.
    """
    row = campaigns.load_campaign(session, campaign)
    least = parse_rater_quality_settings(row.settings).code_attention
    rows = attention_checks.load_attention_results_by_rater(
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
    """Return the cursor that points after a rater's result in a sorted list."""
    value = getattr(result, sort.removeprefix("-"))
    return format_sort_value(value, attention_checks.RESULT_ORDERS[sort]), result.rater


def _make_result(
    session: Session, view: CampaignInfo, sheet: TaskContent, rater_id: int, asked: AttentionCheckSettings
) -> dict[str, Any]:
    """Return the result of a check.

    broken: numbers of the segment and of the rule, from 1 (rule null: the right judgment was missed).
    """
    answers = OwnAnswersByAddress.load(session, sheet.campaign_id, sheet.task_id, rater_id)
    outcomes: set[bool] = set()
    broken: list[dict[str, int | None]] = []
    warnings: list[Mapping[str, str]] = []
    for segment in attention_checks.load_segments_of_attention_check(session, sheet.campaign_id, sheet.task_id):
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
    sheet: TaskContent, answers: OwnAnswersByAddress, segment_id: int, note: AttentionCheckSegmentMeta | None
) -> list[Mapping[str, object]] | None:
    """Return the rater's answers to a segment, one for each column, or to the documents if only these are judged."""
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
) -> tuple[bool, list[ExpectedAnswerRule]] | None:
    """Return whether the right judgment was missed, and the broken rules; None if the check does not fit the campaign.

    A check that was written for another protocol does not count against anybody.
    """
    if not note.is_right_answer_defined or any(list_known_answer_faults(view, note, source)):
        return None
    items = note.make_qualification_items(source)
    try:
        missed = note.payload is not None and not is_answer_right(view, items[0], QualificationAnswer(payload=given[0]))
        return missed, list_broken_rules(view, items, note.rules, given)
    except Invalid:
        return None


def _repeat(session: Session, row: Any, note: Mapping[str, Any]) -> None:
    """Give the rater the same check once more, before all other tasks."""
    key = f"{str(row.key).split('~again')[0]}~again{note['try']}"
    meta = {"document": note["document"], "try": note["try"] + 1, "pooled": note.get("pooled", False)}
    values = {"public_id": f"t_{secrets.token_hex(16)}", "key": key, "meta": json.dumps(meta)}
    attention_checks.insert_attention_check_retry(session, row.campaign_id, row.id, values)


def _read_note(meta: Mapping[str, object]) -> AttentionCheckSegmentMeta | None:
    """Return what a segment says about its check; None if it is missing or invalid, as in an import."""
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
