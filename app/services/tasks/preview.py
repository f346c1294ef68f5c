"""A task as raters would see it, made of the campaign's current texts. Nothing is planned or stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.design.design_choices import Presentation
from app.domain.errors import Conflict
from app.domain.instructions import extract_instruction_text
from app.domain.media_types import ShownMedia
from app.protocols import RaterForm, get_protocol, list_judged_levels, make_rater_form
from app.protocols.base import Basis, Level, Protocol, Side, parse_scoring_options
from app.services.campaigns.campaigns import PRESENTATIONS
from app.services.campaigns.protocols import ProtocolNameAndOptions
from app.services.media.shown_media import extract_text_or_transcript, load_shown_media_by_text
from app.services.tasks.judging_rules import load_judging_rules
from app.services.tasks.task_content import ItemContent, SegmentContent, TaskContent, list_visible_prefilled_errors
from app.services.tasks.tasks import OwnAnswersByAddress, TaskView, make_task_view
from app.storage import campaigns, test_sets
from app.storage.db import Session

TASK = "preview"
MOST_SEGMENTS = 30
MOST_DOCUMENTS = 200
COLUMNS = 3
"""Systems side by side, if the campaign has that many."""


class NothingToPreview(Conflict):
    """The campaign has no texts with outputs yet."""


def make_task_preview(
    session: Session,
    campaign: str,
    *,
    document: str | None = None,
    presentation: Presentation | None = None,
    columns: int = COLUMNS,
    other_protocol: ProtocolNameAndOptions | None = None,
) -> tuple[TaskView, tuple[RaterForm, ...]]:
    """Make a task of one document, and return it with its forms.

    document: by key; by default, the first one. presentation: by default, that of the campaign. The preview shows the
    outputs of the first system, or of the first `columns` systems side by side. other_protocol: to use instead of
    the campaign's own. Raises NotFound if the campaign or the document does not exist, and NothingToPreview if there is
    no output.
    """
    rules = load_judging_rules(session, campaign)
    row = campaigns.load_campaign(session, campaign)
    protocol, forms = rules.protocol, rules.forms
    if other_protocol is not None:
        protocol, forms = _judged_by(other_protocol, rules.basis)
    chosen = presentation or str(row.settings.get("presentation", PRESENTATIONS[0]))
    text = _document(session, row.id, document)
    systems = test_sets.load_active_system_keys(session, row.id)[: columns if chosen == "side_by_side" else 1]
    if text is None or not systems:
        raise NothingToPreview
    items = {item.position: item for item in _items(session, row.id, text, systems)}
    if not any(segment.text is not None for item in items.values() for segment in item.segments):
        raise NothingToPreview
    sheet = TaskContent(
        task_id=0,
        public_id=TASK,
        campaign=campaign,
        campaign_id=row.id,
        protocol=protocol,
        basis=rules.basis,
        presentation=chosen,
        guidelines=None,
        words=None,
        forms=forms,
        items=items,
        display=rules.display,
    )
    return make_task_view(sheet, OwnAnswersByAddress({}, {}), "leased"), tuple(forms.values())


def _judged_by(written: ProtocolNameAndOptions, basis: Basis) -> tuple[Protocol[Any], Mapping[Level, RaterForm]]:
    """Return a protocol and its forms. Raises NotFound, and Invalid if the options do not fit."""
    protocol = get_protocol(written.protocol)
    options = parse_scoring_options(protocol, written.options)
    levels = list_judged_levels(protocol, options)
    return protocol, {level: make_rater_form(protocol, options, basis=basis, level=level) for level in levels}


def list_preview_document_keys(session: Session, campaign: str) -> list[str]:
    """List the keys of the first documents of the test set. Raises NotFound."""
    return [row.key for row in _documents(session, campaigns.load_campaign(session, campaign).id)]


def _document(session: Session, campaign_id: int, key: str | None) -> test_sets.Row | None:
    """Return the chosen document, or the first one. Raises DocumentNotFound."""
    if key is not None:
        document = test_sets.find_document(session, campaign_id, key)
        if document is None:
            raise test_sets.DocumentNotFound
        return document
    return next(iter(_documents(session, campaign_id)), None)


def _documents(session: Session, campaign_id: int) -> list[test_sets.Row]:
    rows = test_sets.load_documents_page(session, campaign_id, after=None, limit=MOST_DOCUMENTS)
    return [row for row in rows if row.kind == "test"]


def _items(
    session: Session, campaign_id: int, document: test_sets.Row, systems: Sequence[str]
) -> Iterator[ItemContent]:
    """Yield an item for each system, in columns of one screen."""
    sources = test_sets.load_segments(session, campaign_id, document.id)[:MOST_SEGMENTS]
    for n, key in enumerate(systems, 1):
        system = test_sets.find_system(session, campaign_id, key)
        if system is None:
            continue
        rows = test_sets.load_outputs_of_system_on_document(session, campaign_id, system.id, document.id)
        outputs = {row.segment_id: row for row in rows}
        texts = [*(source.source for source in sources), *(row.text for row in rows)]
        media = load_shown_media_by_text(session, campaign_id, texts)
        shown = tuple(_segment(source, outputs[source.id], document, media) for source in sources)
        yield ItemContent(id=n, position=n, screen=1, column=n, side_order=0, segments=shown)


def _segment(
    source: test_sets.Row, output: test_sets.Row, document: test_sets.Row, media: Mapping[str, ShownMedia]
) -> SegmentContent:
    of_source, of_text = media.get(source.source or ""), media.get(output.text or "")
    lengths: dict[Side, int] = {
        "source": 0 if of_source else len(source.source or ""),
        "target": 0 if of_text else len(output.text or ""),
    }
    prefill = None if output.prefill is None else list_visible_prefilled_errors(output.prefill, lengths)
    said = next((str(one) for one in _instructions(source, document) if one is not None), None)
    return SegmentContent(
        source.id,
        "" if of_source else source.source,
        "" if of_text else output.text,
        {name: extract_text_or_transcript(text) or "" for name, text in source.references.items()},
        prefill,
        None if of_source or of_text else output.alignment,
        extract_instruction_text(said),
        of_source,
        of_text,
    )


def _instructions(source: test_sets.Row, document: test_sets.Row) -> Iterator[object]:
    """Yield the possible instructions for a segment, the most specific first, as for tasks."""
    yield (source.meta or {}).get("instructions")
    yield (document.meta or {}).get("instructions")
    yield (document.meta or {}).get("evaluation_instruction")
