"""Tasks as their raters see them: what a task shows and asks, what is missing, handing in and giving back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from app.domain.attention_checks import KIND
from app.domain.errors import Conflict, Place
from app.domain.glossary import GlossaryTerm, TermInText, find_terms, preselect_terms
from app.domain.markup import parse_markup
from app.protocols import RaterForm, ShownText, list_shown_texts, resolve_visible_text_kinds
from app.services.campaigns.media_rules import MediaPlaybackRules
from app.services.media.listening import load_heard_intervals
from app.services.people.raters import ActingRater
from app.services.tasks.task_content import ItemContent, SegmentContent, TaskContent, load_task_content
from app.services.webhooks.events import record_hand_in_and_milestone_events
from app.storage import campaigns, comments, tasks
from app.storage.attention_checks import LAST
from app.storage.db import Session
from app.storage.tasks import TaskNotFound

State = Literal["leased", "lapsed", "handed_in", "surplus"]
NOT_JUDGED, NO_DOCUMENT, NO_SCREEN = "not judged", "the document as a whole is not judged", "not compared"
NOT_HEARD = "not played to the end"


class TaskUnfinished(Conflict):
    """Some judgments are missing."""

    published = "Unfinished"


class TaskTakenByAnotherRater(Conflict):
    """Your lease expired and somebody else has this task; your judgments are kept."""

    published = "TaskLost"


class TaskHandedIn(Conflict):
    """This task is handed in; its judgments can no longer change."""


class TaskReleased(Conflict):
    """You gave this task back, so it accepts no new answers; your earlier answers are kept. Lease a task again."""


class CampaignClosedToRaters(Conflict):
    """The campaign is closed."""

    published = "CampaignClosed"


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """The rater's latest answer. hidden: this credential may not show it, and the payload is empty."""

    revision: int
    payload: Mapping[str, Any]
    hidden: bool = False

    @classmethod
    def from_row(cls, row: tasks.Row, since: datetime | None) -> OwnAnswer:
        """Make an answer from a row, without its payload if it was given before `since`."""
        hidden = since is not None and row.recorded_at < since
        return cls(row.revision, {} if hidden else row.payload, hidden)


@dataclass(frozen=True, slots=True)
class SegmentView:
    """One segment. A text that the rater must not see or identify is None; `texts` holds all shown texts in order."""

    segment: int
    source: str | None
    text: str | None
    sha256: str | None
    references: tuple[str, ...] | None
    prefill: tuple[Mapping[str, Any], ...] | None
    alignment: str | None
    terms: tuple[TermInText, ...]
    instructions: str | None
    texts: tuple[ShownText, ...]
    judgment: OwnAnswer | None


@dataclass(frozen=True, slots=True)
class ItemView:
    """One item. judgment: of the document as a whole."""

    item: int
    segments: tuple[SegmentView, ...]
    judgment: OwnAnswer | None


@dataclass(frozen=True, slots=True)
class ScreenView:
    """The items that a screen shows side by side, and the source segments around them."""

    screen: int
    items: tuple[int, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    judgment: OwnAnswer | None


@dataclass(frozen=True, slots=True)
class MissingJudgmentInfo:
    """A judgment that is still missing."""

    item: int | None
    segment: int | None
    screen: int | None
    why: str

    @property
    def place(self) -> Place:
        """The place as `loc` of a problem."""
        if self.screen is not None:
            return Place(("screens", self.screen), self.why)
        if self.segment is None:
            return Place(("items", self.item or 0), self.why)
        return Place(("items", self.item or 0, "segments", self.segment), self.why)


@dataclass(frozen=True, slots=True)
class OwnComment:
    """A comment by the rater on a segment of an item, on an item as a whole, or on a screen."""

    item: int | None
    segment: int | None
    screen: int | None
    text: str


@dataclass(frozen=True, slots=True)
class CommentsView:
    """Whether the campaign asks for comments on outputs and on screens, and the rater's own comments."""

    output: bool
    screen: bool
    own: tuple[OwnComment, ...]


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task as its rater sees it. asked: the levels at which judgments are given."""

    task: str
    campaign: str
    protocol: str
    protocol_version: int
    basis: str
    presentation: str
    guidelines: int | None
    state: State
    leased_until: datetime | None
    words: int | None
    asked: tuple[str, ...]
    screens: tuple[ScreenView, ...]
    items: tuple[ItemView, ...]
    missing: tuple[MissingJudgmentInfo, ...]
    slider_colors: bool = False
    comments: CommentsView | None = None


@dataclass(frozen=True, slots=True)
class OwnAnswersByAddress:
    """A rater's own answers in a task, by address.

    to_be_repeated: answers set aside in a reopened task; the rater gives them again, even if answers are final.
    """

    at: Mapping[tuple[int, int | None], OwnAnswer]
    screens: Mapping[int, OwnAnswer]
    to_be_repeated: frozenset[tuple[int, int | None]] = frozenset()

    @classmethod
    def load(
        cls, session: Session, campaign_id: int, task_id: int, rater_id: int, *, since: datetime | None = None
    ) -> OwnAnswersByAddress:
        """Load the latest answer at each address. since: the payloads of earlier answers are left out."""
        rows = tasks.load_rater_task_answers(session, campaign_id, task_id, rater_id)
        screens = tasks.load_rater_screen_answers(session, campaign_id, task_id, rater_id)
        return cls(
            {(row.item_id, row.segment_id): OwnAnswer.from_row(row, since) for row in rows},
            {row.screen: OwnAnswer.from_row(row, since) for row in screens},
            frozenset((row.item_id, row.segment_id) for row in rows if row.again),
        )

    def is_answered(self, item: int, segment: int | None) -> bool:
        """Return whether an address has an answer that need not be repeated."""
        return (item, segment) in self.at and (item, segment) not in self.to_be_repeated


def load_task_view(session: Session, public_id: str, *, rater: ActingRater) -> TaskView:
    """Return a task that the rater has or had, blind. Raises TaskNotFound."""
    row = load_own_task(session, public_id, rater)
    content = load_task_content(session, public_id)
    answers = OwnAnswersByAddress.load(
        session, content.campaign_id, content.task_id, rater.rater_id, since=rater.answers_since
    )
    state = determine_task_state_for_rater(session, row, rater)
    view = make_task_view(content, answers, state, row.leased_until if state == "leased" else None)
    return replace(view, comments=_own_comments(session, content, rater))


def make_task_view(
    content: TaskContent, answers: OwnAnswersByAddress, state: State, leased_until: datetime | None = None
) -> TaskView:
    """Make the blind view of a task with a rater's own answers."""
    terms = _terms_of_task(content) if content.display.glossary else ()
    return TaskView(
        task=content.public_id,
        campaign=content.campaign,
        protocol=content.protocol.name,
        protocol_version=content.protocol.version,
        basis=content.basis,
        presentation=content.presentation,
        guidelines=content.guidelines,
        state=state,
        leased_until=leased_until,
        words=content.words,
        asked=tuple(content.forms),
        screens=_screens(content, answers),
        items=tuple(_item(content, item, answers, terms) for item in content.items.values()),
        missing=find_missing_judgments(content, answers),
        slider_colors=content.display.slider_colors,
        comments=_asked_comments(content),
    )


def _own_comments(session: Session, content: TaskContent, rater: ActingRater) -> CommentsView | None:
    """Return what the campaign asks comments on, with the rater's own; None if it asks for none."""
    asked = _asked_comments(content)
    if asked is None:
        return None
    rows = comments.load_comments_of_rater_in_task(
        session, content.campaign_id, content.task_id, rater.rater_id, since=rater.answers_since
    )
    places: dict[tuple[int, int | None], tuple[int, int | None]] = {
        (item.id, segment.id): (item.position, n)
        for item in content.items.values()
        for n, segment in enumerate(item.segments, 1)
    } | {(item.id, None): (item.position, None) for item in content.items.values()}

    def own(row: comments.Row) -> OwnComment:
        item, segment = places.get((row.item_id, row.segment_id), (None, None))
        return OwnComment(item, segment, row.screen, row.text)

    return replace(asked, own=tuple(map(own, rows)))


def _asked_comments(content: TaskContent) -> CommentsView | None:
    display = content.display
    asked = CommentsView(display.output_comments, display.screen_comments, ())
    return asked if asked.output or asked.screen else None


def load_task_forms(session: Session, public_id: str, *, rater: ActingRater) -> tuple[RaterForm, ...]:
    """Return the forms of a task that the rater has or had, as the campaign asks them. Raises TaskNotFound."""
    load_own_task(session, public_id, rater)
    return tuple(load_task_content(session, public_id).forms.values())


def load_own_task(session: Session, public_id: str, rater: ActingRater, *, lock: bool = False) -> tasks.Row:
    """Return a task that the rater has or had. Raises TaskNotFound."""
    row = tasks.load_task(session, public_id, lock=lock)
    if row.campaign_id != rater.campaign_id or not tasks.was_ever_leased_by(
        session, row.campaign_id, row.id, rater.rater_id
    ):
        raise TaskNotFound
    return row


def determine_task_state_for_rater(session: Session, row: tasks.Row, rater: ActingRater) -> State:
    """Return the state of a task for a rater who has or had it."""
    if row.rater_id == rater.rater_id and row.state in ("leased", "handed_in"):
        return "handed_in" if row.state == "handed_in" else "leased"
    free = row.state == "free" and row.rater_id in (None, rater.rater_id)
    last = tasks.find_holder_of_nth_lease(session, row.campaign_id, row.id, row.lease) == rater.rater_id
    return "lapsed" if free and last else "surplus"


def find_missing_judgments(content: TaskContent, answers: OwnAnswersByAddress) -> tuple[MissingJudgmentInfo, ...]:
    """Return the judgments that are asked for and missing, in the order of the task."""
    gaps = []
    for item in content.items.values():
        if "segment" in content.forms:
            gaps += [
                MissingJudgmentInfo(item.position, n, None, NOT_JUDGED)
                for n, segment in enumerate(item.segments, 1)
                if segment.text is not None and not answers.is_answered(item.id, segment.id)
            ]
        if "document" in content.forms and not answers.is_answered(item.id, None):
            gaps.append(MissingJudgmentInfo(item.position, None, None, NO_DOCUMENT))
    if "screen" in content.forms:
        several = (n for n, items in content.items_by_screen.items() if len(items) > 1)
        gaps += [MissingJudgmentInfo(None, None, n, NO_SCREEN) for n in several if n not in answers.screens]
    return tuple(gaps)


def hand_in_task(session: Session, public_id: str, *, rater: ActingRater, assign_code: bool = True) -> str | None:
    """Hand a task in and return its completion code. Repeated calls return the same code.

    assign_code: assign a code if the task has none; otherwise the caller that judges the work assigns it.

    Raises TaskNotFound, CampaignClosedToRaters, TaskTakenByAnotherRater, TaskUnfinished naming all that is missing.
    """
    campaign = campaigns.load_campaign(session, rater.campaign, lock=True)
    row = load_own_task(session, public_id, rater, lock=True)
    state = determine_task_state_for_rater(session, row, rater)
    if state == "handed_in":
        given: str | None = row.completion_code
        return given
    if campaign.state == "closed":
        raise CampaignClosedToRaters
    if state == "surplus":
        raise TaskTakenByAnotherRater
    content = load_task_content(session, public_id)
    answers = OwnAnswersByAddress.load(session, content.campaign_id, content.task_id, rater.rater_id)
    rules = MediaPlaybackRules.from_settings(campaign.settings)
    left = find_missing_judgments(content, answers)
    left += find_segments_with_unheard_media(session, content, rater, rules)
    if left:
        raise TaskUnfinished(f"{len(left)} missing", places=tuple(one.place for one in left))
    code: str | None = row.completion_code or (secrets.token_hex(5).upper() if assign_code else None)
    tasks.mark_task_handed_in(session, row.campaign_id, row.id, rater_id=rater.rater_id, code=code)
    campaigns.take_next_data_version(session, row.campaign_id, actor=rater.actor, what="hand-in")
    record_hand_in_and_milestone_events(
        session, row.campaign_id, public_id, rater.rater_id, counts=row.plan is not None
    )
    return code


def find_segments_with_unheard_media(
    session: Session, content: TaskContent, rater: ActingRater, rules: MediaPlaybackRules
) -> tuple[MissingJudgmentInfo, ...]:
    """Return the segments with media not yet heard to the end, if the campaign requires that."""
    if not rules.hear_all:
        return ()
    places = [
        (item.position, n, media)
        for item in content.items.values()
        for n, segment in enumerate(item.segments, 1)
        for media in (segment.source_media, segment.text_media)
        if media is not None and media.id is not None and media.duration_ms is not None
    ]
    ids = list({str(media.id) for *_, media in places})
    heard = load_heard_intervals(session, content.campaign_id, content.task_id, rater.rater_id, ids) if ids else {}
    unheard = {
        (item, n): None
        for item, n, media in places
        if not heard[str(media.id)].covers_whole_file(media.duration_ms or 0)
    }
    return tuple(MissingJudgmentInfo(item, n, None, NOT_HEARD) for item, n in unheard)


def release_task(session: Session, public_id: str, *, rater: ActingRater) -> None:
    """Give a task back; its judgments are kept. A task that the rater no longer holds does not change.

    Raises TaskNotFound, TaskHandedIn.
    """
    row = load_own_task(session, public_id, rater, lock=True)
    state = determine_task_state_for_rater(session, row, rater)
    if state == "handed_in":
        raise TaskHandedIn
    if state != "leased":
        return
    back = row.pooled and tasks.return_task_chain_to_bucket(session, row.campaign_id, row.plan, row.chain)
    tasks.record_how_lease_ended(session, row.campaign_id, row.id, "released")
    values: dict[str, object] = {"rater_id": None, "pooled": False} if back else {}
    if row.plan is None and (row.meta.get(KIND) or {}).get("pooled"):
        values = {"queue": LAST}
    tasks.free_task(session, row.campaign_id, row.id, values)


def _screens(content: TaskContent, answers: OwnAnswersByAddress) -> tuple[ScreenView, ...]:
    around = resolve_visible_text_kinds(content.protocol, content.basis).source and not content.protocol.hides_source
    return tuple(
        ScreenView(
            screen=n,
            items=tuple(item.position for item in items),
            before=_context(content, items[0].before) if around else (),
            after=_context(content, items[0].after) if around and not content.answers_are_final else (),
            judgment=answers.screens.get(n),
        )
        for n, items in content.items_by_screen.items()
    )


def _context(content: TaskContent, sources: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(parse_markup(source).shown for source in sources) if content.display.markup else sources


def _item(
    content: TaskContent, item: ItemContent, answers: OwnAnswersByAddress, terms: Sequence[GlossaryTerm]
) -> ItemView:
    views = (_segment(content, item, n, segment, answers, terms) for n, segment in enumerate(item.segments, 1))
    return ItemView(item.position, tuple(views), answers.at.get((item.id, None)))


def _segment(
    content: TaskContent,
    item: ItemContent,
    n: int,
    segment: SegmentContent,
    answers: OwnAnswersByAddress,
    terms: Sequence[GlossaryTerm],
) -> SegmentView:
    seen, hidden = resolve_visible_text_kinds(content.protocol, content.basis), content.protocol.hides_source
    texts = list_shown_texts(
        content.protocol,
        content.basis,
        source=segment.source,
        references=segment.references,
        text=segment.text,
        side_order=1 if item.side_order else 0,
        source_media=segment.source_media,
        text_media=segment.text_media,
        markup=content.display.markup,
    )
    references = tuple(segment.references[name] for name in sorted(segment.references))
    return SegmentView(
        segment=n,
        source=segment.source if seen.source and not hidden else None,
        text=None if hidden else segment.text,
        sha256=None if hidden else segment.sha256,
        references=references if seen.references and not hidden else None,
        prefill=None if segment.prefill is None else tuple(span.model_dump() for span in segment.prefill),
        alignment=segment.alignment if seen.source and not hidden else None,
        terms=_terms(segment.source, terms, content.display.markup) if seen.source and not hidden and terms else (),
        instructions=segment.instructions,
        texts=texts,
        judgment=answers.at.get((item.id, segment.id)),
    )


def _terms(source: str | None, terms: Sequence[GlossaryTerm], markup: bool) -> tuple[TermInText, ...]:
    """Return where terms stand in the stored source. With markup, terms are searched in the text that is shown."""
    if source is None or not markup:
        return find_terms(source or "", terms)
    layout = parse_markup(source)
    return tuple(
        TermInText(*layout.to_stored_range(term.start, term.end), term.translation)
        for term in find_terms(layout.shown, terms)
    )


def _terms_of_task(content: TaskContent) -> tuple[GlossaryTerm, ...]:
    """Return the glossary terms that may stand in any source of a task."""
    sources = tuple({segment.source or "" for item in content.items.values() for segment in item.segments})
    return preselect_terms(_context(content, sources), content.display.glossary)
