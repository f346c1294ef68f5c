"""Cache of what judging needs to know of tasks and campaigns, so that posting an answer reads none of it again.

What a task shows never changes, so its context stays valid. What its campaign asks is valid for one version of the
settings. The statement that writes an answer compares the version, and refuses the answer if the version has changed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.media_types import ShownMedia
from app.protocols import resolve_visible_text_kinds
from app.protocols.base import JudgedTexts, Side, Span
from app.services.media.shown_media import load_shown_media_by_text
from app.services.tasks.judging_rules import JudgingRules
from app.services.tasks.task_content import TaskAddressNotFound, list_visible_prefilled_errors
from app.storage import tasks
from app.storage.db import Session

NO_TEXT = -1
# Of all cached tasks together: about 60 MB. Ten thousand raters with tasks of 400 segments need this many.
MOST_SEGMENTS = 4_000_000
MOST_CAMPAIGNS = 1024


@dataclass(frozen=True, slots=True)
class TaskAnswerContext:
    """Where answers can be given in a task: its items, and the segments of all items in one sequence.

    items: position of each item, ascending. ids, screens: id and screen of each item. starts: index of the first
    segment of each item. segments: ids. source_lengths, text_lengths: in characters, NO_TEXT if there is no text.
    texts: only if scores need them. prefills: by segment index. durations: of audio and video, in milliseconds, by
    segment index and side.
    """

    task_id: int
    campaign_id: int
    presentation: str
    items: array[int]
    ids: array[int]
    screens: array[int]
    starts: array[int]
    segments: array[int]
    source_lengths: array[int]
    text_lengths: array[int]
    texts: Sequence[str | None] | None
    prefills: Mapping[int, tuple[Span, ...]]
    durations: Mapping[int, Mapping[Side, int]] = field(default_factory=dict)

    @property
    def answers_are_final(self) -> bool:
        """Whether answers cannot be changed: each screen shows one segment, and the rater cannot go back."""
        return self.presentation == "segment"

    def has_item(self, item: int) -> bool:
        """Return whether there is an item at a position."""
        return self._place(item) is not None

    def item_id(self, item: int) -> int:
        """Return the id of the item at a position. Raises TaskAddressNotFound."""
        return self.ids[self._item_index(item)]

    def count_item_segments(self, item: int) -> int:
        """Return the number of segments of the item at a position. Raises TaskAddressNotFound."""
        at = self._item_index(item)
        return self.starts[at + 1] - self.starts[at]

    def count_screen_columns(self, screen: int) -> int:
        """Return how many items a screen shows side by side."""
        return self.screens.count(screen)

    def segment_index_at(self, item: int, segment: int) -> int:
        """Return the index of a segment. Segments of an item are numbered from 1. Raises TaskAddressNotFound."""
        n = self.count_item_segments(item)
        if not 1 <= segment <= n:
            raise TaskAddressNotFound(f"the item has the segments 1 to {n}")
        return self.starts[self._item_index(item)] + segment - 1

    def judged_texts_at(self, index: int, *, source: bool) -> JudgedTexts:
        """Return what is known about the texts of a segment. source: whether the source is shown, too."""
        lengths: dict[Side, int] = {"target": self.text_lengths[index]}
        if source and self.source_lengths[index] != NO_TEXT:
            lengths["source"] = self.source_lengths[index]
        text = None if self.texts is None else self.texts[index]
        durations = self.durations.get(index, {})
        return JudgedTexts(text=text, prefill=self.prefills.get(index, ()), lengths=lengths, durations=durations)

    def _place(self, item: int) -> int | None:
        at = bisect_right(self.items, item) - 1
        return at if at >= 0 and self.items[at] == item else None

    def _item_index(self, item: int) -> int:
        at = self._place(item)
        if at is None:
            raise TaskAddressNotFound(f"there are the items 1 to {len(self.items)}")
        return at


@dataclass(frozen=True, slots=True)
class AnswerableTask:
    """A task's context, and what the campaign asks there."""

    context: TaskAnswerContext
    rules: JudgingRules

    def segment_id_and_texts(self, item: int, segment: int | None) -> tuple[int | None, JudgedTexts]:
        """Return the id of the segment at an address (None for the whole item), and the texts shown there.

        Raises TaskAddressNotFound.
        """
        self.context.item_id(item)
        if segment is None:
            if "document" not in self.rules.forms:
                raise TaskAddressNotFound("nothing is asked of whole documents")
            return None, JudgedTexts(prefill=())
        index = self.context.segment_index_at(item, segment)
        if "segment" not in self.rules.forms or self.context.text_lengths[index] == NO_TEXT:
            raise TaskAddressNotFound("nothing is asked of this segment")
        source = resolve_visible_text_kinds(self.rules.protocol, self.rules.basis).source
        return self.context.segments[index], self.context.judged_texts_at(index, source=source)


@dataclass(slots=True)
class CachedTask:
    """A task in memory. holders: raters known to have or to have had the task; they are never removed."""

    context: TaskAnswerContext
    holders: set[int]


@dataclass(slots=True)
class AnswerContextCache:
    """Cache of what posts need. most: limit on segments of all tasks; the least recently used tasks go first."""

    most: int = MOST_SEGMENTS
    segments: int = 0
    _tasks: OrderedDict[str, CachedTask] = field(default_factory=OrderedDict)
    _rules: OrderedDict[int, JudgingRules] = field(default_factory=OrderedDict)

    def find_answer_context(self, public_id: str, rater_id: int) -> TaskAnswerContext | None:
        """Return the context of a task that this rater has or had, or None if they are not cached."""
        kept = self._tasks.get(public_id)
        if kept is None or rater_id not in kept.holders:
            return None
        self._tasks.move_to_end(public_id)
        return kept.context

    def cache_answer_context(self, public_id: str, context: TaskAnswerContext, rater_id: int) -> TaskAnswerContext:
        """Cache and return the context of a rater's task. If there are too many, drop the least recently used."""
        before = self._tasks.pop(public_id, None)
        if before is not None:
            self.segments -= len(before.context.segments)
        self._tasks[public_id] = CachedTask(context, {rater_id} | (before.holders if before is not None else set()))
        self.segments += len(context.segments)
        while self.segments > self.most and len(self._tasks) > 1:
            _, oldest = self._tasks.popitem(last=False)
            self.segments -= len(oldest.context.segments)
        return context

    def find_judging_rules(self, campaign_id: int) -> JudgingRules | None:
        """Return what a campaign asked when its settings were last read, or None if that is not cached."""
        return self._rules.get(campaign_id)

    def cache_judging_rules(self, rules: JudgingRules) -> JudgingRules:
        """Cache what a campaign asks, unless the cache holds a newer version. Return the newer one."""
        before = self._rules.get(rules.campaign_id)
        if before is not None and before.settings_version > rules.settings_version:
            return before
        self._rules[rules.campaign_id] = rules
        if len(self._rules) > MOST_CAMPAIGNS:
            self._rules.popitem(last=False)
        return rules

    def forget_judging_rules(self, outdated: JudgingRules) -> None:
        """Drop what a campaign asked, unless it has been read again in the meantime."""
        if self._rules.get(outdated.campaign_id) is outdated:
            del self._rules[outdated.campaign_id]


def load_task_answer_context(session: Session, rules: JudgingRules, public_id: str, rater_id: int) -> TaskAnswerContext:
    """Load the context of a task that a rater has or had, in one statement. Raises TaskNotFound."""
    rows = tasks.load_answerable_items(session, rules.campaign_id, public_id, rater_id, texts=rules.scoring_needs_texts)
    of_sources, of_texts = _load_media(session, rules.campaign_id, rows)
    starts = array("i", [0])
    for row in rows:
        starts.append(starts[-1] + len(row.segments))
    return TaskAnswerContext(
        task_id=rows[0].task_id,
        campaign_id=rules.campaign_id,
        presentation=rows[0].presentation or "document",
        items=array("i", [row.item for row in rows]),
        ids=array("q", [row.item_id for row in rows]),
        screens=array("i", [row.screen or row.item for row in rows]),
        starts=starts,
        segments=array("q", [segment for row in rows for segment in row.segments]),
        source_lengths=_lengths([n for row in rows for n in row.source_lengths], of_sources),
        text_lengths=_lengths([n for row in rows for n in row.text_lengths], of_texts),
        texts=_texts(rows, of_texts) if rules.scoring_needs_texts else None,
        prefills=_prefills(rows),
        durations=_durations(of_sources, of_texts),
    )


def _load_media(
    session: Session, campaign_id: int, rows: Sequence[tasks.Row]
) -> tuple[dict[int, ShownMedia], dict[int, ShownMedia]]:
    """Load the files that are shown in place of sources and of texts, by segment index."""
    sources = [text for row in rows for text in row.source_elements]
    texts = [text for row in rows for text in row.text_elements]
    media = load_shown_media_by_text(session, campaign_id, (*sources, *texts))
    of_sources, of_texts = (
        {i: media[text] for i, text in enumerate(of) if text is not None and text in media} for of in (sources, texts)
    )
    return of_sources, of_texts


def _durations(of_sources: Mapping[int, ShownMedia], of_texts: Mapping[int, ShownMedia]) -> dict[int, dict[Side, int]]:
    durations: dict[int, dict[Side, int]] = {}
    sides: tuple[tuple[Side, Mapping[int, ShownMedia]], ...] = (("source", of_sources), ("target", of_texts))
    for side, media in sides:
        for i, file in media.items():
            if file.duration_ms is not None:
                durations.setdefault(i, {})[side] = file.duration_ms
    return durations


def _texts(rows: Sequence[tasks.Row], media: Mapping[int, ShownMedia]) -> list[str | None]:
    """Return the texts as they are shown: empty if a file is shown instead."""
    return ["" if i in media else text for i, text in enumerate(text for row in rows for text in row.texts)]


def _lengths(of_texts: Sequence[int | None], media: Mapping[int, ShownMedia]) -> array[int]:
    return array("i", [NO_TEXT if n is None else 0 if i in media else n for i, n in enumerate(of_texts)])


def _prefills(rows: Sequence[tasks.Row]) -> dict[int, tuple[Span, ...]]:
    """Return the prefilled errors of the segments that show some, by segment index."""
    prefills: dict[int, tuple[Span, ...]] = {}
    index = 0
    for row in rows:
        for n, spans in enumerate(row.prefills or ()):
            if spans:
                lengths: dict[Side, int] = {"source": row.source_lengths[n] or 0, "target": row.text_lengths[n] or 0}
                prefills[index + n] = list_visible_prefilled_errors(spans, lengths)
        index += len(row.segments)
    return prefills
