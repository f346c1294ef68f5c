"""The tutorial: documents with known answers, which raters judge before their first task. Its answers count nowhere.

In `meta.tutorial`, a segment of a tutorial document gives the text to judge, or the texts to judge side by side. It
also gives the right judgment with a tolerance, or the rules for an answer, and the reasons. A segment without such an
entry shows the output of a system, without a known answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic import Field, ValidationError

from app.domain.errors import Invalid, NotFound, Place
from app.domain.validation_errors import list_first_validation_errors
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.display_settings import get_display_settings
from app.services.people.answer_rules import list_broken_rules, require_payload_per_column
from app.services.people.expected_answer_rule import ExpectedAnswerRule
from app.services.people.known_answers import KnownAnswerSegment, Text, TextsWithKnownAnswer, list_known_answer_faults
from app.services.people.qualification_grading import (
    QualificationAnswer,
    QualificationItem,
    is_answer_right,
)
from app.services.people.raters import ActingRater
from app.storage import campaigns, tutorials
from app.storage.db import Session
from app.storage.sorting import SortCursor, format_sort_value

TutorialSort = Literal["rater", "-rater", "team", "-team", "answered", "-answered", "right", "-right", "at", "-at"]

NAME = "tutorial"
OF_ITEM = {"text", "question", "payload", "tolerance", "reasons"}


class TutorialItemNotFound(NotFound):
    """The tutorial has no such item."""

    published = "NoSuchItem"


class TutorialSegmentMeta(TextsWithKnownAnswer):
    """What a segment of a tutorial says about itself, under `tutorial` in its `meta`.

    retry: the rater answers again until everything is right, and sees the right judgment and the reasons only then.
    reasons: by language.
    """

    question: Text | None = None
    reasons: dict[str, str] = Field(default_factory=dict, max_length=100)
    retry: bool = False


@dataclass(frozen=True, slots=True)
class TutorialLesson:
    """One segment to judge. n: number over all documents, from 1.

    document, key: the document's number from 1, and its key. position: of the segment in the document. item: with the
    text of the first column. columns: all texts.
    """

    n: int
    document: int
    key: str
    position: int
    item: QualificationItem
    columns: tuple[str, ...]
    rules: tuple[ExpectedAnswerRule, ...] = ()
    retry: bool = False

    @property
    def is_right_answer_defined(self) -> bool:
        """Whether an answer can be right or wrong."""
        return self.item.payload is not None or bool(self.rules)

    @property
    def column_items(self) -> list[QualificationItem]:
        """The item of each column."""
        return [replace(self.item, text=text) for text in self.columns]

    @property
    def answer_storage_key(self) -> tuple[str, int]:
        """The key under which answers are stored."""
        return self.key, self.position


@dataclass(frozen=True, slots=True)
class RaterTutorial:
    """A rater's tutorial. answered: numbers of lessons. outstanding: whether it must be done before the first task.

    markup: whether tags in its texts are shown as layout.
    """

    protocol: str
    lessons: tuple[TutorialLesson, ...]
    answered: frozenset[int]
    outstanding: bool
    markup: bool = False


@dataclass(frozen=True, slots=True)
class TutorialAnswerResult:
    """The result of an answer. right: None if no right answer is known. payload: the right one, for comparison.

    warnings: of the broken rules, each by language. again: whether the rater must answer again.
    """

    n: int
    right: bool | None
    payload: Mapping[str, object] | None
    reasons: Mapping[str, str]
    warnings: tuple[Mapping[str, str], ...] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class RaterTutorialResult:
    """A rater's result, for the manager. marked: answers that could be right or wrong."""

    rater: str
    team: str | None
    answered: int
    marked: int
    right: int
    at: datetime | None


def list_tutorial_faults(campaign: CampaignInfo, segments: Sequence[KnownAnswerSegment]) -> Iterator[Place]:
    """Yield the faults in the segments of a tutorial document, each with the index of its segment."""
    for n, segment in enumerate(segments):
        if NAME in segment.meta:
            for place in _list_note_faults(campaign, segment):
                yield Place((n, "meta", NAME, *place.loc), place.msg)


def get_tutorial(session: Session, rater: ActingRater) -> RaterTutorial:
    """Return what a rater must judge before the first task; no lessons if there is no tutorial."""
    view = get_campaign(session, rater.campaign)
    lessons = _lessons(session, view, rater.campaign_id)
    kept = tutorials.load_answered_segments(session, rater.campaign_id, rater.rater_id) if lessons else set()
    done = frozenset(one.n for one in lessons if one.answer_storage_key in kept)
    left = len(done) < len(lessons) and not tutorials.has_judged_any_task(session, rater.campaign_id, rater.rater_id)
    return RaterTutorial(view.protocol, lessons, done, left, get_display_settings(view.settings).markup)


def grade_tutorial_answer(
    session: Session,
    rater: ActingRater,
    n: int,
    payload: Mapping[str, object] | None,
    payloads: Sequence[Mapping[str, object]] | None = None,
) -> TutorialAnswerResult:
    """Say whether an answer is right, and why. The first answer to each segment is kept. payloads: one for each column.

    Raises TutorialItemNotFound, or Invalid if the campaign's protocol does not accept the answer.
    """
    view = get_campaign(session, rater.campaign)
    lessons = _lessons(session, view, rater.campaign_id)
    if not 1 <= n <= len(lessons):
        raise TutorialItemNotFound
    lesson = lessons[n - 1]
    try:
        given = require_payload_per_column(len(lesson.columns), payload, payloads)
        said, broken = _grade_answer(view, lesson, given)
    except Invalid as error:
        places = tuple(Place(("body", *place.loc), place.msg) for place in error.places)
        raise Invalid(error.detail, places=places) from None
    again = lesson.retry and said is False
    stored = dict(given[0]) if len(given) == 1 else {"columns": [dict(one) for one in given]}
    kept = {"document": lesson.key, "position": lesson.position, "payload": stored, "right": said, "settled": not again}
    tutorials.insert_tutorial_answer(session, rater.campaign_id, rater.rater_id, kept)
    warnings = tuple(rule.warning for rule in broken if rule.warning)
    if again:
        return TutorialAnswerResult(n, said, None, {}, warnings, again=True)
    return TutorialAnswerResult(n, said, lesson.item.payload, lesson.item.reasons, warnings)


def list_tutorial_results(
    session: Session,
    campaign: str,
    *,
    after: SortCursor | None,
    limit: int,
    answered: bool | None = None,
    sort: TutorialSort = "rater",
    q: str = "",
) -> list[RaterTutorialResult]:
    """List the results of enrolled raters in a given order, starting after a cursor. Raises NotFound.

    answered: only raters with answers, or only the others. q: words, each of which must be part of the key of the rater
    or of the team.
    """
    campaign_id = campaigns.load_campaign(session, campaign).id
    rows = tutorials.load_tutorial_results_page(
        session, campaign_id, after=after, limit=limit, answered=answered, sort=sort, words=q.split()
    )
    return [RaterTutorialResult(**row._asdict()) for row in rows]


def make_tutorial_result_cursor(result: RaterTutorialResult, sort: TutorialSort) -> SortCursor:
    """Return the cursor that points after a rater's result in a sorted list."""
    value = getattr(result, sort.removeprefix("-"))
    return format_sort_value(value, tutorials.RESULT_ORDERS[sort]), result.rater


def _lessons(session: Session, view: CampaignInfo, campaign_id: int) -> tuple[TutorialLesson, ...]:
    documents: dict[str, int] = {}
    lessons: list[TutorialLesson] = []
    for row in tutorials.load_tutorial_segments(session, campaign_id):
        note, item = _item(view, row.meta, row.source, row.text)
        if item.text is not None:
            document = documents.setdefault(row.document, len(documents) + 1)
            columns = note.columns or (item.text,)
            at = (len(lessons) + 1, document, row.document, row.position)
            lessons.append(TutorialLesson(*at, item, columns, note.rules, note.retry))
    return tuple(lessons)


def _item(
    view: CampaignInfo, meta: Mapping[str, object], source: str | None, output: str | None
) -> tuple[TutorialSegmentMeta, QualificationItem]:
    """Return what raters see of a segment. A known answer that does not fit the campaign's protocol is ignored."""
    try:
        known = TutorialSegmentMeta.model_validate(meta.get(NAME) or {})
    except ValidationError:
        known = TutorialSegmentMeta()
    text = next(iter(known.columns), known.text or output)
    judged = known if known.texts_to_judge else known.model_copy(update={"text": text})
    if any(list_known_answer_faults(view, judged, source)):
        known = known.model_copy(update={"payload": None, "tolerance": None, "rules": ()})
    return known, QualificationItem(source=source, **{**known.model_dump(include=OF_ITEM), "text": text})


def _grade_answer(
    view: CampaignInfo, lesson: TutorialLesson, given: Sequence[Mapping[str, object]]
) -> tuple[bool | None, list[ExpectedAnswerRule]]:
    """Return whether the answers are right (None if no right answer is known), and the rules that they break."""
    broken = list_broken_rules(view, lesson.column_items, lesson.rules, given)
    if not lesson.is_right_answer_defined:
        return None, broken
    near = lesson.item.payload is None or is_answer_right(view, lesson.item, QualificationAnswer(payload=given[0]))
    return near and not broken, broken


def _list_note_faults(campaign: CampaignInfo, segment: KnownAnswerSegment) -> Iterator[Place]:
    try:
        note = TutorialSegmentMeta.model_validate(segment.meta[NAME])
    except ValidationError as error:
        for fault in list_first_validation_errors(error, 20):
            yield Place(tuple(fault["loc"]), fault["msg"])
        return
    yield from list_known_answer_faults(campaign, note, segment.source)
    if note.retry and not note.is_right_answer_defined:
        yield Place(("retry",), "needs rules or the right judgment")
