"""A session: how a rater goes through a task, as the sequence of requests that their front-end would send.

`generate_session_actions` is a generator: it yields what to send, and receives the revision that the server returned.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from app.protocols import RaterForm, get_protocol, list_judged_levels, make_rater_form
from app.protocols.base import Level, PreferenceWidget, Protocol, parse_scoring_options
from app.simulation.answers import AnswerContext, fill_in_form, make_preference_payload
from app.simulation.rater_model import RaterModel, hash_text_with_source
from app.simulation.simulated_rater import SimulatedRater, TextOpinion
from app.simulation.task_view import DisplayedItem, DisplayedScreen, DisplayedSegment, DisplayedTask, LatestOwnAnswer

BEATS_EVERY = 60_000  # milliseconds of the rater's clock
WORDS_A_SEGMENT = 20.0
LONG_AGO = 1_767_225_600_000  # the rater's clock starts at the beginning of 2026


@dataclass(frozen=True, slots=True)
class SendJudgment:
    """Send an answer. segment: None for the item as a whole. seconds: time that the rater took for it."""

    item: int
    segment: int | None
    payload: Mapping[str, object]
    seen: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SendPreference:
    """Send the rater's order of the columns on a screen."""

    screen: int
    payload: Mapping[str, object]
    seen: int


@dataclass(frozen=True, slots=True)
class SendHeartbeat:
    """Send a heartbeat with the events since the last one."""

    events: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class HandInTask:
    """Hand in the task."""


@dataclass(frozen=True, slots=True)
class AbandonTask:
    """Leave a task in the middle without releasing it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause, with the task leased. seconds: of real time."""

    seconds: float


Act = SendJudgment | SendPreference | SendHeartbeat | HandInTask | AbandonTask | Pause
SessionActs = Generator[Act, int | None, None]


@dataclass(slots=True)
class CampaignRaterForms:
    """The forms of a campaign, made once. lower: fields and criteria for which lower values are better."""

    protocol: Protocol[Any]
    at: Mapping[Level, RaterForm]
    lower: frozenset[str]

    @classmethod
    def from_rater_model(cls, model: RaterModel) -> CampaignRaterForms:
        """Make the forms for the model's protocol, options and basis. Raises NotFound, Invalid."""
        protocol = get_protocol(model.protocol)
        options = parse_scoring_options(protocol, model.options)
        at = {
            level: make_rater_form(protocol, options, basis=model.basis, level=level)
            for level in list_judged_levels(protocol, options)
        }
        lower = {one.name for one in protocol.list_judgment_measures(options) if not one.higher_is_better}
        return cls(protocol, at, frozenset(lower))


@dataclass(slots=True)
class _Session:
    """A rater at work on a task. clock: of their page, in milliseconds. values: opinions of segments, by item."""

    mind: SimulatedRater
    task: DisplayedTask
    forms: CampaignRaterForms
    page: str
    clock: int
    events: list[Mapping[str, object]] = field(default_factory=list)
    sequence: int = 0
    beaten: int = 0
    values: dict[int, list[float]] = field(default_factory=dict)

    def note(self, kind: str, item: int | None = None, segment: int | None = None) -> None:
        where = {"item": item, "segment": segment} if item is not None else {}
        event = {"session": self.page, "seq": self.sequence, "kind": kind, "at_ms": self.clock, **where}
        self.events.append(event)
        self.sequence += 1

    def beat(self) -> SendHeartbeat:
        events, self.events, self.beaten = tuple(self.events), [], self.clock
        return SendHeartbeat(events)


def generate_session_actions(
    rater: SimulatedRater, task: DisplayedTask, forms: CampaignRaterForms, *, page: str
) -> SessionActs:
    """Yield what a rater sends while they go through a task; send the revision of each answer back in.

    Segments that have an answer are not judged again, so a session can be resumed where it stopped. Answers that were
    set aside, and are asked for again, are judged again. page: a name that no other session has. Ends with
    HandInTask, or with AbandonTask if the rater stops in the middle.
    """
    session = _Session(rater, task, forms, page, LONG_AGO + rater.judged * 60_000)
    session.note("open")
    for item in task.items:
        if (yield from _item(session, item)):
            yield AbandonTask()
            return
    for screen in task.screens:
        yield from _screen(session, screen)
    session.note("submit")
    yield session.beat()
    yield HandInTask()


def _item(session: _Session, item: DisplayedItem) -> Generator[Act, int | None, bool]:
    """Judge an item, and return whether the rater leaves."""
    answers: list[tuple[DisplayedSegment, int, TextOpinion]] = []
    missing = {one.segment for one in session.task.missing if one.item == item.item}
    for segment in item.segments:
        if segment.segment not in missing:
            continue
        if _has_stopped(session):
            return True
        if session.mind.judged == session.mind.traits.pauses_after:
            yield Pause(session.mind.traits.pause_seconds)
        opinion = _opinion(session, item.item, segment)
        session.values.setdefault(item.item, []).append(opinion.value)
        revision = yield from _judge(session, item.item, segment, opinion, _revision_seen(segment.judgment))
        answers.append((segment, revision, opinion))
    if None in missing:
        yield from _document(session, item)
    if session.task.presentation != "segment":
        yield from _revise_answers(session, item.item, answers)
    return False


def _revision_seen(latest: LatestOwnAnswer | None) -> int:
    """Return the revision that an answer builds on; for an answer that was set aside, that answer's own revision."""
    return latest.revision if latest is not None else 0


def _has_stopped(session: _Session) -> bool:
    stops = session.mind.traits.stops_after
    return stops is not None and session.mind.judged >= stops


def _is_unread(session: _Session, item: int, segment: int) -> bool:
    """Return whether the rater answers unread: a careless rater does, and others do after the part that they read."""
    places = [(one.item, part.segment) for one in session.task.items for part in one.segments]
    return session.mind.traits.careless or places.index((item, segment)) >= session.mind.traits.reads * len(places)


def _opinion(session: _Session, item: int, segment: DisplayedSegment) -> TextOpinion:
    """Form the opinion of a text that the model has, alone or beside another; if it has none, of the judged text."""
    texts = [one.text for one in reversed(segment.texts) if one.text is not None and one.side != "source"]
    others = [one.text for one in segment.texts if one.text is not None]
    pairs = (hash_text_with_source(text, other) for text in texts for other in others)
    alone = (hash_text_with_source(text) for text in texts)
    known = (key for key in (*pairs, *alone) if key in session.mind.model.texts)
    unread = _is_unread(session, item, segment.segment)
    return session.mind.form_opinion(next(known, hash_text_with_source(segment.judged_text)), unread=unread)


def _judge(
    session: _Session, item: int, segment: DisplayedSegment, opinion: TextOpinion, seen: int
) -> Generator[Act, int | None, int]:
    session.note("focus", item, segment.segment)
    seconds = session.mind.traits.seconds * (0.5 + 0.5 * segment.n_shown_words / (2 * WORDS_A_SEGMENT))
    session.clock += round(1000 * (0.1 * seconds if _is_unread(session, item, segment.segment) else seconds))
    payload = _payload(session, "segment", segment, opinion)
    revision = yield SendJudgment(item, segment.segment, payload, seen, seconds)
    session.mind.judged += 1
    session.note("judge", item, segment.segment)
    if session.clock - session.beaten >= BEATS_EVERY:
        yield session.beat()
    return revision or seen + 1


def _payload(session: _Session, level: Level, segment: DisplayedSegment, opinion: TextOpinion) -> dict[str, object]:
    sheet = AnswerContext(segment, opinion, session.mind.draws, session.mind.traits.taste, session.forms.lower)
    return fill_in_form(session.forms.protocol.name, session.forms.at[level], sheet)


def _document(session: _Session, item: DisplayedItem) -> Generator[Act, int | None, None]:
    """Judge an item as a whole, from the opinions of its segments, which are formed now if there are none."""
    values = session.values.get(item.item) or [_opinion(session, item.item, one).value for one in item.segments]
    session.values[item.item] = values
    opinion = TextOpinion(fmean(values), (), ("document", session.mind.rater, item.segments[0].judged_text))
    payload = _payload(session, "document", item.segments[0], opinion)
    yield SendJudgment(item.item, None, payload, _revision_seen(item.judgment), session.mind.traits.seconds)
    session.mind.judged += 1


def _revise_answers(
    session: _Session, item: int, answers: list[tuple[DisplayedSegment, int, TextOpinion]]
) -> Generator[Act, int | None, None]:
    """Change some answers before the next item: the rater looks again and forms a new opinion."""
    for segment, revision, opinion in answers:
        if session.mind.draws.happens(session.mind.traits.revisions, *opinion.key, "again"):
            yield from _judge(session, item, segment, _opinion(session, item, segment), revision)


def _screen(session: _Session, screen: DisplayedScreen) -> Generator[Act, int | None, None]:
    if not any(one.screen == screen.screen for one in session.task.missing if one.screen is not None):
        return
    widget = next((one for one in session.forms.at["screen"].widgets if isinstance(one, PreferenceWidget)), None)
    if widget is None:
        return
    parts = {one.item: one for one in session.task.items}
    values = [
        fmean(session.values.get(n) or [_opinion(session, n, one).value for one in parts[n].segments])
        for n in screen.items
    ]
    yield SendPreference(
        screen.screen,
        make_preference_payload(session.forms.protocol.name, widget, values),
        _revision_seen(screen.judgment),
    )
