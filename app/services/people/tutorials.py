"""The tutorial: documents with known answers, which raters judge before their first task and which count nowhere.

A segment of a tutorial document says in `meta.tutorial` which text is judged, what the right judgment is, how far an
answer may be from it, and why. What says nothing shows the output of a system, without a known answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from app.domain.errors import Invalid, NotFound, Place
from app.domain.faults import list_first_faults
from app.reports.source.campaign import CampaignInfo
from app.services.campaigns.campaigns import get_campaign
from app.services.people.qualification_marks import (
    QualificationAnswer,
    QualificationItem,
    check_qualification_item,
    compute_payload_measures,
    is_answer_right,
)
from app.services.people.raters import ActingRater
from app.storage import campaigns, tutorials
from app.storage.db import Session

NAME = "tutorial"
LONGEST = 20_000


class TutorialItemNotFound(NotFound):
    """The tutorial has no such item."""

    published = "NoSuchItem"


class TutorialNote(BaseModel):
    """What a segment of a tutorial says of itself, under `tutorial` in its `meta`. reasons: by language."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    text: str | None = Field(None, min_length=1, max_length=LONGEST)
    question: str | None = Field(None, min_length=1, max_length=LONGEST)
    payload: dict[str, JsonValue] | None = None
    tolerance: dict[str, float] | None = None
    reasons: dict[str, str] = Field(default_factory=dict, max_length=100)


@dataclass(frozen=True, slots=True)
class TutorialLesson:
    """One segment to be judged. n: from 1, over all documents. document: from 1; key: its key. position: in it."""

    n: int
    document: int
    key: str
    position: int
    item: QualificationItem

    @property
    def place(self) -> tuple[str, int]:
        """What answers are kept by."""
        return self.key, self.position


@dataclass(frozen=True, slots=True)
class TutorialCourse:
    """The tutorial of a rater. answered: numbers of lessons. outstanding: it is to be done before the first task."""

    protocol: str
    lessons: tuple[TutorialLesson, ...]
    answered: frozenset[int]
    outstanding: bool


@dataclass(frozen=True, slots=True)
class MarkedTutorialAnswer:
    """What became of an answer. right: None where no answer is known. payload: the right one, for comparison."""

    n: int
    right: bool | None
    payload: Mapping[str, object] | None
    reasons: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TutorialResult:
    """How a rater did, for the manager. marked: answers that could be right or wrong."""

    rater: str
    team: str | None
    answered: int
    marked: int
    right: int
    at: datetime | None


def check_tutorial(campaign: CampaignInfo, metas: Sequence[Mapping[str, object]]) -> None:
    """Raise Invalid, naming each place, unless the segments of a tutorial document say what they should."""
    places = [place for n, meta in enumerate(metas) for place in _list_note_faults(campaign, n, meta)]
    if places:
        raise Invalid("the tutorial is not valid", places=tuple(places[:100]))


def get_tutorial(session: Session, rater: ActingRater) -> TutorialCourse:
    """What a rater is to judge before the first task; nothing where there is no tutorial."""
    view = get_campaign(session, rater.campaign)
    lessons = _lessons(session, view, rater.campaign_id)
    kept = tutorials.load_answered_segments(session, rater.campaign_id, rater.rater_id) if lessons else set()
    done = frozenset(one.n for one in lessons if one.place in kept)
    left = len(done) < len(lessons) and not tutorials.has_begun_tasks(session, rater.campaign_id, rater.rater_id)
    return TutorialCourse(view.protocol, lessons, done, left)


def mark_tutorial_answer(
    session: Session, rater: ActingRater, n: int, payload: Mapping[str, object]
) -> MarkedTutorialAnswer:
    """Say whether an answer is right and why; the first one to each segment is kept.

    Raises TutorialItemNotFound, or Invalid where the campaign's protocol does not take the answer.
    """
    view = get_campaign(session, rater.campaign)
    lessons = _lessons(session, view, rater.campaign_id)
    if not 1 <= n <= len(lessons):
        raise TutorialItemNotFound
    lesson = lessons[n - 1]
    try:
        said = _mark_answer(view, lesson.item, payload)
    except Invalid as error:
        places = tuple(Place(("body", *place.loc), place.msg) for place in error.places)
        raise Invalid(error.detail, places=places) from None
    kept = {"document": lesson.key, "position": lesson.position, "payload": dict(payload), "right": said}
    tutorials.insert_tutorial_answer(session, rater.campaign_id, rater.rater_id, kept)
    return MarkedTutorialAnswer(n, said, lesson.item.payload, lesson.item.reasons)


def list_tutorial_results(session: Session, campaign: str, *, after: str | None, limit: int) -> list[TutorialResult]:
    """How every enrolled rater did, by key after `after`. Raises NotFound."""
    campaign_id = campaigns.load_campaign(session, campaign).id
    return [
        TutorialResult(**row._asdict())
        for row in tutorials.load_tutorial_results(session, campaign_id, after=after, limit=limit)
    ]


def _lessons(session: Session, view: CampaignInfo, campaign_id: int) -> tuple[TutorialLesson, ...]:
    documents: dict[str, int] = {}
    lessons: list[TutorialLesson] = []
    for row in tutorials.load_tutorial_segments(session, campaign_id):
        item = _item(view, row.meta, row.source, row.text)
        if item.text is not None:
            document = documents.setdefault(row.document, len(documents) + 1)
            lessons.append(TutorialLesson(len(lessons) + 1, document, row.document, row.position, item))
    return tuple(lessons)


def _item(view: CampaignInfo, meta: Mapping[str, object], source: str | None, output: str | None) -> QualificationItem:
    """What raters see of a segment. A known answer that an import brought and that is none, is not known."""
    try:
        known = TutorialNote.model_validate(meta.get(NAME) or {})
    except ValidationError:
        known = TutorialNote()
    item = QualificationItem(source=source, **{**known.model_dump(), "text": known.text or output})
    return item if _answerable(view, item) else replace(item, payload=None, tolerance=None)


def _answerable(view: CampaignInfo, item: QualificationItem) -> bool:
    return item.payload is not None and not any(check_qualification_item(view, 0, item))


def _mark_answer(view: CampaignInfo, item: QualificationItem, payload: Mapping[str, object]) -> bool | None:
    if item.payload is None:
        compute_payload_measures(view, item, payload)
        return None
    return is_answer_right(view, item, QualificationAnswer(payload=payload))


def _list_note_faults(campaign: CampaignInfo, n: int, meta: Mapping[str, object]) -> Iterator[Place]:
    here = ("body", "segments", n, "meta", NAME)
    if NAME not in meta:
        return
    try:
        known = TutorialNote.model_validate(meta[NAME])
    except ValidationError as error:
        for fault in list_first_faults(error, 20):
            yield Place((*here, *fault["loc"]), fault["msg"])
        return
    if known.payload is None:
        return
    if known.text is None:
        yield Place((*here, "text"), "is required if the right judgment is given")
        return
    for place in check_qualification_item(campaign, n, QualificationItem(**known.model_dump())):
        yield Place((*here, *place.loc[3:]), place.msg)
