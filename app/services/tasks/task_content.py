"""Sheets: what a task shows and asks, as one value. Texts that a task shows never change, so a sheet can be kept."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from app.domain import alignment
from app.domain.errors import NotFound
from app.domain.recipe import Scoring
from app.protocols import RaterForm, levels_asked, rater_form, visible, with_ids
from app.protocols.base import Basis, JudgedTexts, Level, Protocol, ScoringOptions, Span
from app.reports.source import campaign
from app.reports.source.scores import profile_id, reading
from app.services.campaigns import campaigns
from app.services.campaigns.setting_numbers import LONGEST_LEASE, SHORTEST_LEASE
from app.storage import tasks
from app.storage.db import Session
from app.storage.recorder.judgments import Ledger
from app.storage.tasks import TaskNotFound

LEASE = timedelta(hours=2)
AROUND = 3  # sources before and after a stretch


class NoSuchAddress(NotFound):
    """The task has nothing at this address."""


@dataclass(frozen=True, slots=True)
class SegmentSheet:
    """One segment as shown. text: None where there is no output, so that nothing is asked of it.

    alignment: of the words of the text with those of the source, where one was given.
    """

    id: int
    source: str | None
    text: str | None
    references: Mapping[str, str]
    prefill: tuple[Span, ...] | None
    alignment: str | None = None

    @property
    def sha256(self) -> str | None:
        """Of the text, in UTF-8."""
        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ItemSheet:
    """One item as shown. before, after: sources around its stretch."""

    id: int
    position: int
    screen: int
    column: int
    side_order: int
    segments: tuple[SegmentSheet, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskContent:
    """All of a task that does not change while it is judged. forms: by the level that is asked."""

    task_id: int
    public_id: str
    campaign: str
    campaign_id: int
    protocol: Protocol[Any]
    options: ScoringOptions
    basis: Basis
    presentation: str
    lasts: timedelta
    ledger: Ledger
    guidelines: int | None
    words: int | None
    forms: Mapping[Level, RaterForm]
    items: Mapping[int, ItemSheet]

    @property
    def screens(self) -> dict[int, list[ItemSheet]]:
        """Items by the screen that shows them, in the order of the columns."""
        screens: dict[int, list[ItemSheet]] = {}
        for item in self.items.values():
            screens.setdefault(item.screen, []).append(item)
        return {n: sorted(screens[n], key=lambda item: (item.column, item.position)) for n in sorted(screens)}

    @property
    def final(self) -> bool:
        """Whether an answer stands once it is given: one segment a screen, and no way back."""
        return self.presentation == "segment"

    def item(self, position: int) -> ItemSheet:
        """The item at a position. Raises NoSuchAddress."""
        if position not in self.items:
            raise NoSuchAddress(f"there are the items 1 to {len(self.items)}")
        return self.items[position]

    def texts_at(self, item: int, segment: int | None) -> tuple[int | None, JudgedTexts]:
        """Id of the segment at an address, None for the whole item, and what is shown there. Raises NoSuchAddress."""
        there = self.item(item)
        if segment is None:
            if "document" not in self.forms:
                raise NoSuchAddress("nothing is asked of whole documents")
            return None, JudgedTexts(prefill=())
        if not 1 <= segment <= len(there.segments):
            raise NoSuchAddress(f"the item has the segments 1 to {len(there.segments)}")
        segment_text = there.segments[segment - 1]
        if "segment" not in self.forms or segment_text.text is None:
            raise NoSuchAddress("nothing is asked of this segment")
        source = segment_text.source if visible(self.protocol, self.basis).source else None
        return segment_text.id, JudgedTexts(source, segment_text.text, segment_text.prefill or ())


@dataclass(slots=True)
class CachedContent:
    """A sheet in memory. holders: raters who are known to have or to have had the task; that never ends."""

    at: float
    sheet: TaskContent
    holders: set[int] = field(default_factory=set)


@dataclass(slots=True)
class TaskCache:
    """Sheets that were lately used, kept in memory. lasts: seconds, so that settings are read anew now and then."""

    most: int = 4096
    lasts: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _kept: OrderedDict[str, CachedContent] = field(default_factory=OrderedDict)

    def find(self, public_id: str, rater_id: int) -> TaskContent | None:
        """The sheet of a task that is this rater's, if it is kept and fresh."""
        entry = self._kept.get(public_id)
        if entry is None or self.clock() - entry.at > self.lasts or rater_id not in entry.holders:
            return None
        return entry.sheet

    def keep(self, sheet: TaskContent, rater_id: int) -> TaskContent:
        """Keep the sheet of a task that is this rater's in place of the oldest."""
        before = self._kept.get(sheet.public_id)
        holders = before.holders if before is not None else set()
        self._kept[sheet.public_id] = CachedContent(self.clock(), sheet, holders | {rater_id})
        self._kept.move_to_end(sheet.public_id)
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return sheet


def lease_of(settings: Mapping[str, object]) -> timedelta:
    """How long a lease goes on: the campaign's `lease_seconds`, two hours where it says nothing of use."""
    given = settings.get("lease_seconds")
    if isinstance(given, bool) or not isinstance(given, int | float):
        return LEASE
    return timedelta(seconds=min(max(float(given), SHORTEST_LEASE), LONGEST_LEASE))


def load(session: Session, public_id: str) -> TaskContent:
    """Read a task's sheet. Raises TaskNotFound."""
    row = tasks.find(session, public_id)
    view = campaigns.get(session, row.campaign)
    protocol, options = campaign.protocol_of(view), campaign.options_of(view)
    lasts = lease_of(view.settings)
    profile = profile_id(session, row.campaign_id, reading(view, Scoring()))
    forms = {
        level: rater_form(protocol, options, basis=view.basis, level=level)  # type: ignore[arg-type]  # checked in SQL
        for level in levels_asked(protocol, options)
    }
    return TaskContent(
        task_id=row.id,
        public_id=public_id,
        campaign=row.campaign,
        campaign_id=row.campaign_id,
        protocol=protocol,
        options=options,
        basis=view.basis,  # type: ignore[arg-type]  # checked in SQL
        presentation=row.presentation or "document",
        lasts=lasts,
        ledger=Ledger(row.campaign_id, profile, lasts),
        guidelines=row.guidelines,
        words=row.words,
        forms=forms,
        items=_items(session, row),
    )


def _items(session: Session, row: tasks.Row) -> dict[int, ItemSheet]:
    around: dict[tuple[int, bool], list[str]] = {}
    for near in tasks.context(session, row.campaign_id, row.id, AROUND):
        around.setdefault((near.item, near.before), []).append(near.source)
    rows: dict[int, list[tasks.Row]] = {}
    for text in tasks.texts(session, row.campaign_id, row.id):
        rows.setdefault(text.item, []).append(text)
    return {
        position: ItemSheet(
            id=found[0].item_id,
            position=position,
            screen=found[0].screen or position,
            column=found[0].column_ or 1,
            side_order=found[0].side_order or 0,
            segments=tuple(_segment(one) for one in found),
            before=tuple(around.get((position, True), ())),
            after=tuple(around.get((position, False), ())),
        )
        for position, found in sorted(rows.items())
    }


def _segment(row: tasks.Row) -> SegmentSheet:
    said = None if row.prefill is None else with_ids([Span.model_validate(one) for one in row.prefill])
    spans = None if said is None else tuple(_fitting(row, said))
    return SegmentSheet(row.segment_id, row.source, row.text, row.refs or {}, spans, _alignment(row))


def _alignment(row: tasks.Row) -> str | None:
    """As it fits what is shown: a degraded copy takes over that of the output, so that nothing tells it from one."""
    if row.alignment is None or row.text is None or row.text == row.output:
        return None if row.text is None else row.alignment
    return alignment.carry_over_alignment(row.alignment, row.output, row.text)


def _fitting(row: tasks.Row, spans: Iterable[Span]) -> Iterator[Span]:
    """Errors that lie within what is shown: a degraded copy may be shorter than the output that they were marked on."""
    lengths = {"source": len(row.source or ""), "target": len(row.text or "")}
    return (span for span in spans if span.end is None or span.end <= lengths[span.side])


__all__ = ["ItemSheet", "NoSuchAddress", "SegmentSheet", "TaskCache", "TaskContent", "TaskNotFound", "lease_of", "load"]
