"""The test set of a campaign, stored by hand or by a program: documents, systems, and their outputs.

Storing the same again changes nothing. A text that a task shows never changes: a corrected output needs a new system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.domain import alignment
from app.domain.errors import Conflict, Invalid, Place
from app.protocols import assign_error_ids, list_known_severities
from app.protocols import span_faults as faults
from app.protocols.base import JudgedTexts, Span
from app.reports.inputs.campaign import find_campaign_protocol, make_campaign_info, parse_campaign_scoring_options
from app.services.campaigns import audit, exclusions
from app.services.campaigns.campaigns import get_campaign
from app.services.data import known_answer_documents
from app.services.people.known_answers import KnownAnswerSegment
from app.storage import campaigns, metric_scores
from app.storage import test_sets as stored
from app.storage.db import Session
from app.storage.tables import documents, systems

CHANGES = ("draft", "planned", "open", "paused")
KINDS = ("test", *known_answer_documents.KINDS)
SCORED = "scores of automatic metrics are about it"


class TestSetClosed(Conflict):
    """The campaign is closed, so its test set can no longer change."""

    __test__ = False  # the name is the field's; pytest would otherwise collect it
    published = "Closed"


class TextAlreadyShown(Conflict):
    """A task shows this text, so it can no longer change."""

    published = "TextShown"


class TestSetPartInUse(Conflict):
    """Something else needs this; remove that first."""

    __test__ = False  # the name is the field's; pytest would otherwise collect it
    published = "InUse"


class DeleteNeedsDraft(Conflict):
    """This can be deleted only while the campaign is a draft."""

    published = "NoDraft"


@dataclass(frozen=True, slots=True)
class SegmentInput:
    """A segment to store. references: by name."""

    source: str | None = None
    references: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """A document to store."""

    segments: tuple[SegmentInput, ...]
    kind: str = "test"
    name: str | None = None
    domain: str | None = None
    position: int | None = None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class SystemInput:
    """A system to store."""

    name: str | None = None
    kind: str = "mt"
    lab: str | None = None
    tags: tuple[str, ...] = ()
    state: str = "active"


@dataclass(frozen=True, slots=True)
class DocumentOutputsInput:
    """A system's outputs on a document, one entry for each segment, None for a missing output.

    prefill: spans that raters see with each output; those without an id get one. alignment: between each output and its
    source, in the notation that `app.domain.alignment` reads.
    """

    texts: Sequence[str | None]
    prefill: Sequence[Sequence[Span] | None] | None = None
    alignment: Sequence[str | None] | None = None


@dataclass(frozen=True, slots=True)
class TestSetPutResult:
    """The outcome. repaired: texts that had white space at their ends."""

    created: bool
    changed: bool
    repaired: int
    data_version: int


def put_document(session: Session, campaign: str, key: str, given: DocumentInput, *, actor: str) -> TestSetPutResult:
    """Store a document with its segments, or change it while no task shows it.

    Raises NotFound, TestSetClosed, TextAlreadyShown, TestSetPartInUse if the document has outputs, Invalid with places.
    """
    row = _open_for_changes(session, campaign)
    if given.kind not in KINDS:
        raise Invalid(places=(Place(("body", "kind"), f"must be one of {', '.join(KINDS)}"),))
    if given.kind in known_answer_documents.KINDS:
        segments = [KnownAnswerSegment(_strip_text(one.source), one.meta) for one in given.segments]
        known_answer_documents.check_known_answers(get_campaign(session, campaign), given.kind, segments)
    texts = [_segment(one) for one in given.segments]
    values = {
        "name": given.name or key,
        "kind": given.kind,
        "domain": given.domain,
        "origin": given.origin,
        "position": given.position,
    }
    had = stored.find_document(session, row.id, key)
    same_fields = had is not None and all(getattr(had, name) == value for name, value in values.items())
    before = [] if had is None else _texts_of(stored.load_segments(session, row.id, had.id))
    same_texts = had is not None and before == texts
    repaired = sum(_repairs(one) for one in given.segments)
    if same_fields and same_texts:
        return TestSetPutResult(created=False, changed=False, repaired=repaired, data_version=row.data_version)
    if had is not None and (not same_texts or had.kind != given.kind):
        _check_free(session, row.id, had.id)
    document_id = stored.upsert_system_or_document(session, documents, row.id, key, values)
    if not same_texts:
        stored.replace_segments(session, row.id, document_id, texts)
    return _new_data_version(
        session, row.id, created=had is None, repaired=repaired, actor=actor, what={"document": key}
    )


def put_system(session: Session, campaign: str, key: str, given: SystemInput, *, actor: str) -> TestSetPutResult:
    """Store a system, or change its metadata. Raises NotFound, TestSetClosed."""
    row = _open_for_changes(session, campaign)
    values = {
        "name": given.name or key,
        "kind": given.kind,
        "lab": given.lab,
        "tags": list(given.tags),
        "state": given.state,
    }
    had = stored.find_system(session, row.id, key)
    if had is not None and all(getattr(had, name) == value for name, value in values.items()):
        return TestSetPutResult(created=False, changed=False, repaired=0, data_version=row.data_version)
    system_id = stored.upsert_system_or_document(session, systems, row.id, key, values)
    put = _new_data_version(session, row.id, created=had is None, actor=actor, what={"system": key})
    if given.state != (had.state if had is not None else "active"):
        version = exclusions.set_system_withdrawn(
            session, row.id, system_id, withdrawn=given.state == "withdrawn", actor=actor
        )
        put = replace(put, data_version=version or put.data_version)
    return put


def put_system_outputs_on_document(
    session: Session,
    campaign: str,
    system: str,
    document: str,
    given: DocumentOutputsInput,
    *,
    actor: str,
) -> TestSetPutResult:
    """Store a system's outputs on a document.

    Raises NotFound, TestSetClosed, TextAlreadyShown, TestSetPartInUse if a metric scored the earlier outputs, Invalid
    with places if the numbers of entries differ, or if a span or an alignment link lies outside its text.
    """
    texts = given.texts
    row = _open_for_changes(session, campaign)
    of, on = load_system_row(session, row.id, system), load_document_row(session, row.id, document)
    before = stored.load_outputs_of_system_on_document(session, row.id, of.id, on.id)
    spans: Sequence[Sequence[Span] | None] = [None] * len(texts) if given.prefill is None else given.prefill
    links: Sequence[str | None] = [None] * len(texts) if given.alignment is None else given.alignment
    _check_numbers(len(before), segments=texts, prefill=spans, alignment=links)
    stripped = [None if text is None else text.strip() for text in texts]
    sources = [one.source for one in stored.load_segments(session, row.id, on.id)]
    about = make_campaign_info(row)
    severities = list_known_severities(find_campaign_protocol(about), parse_campaign_scoring_options(about))
    _check_spans(stripped, sources, spans, severities)
    filled = [_spans_as_json(one) for one in spans]
    aligned = _order_alignments(links, stripped, sources)
    repaired = sum(text != plain for text, plain in zip(texts, stripped, strict=True))
    wanted = list(zip(stripped, filled, aligned, strict=True))
    if [(one.text, _stored_spans_as_put(one.prefill), one.alignment) for one in before] == wanted:
        return TestSetPutResult(created=False, changed=False, repaired=repaired, data_version=row.data_version)
    created = all(one.text is None for one in before)
    if not created and stored.is_document_shown_in_task(session, row.id, on.id, system_id=of.id):
        raise TextAlreadyShown(f"the output of {system} on {document}")
    if not created and metric_scores.has_scores_by_any_metric(session, row.id, system_id=of.id, document_id=on.id):
        raise TestSetPartInUse(SCORED)
    numbered = [(one.segment_id, *said) for one, said in zip(before, wanted, strict=True)]
    stored.replace_outputs(session, row.id, of.id, numbered)
    what = {"system": system, "document": document}
    return _new_data_version(session, row.id, created=created, repaired=repaired, actor=actor, what=what)


def delete_document(session: Session, campaign: str, key: str, *, actor: str) -> None:
    """Delete a draft's document without outputs. Raises NotFound, DeleteNeedsDraft, TestSetPartInUse."""
    row = _draft(session, campaign)
    document = load_document_row(session, row.id, key)
    _check_free(session, row.id, document.id)
    stored.delete_document(session, row.id, document.id)
    _new_data_version(session, row.id, actor=actor, what={"document": key, "deleted": True})


def delete_system(session: Session, campaign: str, key: str, *, actor: str) -> None:
    """Delete a draft's system without outputs. Raises NotFound, DeleteNeedsDraft, TestSetPartInUse."""
    row = _draft(session, campaign)
    system = load_system_row(session, row.id, key)
    if stored.has_system_items_or_outputs(session, row.id, system.id):
        raise TestSetPartInUse("the system has outputs or judgments")
    if metric_scores.has_scores_by_any_metric(session, row.id, system_id=system.id):
        raise TestSetPartInUse(SCORED)
    stored.delete_system(session, row.id, system.id)
    _new_data_version(session, row.id, actor=actor, what={"system": key, "deleted": True})


def delete_system_outputs_on_document(
    session: Session, campaign: str, system: str, document: str, *, actor: str
) -> None:
    """Delete a system's outputs on a document of a draft.

    Raises NotFound, DeleteNeedsDraft, TextAlreadyShown, TestSetPartInUse.
    """
    row = _draft(session, campaign)
    of, on = load_system_row(session, row.id, system), load_document_row(session, row.id, document)
    if stored.is_document_shown_in_task(session, row.id, on.id, system_id=of.id):
        raise TextAlreadyShown(f"the output of {system} on {document}")
    if metric_scores.has_scores_by_any_metric(session, row.id, system_id=of.id, document_id=on.id):
        raise TestSetPartInUse(SCORED)
    ids = [one.segment_id for one in stored.load_outputs_of_system_on_document(session, row.id, of.id, on.id)]
    stored.delete_outputs_of_system_on_segments(session, row.id, of.id, ids)
    what = {"system": system, "document": document, "deleted": True}
    _new_data_version(session, row.id, actor=actor, what=what)


def _open_for_changes(session: Session, campaign: str) -> campaigns.CampaignRecord:
    row = campaigns.load_campaign(session, campaign, lock=True)
    if row.state not in CHANGES:
        raise TestSetClosed
    return row


def _draft(session: Session, campaign: str) -> campaigns.CampaignRecord:
    row = campaigns.load_campaign(session, campaign, lock=True)
    if row.state != "draft":
        raise DeleteNeedsDraft(f"the campaign is {row.state}")
    return row


def load_system_row(session: Session, campaign_id: int, key: str) -> Any:
    """Load a system of the campaign. Raises SystemNotFound."""
    row = stored.find_system(session, campaign_id, key)
    if row is None:
        raise stored.SystemNotFound
    return row


def load_document_row(session: Session, campaign_id: int, key: str) -> Any:
    """Load a document of the campaign. Raises DocumentNotFound."""
    row = stored.find_document(session, campaign_id, key)
    if row is None:
        raise stored.DocumentNotFound
    return row


def _check_free(session: Session, campaign_id: int, document_id: int) -> None:
    if stored.is_document_shown_in_task(session, campaign_id, document_id):
        raise TextAlreadyShown
    if stored.has_document_outputs(session, campaign_id, document_id):
        raise TestSetPartInUse("outputs stand on the segments of this document")
    if metric_scores.has_scores_by_any_metric(session, campaign_id, document_id=document_id):
        raise TestSetPartInUse(SCORED)


def _check_numbers(n_segments: int, **given: Sequence[object]) -> None:
    places = [
        Place(("body", name), f"has {len(entries)} entries; the document has {n_segments} segments")
        for name, entries in given.items()
        if len(entries) != n_segments
    ]
    if places:
        raise Invalid(places=tuple(places))


def _check_spans(
    texts: Sequence[str | None],
    sources: Sequence[str | None],
    prefill: Sequence[Sequence[Span] | None],
    severities: Sequence[str],
) -> None:
    places = []
    for i, (text, source, spans) in enumerate(zip(texts, sources, prefill, strict=True)):
        if spans is not None and text is None:
            places.append(Place(("body", "prefill", i), "there is no output that it belongs to"))
        wrong = faults(spans or (), JudgedTexts(source, text), severities)
        places += [Place(("body", "prefill", i, *place.loc[1:]), place.msg) for place in wrong]
    if places:
        raise Invalid(places=tuple(places[:100]))


def _order_alignments(
    given: Sequence[str | None], texts: Sequence[str | None], sources: Sequence[str | None]
) -> list[str | None]:
    """Return the alignments in canonical order. Raises Invalid with a place for each that does not fit its texts."""
    alignments: list[str | None] = []
    places = []
    for i, (links, text, source) in enumerate(zip(given, texts, sources, strict=True)):
        try:
            alignments.append(None if links is None else alignment.canonicalize_alignment(links))
            missing = "there is no output to align" if text is None else alignment.NO_SOURCE
            none = links is not None and None in (text, source)
            wrong = missing if none else links and alignment.find_alignment_fault(links, source=source, text=text)
        except ValueError as error:
            wrong = str(error)
        if wrong:
            places.append(Place(("body", "alignment", i), wrong))
    if places:
        raise Invalid(places=tuple(places[:100]))
    return alignments


def _spans_as_json(spans: Sequence[Span] | None) -> list[dict[str, object]] | None:
    return None if spans is None else [span.model_dump(mode="json") for span in assign_error_ids(spans)]


def _stored_spans_as_put(had: Sequence[object] | None) -> list[dict[str, object]] | None:
    """Return stored spans in the form in which they would be stored now: older errors have no id."""
    return None if had is None else _spans_as_json([Span.model_validate(one) for one in had])


def _strip_text(text: str | None) -> str | None:
    return None if text is None else text.strip()


def _segment(segment: SegmentInput) -> tuple[str | None, dict[str, str], dict[str, object]]:
    return (
        _strip_text(segment.source),
        {name: text.strip() for name, text in segment.references.items()},
        dict(segment.meta),
    )


def _texts_of(rows: Sequence[Any]) -> list[tuple[str | None, dict[str, str], dict[str, object]]]:
    return [(row.source, dict(row.references), dict(row.meta)) for row in rows]


def _repairs(segment: SegmentInput) -> int:
    return sum(text is not None and text != text.strip() for text in (segment.source, *segment.references.values()))


def _new_data_version(
    session: Session,
    campaign_id: int,
    *,
    actor: str,
    what: Mapping[str, object],
    created: bool = False,
    repaired: int = 0,
) -> TestSetPutResult:
    version = campaigns.take_next_data_version(session, campaign_id, actor=actor, what="texts")
    audit.record_action(session, campaign_id, actor=actor, action="test set changed", what=dict(what))
    return TestSetPutResult(created=created, changed=True, repaired=repaired, data_version=version)
