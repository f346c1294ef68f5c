"""Everything that a task shows and asks, as one value."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain import alignment
from app.domain.errors import NotFound
from app.domain.instructions import extract_instruction_text
from app.domain.media_types import ShownMedia
from app.protocols import RaterForm, assign_error_ids
from app.protocols.base import Basis, Level, Protocol, Side, Span
from app.services.campaigns.display_settings import AS_STORED, DisplaySettings
from app.services.media.shown_media import extract_text_or_transcript, load_shown_media_by_text
from app.services.tasks.judging_rules import load_judging_rules
from app.storage import tasks
from app.storage.db import Session

AROUND = 3  # source segments shown before and after the item


class TaskAddressNotFound(NotFound):
    """The task has nothing at this address."""

    published = "NoSuchAddress"


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """One segment as shown. text: None if there is no output, so that nothing is asked.

    alignment: between the words of the text and of the source, if one was given. instructions: what to observe in
    judging this segment, as text. source_media, text_media: files shown in place of the texts, which are then empty.
    """

    id: int
    source: str | None
    text: str | None
    references: Mapping[str, str]
    prefill: tuple[Span, ...] | None
    alignment: str | None = None
    instructions: str | None = None
    source_media: ShownMedia | None = None
    text_media: ShownMedia | None = None

    @property
    def sha256(self) -> str | None:
        """Digest of the text in UTF-8, None without a text."""
        return None if self.text is None else hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ItemContent:
    """One item as shown. before, after: source segments around the item."""

    id: int
    position: int
    screen: int
    column: int
    side_order: int
    segments: tuple[SegmentContent, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskContent:
    """Everything in a task that does not change while it is judged. forms: by the level that is judged.

    display: how the texts are shown.
    """

    task_id: int
    public_id: str
    campaign: str
    campaign_id: int
    protocol: Protocol[Any]
    basis: Basis
    presentation: str
    guidelines: int | None
    words: int | None
    forms: Mapping[Level, RaterForm]
    items: Mapping[int, ItemContent]
    display: DisplaySettings = AS_STORED

    @property
    def items_by_screen(self) -> dict[int, list[ItemContent]]:
        """Items by the screen that shows them, in the order of the columns."""
        screens: dict[int, list[ItemContent]] = {}
        for item in self.items.values():
            screens.setdefault(item.screen, []).append(item)
        return {n: sorted(screens[n], key=lambda item: (item.column, item.position)) for n in sorted(screens)}

    @property
    def answers_are_final(self) -> bool:
        """Whether answers cannot be changed: each screen shows one segment, and the rater cannot go back."""
        return self.presentation == "segment"

    def item_at(self, position: int) -> ItemContent:
        """Return the item at a position. Raises TaskAddressNotFound."""
        if position not in self.items:
            raise TaskAddressNotFound(f"there are the items 1 to {len(self.items)}")
        return self.items[position]


def load_task_content(session: Session, public_id: str) -> TaskContent:
    """Load everything that a task shows. Raises TaskNotFound."""
    row = tasks.load_task(session, public_id)
    rules = load_judging_rules(session, row.campaign)
    return TaskContent(
        task_id=row.id,
        public_id=public_id,
        campaign=row.campaign,
        campaign_id=row.campaign_id,
        protocol=rules.protocol,
        basis=rules.basis,
        presentation=row.presentation or "document",
        guidelines=row.guidelines,
        words=row.words,
        forms=rules.forms,
        items=_items(session, row),
        display=rules.display,
    )


def _items(session: Session, row: tasks.Row) -> dict[int, ItemContent]:
    around: dict[tuple[int, bool], list[str]] = {}
    for near in tasks.load_surrounding_sources(session, row.campaign_id, row.id, AROUND):
        if (sentence := extract_text_or_transcript(near.source)) is not None:
            around.setdefault((near.item, near.before), []).append(sentence)
    rows: dict[int, list[tasks.Row]] = {}
    for text in tasks.load_task_texts(session, row.campaign_id, row.id):
        rows.setdefault(text.item, []).append(text)
    media = load_shown_media_by_text(
        session, row.campaign_id, [text for texts in rows.values() for one in texts for text in (one.source, one.text)]
    )
    return {
        position: ItemContent(
            id=found[0].item_id,
            position=position,
            screen=found[0].screen or position,
            column=found[0].column_ or 1,
            side_order=found[0].side_order or 0,
            segments=tuple(_segment(one, media) for one in found),
            before=tuple(around.get((position, True), ())),
            after=tuple(around.get((position, False), ())),
        )
        for position, found in sorted(rows.items())
    }


def _segment(row: tasks.Row, media: Mapping[str, ShownMedia]) -> SegmentContent:
    of_source, of_text = media.get(row.source or ""), media.get(row.text or "")
    source, text = "" if of_source else row.source, "" if of_text else row.text
    lengths: dict[Side, int] = {"source": len(source or ""), "target": len(text or "")}
    spans = None if row.prefill is None else list_visible_prefilled_errors(row.prefill, lengths)
    instructions = extract_instruction_text(row.instructions)
    references = {name: extract_text_or_transcript(one) or "" for name, one in (row.refs or {}).items()}
    links = None if of_source or of_text else _alignment(row)
    return SegmentContent(row.segment_id, source, text, references, spans, links, instructions, of_source, of_text)


def _alignment(row: tasks.Row) -> str | None:
    """Return the alignment for the shown text. A degraded copy takes over that of the output, which hides the copy."""
    if row.alignment is None or row.text is None or row.text == row.output:
        return None if row.text is None else row.alignment
    return alignment.transfer_alignment_to_edited_text(row.alignment, row.output, row.text)


def list_visible_prefilled_errors(
    stored: Iterable[Mapping[str, object]], lengths: Mapping[Side, int]
) -> tuple[Span, ...]:
    """Return the prefilled errors that lie within the shown texts, each with its id. lengths: of the texts, by side.

    A degraded copy may be shorter than the output on which the errors were marked.
    """
    spans = assign_error_ids([Span.model_validate(one) for one in stored])
    return tuple(span for span in spans if span.end is None or span.end <= lengths[span.side])
